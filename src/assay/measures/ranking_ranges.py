"""Ranking measures where some grades are not known: between which ends they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.hits import Hits
from assay.measures.judgements import Ideals
from assay.measures.ranking.relevance import BinaryMeasure, RPrecision

_AT_ONCE = 1 << 20
"""Documents of ranked and ideal lists that are scored at once."""

Ends = tuple[Floats, Floats]
"""Floors and ceilings: a row a run, a column a topic."""


class KnownGrades(NamedTuple):
    """Ranked lists of which grades are known only from and to.

    Of each document shown that may be judged: the number of its list (one a topic, run after run,
    never falling), its rank there, and its ``worst`` and ``best`` grade; the worst is NaN if it
    may as well be left unjudged. ``shown``: how many documents each list shows. Of each document
    that may be judged, shown or not: the number of its topic, and the grades that it has in an
    ideal list at worst and at best.
    """

    lists: Integers
    ranks: Integers
    worst: Floats
    best: Floats
    shown: Integers
    topics: Integers
    ideal_worst: Floats
    ideal_best: Floats
    topic_count: int

    def hits(self, grades: Floats, top: float) -> Hits:
        """The lists with ``worst`` or ``best`` grades, none above the highest one of all."""
        capped = np.minimum(grades, top)
        return Hits(self.lists, self.ranks, self.lists, capped, self.shown).only(~np.isnan(grades))

    def ideals(self, grades: Floats, top: float) -> Ideals:
        """The ideal lists likewise."""
        return Ideals(Hits.ideal(self.topics, np.minimum(grades, top), self.topic_count), top)


def score_ranges(
    measures: Iterable[Measure], known: KnownGrades, g_max: Sequence[float]
) -> dict[Measure, Ends]:
    """Score ranked lists whose grades are known only from and to.

    Every measure rises with the grades that a list shows, and falls with those of its ideal list:
    the floor sets the least grades of the list against the greatest of the ideal list, the ceiling
    the other way round. That is exact where no ideal list is used (RBP, and with one ``g_max`` ERR
    and iRBU). Of a measure that asks only whether a document is relevant (AP, P, Rprec, RR, Recall,
    Success) the ends are exact too: with R relevant documents of which m are among those shown
    that may be or not, it is worst where these are the last m of them and best where they are the
    first, so that every m (and for Rprec every R) is looked at. Elsewhere the ends are safe: the
    score lies between them whatever the grades are, but they need not be reached.

    ``measures``: what to compute. ``known``: what is known, of at least one topic. ``g_max``: every
    highest grade of the scale that is possible. Raises ValueError as :func:`score_hits` does.
    """
    graded: list[Measure] = []
    binary: dict[tuple[object, ...], list[BinaryMeasure]] = {}
    for measure in measures:
        if isinstance(measure, BinaryMeasure):
            group = measure.rel, measure.k, isinstance(measure, RPrecision)
            binary.setdefault(group, []).append(measure)
        else:
            graded.append(measure)
    found = _graded_ends(graded, known, g_max) if graded else {}
    for some in binary.values():
        found |= _binary_ends(some, known)
    return found


def _graded_ends(
    measures: Sequence[Measure], known: KnownGrades, g_max: Sequence[float]
) -> dict[Measure, Ends]:
    ends: dict[Measure, tuple[list[Floats], list[Floats]]] = {one: ([], []) for one in measures}
    for top in g_max:
        best, most = known.hits(known.best, top), known.ideals(known.ideal_best, top)
        floors = score_hits(known.hits(known.worst, top), most, measures)
        ceilings = score_hits(best, known.ideals(known.ideal_worst, top), measures)
        highest = score_hits(best, most, measures)
        for one, (low, high) in ends.items():
            low.append(floors[one])
            # Nothing is surely relevant: the list may be the ideal one.
            may_be_ideal = (ceilings[one] == 0.0) & (highest[one] > 0.0)
            high.append(np.where(may_be_ideal, 1.0, ceilings[one]))
    return {
        one: (np.min(low, axis=0), np.minimum(1.0, np.max(high, axis=0)))
        for one, (low, high) in ends.items()
    }


def _binary_ends(measures: Sequence[BinaryMeasure], known: KnownGrades) -> dict[Measure, Ends]:
    """The ends of measures that ask for the same grade among the first k, Rprec's by itself."""
    rel, k, runs = measures[0].rel, measures[0].k, len(known.shown) // known.topic_count
    sure = known.worst >= rel  # not judged is NaN, not relevant
    relevant = sure | (known.best >= rel)
    surely, possibly = (
        np.tile(np.bincount(known.topics[some >= rel], minlength=known.topic_count), runs)
        for some in (known.ideal_worst, known.ideal_best)
    )
    unsure = np.bincount(known.lists[relevant & ~sure], minlength=len(known.shown))
    most, shown = np.maximum(unsure, possibly - surely), known.shown
    if k is not None:
        relevant, shown = relevant & (known.ranks <= k), np.minimum(shown, k)
    sizes = np.bincount(known.lists[relevant], minlength=len(shown))
    lists = _Lists(
        known.ranks[relevant], sure[relevant], np.cumsum(sizes) - sizes, sizes, surely, most, shown
    )
    some, equals = lists.distinct()
    ends = lists.at(some).ends(measures)
    return {
        one: (floors[equals].reshape(runs, -1), ceilings[equals].reshape(runs, -1))
        for one, (floors, ceilings) in ends.items()
    }


