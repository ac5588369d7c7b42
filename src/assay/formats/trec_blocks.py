"""TREC run files as bytes: decompressed, tidied, split into columns a block of lines at a time.

Nothing odd is let through: :func:`parse` gives ``None`` wherever the strict reader
(:func:`assay.formats.trec.read_trec_run`) might read something else, warn or find a fault.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from assay.formats.trec_columns import PAD, Column, decimals, whole_numbers
from assay.measures.hits import Floats, Integers

__all__ = ["Block", "open_run", "padded", "parse", "read_into", "tidy"]

_COLUMNS = 6
_DELETE = 127
# What the strict reader warns of, or takes for the end of a line or a column.
_ODD = re.compile(
    rb"\x7f|\xc2[\x80-\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
    rb"|\xef\xbb\xbf|\xef\xbf\xbd"
)


def _unpacking(path: Path, magic: bytes) -> gzip.GzipFile | bz2.BZ2File | None:
    """Return a stream that decompresses; ``None`` for a file that is not compressed."""
    if magic.startswith(b"\x1f\x8b\x08"):
        return gzip.GzipFile(path, "rb")
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(path, "rb")
    return None


def open_run(path: Path) -> BinaryIO:
    """Open a plain, gzip or bzip2 file to be read as it was before compression."""
    with path.open("rb") as stream:
        magic = stream.read(4)
    return cast("BinaryIO", _unpacking(path, magic) or path.open("rb"))


def read_into(path: Path, space: memoryview) -> int | None:
    """Read as much of a file as there is space for.

    Returns:
        How many bytes were read; ``None`` where the strict reader has to say what is wrong.
    """
    try:
        # A call to the system costs as much as a thousand lines: open a plain file only once.
        with path.open("rb", buffering=0) as stream:
            size = stream.readinto(space) or 0
            unpacking = _unpacking(path, bytes(space[:4]) if size >= 4 else b"")
            if unpacking is not None:
                with unpacking:
                    return _fill(unpacking, space, 0)
            return _fill(stream, space, size)
    except (OSError, EOFError, ValueError, zlib.error):
        return None


def _fill(stream: io.FileIO | gzip.GzipFile | bz2.BZ2File, space: memoryview, size: int) -> int:
    while size < len(space) and (more := stream.readinto(space[size:])):
        size += more
    return size


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
    """Clean lines of one or more files.

    Attributes:
        data: the lines, with :data:`PAD` bytes before and after them.
        ends: for each line where its end of line stands in *data*.
        files: the row at which each file begins, and at the end the number of rows.
    """

    data: bytes | bytearray
    ends: Integers
    files: Integers
    topics: Column
    second: Column
    documents: Column
    ranks: Integers
    scores: Floats
    runs: Column

    def without_last_topic(self) -> Block | None:
        """Return the block (of one file) without the lines of its last topic."""
        changes = np.flatnonzero(~self.topics.repeats())
        if not len(changes):
            return None
        rows = int(changes[-1]) + 1
        some = slice(rows)
        return Block(
            self.data,
            self.ends[some],
            np.array([0, rows]),
            self.topics.rows(some),
            self.second.rows(some),
            self.documents.rows(some),
            self.ranks[some],
            self.scores[some],
            self.runs.rows(some),
        )


def padded(pieces: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """Return the pieces for :func:`parse`, each with a last end of line, and where they end."""
    whole = [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces]
    return b"".join([bytes(PAD), *whole, bytes(PAD)]), list(
        accumulate(map(len, whole), initial=PAD)
    )


def parse(data: bytes | bytearray, files: Sequence[int]) -> Block | None:
    """Split the lines of some files into columns; ``None`` where anything looks odd.

    Args:
        data: the files one after the other, each with a last end of line; what stands before the
            first and after the last (at least :data:`PAD` bytes) does not matter.
        files: where each file begins, and where the last one ends.
    """
    first, last = files[0], files[-1]
    every = np.frombuffer(data, np.uint8)
    inside = every[first:last]
    if not len(inside) or (inside.max() >= _DELETE and not _is_clean(bytes(data[first:last]))):
        return None
    gaps = np.flatnonzero(inside <= ord(" ")) + first
    if len(gaps) % _COLUMNS:
        return None
    gap = np.ascontiguousarray(gaps.reshape(-1, _COLUMNS).T)
    del gaps  # this and what follows is where memory is at its peak
    kinds = every[gap]
    inner = kinds[:-1]
    if not (kinds[-1] == ord("\n")).all():
        return None
    if not ((inner == ord(" ")) | (inner == ord("\t"))).all():
        return None

    def column(number: int) -> Column | None:
        starts = np.empty_like(gap[-1])
        if number:
            np.add(gap[number - 1], 1, out=starts)
        else:
            starts[0], starts[1:] = first, gap[-1][:-1] + 1
        lengths = gap[number] - starts
        return Column(data, starts, lengths) if lengths.all() else None

    # Numbers first: what reading them takes is free again when the other columns are made.
    written, values = column(3), column(4)
    if written is None or values is None:
        return None
    ranks, scores = whole_numbers(written), decimals(values)
    del written, values
    if ranks is None or scores is None:
        return None
    topics, second, documents, runs = map(column, (0, 1, 2, 5))
    if topics is None or second is None or documents is None or runs is None:
        return None
    ends = gap[-1].copy()  # by itself it does not keep the others
    rows = np.searchsorted(ends, files)
    repeats = runs.repeats()
    repeats[rows[1:-1] - 1] = True
    if (rows[1:] == rows[:-1]).any() or not repeats.all():
        return None  # an empty file, or one with several runs
    return Block(data, ends, rows, topics, second, documents, ranks, scores, runs)


def _is_clean(data: bytes) -> bool:
    """Return whether text beyond ASCII is UTF-8 without blanks and marks of its own."""
    if _ODD.search(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
