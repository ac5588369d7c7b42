"""Imports of optional dependencies, with a message that names the extra to install."""

from __future__ import annotations

import importlib
import os
from typing import Any

from assay.model.errors import PrerequisiteError


def import_extra(module: str, needs: str, extra: str) -> Any:
    """Import ``module``, which ``extra`` installs. Raises PrerequisiteError if that fails. Its
    message begins with ``needs`` ("An index needs tantivy") and says why, if the module is
    installed but cannot be loaded."""
    # Otherwise onnxruntime sends telemetry and leaves an id in the home folder.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # OSError: matplotlib without a writable folder
        top = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and error.name == top
        why = "" if absent else f" ({' '.join(str(error).split())})"
        raise PrerequisiteError(f"{needs}{why}: pip install 'assay-rag[{extra}]'") from error
