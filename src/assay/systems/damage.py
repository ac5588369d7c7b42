"""Clear errors for damaged files that Assay itself wrote."""

from __future__ import annotations

import errno
import sqlite3
import tokenize  # numpy reads the head of its files with it
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from assay.model.errors import SettingsError

_SIGNS = (
    ArithmeticError, AttributeError, EOFError, LookupError, OSError, TypeError, ValueError,
    sqlite3.DatabaseError, tokenize.TokenError, zipfile.BadZipFile,
)  # fmt: skip


@contextmanager
def damage_reported(path: Path, cure: str) -> Iterator[None]:
    """Raise SettingsError, with the ``cure``, for anything that goes wrong while reading ``path``.
    Missing rights or too many open files are not damage: such a file need not be made, and perhaps
    paid for, again."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.ENOTDIR):
            raise
        # A panic in tantivy's Rust is not an Exception, and its class cannot be imported.
        if not isinstance(error, _SIGNS) and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise SettingsError(
            f"{path} is damaged, or is not one of Assay's files: {said}. {cure}"
        ) from error


def read_about(path: Path, kinds: dict[str, type], cure: str) -> dict[str, Any]:
    """The JSON object in ``path``. Raises SettingsError if it lacks an entry of ``kinds``, or one
    has another type."""
    with damage_reported(path, cure):
        about = orjson.loads(path.read_bytes())
        if not isinstance(about, dict):
            raise ValueError("it holds no JSON object")
        for name, kind in kinds.items():
            if type(about.get(name)) is not kind:
                raise ValueError(f"{name!r} is missing, or is not a {kind.__name__}")
    return about
