"""Assay: an evaluation workbench for retrieval-augmented generation.

What is named here is loaded when it is first used: ``import assay`` itself loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.model.version import __version__ as __version__

if TYPE_CHECKING:
    from assay.api.labelling import label as label

__all__ = ["__version__", "label"]


def __getattr__(name: str) -> Any:
    # Late, as a script needs few of these, and their rooms take much longer to load than the rest.
    if name == "label":
        from assay.api import labelling as room  # noqa: PLC0415
    else:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    found = globals()[name] = getattr(room, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
