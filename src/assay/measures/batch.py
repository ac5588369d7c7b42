"""Measures of ranking over many lists at once, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.grades import Grades
from assay.measures.hits import GainError, Hits
from assay.measures.judgements import Ideals, flattened

if TYPE_CHECKING:
    from assay.measures.base import Measure


def score_hits(hits: Hits, judged: Ideals, measures: Iterable[Measure]) -> dict[Measure, Floats]:
    """Score ranked lists.

    ``hits``: one list for each topic of ``judged``, in its order; for several runs, run after run.
    ``judged``: the qrels, or ideal lists alone. ``measures``: what to compute. Returns for each
    measure an array with a row for each run and a column for each topic. Raises ValueError if a
    grade is above the highest one in a measure that uses that, an exponential gain is too large for
    a float, or a score is not a finite number; the message names the topic.
    """
    scores: dict[Measure, Floats] = {}
    cut: dict[int | None, Hits] = {}
    above = hits.grades > max(judged.g_max, 0.0)
    for measure in measures:
        measure.ready()
        if measure.k not in cut:
            cut[measure.k] = hits.cut(measure.k)
        if measure.uses_g_max and above.any():
            raise ValueError(
                f"{judged.where(int(hits.lists[above][0]))}the grade {hits.grades[above][0]:g} is"
                f" above g_max ({judged.g_max:g}): give the highest grade of the whole scale"
            )
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                values = _checked(measure, measure.scores(cut[measure.k], judged), len(hits.shown))
        except GainError as error:
            raise ValueError(f"{judged.where(error.number)}{error}") from None
        for number in np.flatnonzero(~np.isfinite(values))[:1].tolist():
            raise ValueError(f"{judged.where(number)}{measure} is not a finite number")
        scores[measure] = values.reshape(-1, len(judged.best.shown))
    return scores


def _checked(measure: Measure, given: object, lists: int) -> Floats:
    """What a measure, which may be anybody's, gives for so many lists."""
    values = np.asarray(given)
    if values.dtype.kind not in "fiub" or values.size != lists:
        raise ValueError(
            f"{measure}: its scores are {given!r:.60}, not an array with a number for each of "
            f"{lists} lists"
        )
    return values.astype(np.float64, copy=False).reshape(-1)


def score_lists(
    measure: Measure, lists: Sequence[Grades], ideals: Sequence[Sequence[float]], g_max: float
) -> Floats:
    """Score ranked lists that are given by their grades, each against its own ideal list; see
    :meth:`assay.measures.base.Measure.score`."""
    best = flattened(ideals)
    numbers, grades = flattened(
        [[math.nan if grade is None else grade for grade in one] for one in lists]
    )
    known = np.array([grade is not None for grade in chain.from_iterable(lists)], dtype=np.bool_)
    for what, some in (("a ranked", grades[known]), ("an ideal", best[1])):
        if not np.isfinite(some).all():
            raise ValueError(f"{what} grade is not a finite number: {some.tolist()}")
    if not math.isfinite(g_max):
        raise ValueError(f"g_max is not a finite number: {g_max}")
    shown = np.bincount(numbers, minlength=len(lists)).astype(np.int64)
    ranks = np.arange(len(numbers)) - (np.cumsum(shown) - shown)[numbers] + 1
    rows = np.zeros(int(known.sum()), dtype=np.int64)
    hits = Hits(numbers[known], ranks[known], rows, grades[known], shown)
    against = Ideals(Hits.ideal(*best, len(lists)), g_max)
    (scores,) = score_hits(hits, against, [measure])[measure]
    return np.asarray(scores)
