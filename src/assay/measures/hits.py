"""The judged documents of many ranked lists as flat arrays: what measures of ranking look at.

A measure of ``docs/measures.md`` depends only on the ranks and grades of the judged documents
shown, on how many documents are shown, and on the topic's ideal list; unjudged documents have no
gain. So ten million ranked documents shrink to the few that somebody judged before anything is
computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.measures.arrays import Bools, Integers
from assay.measures.arrays import Floats as Floats  # also for measures of one's own
from assay.measures.grades import Gain


class GainError(ValueError):
    """A gain that is too large for a float; ``number`` is that of its list."""

    def __init__(self, grade: float, number: int) -> None:
        super().__init__(f"the exponential gain of grade {grade:g} is too large")
        self.number = number


@dataclass(frozen=True)
class Hits:
    """The judged documents of ranked lists, list after list and best rank first.

    ``lists``: for each hit the number of its list, never falling. ``ranks``: its rank in that list,
    from 1. ``rows``: the number of its judgement, a place in :attr:`Judgements.flat`. ``grades``:
    its grade, which may be negative. ``shown``: for each *list* how many documents it shows, judged
    or not; 0 for a silent topic.
    """

    lists: Integers
    ranks: Integers
    rows: Integers
    grades: Floats
    shown: Integers

    @classmethod
    def collect(
        cls, lists: Integers, ranks: Integers, rows: Integers, grades: Floats, shown: Integers
    ) -> Hits:
        """Hits that may come in any order, sorted. ``grades`` are those of all judgements,
        :attr:`Judgements.flat`."""
        if len(lists) > 1:
            falls = lists[1:] < lists[:-1]
            if (falls | ((lists[1:] == lists[:-1]) & (ranks[1:] < ranks[:-1]))).any():
                order = np.lexsort((ranks, lists))
                lists, ranks, rows = lists[order], ranks[order], rows[order]
        return cls(lists, ranks, rows, grades[rows], shown)

    @classmethod
    def ideal(cls, lists: Integers, grades: Floats, count: int) -> Hits:
        """The grades of ``count`` lists as ranked lists, the highest first."""
        order = np.lexsort((-grades, lists))
        shown = np.bincount(lists, minlength=count).astype(np.int64)
        first = np.cumsum(shown) - shown
        return cls(lists, np.arange(len(grades)) - first[lists] + 1, order, grades[order], shown)

    # --- some of them ----------------------------------------------------------------------------

    def only(self, wanted: Bools) -> Hits:
        """The hits that a mask selects; the lists stay as they are."""
        places = np.flatnonzero(wanted)
        return self if len(places) == len(wanted) else self._at(places, self.shown)

    def part(self, first: int, last: int) -> Hits:
        """The hits of the lists from number ``first`` to before ``last``, numbered from 0."""
        start, end = np.searchsorted(self.lists, [first, last])
        return self._at(slice(int(start), int(end)), self.shown[first:last], first)

    def _at(self, places: Integers | slice, shown: Integers, first: int = 0) -> Hits:
        return Hits(
            self.lists[places] - first if first else self.lists[places],
            self.ranks[places],
            self.rows[places],
            self.grades[places],
            shown,
        )

    def cut(self, k: int | None) -> Hits:
        """The hits among the first ``k`` documents of each list."""
        return self if k is None else self.only(self.ranks <= k)

    def relevant(self, rel: float) -> Hits:
        """The hits with a grade of at least ``rel``."""
        return self.only(self.grades >= rel)

    # --- a number a hit --------------------------------------------------------------------------

    def gains(self, gain: Gain) -> Floats:
        """The gain of each hit. Raises GainError if one is too large for a float."""
        if gain is Gain.LINEAR:
            return np.maximum(self.grades, 0.0)
        with np.errstate(over="ignore"):
            gains = np.where(self.grades > 0, np.exp2(self.grades) - 1.0, 0.0)
        for place in np.flatnonzero(~np.isfinite(gains))[:1]:
            raise GainError(float(self.grades[place]), int(self.lists[place]))
        return gains

    def log_ranks(self, b: float | None = None) -> Floats:
        """log2(r + 1) of each hit's rank r; with a base ``b`` log_b(r), and 1 below rank b."""
        if b is None:
            return np.asarray(np.log2(self.ranks + 1.0))
        return np.asarray(np.log(np.maximum(self.ranks, b)) / np.log(b))

    def numbers(self) -> Integers:
        """Count each list's hits from 1."""
        return np.arange(len(self.lists)) - self.starts[self.lists] + 1

    def cumulated(self, values: Floats) -> Floats:
        """Running sums of the hits' values, which begin anew in each list."""
        return self._running(np.add, values)

    def passed(self, chances: Floats) -> Floats:
        """For each hit the product of the ``chances`` of all above it in its list."""
        before = np.ones_like(chances)
        before[1:] = self._running(np.multiply, chances)[:-1]
        before[self.starts[:-1][self.count() > 0]] = 1.0
        return before

    def _running(self, ufunc: np.ufunc, values: Floats) -> Floats:
        """Accumulate lists of similar length (up to a factor of 2) side by side, each from its
        first value on, so that the result is that of a loop over each list: no sum of one list is
        ever taken from that of all, which would lose digits."""
        result = np.empty_like(values)
        lengths = self.count()
        order = np.argsort(lengths, kind="stable")
        order = order[int(np.searchsorted(lengths[order], 1)) :]
        while len(order):
            sizes = lengths[order]
            similar = int(np.searchsorted(sizes, 2 * sizes[0], side="right"))
            some, order = order[:similar], order[similar:]
            columns = np.arange(sizes[similar - 1])
            places = self.starts[some][:, None] + columns
            inside = columns < lengths[some][:, None]
            padded = values[np.minimum(places, len(values) - 1)]
            result[places[inside]] = ufunc.accumulate(padded, axis=1)[inside]
        return result

    # --- a number a list -------------------------------------------------------------------------

    @cached_property
    def starts(self) -> Integers:
        """Where each list's hits begin, and at the end how many there are."""
        return np.concatenate([[0], np.cumsum(self.count())]).astype(np.int64, copy=False)

    def total(self, values: Floats) -> Floats:
        """For each list the sum of its hits' values, added in rank order."""
        sums = np.bincount(self.lists, weights=values, minlength=len(self.shown))
        return sums.astype(np.float64, copy=False)

    def count(self) -> Integers:
        """For each list how many hits it has."""
        return np.bincount(self.lists, minlength=len(self.shown)).astype(np.int64, copy=False)
