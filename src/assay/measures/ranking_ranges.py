"""Ranking measures where some grades are not known: between which ends they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.measures.base import Measure
from assay.measures.batch import score_hits, score_lists
from assay.measures.grades import Grades
from assay.measures.hits import Bools, Floats, Hits, Integers
from assay.measures.judgements import Ideals
from assay.measures.ranges import Range
from assay.measures.ranking.relevance import BinaryMeasure, RPrecision

__all__ = ["score_range"]

_AT_ONCE = 1 << 20
"""Documents of ranked and ideal lists that are scored at once."""


def score_range(
    measure: Measure,
    worst: Grades,
    best: Grades,
    ideal_worst: Sequence[float],
    ideal_best: Sequence[float],
    g_max: Iterable[float],
) -> Range:
    """Score one ranked list of one topic whose grades are known only from and to.

    Every measure rises with the grades that a list shows, and falls with those of its ideal list:
    the floor sets the least grades of the list against the greatest of the ideal list, the ceiling
    the other way round. That is exact where no ideal list is used (RBP, and with one ``g_max`` ERR
    and iRBU). Of a measure that asks only whether a document is relevant (AP, P, Rprec, RR, Recall,
    Success) the ends are exact too: with R relevant documents of which m are among those shown
    that may be or not, it is worst where these are the last m of them and best where they are the
    first, so that every m (and for Rprec every R) is looked at. Elsewhere the ends are safe: the
    score lies between them whatever the grades are, but they need not be reached.

    Args:
        measure: what to compute.
        worst: the least grades in rank order, ``None`` for a document that is not judged by design.
        best: the greatest grades, rank by rank not below *worst*.
        ideal_worst: the least grades of all judged documents of the topic, in any order.
        ideal_best: their greatest grades.
        g_max: every highest grade of the scale that is possible.

    Raises:
        ValueError: as :meth:`Measure.score` does.
    """
    measure.ready()
    if isinstance(measure, BinaryMeasure):
        sure, possible, *ideal = (
            np.array(one, dtype=np.float64) >= measure.rel  # not judged is NaN, and not relevant
            for one in (worst, best, ideal_worst, ideal_best)
        )
        return _binary_range(measure, sure, possible & ~sure, *(int(one.sum()) for one in ideal))
    floors, ceilings = [], []
    for top in g_max:
        # Where the highest grade of all is *top*, none is above it.
        low, high = (
            [None if grade is None else min(grade, top) for grade in one] for one in (worst, best)
        )
        least, most = ([min(grade, top) for grade in one] for one in (ideal_worst, ideal_best))
        floor, ceiling, possible = score_lists(
            measure, [low, high, high], [most, least, most], top
        ).tolist()
        floors.append(floor)
        # Nothing is surely relevant: the list may be the ideal one.
        ceilings.append(1.0 if ceiling == 0.0 and possible > 0.0 else ceiling)
    return Range(min(floors), min(1.0, max(ceilings)))


def _binary_range(
    measure: BinaryMeasure, sure: Bools, unsure: Bools, surely: int, possibly: int
) -> Range:
    """The ends where the documents shown are surely relevant or may be, and so many in all."""
    most = max(int(unsure.sum()), possibly - surely)
    sure, unsure = sure[: measure.k], unsure[: measure.k]
    places = int(unsure.sum())
    elsewhere = most - places
    number = np.cumsum(unsure)

    def scores(more: Integers, chosen: Bools) -> Floats:
        """The scores where so many *more* documents are relevant, *chosen* ones of them shown."""
        lists, ranks = np.nonzero(sure | (unsure & chosen))
        relevant = np.repeat(np.arange(len(more)), surely + more)
        grades = np.full(len(lists), measure.rel)
        hits = Hits(lists, ranks + 1, lists, grades, np.full(len(more), len(sure)))
        best = Hits.ideal(relevant, np.full(len(relevant), measure.rel), len(more))
        return score_hits(hits, Ideals(best, measure.rel), [measure])[measure]

    # But for Rprec, more relevant documents that are not shown never raise a score.
    every = isinstance(measure, RPrecision)
    # All at once take room for as many as there are, squared.
    parts = 1 + most * (surely + most + len(sure)) // _AT_ONCE
    found = []
    for more in np.array_split(np.arange(0 if every else elsewhere, most + 1), parts):
        last = places - np.maximum(0, more - elsewhere)
        found.append(scores(more, number > last[:, None]))
    floor = np.concatenate(found, axis=1).min()
    found = [
        scores(more, number <= more[:, None])
        for more in np.array_split(np.arange((most if every else places) + 1), parts)
    ]
    return Range(float(floor), float(np.concatenate(found, axis=1).max()))
