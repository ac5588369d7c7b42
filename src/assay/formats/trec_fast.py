"""Run files straight to ranked hits: many lines at once, in blocks, without an object a document.

What is odd is never guessed at: a block that does not come out as six clean columns is tidied
(blanks, line ends), and what is odd then is left to :func:`assay.formats.trec.read_trec_run`, which
reads line by line and reports every fault with its line. Both ways rank the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from assay.formats.parsed import FaultList, printable
from assay.formats.text import MAX_BYTES
from assay.formats.trec import SECOND_COLUMN, read_trec_run, warn_of_ranks, warn_of_second_column
from assay.formats.trec_blocks import Block, beginning, open_run, parse, tidy
from assay.measures.frames import run_hits
from assay.measures.hits import Floats, Hits, Integers, Judgements
from assay.measures.order import Ties, rank_order
from assay.model.errors import Fault

__all__ = ["BLOCK", "RunBatch", "read_runs"]

BLOCK = 8 << 20
"""Bytes read at a time; small files are put together until they are as many."""

_TABLE_BITS = 22

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RunBatch:
    """Some runs, read: their hits run after run, a list for each topic of the qrels.

    ``unjudged`` has for each run its topics that the qrels lack, ``warnings`` what a person should
    know of each file.
    """

    names: tuple[str, ...]
    hits: Hits
    unjudged: tuple[tuple[str, ...], ...]
    warnings: tuple[tuple[Fault, ...], ...]


def read_runs(
    paths: Sequence[str | PathLike[str]],
    judged: Judgements,
    *,
    ties: Ties = "trec",
    block: int = BLOCK,
) -> Iterator[RunBatch]:
    """Read TREC run files, plain or compressed with gzip or bzip2, in the order given.

    Memory does not grow with the file as long as the lines of each topic stand together; a file in
    which they do not is held as a whole (some 100 bytes a line).

    Args:
        paths: the files.
        judged: the qrels.
        ties: what decides between equal scores.
        block: how many bytes are read at a time.

    Raises:
        FormatError: a file cannot be read or has faults; it carries all faults of that file.
    """
    reader = _Reader(judged, ties, block)
    waiting: list[tuple[Path, bytes]] = []
    size = 0
    for path in map(Path, paths):
        data = beginning(path, block + 1)
        whole = data is not None and len(data) <= block
        if waiting and (not whole or size + len(data or b"") > block):
            yield from reader.small(waiting)
            waiting, size = [], 0
        if data is not None and whole:
            waiting.append((path, data))
            size += len(data)
        else:
            yield reader.strict(path) if data is None else reader.large(path)
    yield from reader.small(waiting)


@dataclass(slots=True)
class _Groups:
    """The ranked lists of a block in order of appearance: file and topic of each."""

    files: Integers
    topics: list[str]
    rows: Integers
    """For every row the number of its list."""

    @classmethod
    def of(cls, block: Block) -> _Groups:
        topics = block.frame["topic"]
        lengths = topics.rle().struct.field("len").to_numpy().astype(np.int64)
        starts = np.union1d(np.cumsum(lengths) - lengths, block.files[:-1])
        files = np.searchsorted(block.files, starts, side="right") - 1
        seen: dict[tuple[int, str], int] = {}
        pairs = zip(files.tolist(), topics.gather(starts).to_list(), strict=True)
        numbers = [seen.setdefault(pair, len(seen)) for pair in pairs]
        rows = np.repeat(np.array(numbers), np.diff(np.append(starts, len(topics))))
        return cls(np.array([file for file, _ in seen]), [topic for _, topic in seen], rows)


@dataclass(slots=True)
class _Found:
    """What has been read of some files so far."""

    lists: list[Integers] = field(default_factory=list)
    ranks: list[Integers] = field(default_factory=list)
    grades: list[Floats] = field(default_factory=list)
    shown: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    unjudged: dict[int, list[str]] = field(default_factory=dict)
    disagreeing: dict[int, list[str]] = field(default_factory=dict)
    second: dict[int, set[str]] = field(default_factory=dict)


def _mix(numbers: Integers) -> Words:
    """Spread small numbers over 64 bits."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


