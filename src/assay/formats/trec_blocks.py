"""TREC run files as bytes: decompressed, tidied, split into columns a block of lines at a time.

Nothing odd is let through: :func:`parse` gives ``None`` wherever the strict reader
(:func:`assay.formats.trec.read_trec_run`) might read something else, warn or find a fault.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import polars as pl

from assay.measures.hits import Integers

__all__ = ["Block", "beginning", "open_run", "parse", "tidy"]

_SCHEMA = {
    "topic": pl.String,
    "q0": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "run": pl.String,
}
# What the strict reader warns of, or takes for the end of a line or a column.
_ODD = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xef\xbb\xbf|\xef\xbf\xbd|\xe2\x80[\xa8\xa9]")


def _unpacking(path: Path, magic: bytes) -> BinaryIO | None:
    """Return a stream that decompresses; ``None`` for a file that is not compressed."""
    if magic.startswith(b"\x1f\x8b\x08"):
        return cast("BinaryIO", gzip.open(path, "rb"))
    if magic.startswith(b"BZh"):
        return cast("BinaryIO", bz2.open(path, "rb"))
    return None


def open_run(path: Path) -> BinaryIO:
    """Open a plain, gzip or bzip2 file to be read as it was before compression."""
    with path.open("rb") as stream:
        magic = stream.read(4)
    return _unpacking(path, magic) or path.open("rb")


def beginning(path: Path, size: int) -> bytes | None:
    """Return the first bytes, or ``None`` where the strict reader has to say what is wrong."""
    try:
        # A call to the system costs as much as a thousand lines: open a plain file only once.
        with path.open("rb", buffering=0) as stream:
            data = stream.read(size)
            unpacking = _unpacking(path, data)
            if unpacking is not None:
                with unpacking:
                    return unpacking.read(size)
            while len(data) < size and (more := stream.read(size - len(data))):
                data += more
            return data
    except (OSError, EOFError, ValueError, zlib.error):
        return None


def tidy(data: bytes) -> bytes:
    """Return the same columns with one blank between them, and no empty lines."""
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    gap = b"\t"
    if b" " in data:
        gap = b" "
        data = data.replace(b"\t", gap)
    for twice, once in ((gap * 2, gap), (gap + b"\n", b"\n"), (b"\n" + gap, b"\n")):
        while twice in data:
            data = data.replace(twice, once)
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data.lstrip(gap + b"\n").rstrip(gap + b"\r")


@dataclass(frozen=True, slots=True)
class Block:
    """Clean lines of one or more files: their columns, and where lines and files end."""

    data: bytes
    ends: Integers
    files: Integers
    """The row at which each file begins, and the number of rows."""
    frame: pl.DataFrame

    def drop_last_topic(self) -> tuple[Block | None, bytes]:
        """Return the block without the lines of its last topic, and these as bytes."""
        topics = self.frame["topic"]
        before = topics.ne(topics[-1]).arg_true()
        if not len(before):
            return None, self.data
        rows = int(before[-1]) + 1
        cut = int(self.ends[rows - 1]) + 1
        kept = Block(self.data[:cut], self.ends[:rows], np.array([0, rows]), self.frame.head(rows))
        return kept, self.data[cut:]


def parse(pieces: Sequence[bytes]) -> Block | None:
    """Split the lines of some files into columns; ``None`` where anything looks odd."""
    whole = [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces]
    data = whole[0] if len(whole) == 1 else b"".join(whole)
    every = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(every == ord("\n"))
    tabs = np.count_nonzero(every < ord(" ")) - len(ends)
    if tabs and (b" " in data or tabs != np.count_nonzero(every == ord("\t"))):
        return None
    if (every >= 127).any() and _ODD.search(data):
        return None
    try:
        frame = pl.read_csv(
            data,
            separator="\t" if tabs else " ",
            has_header=False,
            quote_char=None,
            schema=_SCHEMA,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != len(ends) or any(column.null_count() for column in frame):
        return None
    if not frame["score"].is_finite().all():
        return None
    files = np.searchsorted(ends, np.cumsum([0, *map(len, whole)]))
    names = frame["run"].rle_id().to_numpy()
    if (files[1:] == files[:-1]).any() or (names[files[:-1]] != names[files[1:] - 1]).any():
        return None
    return Block(data, ends, files, frame)
