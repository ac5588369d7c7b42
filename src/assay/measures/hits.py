"""The judged documents of many ranked lists, as flat arrays: the input of ranking measures.

Unjudged documents have no gain. So a ranking measure depends only on the ranks and grades of the
judged documents, on the lengths of the lists, and on the ideal lists. Runs with ten million
documents shrink to the few judged ones before anything is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.measures.arrays import Bools, Integers
from assay.measures.arrays import Floats as Floats  # re-exported for measures that users define
from assay.measures.grades import Gain


class GainError(ValueError):
    """A gain is too large for a float. ``list_number``: the list with that grade."""

    def __init__(self, grade: float, list_number: int) -> None:
        super().__init__(f"the exponential gain of grade {grade:g} is too large")
        self.list_number = list_number


@dataclass(frozen=True)
class Hits:
    """The judged documents of ranked lists, sorted by list and rank.

    ``lists``: the list number of each hit, ascending. ``ranks``: its rank in that list, from 1.
    ``rows``: the index of its judgement in :attr:`Judgements.flat`. ``grades``: its grade, which
    may be negative. ``shown``: for each *list*, how many documents it has, judged or not; 0 if the
    run has none for the topic.
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
        """Make hits from arrays in any order. ``grades``: the grades of all judgements,
        :attr:`Judgements.flat`."""
        if len(lists) > 1:
            falls = lists[1:] < lists[:-1]
            if (falls | ((lists[1:] == lists[:-1]) & (ranks[1:] < ranks[:-1]))).any():
                order = np.lexsort((ranks, lists))
                lists, ranks, rows = lists[order], ranks[order], rows[order]
        return cls(lists, ranks, rows, grades[rows], shown)

    @classmethod
    def ideal(cls, lists: Integers, grades: Floats, count: int) -> Hits:
        """Make ``count`` ideal lists, with the highest grade first, from grades in any order."""
        order = np.lexsort((-grades, lists))
        shown = np.bincount(lists, minlength=count).astype(np.int64)
        first = np.cumsum(shown) - shown
        return cls(lists, np.arange(len(grades)) - first[lists] + 1, order, grades[order], shown)

    # --- selections ------------------------------------------------------------------------------

    def only(self, mask: Bools) -> Hits:
        """The hits that a mask selects. Ranks and list lengths stay the same."""
        places = np.flatnonzero(mask)
        return self if len(places) == len(mask) else self._at(places, self.shown)

    def of_lists(self, first: int, last: int) -> Hits:
        """The hits of the lists ``first`` to ``last`` − 1, renumbered from 0."""
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

    # --- one number per hit ----------------------------------------------------------------------

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
        """log2(r + 1) for the rank r of each hit; with a base ``b``, log_b(r), and 1 if r < b."""
        if b is None:
            return np.asarray(np.log2(self.ranks + 1.0))
        return np.asarray(np.log(np.maximum(self.ranks, b)) / np.log(b))

    def positions(self) -> Integers:
        """The position of each hit among the hits of its list, from 1."""
        return np.arange(len(self.lists)) - self.starts[self.lists] + 1

    def cumulated(self, values: Floats) -> Floats:
        """Running sums of the hits' values within each list."""
        return self._accumulated(np.add, values)

    def product_above(self, values: Floats) -> Floats:
        """For each hit, the product of ``values`` over all hits above it in its list."""
        above = np.ones_like(values)
        above[1:] = self._accumulated(np.multiply, values)[:-1]
        above[self.starts[:-1][self.count() > 0]] = 1.0
        return above

    def _accumulated(self, ufunc: np.ufunc, values: Floats) -> Floats:
        """Accumulate the values of each list by itself.

        Lists of similar length (up to a factor of 2) are stacked and accumulated together. This
        gives what a loop would; subtracting running sums over all lists would lose digits.
        """
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

    # --- one number per list ---------------------------------------------------------------------

    @cached_property
    def starts(self) -> Integers:
        """The index of each list's first hit, and finally the number of hits."""
        return np.concatenate([[0], np.cumsum(self.count())]).astype(np.int64, copy=False)

    def total(self, values: Floats) -> Floats:
        """The sum of each list's values, added in rank order."""
        sums = np.bincount(self.lists, weights=values, minlength=len(self.shown))
        return sums.astype(np.float64, copy=False)

    def count(self) -> Integers:
        """The number of hits of each list."""
        return np.bincount(self.lists, minlength=len(self.shown)).astype(np.int64, copy=False)