class _Index:
    """Finds the judged documents among very many: by hash first, then by comparing the ids."""

    def __init__(self, judged: Judgements) -> None:
        ids = pl.Series(
            [document for documents in judged.grades.values() for document in documents],
            dtype=pl.String,
        )
        keys = ids.hash().to_numpy() ^ _mix(judged.lists)
        order = np.argsort(keys)
        self.keys, self.ids, self.grades = keys[order], ids.gather(order), judged.flat[order]
        self.usable = len(keys) > 0 and not (self.keys[1:] == self.keys[:-1]).any()
        self.maybe = np.zeros(1 << _TABLE_BITS, dtype=bool)
        self.maybe[self._slots(keys)] = True

    @staticmethod
    def _slots(keys: Words) -> Integers:
        return (keys >> np.uint64(64 - _TABLE_BITS)).astype(np.int64)

    def find(self, ids: pl.Series, keys: Words) -> tuple[Integers, Floats] | None:
        """Return the rows that are judged, and their grades; ``None`` if two ids share a hash."""
        rows = np.flatnonzero(self.maybe[self._slots(keys)])
        places = np.minimum(np.searchsorted(self.keys, keys[rows]), len(self.keys) - 1)
        equal = self.keys[places] == keys[rows]
        rows, places = rows[equal], places[equal]
        if not (ids.gather(rows) == self.ids.gather(places)).all():
            return None
        return rows, self.grades[places]


