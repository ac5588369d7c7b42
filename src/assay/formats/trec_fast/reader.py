"""Run files, small ones together and large ones block by block, to ranked hits."""

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
from assay.formats.trec import (
    read_trec_run,
    warn_of_ranks,
    warn_of_second_column,
    warn_of_ties,
)
from assay.formats.trec_fast.blocks import Block, Lists, Names, parse
from assay.formats.trec_fast.columns import PAD, hashed
from assay.formats.trec_fast.files import Window, is_passage_run, open_run, padded, read_into, tidy
from assay.formats.trec_fast.index import Index, any_twice, spread
from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.frames import run_hits
from assay.measures.hits import Hits
from assay.measures.judgements import Judgements
from assay.measures.order import Ties, rank_order
from assay.model.errors import Fault, FormatError
from assay.model.wording import printable

BLOCK = 1 << 19
"""Bytes read at a time; small files are put together until they are as many."""

_LINE_END = ord("\n")
_FIRST_LINES = 1 << 12


class RunBatch(NamedTuple):
    """Some runs, read: their hits run after run, a list for each topic of the qrels.

    ``unjudged`` has for each run its topics that the qrels lack, ``warnings`` what a person should
    know of each file.
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
    the file as long as the lines of each topic stand together; a file in which they do not is held
    as a whole (some 400 bytes a line), and so is one with faults.

    ``paths``: the files. ``judged``: the qrels. ``ties``: what decides between equal scores.
    ``block``: how many bytes are read at a time. Raises FormatError where files cannot be read or
    have faults; it carries all faults of all files and comes when all others have been given.
    """
    reader = _BatchReader(judged, ties, block)
    for path in map(Path, paths):
        yield from reader.add(path)
    yield from reader.rest()
    if reader.faults:
        raise FormatError(reader.faults)


class _Found:
    """What has been read of some files so far. ``shown`` is as :class:`Hits` has it. ``lines``: how
    many came before; ``None`` where lines were tidied and cannot be counted."""

    def __init__(self, lists: int) -> None:
        self.lists: list[Integers] = []
        self.ranks: list[Integers] = []
        self.judgements: list[Integers] = []
        self.shown: Integers = np.zeros(lists, dtype=np.int64)
        self.unjudged: dict[int, list[str]] = {}
        self.disagreeing: dict[int, dict[str, int]] = {}
        self.tied: dict[int, list[str]] = {}
        self.second: dict[int, dict[str, int]] = {}
        self.lines: int | None = 0


