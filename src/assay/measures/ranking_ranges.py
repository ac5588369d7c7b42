"""Ranking measures where some grades are not known: between which ends they lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from assay.measures.base import Measure
from assay.measures.batch import score_hits, score_lists
from assay.measures.grades import Grades
from assay.measures.hits import Bools, Floats, Hits, Integers
from assay.measures.judgements import Ideals
from assay.measures.ranges import Range
from assay.measures.ranking.relevance import BinaryMeasure, RPrecision

__all__ = ["KnownGrades", "score_ranges"]

_AT_ONCE = 1 << 20
"""Documents of ranked and ideal lists that are scored at once."""


class KnownGrades(NamedTuple):
    """A ranked list of which grades are known only from and to.

    ``worst`` and ``best`` are the least and greatest grades in rank order, ``None`` for a document
    that is not judged by design; ``ideal_worst`` and ``ideal_best`` those of all judged documents
    of the topic, in any order.
    """

    worst: Grades
    best: Grades
    ideal_worst: Sequence[float]
    ideal_best: Sequence[float]


def score_ranges(
    measure: Measure, lists: Sequence[KnownGrades], g_max: Iterable[float]
) -> list[Range]:
    """Score ranked lists whose grades are known only from and to.

    Every measure rises with the grades that a list shows, and falls with those of its ideal list:
    the floor sets the least grades of the list against the greatest of the ideal list, the ceiling
    the other way round. That is exact where no ideal list is used (RBP, and with one ``g_max`` ERR
    and iRBU). Of a measure that asks only whether a document is relevant (AP, P, Rprec, RR, Recall,
    Success) the ends are exact too: with R relevant documents of which m are among those shown
    that may be or not, it is worst where these are the last m of them and best where they are the
    first, so that every m (and for Rprec every R) is looked at. Elsewhere the ends are safe: the
    score lies between them whatever the grades are, but they need not be reached.

    ``measure``: what to compute. ``lists``: what is known of each. ``g_max``: every highest grade
    of the scale that is possible. Raises ValueError as :meth:`Measure.score` does.
    """
    measure.ready()
    if not lists:
        return []
    if isinstance(measure, BinaryMeasure):
        found = []
        for one in lists:
            sure, possible, *ideal = (
                np.array(some, dtype=np.float64) >= measure.rel  # not judged is NaN, not relevant
                for some in one
            )
            counts = (int(some.sum()) for some in ideal)
            found.append(_binary_range(measure, sure, possible & ~sure, *counts))
        return found
    floors, ceilings = [], []
    for top in g_max:
        # Where the highest grade of all is *top*, none is above it.
        low, high = (
            [[None if grade is None else min(grade, top) for grade in one] for one in each]
            for each in ([one.worst for one in lists], [one.best for one in lists])
        )
        least, most = (
            [[min(grade, top) for grade in one] for one in each]
            for each in ([one.ideal_worst for one in lists], [one.ideal_best for one in lists])
        )
        floor, ceiling, highest = score_lists(
            measure, [*low, *high, *high], [*most, *least, *most], top
        ).reshape(3, -1)
        floors.append(floor)
        # Nothing is surely relevant: the list may be the ideal one.
        ceilings.append(np.where((ceiling == 0.0) & (highest > 0.0), 1.0, ceiling))
    ends = np.min(floors, axis=0), np.minimum(1.0, np.max(ceilings, axis=0))
    return [Range(*each) for each in zip(*(one.tolist() for one in ends), strict=True)]


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
        """The scores where so many ``more`` documents are relevant, ``chosen`` ones of them
        shown."""
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
