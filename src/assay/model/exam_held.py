"""Question banks' pools that memory has no room for: texts of passages lie in a file, rankings are
numbers. What is small stays as it is, which is faster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from assay.model.exam import Ranking, Run
from assay.model.scratch import Numbers, Scratch

HELD = 50_000
"""Texts, and passages of a run, that are held in memory."""


def texts_of(texts: Mapping[str, str]) -> Mapping[str, str]:
    """The same texts by id, in memory or not, as many as they are."""
    return texts if len(texts) <= HELD else StoredTexts(texts)


class StoredTexts(Mapping[str, str]):
    """Texts in a scratch, found by the hashes of their ids: 24 bytes each in memory."""

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
        self._last: tuple[str | None, str] = None, ""  # several questions are asked of a passage

    def _at(self, at: int) -> tuple[str, str]:
        begin, end = self._begins[at : at + 2].tolist()
        data = self._scratch.read(begin, end - begin)
        size, both = int.from_bytes(data[:4], "big"), data[4:].decode(errors="surrogatepass")
        return both[:size], both[size:]

    def __getitem__(self, identity: str) -> str:
        # Looked at once: another thread may set it between two looks.
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


class Rankings:
    """What makes runs that memory has no room for ones of numbers: they share the ids of passages
    and, where they are the same, of queries."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}
        self._queries: dict[tuple[str, ...], dict[str, int]] = {}
        self.scratch = Scratch()

    def held(self, run: Run) -> Run:
        """The same run, in memory or not, as many passages as it shows."""
        # A numbered run keeps no ranks (they count from 1), and scores for all lists or for none.
        known = all(isinstance(one.ranks, range) for one in run.values())
        scored = {len(one.scores) == len(one) for one in run.values() if len(one)}
        if sum(map(len, run.values())) <= HELD or not known or len(scored) > 1:
            return run
        places = {query: at for at, query in enumerate(run)}
        return NumberedRun(self, run, self._queries.setdefault((*run,), places), scored == {True})

    def codes(self, passages: Iterable[str]) -> list[int]:
        """The number of each id, which is new where the id is."""
        found = []
        for one in passages:
            code = self._codes.setdefault(one, len(self.names))
            if code == len(self.names):
                self.names.append(one)
            found.append(code)
        return found

    def done(self) -> None:
        """No more runs are coming."""
        self._codes.clear()
        self._queries.clear()


class NumberedRun(Mapping[str, Ranking]):
    """A run of whose passages the numbers are in memory, and the scores in a scratch."""

    def __init__(self, shared: Rankings, run: Run, places: Mapping[str, int], scored: bool) -> None:
        self._names, self._places = shared.names, places
        self._begins = np.cumsum([0, *map(len, run.values())])
        self._codes = np.empty(int(self._begins[-1]), np.int32)
        self._scores = Numbers(shared.scratch, "d") if scored else None
        # The last of the begins is the end.
        for begin, one in zip(self._begins.tolist(), run.values(), strict=False):
            self._codes[begin : begin + len(one)] = shared.codes(one.passages)
            if self._scores is not None:
                self._scores.extend(one.scores)

    def __getitem__(self, query: str) -> Ranking:
        at = self._places[query]
        begin, end = self._begins[at : at + 2].tolist()
        passages = map(self._names.__getitem__, self._codes[begin:end].tolist())
        scores = () if self._scores is None else self._scores.some(begin, end)
        return Ranking.of(passages, scores)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