class _BatchReader:
    """Reads files against one set of qrels; one buffer serves for all."""

    def __init__(self, judged: Judgements, ties: Ties, block: int) -> None:
        self.judged, self.ties, self.block = judged, ties, block
        self.index = Index(judged)
        self.names = Names()
        self.buffer = bytearray(PAD + block + 1 + PAD)
        self.files = [PAD]
        self.waiting: list[Path] = []
        self.faults: list[Fault] = []

    def add(self, path: Path) -> Iterator[RunBatch]:
        """Read a file; give what has been read so far when the buffer is full."""
        if not path.is_file():
            yield from self.rest()
            yield from self.once(path)
            return
        space = self._space()
        read = read_into(path, space)
        # Runs are given in the order of their files; and the whole buffer may hold what the rest of
        # it does not.
        if self.waiting and (read is None or read == len(space)):
            yield from self.rest()
            space = self._space()
            read = read_into(path, space)
        if read is not None and is_passage_run(bytes(space[: min(read, _FIRST_LINES)])):
            yield from self.rest()
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

    def rest(self) -> Iterator[RunBatch]:
        """Give the runs of the files that wait in the buffer."""
        paths, files = self.waiting, self.files
        self.waiting, self.files = [], [PAD]
        if paths:
            yield from self._small(paths, self.buffer, files)

    def _small(
        self, paths: Sequence[Path], data: bytes | bytearray, files: Sequence[int]
    ) -> Iterator[RunBatch]:
        """Read whole files at once, or one by one where that does not work."""
        for tidied in (False, True):
            if tidied:
                pieces = [bytes(data[start:end]) for start, end in pairwise(files)]
                data, files = padded(list(map(tidy, pieces)))
            block = self._parsed(data, files)
            found = self._new(len(paths))
            found.lines = None if tidied else 0
            if block is not None and self._add(found, block, Lists.of(block, self.names)):
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

    def once(self, path: Path) -> Iterator[RunBatch]:
        """Read what is no regular file: a pipe gives its bytes only once."""
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
        # Who measures TREC runs needs none of it.
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

    def _in_blocks(self, path: Path, *, whole: bool = False) -> RunBatch | None:
        """Read block by block, or the file as one block; ``None`` where anything looks odd."""
        found, done = self._new(1), set[str]()
        window, block = Window(self.buffer), None
        most = most_bytes(path.stat().st_size)
        with open_run(path) as stream:
            while not window.ended:
                end = window.fill(stream)
                if window.end > most:
                    return None
                if (whole and not window.ended) or end == PAD:
                    continue
                names = block.names if block else None
                block = self._parsed(window.data, [PAD, end])
                if block is None:
                    end = window.tidy(end, first=names is None)
                    found.lines = None
                    if end == PAD and not window.ended:  # nothing but blank lines
                        continue
                    block = self._parsed(window.data, [PAD, end])
                if block is None or block.names != (names or block.names):
                    return None
                if not window.ended:
                    shortened = block.without_last_topic()
                    if shortened is None:  # all lines are of one topic: more of them at once
                        continue
                    block, end = shortened
                groups = Lists.of(block, self.names)
                topics = set(groups.topics)
                if topics & done:  # only the whole file shows the ranking of a topic that returns
                    return self._in_blocks(path, whole=True)
                done |= topics
                if not self._add(found, block, groups):
                    return None
                if found.lines is not None:
                    found.lines += len(block.documents)
                window.drop(end)
        return None if block is None else self._batch(found, [path], block.names)

    def _new(self, files: int) -> _Found:
        return _Found(files * len(self.judged.topics))

    def _add(self, found: _Found, block: Block, groups: Lists) -> bool:
        """Add a block's hits; False where only the strict reader can say what is the case."""
        documents, scores = block.documents, block.scores
        words = list(documents.words())
        hashes = hashed(documents.lengths, words)
        own = np.arange(len(groups.topics))
        if any_twice(hashes ^ spread(own)[groups.rows]):
            return False  # a document twice in a topic
        total = len(self.judged.topics)
        topics = np.array([self.judged.index.get(topic, -1) for topic in groups.topics])
        keys = hashes ^ spread(topics)[groups.rows]
        known = self.index.find(keys, documents.lengths, words)
        if known is None:
            return False
        rows, judgements = known
        del hashes, words, keys  # what follows needs the room

        def descending(some: Integers) -> Integers:
            ids = list(map(documents.bytes, some.tolist()))
            return np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True))

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
        found.judgements.append(judgements)
        found.shown[lists[topics >= 0]] = sizes[topics >= 0]
        for group in np.flatnonzero(topics < 0).tolist():
            found.unjudged.setdefault(int(groups.files[group]), []).append(groups.topics[group])
        self._remarks(found, block, groups)
        return True

    def _remarks(self, found: _Found, block: Block, groups: Lists) -> None:
        """Note what the strict reader warns of: ranks against scores, lists of one score, an odd
        second column."""

        def line(row: int, file: int) -> int:
            """The row's line in its file, 0 if that is not known."""
            return 0 if found.lines is None else found.lines + row - int(block.files[file]) + 1

        rows, ranks, scores = groups.rows, block.ranks, block.scores
        against = _against(rows, ranks, scores)
        returning = bool((rows[1:] < rows[:-1]).any())
        if returning or against.any():
            order = np.lexsort((ranks, rows))
            wrong = set(
                rows[order][1:][_against(rows[order], ranks[order], scores[order])].tolist()
            )
            first: dict[int, int] = {}
            if not returning:  # else a line may be at odds with one far above it
                for row in (np.flatnonzero(against) + 1).tolist():
                    first.setdefault(int(rows[row]), row)
            for group in sorted(wrong, key=lambda group: first.get(group, 0)):
                file = int(groups.files[group])
                place = line(first[group], file) if group in first else 0
                found.disagreeing.setdefault(file, {})[groups.topics[group]] = place
        if returning:
            rows, scores = rows[order], scores[order]
        equal = np.bincount(
            rows[1:][(rows[1:] == rows[:-1]) & (scores[1:] == scores[:-1])],
            minlength=len(groups.topics),
        )
        if equal.any():
            sizes = np.bincount(rows, minlength=len(groups.topics))
            for group in np.flatnonzero((sizes > 1) & (equal == sizes - 1)).tolist():
                file = int(groups.files[group])
                found.tied.setdefault(file, []).append(groups.topics[group])
        for file, odd in block.second.items():
            for token, row in odd.items():
                found.second.setdefault(file, {}).setdefault(token, line(row, file))

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


def _against(rows: Integers, ranks: Integers, scores: Floats) -> Bools:
    """For each row but the first: its rank does not rise, or its score rises, within a list."""
    same = rows[1:] == rows[:-1]
    found: Bools = same & ((ranks[1:] <= ranks[:-1]) | (scores[1:] > scores[:-1]))
    return found


def _warnings(found: _Found, number: int, path: Path) -> tuple[Fault, ...]:
    faults = FaultList(str(path))
    warn_of_second_column(faults, found.second.get(number, {}))
    topics = found.disagreeing.get(number, {})
    warn_of_ranks(faults, list(topics), next(iter(topics.values()), 0))
    warn_of_ties(faults, found.tied.get(number, ()))
    return faults.done()
