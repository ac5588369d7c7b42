"""Blocks of the lines of TREC run files, split into columns.

Nothing unusual is accepted: :func:`parse` returns None whenever the strict reader
(:func:`assay.formats.trec.read_trec_run`) might read something else, warn or find a fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.formats.trec import SECOND_COLUMN
from assay.formats.trec_fast.columns import LONGEST, Column, decimals, whole_numbers
from assay.measures.arrays import Floats, Integers

Integers32 = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_COLUMNS = 6
_DELETE = 127
# What the strict reader warns of, or reads as the end of a line or column.
_ODD = re.compile(
    rb"\x7f|\xc2[\x80-\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
    rb"|\xef\xbb\xbf|\xef\xbf\xbd"
)


class Block(NamedTuple):
    """Clean lines of one or more files.

    Topics and names of runs, which are the same in many lines, are kept only once.

    ``files``: the line at which each file begins, and finally the number of lines. ``names``: the
    name of each file's run. ``lists``: the lines at which a topic or file begins. ``topics``: the
    topic of each of these. ``documents``, ``ranks`` and ``scores``: for each line, the document's
    id, the rank as written, and the score.
    """

    files: Integers
    names: tuple[str, ...]
    lists: Integers
    topics: Column
    documents: Column
    ranks: Integers
    scores: Floats

    def without_last_topic(self) -> tuple[Block, int] | None:
        """The block (of one file) without its last topic, and where that topic begins; None if all
        lines are of one topic."""
        if len(self.lists) < 2:
            return None
        rows = int(self.lists[-1])
        some = slice(rows)
        shortened = Block(
            np.array([0, rows]),
            self.names,
            self.lists[:-1],
            self.topics.rows(slice(-1)),
            self.documents.rows(some),
            self.ranks[some],
            self.scores[some],
        )
        return shortened, int(self.topics.starts[-1])


class _UnusualError(Exception):
    """Something unusual that has to be left to the strict reader."""


def parse(data: bytes | bytearray, files: Sequence[int]) -> Block | None:
    """Split the lines of some files into columns; None if anything is unusual.

    ``data``: the concatenated files, each ending in a line feed, with at least ``PAD`` bytes of any
    content before and after. ``files``: where each file begins, and where the last one ends.
    """
    try:
        return _parse(data, files)
    except _UnusualError:
        return None


def _parse(data: bytes | bytearray, files: Sequence[int]) -> Block:
    # Columns are made when needed and not kept: memory use peaks here.
    gaps = _gaps(data, files[0], files[-1])
    rows = np.searchsorted(gaps[-1], files)
    if (rows[1:] == rows[:-1]).any():
        raise _UnusualError  # an empty file

    def column(number: int) -> Column:
        starts = np.empty(gaps.shape[1], dtype=np.int64)
        if number:
            np.add(gaps[number - 1], 1, out=starts)
        else:
            starts[0] = files[0]
            np.add(gaps[-1][:-1], 1, out=starts[1:])
        lengths = gaps[number] - starts
        if not lengths.all() or int(lengths.max()) > LONGEST:
            raise _UnusualError
        return Column(data, starts, lengths)

    names = _names(column(5), rows)
    if not _second_is_usual(column(1)):
        raise _UnusualError
    topics = column(0)
    begins = np.ones(len(topics), dtype=bool)
    np.logical_not(topics.repeats(), out=begins[1:])
    begins[rows[:-1]] = True
    lists = np.flatnonzero(begins)
    topics = topics.rows(lists)
    ranks, scores = whole_numbers(column(3)), decimals(column(4))
    if ranks is None or scores is None:
        raise _UnusualError
    return Block(rows, names, lists, topics, column(2), ranks, scores)


def _gaps(data: bytes | bytearray, first: int, last: int) -> Integers32:
    """Where columns end: an array with one row per column of the file, one column per line."""
    every = np.frombuffer(data, np.uint8)
    inside = every[first:last]
    if not len(inside) or (inside.max() >= _DELETE and not _is_clean(bytes(data[first:last]))):
        raise _UnusualError
    gaps = np.flatnonzero(inside <= ord(" "))
    gaps += first
    if len(gaps) % _COLUMNS:
        raise _UnusualError
    kinds = every[gaps].reshape(-1, _COLUMNS)
    as_wanted = (kinds == ord(" ")) | (kinds == ord("\t"))
    as_wanted[:, -1] = kinds[:, -1] == ord("\n")
    if not as_wanted.all():
        raise _UnusualError
    wide = gaps.reshape(-1, _COLUMNS).T
    if last < 1 << 31:
        return wide.astype(np.int32, order="C")
    return np.ascontiguousarray(wide)


def _names(runs: Column, rows: Integers) -> tuple[str, ...]:
    """The name of each file's run."""
    repeats = runs.repeats()
    # The line before the beginning of a file is of another file.
    repeats[rows[1:-1] - 1] = True
    if not repeats.all():
        raise _UnusualError  # several runs in a file
    return tuple(map(runs.text, rows[:-1].tolist()))


def _second_is_usual(column: Column) -> bool:
    """Whether the strict reader would not warn of the second column."""
    if column.text(0) in SECOND_COLUMN and column.repeats().all():
        return True
    return SECOND_COLUMN.issuperset(map(column.text, range(len(column))))


def _is_clean(data: bytes) -> bool:
    """Whether non-ASCII text is UTF-8 without Unicode white space or byte order marks."""
    if _ODD.search(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Lists(NamedTuple):
    """The ranked lists of a block in order of appearance: the file and topic of each; ``rows`` has
    the number of the list of every line."""

    files: Integers
    topics: list[str]
    rows: Integers

    @classmethod
    def of(cls, block: Block) -> Lists:
        files = np.searchsorted(block.files, block.lists, side="right") - 1
        topics = list(map(block.topics.text, range(len(files))))
        sizes = np.diff(block.lists, append=len(block.documents))
        return cls(files, topics, np.repeat(np.arange(len(files)), sizes))
