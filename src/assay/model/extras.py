"""Packages that extras bring: imported when they are needed, and told of where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from assay.model.errors import PrerequisiteError


def brought(module: str, needs: str, extra: str) -> Any:
    """The module, which the ``extra`` brings. Raises PrerequisiteError, which begins with what
    ``needs`` it ("An index needs tantivy")."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PrerequisiteError(f"{needs}: pip install 'assay-rag[{extra}]'") from error
