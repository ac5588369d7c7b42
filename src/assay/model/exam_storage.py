"""Compact storage of large EXAM++ pools and runs.

Passage texts go to a scratch file and rankings become arrays of numbers. Small inputs stay in
memory as they are, which is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from assay.model.exam import Ranking, Run
from assay.model.scratch import Numbers, Scratch

MAX_IN_MEMORY = 50_000
"""Most texts, and most passages of a run, that stay in memory as they are."""


def store_texts(texts: Mapping[str, str]) -> Mapping[str, str]:
    """The same texts by id, in a scratch file if there are many."""
    return texts if len(texts) <= MAX_IN_MEMORY else StoredTexts(texts)


class StoredTexts(Mapping[str, str]):
    """Texts in a scratch file, found by the hashes of their ids: 24 bytes each in memory."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._scratch = Scratch()
        hashes, begins = np.empty(len(texts), np.int64), np.empty(len(texts) + 1, np.int64)
        for at, (identity, text) in enumerate(texts.items()):
            hashes[at] = hash(identity)
            begins[at] = self._scratch.add(
                len(identity).to_bytes(4, "big") + (identity + text).encode(errors="surrogatepass")
            )
        begins[-1] = len(self._scratch)
        self._begins, self._order = begins, np.argsort(hashes)
        self._hashes = hashes[self._order]
        self._last: tuple[str | None, str] = None, ""  # several questions are asked about a passage

    def _at(self, at: int) -> tuple[str, str]:
        begin, end = self._begins[at : at + 2].tolist()
        data = self._scratch.read(begin, end - begin)
        size, both = int.from_bytes(data[:4], "big"), data[4:].decode(errors="surrogatepass")
        return both[:size], both[size:]

    def __getitem__(self, identity: str) -> str:
        # Read once: another thread may set it between two reads.
        last = self._last
        if identity == last[0]:
            return last[1]
        own = hash(identity)
        at = int(np.searchsorted(self._hashes, own))
        while at < len(self._hashes) and self._hashes[at] == own:
            found, text = self._at(int(self._order[at]))
            if found == identity:
                self._last = identity, text
                return text
            at += 1
        raise KeyError(identity)

    def __iter__(self) -> Iterator[str]:
        return (self._at(at)[0] for at in range(len(self)))

    def __len__(self) -> int:
        return len(self._hashes)


class RunStore:
    """Turns large runs into arrays of numbers. All runs share the table of passage ids, and those
    with the same queries share the index of queries."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}
        self._queries: dict[tuple[str, ...], dict[str, int]] = {}
        self.scratch = Scratch()

    def store(self, run: Run) -> Run:
        """The same run, as a :class:`NumberedRun` if it is large and can be one."""
        # A NumberedRun has no vacant or shared ranks, and scores for all rankings or for none.
        known = all(isinstance(one.ranks, range) for one in run.values())
        scored = {len(one.scores) == len(one) for one in run.values() if len(one)}
        if sum(map(len, run.values())) <= MAX_IN_MEMORY or not known or len(scored) > 1:
            return run
        places = {query: at for at, query in enumerate(run)}
        return NumberedRun(self, run, self._queries.setdefault((*run,), places), scored == {True})

    def codes(self, passages: Iterable[str]) -> list[int]:
        """The number of each passage id; a new id gets the next number."""
        numbers = []
        for one in passages:
            code = self._codes.setdefault(one, len(self.names))
            if code == len(self.names):
                self.names.append(one)
            numbers.append(code)
        return numbers

    def finish(self) -> None:
        """Free the look-up tables once all runs are stored."""
        self._codes.clear()
        self._queries.clear()


class NumberedRun(Mapping[str, Ranking]):
    """A run as passage numbers in memory, with its scores in a scratch file."""

    def __init__(self, shared: RunStore, run: Run, places: Mapping[str, int], scored: bool) -> None:
        self._names, self._places = shared.names, places
        self._begins = np.cumsum([0, *map(len, run.values())])
        self._codes = np.empty(int(self._begins[-1]), np.int32)
        self._scores = Numbers(shared.scratch, "d") if scored else None
        # The last element of begins is the end of the last ranking.
        for begin, one in zip(self._begins.tolist(), run.values(), strict=False):
            self._codes[begin : begin + len(one)] = shared.codes(one.passages)
            if self._scores is not None:
                self._scores.extend(one.scores)

    def __getitem__(self, query: str) -> Ranking:
        at = self._places[query]
        begin, end = self._begins[at : at + 2].tolist()
        passages = map(self._names.__getitem__, self._codes[begin:end].tolist())
        scores = () if self._scores is None else self._scores.slice(begin, end)
        return Ranking.of(passages, scores)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