class _Lists(NamedTuple):
    """Lists of documents that are surely relevant or may be: of all documents whether they are
    sure, and their ranks; of each list where its documents begin and how many they are, how many
    documents are ``surely`` relevant in all, shown or not, and how many more may be at ``most``,
    and how many it shows whether relevant or not."""

    ranks: Integers
    sure: Bools
    begins: Integers
    sizes: Integers
    surely: Integers
    most: Integers
    shown: Integers

    def at(self, which: Integers) -> _Lists:
        """Some of the lists."""
        return _Lists(self.ranks, self.sure, *(one[which] for one in self[2:]))

    def distinct(self) -> tuple[Integers, Integers]:
        """The lists that anything tells apart, and for every list which of these it equals: of
        whatever nothing is known, all are alike."""
        codes = (self.ranks * 2 + self.sure).tobytes()
        about = np.stack([self.surely, self.most, self.shown], axis=1)
        begins, ends = (8 * self.begins).tolist(), (8 * (self.begins + self.sizes)).tolist()
        seen: dict[bytes, int] = {}
        equals = [
            seen.setdefault(own.tobytes() + codes[begin:end], len(seen))
            for own, begin, end in zip(about, begins, ends, strict=True)
        ]
        return np.unique(equals, return_index=True)[1], np.array(equals)

    def ends(self, measures: Sequence[BinaryMeasure]) -> dict[Measure, Floats]:
        """The floors and ceilings of the lists; those of similar length are looked at side by
        side, as many as there is room for."""
        found: dict[Measure, Floats] = {one: np.empty((2, len(self.sizes))) for one in measures}
        room = (self.sizes + self.most + 1) * 2
        _, lengths = np.frexp(self.sizes)
        for length in np.unique(lengths).tolist():
            similar = np.flatnonzero(lengths == length)
            parts = np.cumsum(room[similar]) // _AT_ONCE
            for part in np.split(similar, np.flatnonzero(np.diff(parts)) + 1):
                for one, ends in self.at(part)._ends(measures).items():
                    found[one][:, part] = ends
        return found

    def _ends(self, measures: Sequence[BinaryMeasure]) -> dict[BinaryMeasure, Floats]:
        inside = np.arange(max(1, self.sizes.max())) < self.sizes[:, None]
        at = np.where(inside, self.begins[:, None] + np.arange(inside.shape[1]), 0)
        ranks, sure = np.append(self.ranks, 0)[at], inside & np.append(self.sure, False)[at]
        unsure = inside & ~sure
        number = np.cumsum(unsure, axis=1)
        places = number[:, -1]
        elsewhere = self.most - places

        def scores(lists: Integers, more: Integers, chosen: Bools) -> dict[Measure, Floats]:
            """The scores where so many ``more`` documents are relevant, ``chosen`` ones of them
            shown."""
            rows, columns = np.nonzero(sure[lists] | (unsure[lists] & chosen))
            grades = np.full(len(rows), measures[0].rel)
            hits = Hits(rows, ranks[lists[rows], columns], rows, grades, self.shown[lists])
            ideals = _ideals(self.surely[lists] + more, measures[0].rel)
            return score_hits(hits, ideals, measures)

        # But for Rprec, more relevant documents that are not shown never raise a score.
        every = isinstance(measures[0], RPrecision)
        choices = 1 + (self.most if every else places)
        firsts = np.cumsum(choices) - choices
        lists = np.repeat(np.arange(len(choices)), choices)
        chosen = np.arange(len(lists)) - firsts[lists]
        found = {one: np.empty((2, len(lists))) for one in measures}
        at_once = 1 + _AT_ONCE // (inside.shape[1] + int((self.surely + self.most).max()) + 1)
        for begin in range(0, len(lists), at_once):
            part = slice(begin, begin + at_once)
            some, more = lists[part], chosen[part]
            best = scores(some, more, number[some] <= more[:, None])
            more = more if every else more + elsewhere[some]
            last = places[some] - np.maximum(0, more - elsewhere[some])
            worst = scores(some, more, number[some] > last[:, None])
            for one, values in found.items():
                values[:, part] = worst[one][0], best[one][0]
        return {
            one: np.stack([np.minimum.reduceat(low, firsts), np.maximum.reduceat(high, firsts)])
            for one, (low, high) in found.items()
        }


def _ideals(counts: Integers, grade: float) -> Ideals:
    """Ideal lists of so many documents each, all of one grade."""
    lists = np.repeat(np.arange(len(counts)), counts)
    ranks = np.arange(len(lists)) - (np.cumsum(counts) - counts)[lists] + 1
    return Ideals(Hits(lists, ranks, lists, np.full(len(lists), grade), counts), grade)
