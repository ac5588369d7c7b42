"""Templates of an evaluation folder that take the place of no template, as they are misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from assay.model.errors import SettingsError
from assay.model.places import check_file, inside

LARGEST = 1_000_000
"""Bytes that a template's file may have."""

_SIMILAR = 0.8  # how like a template's a name must be that another's protocol may want


def check_overrides(prompts: Path, more: Iterable[str] | None = None) -> None:
    """Raise SettingsError for a ``*.j2`` file in ``prompts`` that nothing would read, which names
    the templates that may have been meant.

    A file that another one there includes or extends is read. ``more`` are templates of protocols
    that are not Assay's: where there are such, only a name much like a template's is a fault, as
    they may have further templates that are not asked for now.
    """
    found = {path.name: path for path in sorted(prompts.glob("*.j2")) if not path.is_dir()}
    for name, path in found.items():
        inside(prompts.parent, path.absolute(), f"The prompt template {name}")
        check_file(path, LARGEST, f"The prompt template {name}")
    known = {one.name for one in files("assay.tasks").joinpath("templates").iterdir()}
    known.update(more or ())
    unknown = [name for name in found if name not in known and not _is_part(name, found)]
    for name in unknown:
        meant = get_close_matches(name, sorted(known), 3, 0.6 if more is None else _SIMILAR)
        if meant or more is None:
            cure = f"Did you mean {' or '.join(meant)}?" if meant else "Rename or remove it."
            raise SettingsError(
                f"{found[name]}: there is no prompt template of this name, so that the file would "
                f"not be used. {cure}"
            )


def _is_part(name: str, found: dict[str, Path]) -> bool:
    texts = (path.read_text("utf-8", "replace") for one, path in found.items() if one != name)
    return any(f'"{name}"' in text or f"'{name}'" in text for text in texts)
