"""Ranking measures where some grades are not known: between which ends they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.measures.base import Grades, Measure, count_relevant
from assay.measures.binary import BinaryMeasure, RPrecision
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
    tops = list(g_max)
    if isinstance(measure, BinaryMeasure):
        return _binary_range(measure, worst, best, ideal_worst, ideal_best, max(tops))
    floors, ceilings = [], []
    for top in tops:
        low, high = _cut(worst, top), _cut(best, top)
        least = [grade for grade in _cut(ideal_worst, top) if grade is not None]
        most = [grade for grade in _cut(ideal_best, top) if grade is not None]
        floors.append(measure.score(low, most, top))
        ceiling = measure.score(high, least, top)
        if ceiling == 0.0 and measure.score(high, most, top) > 0.0:
            ceiling = 1.0  # nothing is surely relevant: the list may be the ideal one
        ceilings.append(ceiling)
    return Range(min(floors), min(1.0, max(ceilings)))


def _binary_range(
    measure: BinaryMeasure,
    worst: Grades,
    best: Grades,
    ideal_worst: Sequence[float],
    ideal_best: Sequence[float],
    top: float,
) -> Range:
    rel = measure.rel
    grades = [None if grade is None else rel if grade >= rel else 0.0 for grade in worst]
    places = [
        place
        for place, (least, most) in enumerate(zip(grades, best, strict=True))
        if least != rel and most is not None and most >= rel
    ]
    surely = count_relevant(ideal_worst, rel)
    unsure = max(len(places), count_relevant(ideal_best, rel) - surely)
    elsewhere = unsure - len(places)

    def score(more: int, chosen: Sequence[int]) -> float:
        shown = list(grades)
        for place in chosen:
            shown[place] = rel
        return measure.score(shown, [rel] * (surely + more), top)

    # But for Rprec, more relevant documents that are not shown never raise a score.
    every = isinstance(measure, RPrecision)
    floors = (
        score(more, places[len(places) - max(0, more - elsewhere) :])
        for more in range(0 if every else elsewhere, unsure + 1)
    )
    ceilings = (
        score(more, places[:more]) for more in range((unsure if every else len(places)) + 1)
    )
    return Range(min(floors), max(ceilings))


def _cut(grades: Grades, top: float) -> list[float | None]:
    """Where the highest grade of all is *top*, none is above it."""
    return [None if grade is None else min(grade, top) for grade in grades]
