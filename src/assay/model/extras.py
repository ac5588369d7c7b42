"""Packages that extras bring: imported when they are needed, and told of where they are missing."""

from __future__ import annotations

import importlib
import os
from typing import Any

from assay.model.errors import PrerequisiteError


def brought(module: str, needs: str, extra: str) -> Any:
    """The module, which the ``extra`` brings. Raises PrerequisiteError, which begins with what
    ``needs`` it ("An index needs tantivy"), and says why where it is there and cannot be loaded."""
    # Or onnxruntime, once it is loaded, reports to its maker, and leaves an id in the home.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # such as matplotlib's, without a folder to write to
        top = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and error.name == top
        why = "" if absent else f" ({' '.join(str(error).split())})"
        raise PrerequisiteError(f"{needs}{why}: pip install 'assay-rag[{extra}]'") from error
