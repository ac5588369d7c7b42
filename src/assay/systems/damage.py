"""Files that Assay wrote itself, and that are not as it wrote them."""

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
def told_of_damage(path: Path, cure: str) -> Iterator[None]:
    """Raise SettingsError, with the ``cure``, for whatever goes wrong while ``path`` is read. What
    the system does not give (rights, open files) is no damage: what may not be read need not be
    made, and perhaps paid for, again."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.ENOTDIR):
            raise
        # What tantivy's Rust fails by is no Exception, and has no name that can be imported.
        if not isinstance(error, _SIGNS) and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise SettingsError(
            f"{path} is damaged, or is not one of Assay's files: {said}. {cure}"
        ) from error


def read_about(path: Path, kinds: dict[str, type], cure: str) -> dict[str, Any]:
    """The JSON object in ``path``, which has at least these entries, of these kinds. Raises
    SettingsError."""
    with told_of_damage(path, cure):
        about = orjson.loads(path.read_bytes())
        if not isinstance(about, dict):
            raise ValueError("it holds no JSON object")
        for name, kind in kinds.items():
            if type(about.get(name)) is not kind:
                raise ValueError(f"{name!r} is missing, or is not a {kind.__name__}")
    return about
