"""Reading of run files into ranked hits: small files together, large ones block by block."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, most_bytes, read_text
from assay.formats.trec import read_trec_run, warn_of_ties
from assay.formats.trec_fast.blocks import Block, Lists, parse
from assay.formats.trec_fast.columns import PAD, hashed
from assay.formats.trec_fast.files import Window, is_passage_run, open_run, padded, read_into, tidy
from assay.formats.trec_fast.index import Index, spread
from assay.measures.arrays import Floats, Integers
from assay.measures.hits import Hits
from assay.measures.judgements import Judgements
from assay.measures.order import Ties, rank_order
from assay.measures.run_scores import run_hits
from assay.model.errors import Fault, FormatError
from assay.model.wording import printable

BLOCK = 1 << 19
"""Bytes read at a time; small files are combined up to this size."""

_LINE_END = ord("\n")
_FIRST_LINES = 1 << 12


class RunBatch(NamedTuple):
    """The hits of some runs, one run after the other, with a list for each topic of the qrels.

    ``unjudged`` has the topics of each run that are not in the qrels, ``warnings`` those about
    each file.
    """

    paths: tuple[Path, ...]
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
    """Read run files, plain or compressed with gzip or bzip2, in the order given.

    TREC runs and R2C2 passage runs are told apart by their first line. Memory does not grow with
    the file if the lines of each topic are together, in order of score; other files, and those with
    faults, are read into memory as a whole (some 400 bytes per line).

    ``paths``: the files. ``judged``: the qrels. ``ties``: what decides between equal scores.
    ``block``: how many bytes are read at a time. Raises FormatError, with all faults of all files,
    if files cannot be read or have errors, but only after all other runs have been yielded.
    """
    reader = _BatchReader(judged, ties, block)
    for path in map(Path, paths):
        yield from reader.add(path)
    yield from reader.flush()
    if reader.faults:
        raise FormatError(reader.faults)


class _Found:
    """What has been read of some files so far. ``shown`` is as in :class:`Hits`; by file number,
    the topics that are not in the qrels, and those whose documents all have the same score."""

    def __init__(self, lists: int) -> None:
        self.lists: list[Integers] = []
        self.ranks: list[Integers] = []
        self.judgements: list[Integers] = []
        self.shown: Integers = np.zeros(lists, dtype=np.int64)
        self.unjudged: dict[int, list[str]] = {}
        self.tied: dict[int, list[str]] = {}


class _BatchReader:
    """Reader of files for one set of qrels, with one buffer for all."""

    def __init__(self, judged: Judgements, ties: Ties, block: int) -> None:
        self.judged, self.ties, self.block = judged, ties, block
        self.index = Index(judged)
        self.buffer = bytearray(PAD + block + 1 + PAD)
        self.files = [PAD]
        self.waiting: list[Path] = []
        self.faults: list[Fault] = []

    def add(self, path: Path) -> Iterator[RunBatch]:
        """Read a file; yield what has been read so far if the buffer is full."""
        if not path.is_file():
            yield from self.flush()
            yield from self.pipe(path)
            return
        space = self._space()
        read = read_into(path, space)
        # Waiting runs go first, to keep the order of files; the file may then fit into the buffer.
        if self.waiting and (read is None or read == len(space)):
            yield from self.flush()
            space = self._space()
            read = read_into(path, space)
        if read is not None and is_passage_run(bytes(space[: min(read, _FIRST_LINES)])):
            yield from self.flush()
            yield from self.passages(path)
        elif read is None:
            yield from self.strict(path)
        elif read == len(space):
            yield from self.large(path)
        else:
            end = self.files[-1] + read
            if not read or self.buffer[end - 1] != _LINE_END:
                self.buffer[end] = _LINE_END
                end += 1
            self.waiting.append(path)
            self.files.append(end)

    def _space(self) -> memoryview:
        return memoryview(self.buffer)[self.files[-1] : -PAD - 1]

    def flush(self) -> Iterator[RunBatch]:
        """Yield the runs of the files in the buffer."""
        paths, files = self.waiting, self.files
        self.waiting, self.files = [], [PAD]
        if paths:
            yield from self._small(paths, self.buffer, files)

    def _small(
        self, paths: Sequence[Path], data: bytes | bytearray, files: Sequence[int]
    ) -> Iterator[RunBatch]:
        """Read whole files together, or one by one if that fails."""
        for tidied in (False, True):
            if tidied:
                pieces = [bytes(data[start:end]) for start, end in pairwise(files)]
                data, files = padded(list(map(tidy, pieces)))
            block = self._parsed(data, files)
            found = self._new(len(paths))
            if block is not None and self._add(found, block, Lists.of(block)):
                yield self._batch(found, paths, block.names)
                return
        if len(paths) == 1:
            yield from self.strict(paths[0])
            return
        for path, piece in zip(paths, pieces, strict=True):
            yield from self._small([path], *padded([piece]))

    def _parsed(self, data: bytes | bytearray, files: Sequence[int]) -> Block | None:
        return parse(data, files) if self.index.usable else None

    def large(self, path: Path) -> Iterator[RunBatch]:
        """Read a file block by block."""
        try:
            batch = self._in_blocks(path)
        except (OSError, EOFError, ValueError, zlib.error):
            batch = None
        if batch is None:
            yield from self.strict(path)
        else:
            yield batch

    def pipe(self, path: Path) -> Iterator[RunBatch]:
        """Read a file that is not a regular one: a pipe can be read only once."""
        try:
            source = read_text(path)
        except FormatError as error:
            self.faults += error.faults
            return
        if is_passage_run(source.data[:_FIRST_LINES]):
            yield from self.passages(path, source)
        else:
            yield from self.strict(path, source)

    def strict(self, path: Path, source: SourceText | None = None) -> Iterator[RunBatch]:
        """Read a file line by line, and keep all its faults."""
        try:
            parsed = read_trec_run(source or path)
            run = parsed.require()
        except FormatError as error:
            self.faults += error.faults
            return
        yield self._one(path, run.name, run.scores, parsed.warnings)

    def passages(self, path: Path, source: SourceText | None = None) -> Iterator[RunBatch]:
        """Read an R2C2 passage run, whose ranks are its order."""
        # Not needed for TREC runs.
        from assay.formats.r2c2_pr import read_rankings  # noqa: PLC0415

        try:
            name, parsed = read_rankings(source or path)
            rankings = parsed.require()
        except FormatError as error:
            self.faults += error.faults
            return
        yield self._one(path, name, rankings, parsed.warnings)

    def _one(
        self,
        path: Path,
        name: str,
        run: Mapping[str, Mapping[str, float] | Sequence[str]],
        warnings: tuple[Fault, ...],
    ) -> RunBatch:
        hits = run_hits(run, self.judged, ties=self.ties)
        unjudged = tuple(topic for topic in run if topic not in self.judged.index)
        return RunBatch((path,), (name,), hits, (unjudged,), (warnings,))

    def _in_blocks(self, path: Path) -> RunBatch | None:
        """Read block by block; None if anything is unusual."""
        found, done = self._new(1), set[str]()
        window, block = Window(self.buffer), None
        most = most_bytes(path.stat().st_size)
        with open_run(path) as stream:
            while not window.ended:
                end = window.fill(stream)
                if window.end > most:
                    return None
                if end == PAD:
                    continue
                names = block.names if block else None
                block = self._parsed(window.data, [PAD, end])
                if block is None:
                    end = window.tidy(end, first=names is None)
                    if end == PAD and not window.ended:  # nothing but blank lines
                        continue
                    block = self._parsed(window.data, [PAD, end])
                if block is None or block.names != (names or block.names):
                    return None
                if not window.ended:
                    shortened = block.without_last_topic()
                    if shortened is None:  # all lines are of one topic, so read more
                        continue
                    block, end = shortened
                lists = Lists.of(block)
                # The ranking of a topic that recurs needs the whole file.
                if not done.isdisjoint(lists.topics) or not self._add(found, block, lists):
                    return None
                done.update(lists.topics)
                window.drop(end)
        return None if block is None else self._batch(found, [path], block.names)

    def _new(self, files: int) -> _Found:
        return _Found(files * len(self.judged.topics))

    def _add(self, found: _Found, block: Block, lists: Lists) -> bool:
        """Add a block's hits; False if it has to be left to the strict reader."""
        documents, count = block.documents, len(lists.topics)
        if len({*zip(lists.files.tolist(), lists.topics, strict=True)}) < count:
            return False  # a topic recurs
        if _contradicted(lists.rows, block.ranks, block.scores):
            return False  # the strict reader reports where
        words = list(documents.words())
        hashes = hashed(documents.lengths, words)
        once = np.sort(hashes ^ spread(np.arange(count))[lists.rows])
        if (once[1:] == once[:-1]).any():
            return False  # a document twice in a topic
        topics = np.array([self.judged.index.get(topic, -1) for topic in lists.topics])
        keys = hashes ^ spread(topics)[lists.rows]
        known = self.index.find(keys, documents.lengths, words)
        if known is None:
            return False
        rows, judgements = known
        del hashes, words, keys, once  # the memory is needed for what follows

        def descending(some: Integers) -> Integers:
            ids = list(map(documents.bytes, some.tolist()))
            return np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True))

        order = rank_order(lists.rows, block.scores, descending, self.ties)
        sizes = np.bincount(lists.rows, minlength=count)
        places = rows
        if order is not None:
            where = np.empty_like(order)
            where[order] = np.arange(len(order))
            places = where[rows]
        of = lists.rows[rows]
        numbers = lists.files * len(self.judged.topics) + topics
        found.lists.append(numbers[of])
        found.ranks.append(places - (np.cumsum(sizes) - sizes)[of] + 1)
        found.judgements.append(judgements)
        found.shown[numbers[topics >= 0]] = sizes[topics >= 0]
        for which, into in (
            (np.flatnonzero(topics < 0), found.unjudged),
            (_tied(lists.rows, block.scores, sizes), found.tied),
        ):
            for number in which.tolist():
                into.setdefault(int(lists.files[number]), []).append(lists.topics[number])
        return True

    def _batch(self, found: _Found, paths: Sequence[Path], names: tuple[str, ...]) -> RunBatch:
        hits = Hits.collect(
            np.concatenate(found.lists),
            np.concatenate(found.ranks),
            np.concatenate(found.judgements),
            self.judged.flat,
            found.shown,
        )
        numbers = range(len(paths))
        return RunBatch(
            tuple(paths),
            tuple(map(printable, names)),
            hits,
            tuple(tuple(found.unjudged.get(number, ())) for number in numbers),
            tuple(_warnings(found, number, path) for number, path in enumerate(paths)),
        )


def _contradicted(rows: Integers, ranks: Integers, scores: Floats) -> bool:
    """Whether ranks do not increase, or scores do, within a list."""
    same = rows[1:] == rows[:-1]
    return bool((same & ((ranks[1:] <= ranks[:-1]) | (scores[1:] > scores[:-1]))).any())


def _tied(rows: Integers, scores: Floats, sizes: Integers) -> Integers:
    """The lists with several documents, all with the same score."""
    equal = (rows[1:] == rows[:-1]) & (scores[1:] == scores[:-1])
    pairs = np.bincount(rows[1:][equal], minlength=len(sizes))
    return np.flatnonzero((sizes > 1) & (pairs == sizes - 1))


def _warnings(found: _Found, number: int, path: Path) -> tuple[Fault, ...]:
    faults = FaultList(str(path))
    warn_of_ties(faults, found.tied.get(number, ()))
    return faults.done()