class _Reader:
    """Reads files against one set of qrels."""

    def __init__(self, judged: Judgements, ties: Ties, block: int) -> None:
        self.judged, self.ties, self.block = judged, ties, block
        self.index = _Index(judged)

    def small(self, files: Sequence[tuple[Path, bytes]]) -> list[RunBatch]:
        """Read whole files at once, or one by one where that does not work."""
        if not files:
            return []
        for tidied in (False, True):
            pieces = [tidy(data) if tidied else data for _, data in files]
            block = parse(pieces) if self.index.usable else None
            found = self._new(len(files))
            if block is not None and self._add(found, block):
                return [self._batch(found, [path for path, _ in files], block)]
        if len(files) > 1:
            return [batch for file in files for batch in self.small([file])]
        return [self.strict(files[0][0])]

    def large(self, path: Path) -> RunBatch:
        """Read a file block by block."""
        try:
            return self._in_blocks(path) or self.strict(path)
        except (OSError, EOFError, ValueError, zlib.error):
            return self.strict(path)

    def strict(self, path: Path) -> RunBatch:
        """Read a file line by line; raises :class:`FormatError` with all its faults."""
        parsed = read_trec_run(path)
        run = parsed.require()
        hits = run_hits(run.scores, self.judged, ties=self.ties)
        unjudged = tuple(topic for topic in run.scores if topic not in self.judged.index)
        return RunBatch((run.name,), hits, (unjudged,), (parsed.warnings,))

    def _in_blocks(self, path: Path, *, whole: bool = False) -> RunBatch | None:
        """Read block by block, or the file as one block; ``None`` where anything looks odd."""
        found, done = self._new(1), set[str]()
        rest, name, block, size = b"", None, None, self.block
        with open_run(path) as stream:
            read = b"more"
            while read:
                read = stream.read(size)
                data = rest + read
                if len(data) > MAX_BYTES or not self.index.usable:
                    return None
                end = data.rfind(b"\n") + 1 if read else len(data)
                if (read and whole) or not end:
                    rest = data
                    size *= 2
                    continue
                block = parse([data[:end]]) or parse([tidy(data[:end])])
                if block is None or block.frame["run"][0] != (name or block.frame["run"][0]):
                    return None
                rest, after, name = b"", data[end:], block.frame["run"][0]
                if read:
                    kept, rest = block.drop_last_topic()
                    rest += after
                    if kept is None:  # all lines are of one topic
                        size *= 2
                        continue
                    block = kept
                topics = set(block.frame["topic"].unique().to_list())
                if topics & done:  # only the whole file shows the ranking of a topic that returns
                    return self._in_blocks(path, whole=True)
                done |= topics
                if not self._add(found, block):
                    return None
        return None if block is None else self._batch(found, [path], block)

    def _new(self, files: int) -> _Found:
        return _Found(shown=np.zeros(files * len(self.judged.topics), dtype=np.int64))

    def _add(self, found: _Found, block: Block) -> bool:
        """Add a block's hits; False where only the strict reader can say what is the case."""
        frame, groups = block.frame, _Groups.of(block)
        documents, scores = frame["doc"], frame["score"].to_numpy()
        hashes = documents.hash().to_numpy()
        own = np.arange(len(groups.topics))
        if pl.Series(hashes ^ _mix(own)[groups.rows]).n_unique() < len(hashes):
            return False  # a document twice in a topic
        total = len(self.judged.topics)
        topics = np.array([self.judged.index.get(topic, -1) for topic in groups.topics])
        known = self.index.find(documents, hashes ^ _mix(topics)[groups.rows])
        if known is None:
            return False
        rows, grades = known

        def descending(some: Integers) -> Integers:
            return documents.gather(some).arg_sort(descending=True).to_numpy().astype(np.int64)

        order = rank_order(groups.rows, scores, descending, self.ties)
        sizes = np.bincount(groups.rows, minlength=len(own))
        places = rows
        if order is not None:
            where = np.empty_like(order)
            where[order] = np.arange(len(order))
            places = where[rows]
        of = groups.rows[rows]
        lists = groups.files * total + topics
        found.lists.append(lists[of])
        found.ranks.append(places - (np.cumsum(sizes) - sizes)[of] + 1)
        found.grades.append(grades)
        found.shown[lists[topics >= 0]] = sizes[topics >= 0]
        for group in np.flatnonzero(topics < 0).tolist():
            found.unjudged.setdefault(int(groups.files[group]), []).append(groups.topics[group])
        self._remarks(found, block, groups)
        return True

    def _remarks(self, found: _Found, block: Block, groups: _Groups) -> None:
        """Note what the strict reader warns of: ranks against scores, an odd second column."""
        rows, ranks = groups.rows, block.frame["rank"].to_numpy()
        scores = block.frame["score"].to_numpy()
        if _against(rows, ranks, scores).any():
            order = np.lexsort((ranks, rows))
            wrong = rows[order][1:][_against(rows[order], ranks[order], scores[order])]
            for group in np.unique(wrong).tolist():
                file = int(groups.files[group])
                found.disagreeing.setdefault(file, []).append(groups.topics[group])
        second = block.frame["q0"]
        if not (second == "Q0").all():
            for file, (first, last) in enumerate(zip(block.files, block.files[1:], strict=False)):
                odd = set(second[int(first) : int(last)].unique().to_list()) - SECOND_COLUMN
                if odd:
                    found.second.setdefault(file, set()).update(odd)

    def _batch(self, found: _Found, paths: Sequence[Path], block: Block) -> RunBatch:
        hits = Hits.collect(
            np.concatenate(found.lists),
            np.concatenate(found.ranks),
            np.concatenate(found.grades),
            found.shown,
        )
        names = block.frame["run"].gather(block.files[:-1]).to_list()
        numbers = range(len(paths))
        return RunBatch(
            tuple(map(printable, names)),
            hits,
            tuple(tuple(found.unjudged.get(number, ())) for number in numbers),
            tuple(_warnings(found, number, path) for number, path in enumerate(paths)),
        )


def _against(rows: Integers, ranks: Integers, scores: Floats) -> npt.NDArray[np.bool_]:
    """For each row but the first: its rank does not rise, or its score rises, within a list."""
    same = rows[1:] == rows[:-1]
    found: npt.NDArray[np.bool_] = same & ((ranks[1:] <= ranks[:-1]) | (scores[1:] > scores[:-1]))
    return found


def _warnings(found: _Found, number: int, path: Path) -> tuple[Fault, ...]:
    faults = FaultList(str(path))
    second: Mapping[str, int] = dict.fromkeys(sorted(found.second.get(number, ())), 0)
    warn_of_second_column(faults, second)
    warn_of_ranks(faults, found.disagreeing.get(number, ()))
    return faults.done()
