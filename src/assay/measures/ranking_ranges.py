"""Ranges of ranking measures if some grades are missing."""

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
"""The number of documents, in ranked and ideal lists, that are scored at a time."""

Ends = tuple[Floats, Floats]
"""Floors and ceilings, each runs × topics."""


class KnownGrades(NamedTuple):
    """Ranked lists whose grades are known only to lie between bounds.

    For each document shown that is or may be judged: ``lists``, the number of its list, ascending
    (one list per topic; several runs follow one another); ``ranks``, its rank in that list;
    ``worst`` and ``best``, the bounds of its grade, where ``worst`` is NaN if it may be unjudged.
    ``shown``: the number of documents of each list. For each document that is or may be judged,
    shown or not: ``topics``, the number of its topic; ``ideal_worst`` and ``ideal_best``, the
    bounds of its grade in an ideal list.
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

    def hits(self, grades: Floats, g_max: float) -> Hits:
        """The lists with ``worst`` or ``best`` grades, capped at ``g_max``."""
        capped = np.minimum(grades, g_max)
        return Hits(self.lists, self.ranks, self.lists, capped, self.shown).only(~np.isnan(grades))

    def ideals(self, grades: Floats, g_max: float) -> Ideals:
        """The ideal lists with ``ideal_worst`` or ``ideal_best`` grades, capped at ``g_max``."""
        return Ideals(Hits.ideal(self.topics, np.minimum(grades, g_max), self.topic_count), g_max)


def score_ranges(
    measures: Iterable[Measure], known: KnownGrades, g_max: Sequence[float]
) -> dict[Measure, Ends]:
    """Floors and ceilings of ranking measures for lists with missing grades.

    ``measures``: what to compute. ``known``: what is known of the grades; at least one topic.
    ``g_max``: every possible highest grade of the scale. Raises ValueError as :func:`score_hits`
    does.

    Every measure increases with the grades in a list, and decreases with those in its ideal list.
    So the floor combines the lowest grades of the list with the highest of the ideal list, and the
    ceiling the opposite. This is exact if no ideal list is used (RBP, and with a single ``g_max``
    ERR and iRBU). It is also exact for binary measures (AP, P, Rprec, RR, Recall, Success), which
    are treated separately: if m of the documents shown with unknown relevance are relevant, the
    score is lowest if these are the last m, and highest if they are the first m; so every m (and
    for Rprec, every R) is tried. For other measures the ends are bounds that need not be reached.
    """
    graded: list[Measure] = []
    binary: dict[tuple[object, ...], list[BinaryMeasure]] = {}
    for measure in measures:
        if isinstance(measure, BinaryMeasure):
            group = measure.rel, measure.k, isinstance(measure, RPrecision)
            binary.setdefault(group, []).append(measure)
        else:
            graded.append(measure)
    ends = _graded_ends(graded, known, g_max) if graded else {}
    for comparable in binary.values():
        ends |= _binary_ends(comparable, known)
    return ends


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
            # Maybe nothing is relevant in the ideal list at worst, so that the list scores 0, but
            # with its best grades the list itself may be the ideal one.
            may_be_ideal = (ceilings[one] == 0.0) & (highest[one] > 0.0)
            high.append(np.where(may_be_ideal, 1.0, ceilings[one]))
    return {
        one: (np.min(low, axis=0), np.minimum(1.0, np.max(high, axis=0)))
        for one, (low, high) in ends.items()
    }


def _binary_ends(measures: Sequence[BinaryMeasure], known: KnownGrades) -> dict[Measure, Ends]:
    """The ends of binary measures with the same ``rel`` and k, and all or none of them Rprec."""
    rel, k, runs = measures[0].rel, measures[0].k, len(known.shown) // known.topic_count
    sure = known.worst >= rel  # False for NaN: the document may be unjudged, so not relevant
    relevant = sure | (known.best >= rel)
    surely, possibly = (
        np.tile(np.bincount(known.topics[grades >= rel], minlength=known.topic_count), runs)
        for grades in (known.ideal_worst, known.ideal_best)
    )
    unsure = np.bincount(known.lists[relevant & ~sure], minlength=len(known.shown))
    most_more, shown = np.maximum(unsure, possibly - surely), known.shown
    if k is not None:
        relevant, shown = relevant & (known.ranks <= k), np.minimum(shown, k)
    sizes = np.bincount(known.lists[relevant], minlength=len(shown))
    starts = np.cumsum(sizes) - sizes
    lists = _BinaryLists(
        known.ranks[relevant], sure[relevant], starts, sizes, surely, most_more, shown
    )
    representatives, equals = lists.distinct()
    ends = lists.select(representatives).ends(measures)
    return {
        measure: (floors[equals].reshape(runs, -1), ceilings[equals].reshape(runs, -1))
        for measure, (floors, ceilings) in ends.items()
    }


class _BinaryLists(NamedTuple):
    """Ranked lists reduced to the documents that are or may be relevant.

    For each such document: ``ranks``, and ``sure``, whether it is certainly relevant. For each
    list: ``starts`` and ``sizes``, its slice of the documents; ``surely``, the number of certainly
    relevant documents of its topic, shown or not; ``most_more``, how many more may be relevant;
    ``shown``, how many documents it shows, relevant or not.
    """

    ranks: Integers
    sure: Bools
    starts: Integers
    sizes: Integers
    surely: Integers
    most_more: Integers
    shown: Integers

    def select(self, lists: Integers) -> _BinaryLists:
        """Some of the lists, by number."""
        return _BinaryLists(self.ranks, self.sure, *(column[lists] for column in self[2:]))

    def distinct(self) -> tuple[Integers, Integers]:
        """The numbers of one list from each group of equal ones, and for each list the group it
        belongs to. (Topics of which nothing is known give many equal lists.)"""
        codes = (self.ranks * 2 + self.sure).tobytes()
        counts = np.stack([self.surely, self.most_more, self.shown], axis=1)
        starts, stops = (8 * self.starts).tolist(), (8 * (self.starts + self.sizes)).tolist()
        seen: dict[bytes, int] = {}
        equals = [
            seen.setdefault(own.tobytes() + codes[start:stop], len(seen))
            for own, start, stop in zip(counts, starts, stops, strict=True)
        ]
        return np.unique(equals, return_index=True)[1], np.array(equals)

    def ends(self, measures: Sequence[BinaryMeasure]) -> dict[Measure, Floats]:
        """Floors and ceilings: 2 × lists for each measure. Lists of similar length are scored
        together, as many as :data:`_AT_ONCE` allows."""
        ends: dict[Measure, Floats] = {one: np.empty((2, len(self.sizes))) for one in measures}
        room = (self.sizes + self.most_more + 1) * 2
        _, lengths = np.frexp(self.sizes)
        for length in np.unique(lengths).tolist():
            similar = np.flatnonzero(lengths == length)
            blocks = np.cumsum(room[similar]) // _AT_ONCE
            for block in np.split(similar, np.flatnonzero(np.diff(blocks)) + 1):
                for measure, values in self.select(block)._ends(measures).items():
                    ends[measure][:, block] = values
        return ends

    def _ends(self, measures: Sequence[BinaryMeasure]) -> dict[BinaryMeasure, Floats]:
        inside = np.arange(max(1, self.sizes.max())) < self.sizes[:, None]
        index = np.where(inside, self.starts[:, None] + np.arange(inside.shape[1]), 0)
        ranks, sure = np.append(self.ranks, 0)[index], inside & np.append(self.sure, False)[index]
        unsure = inside & ~sure
        unsure_number = np.cumsum(unsure, axis=1)
        unsure_count = unsure_number[:, -1]
        elsewhere = self.most_more - unsure_count

        def scores(lists: Integers, more: Integers, chosen: Bools) -> dict[Measure, Floats]:
            """The scores if ``more`` documents than the certain ones are relevant, of which those
            shown are ``chosen``."""
            rows, columns = np.nonzero(sure[lists] | (unsure[lists] & chosen))
            grades = np.full(len(rows), measures[0].rel)
            hits = Hits(rows, ranks[lists[rows], columns], rows, grades, self.shown[lists])
            ideals = _ideals(self.surely[lists] + more, measures[0].rel)
            return score_hits(hits, ideals, measures)

        # Relevant documents that are not shown can raise the score for Rprec only, so only there is
        # every number of them tried.
        try_elsewhere = isinstance(measures[0], RPrecision)
        trials = 1 + (self.most_more if try_elsewhere else unsure_count)
        firsts = np.cumsum(trials) - trials
        lists = np.repeat(np.arange(len(trials)), trials)
        numbers = np.arange(len(lists)) - firsts[lists]
        found = {measure: np.empty((2, len(lists))) for measure in measures}
        documents = inside.shape[1] + int((self.surely + self.most_more).max()) + 1
        at_once = 1 + _AT_ONCE // documents
        for start in range(0, len(lists), at_once):
            block = slice(start, start + at_once)
            some, more = lists[block], numbers[block]
            best = scores(some, more, unsure_number[some] <= more[:, None])
            more = more if try_elsewhere else more + elsewhere[some]
            last = unsure_count[some] - np.maximum(0, more - elsewhere[some])
            worst = scores(some, more, unsure_number[some] > last[:, None])
            for measure, values in found.items():
                values[:, block] = worst[measure][0], best[measure][0]
        return {
            measure: np.stack([np.minimum.reduceat(low, firsts), np.maximum.reduceat(high, firsts)])
            for measure, (low, high) in found.items()
        }


def _ideals(counts: Integers, grade: float) -> Ideals:
    """Ideal lists of ``counts`` documents each, all with the same grade."""
    lists = np.repeat(np.arange(len(counts)), counts)
    ranks = np.arange(len(lists)) - (np.cumsum(counts) - counts)[lists] + 1
    return Ideals(Hits(lists, ranks, lists, np.full(len(lists), grade), counts), grade)
