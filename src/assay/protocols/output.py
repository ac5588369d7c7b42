"""Writing the files of an evaluation: complete or not at all, with digests."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

import orjson

from assay.model.csv_cells import csv_cells
from assay.model.errors import SettingsError
from assay.model.paths import file_sha256

FileData = bytes | Callable[[], Iterable[bytes]]
"""The bytes of a file, or a function that gives its lines: large files are never held in memory."""

_WRITTEN = 1 << 20
"""Bytes written at once."""

_ROWS = 2_000
"""Rows of CSV that are formatted at once."""

_SQLITE = b"SQLite format 3\0"
"""The first bytes of a ledger's file."""

_LONGEST = 120
"""Bytes that a name may take in a file's name: file systems allow 255 with what is added to it."""


def file_name(name: str) -> str:
    """Turn a name into a part of a path: ``-`` replaces everything but letters, digits, ``.``,
    ``_``, ``+`` and ``@`` (``only:human:KIM`` is ``only-human-KIM``). A long name is cut and ends
    with a digest."""
    # Marks on letters, as in Devanagari, are kept although \w does not match them.
    marks = {one for one in name if unicodedata.category(one)[0] == "M"}
    plain = "".join(
        one if one in marks or re.match(r"[\w.+@]", one) else "-"
        for one in unicodedata.normalize("NFC", name)
    )
    plain = "-" + plain[1:] if plain.startswith(".") else plain or "-"
    if len(plain.encode()) <= _LONGEST:
        return plain
    start = plain.encode()[: _LONGEST - 9].decode(errors="ignore")
    return f"{start}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def require_plain(path: Path) -> None:
    """Raise SettingsError if ``path`` is a folder or has the extension of a compressed file."""
    if path.is_dir():
        raise SettingsError(f"{path} is a folder. Name a file.")
    if path.suffix.lower() in (".gz", ".bz2"):
        raise SettingsError(f"{path}: output is not compressed. Name it {path.stem}.")


def write_bytes(path: Path, data: bytes | memoryview) -> str:
    """Write a file by renaming a complete one into place, and return the SHA-256 of its bytes.
    Raises SettingsError if it cannot be written."""
    return write_pieces(path, (data,))


def json_bytes(document: object) -> bytes:
    """Format a document as indented JSON."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> str:
    """Like :func:`write_bytes`, in pieces, such as lines."""
    digest = hashlib.sha256()
    with _replacing(path) as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def write_packed(path: Path, of: Path) -> str:
    """Like :func:`write_bytes`, with another file's contents, gzipped to reproducible bytes."""
    # Level 6 takes twice as long and saves a fifth.
    gzip = zlib.compressobj(4, wbits=16 + zlib.MAX_WBITS)
    with of.open("rb") as file:
        pieces = chain(iter(lambda: file.read(_WRITTEN), b""), [None])
        return write_pieces(
            path, (gzip.flush() if one is None else gzip.compress(one) for one in pieces)
        )


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` once it is complete, and leaves no trace if it fails. A
    database is never replaced: labels were paid for. Pipes and devices are written to."""
    try:
        if _is_device(path):
            with path.open("wb") as device:
                yield device
            return
        if _is_database(path):
            why = "is a ledger or another database, which is never overwritten"
            raise SettingsError(f"{path} {why}. Name another file.")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{token_hex(4)}")
        try:
            with fresh.open("xb", _WRITTEN) as file:  # readable as the user's umask says
                yield file
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}.") from error


def _is_device(path: Path) -> bool:
    """Whether a path is a pipe or a device. Raises SettingsError for a name such as /dev/stdout
    that leads to a file, which cannot be replaced through it."""
    if path.is_symlink() and path.is_file() and path.absolute().parts[1] in ("dev", "proc"):
        raise SettingsError(f"{path} is a link to a file. Name the file itself.")
    return path.exists() and not path.is_file() and not path.is_dir()


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def csv_bytes(
    header: Sequence[str], rows: Iterable[Sequence[object]], path: Path | None = None
) -> bytes:
    """Format CSV with full-precision numbers. None is an empty cell, and no text is a formula. If
    ``path`` ends in .tsv, cells are separated by tabs."""
    tabs = path is not None and path.suffix.lower() == ".tsv"
    return b"".join(csv_lines(header, rows, "\t" if tabs else ","))


def csv_lines(
    header: Sequence[str], rows: Iterable[Iterable[object]], mark: str = ","
) -> Iterator[bytes]:
    """Like :func:`csv_bytes`, in pieces."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=mark, lineterminator="\n")
    every = chain([header], map(csv_cells, rows))
    while some := list(islice(every, _ROWS)):
        writer.writerows(some)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def digests_of(paths: Iterable[Path]) -> dict[Path, str]:
    """The SHA-256 of each file, in hexadecimal."""
    return {path: file_sha256(path) for path in paths}
