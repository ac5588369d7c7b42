"""Ranking measures where some grades are not known: between which ends they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.measures.base import Grades, Measure, count_relevant
from assay.measures.binary import RPrecision
from assay.measures.ranges import Range

__all__ = ["score_range"]


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
    the other way round. That is exact where no ideal list is used (P, RR, Success, RBP, and with
    one ``g_max`` ERR and iRBU); elsewhere the ends are safe: the score lies between them whatever
    the grades are, but they need not be reached.

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
    floors, ceilings = [], []
    for top in g_max:
        low, high = _cut(worst, top), _cut(best, top)
        least = [grade for grade in _cut(ideal_worst, top) if grade is not None]
        most = [grade for grade in _cut(ideal_best, top) if grade is not None]
        if isinstance(measure, RPrecision):  # not monotone in R: every R is looked at
            first, last = (count_relevant(ideal, measure.rel) for ideal in (least, most))
            ideals = [[measure.rel] * relevant for relevant in range(first, last + 1)]
            floors += [measure.score(low, ideal, top) for ideal in ideals]
            ceilings += [measure.score(high, ideal, top) for ideal in ideals]
            continue
        floors.append(measure.score(low, most, top))
        ceiling = measure.score(high, least, top)
        if ceiling == 0.0 and measure.score(high, most, top) > 0.0:
            ceiling = 1.0  # nothing is surely relevant: the list may be the ideal one
        ceilings.append(ceiling)
    return Range(min(floors), min(1.0, max(ceilings)))


def _cut(grades: Grades, top: float) -> list[float | None]:
    """Where the highest grade of all is *top*, none is above it."""
    return [None if grade is None else min(grade, top) for grade in grades]
