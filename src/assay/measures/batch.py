"""Scoring many ranked lists at once, with checks of their grades and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.grades import Grades
from assay.measures.hits import GainError, Hits
from assay.measures.judgements import Ideals, flatten

if TYPE_CHECKING:
    from assay.measures.base import Measure


def score_hits(hits: Hits, judged: Ideals, measures: Iterable[Measure]) -> dict[Measure, Floats]:
    """Score ranked lists by each measure.

    ``hits``: one list per topic of ``judged``, in its order; several runs follow one another.
    ``judged``: the qrels, or only ideal lists. Returns one array per measure, runs × topics. Raises
    ValueError if a grade is above the highest one and a measure uses that, an exponential gain is
    too large for a float, or a score is not finite; the message names the topic.
    """
    scores: dict[Measure, Floats] = {}
    hits_by_cutoff: dict[int | None, Hits] = {}
    above = hits.grades > max(judged.g_max, 0.0)
    for measure in measures:
        measure.require_cutoff()
        if measure.k not in hits_by_cutoff:
            hits_by_cutoff[measure.k] = hits.cut(measure.k)
        if measure.uses_g_max and above.any():
            topic = judged.message_prefix(int(hits.lists[above][0]))
            raise ValueError(
                f"{topic}the grade {hits.grades[above][0]:g} is above g_max"
                f" ({judged.g_max:g}): give the highest grade of the whole scale"
            )
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = measure.scores(hits_by_cutoff[measure.k], judged)
                values = _checked(measure, result, len(hits.shown))
        except GainError as error:
            raise ValueError(f"{judged.message_prefix(error.list_number)}{error}") from None
        for number in np.flatnonzero(~np.isfinite(values))[:1].tolist():
            raise ValueError(f"{judged.message_prefix(number)}{measure} is not a finite number")
        scores[measure] = values.reshape(-1, len(judged.best.shown))
    return scores


def _checked(measure: Measure, result: object, lists: int) -> Floats:
    """The scores that a measure returned, which a user may have written, as a flat array."""
    values = np.asarray(result)
    if values.dtype.kind not in "fiub" or values.size != lists:
        raise ValueError(
            f"{measure}: its scores are {result!r:.60}, not an array with a number for each of "
            f"{lists} lists"
        )
    return values.astype(np.float64, copy=False).reshape(-1)


def score_lists(
    measure: Measure, lists: Sequence[Grades], ideals: Sequence[Sequence[float]], g_max: float
) -> Floats:
    """Score lists of grades, each against its own ideal list; see
    :meth:`assay.measures.base.Measure.score`."""
    ideal_grades = flatten(ideals)
    numbers, grades = flatten(
        [[math.nan if grade is None else grade for grade in one] for one in lists]
    )
    known = np.array([grade is not None for grade in chain.from_iterable(lists)], dtype=np.bool_)
    for what, values in (("a ranked", grades[known]), ("an ideal", ideal_grades[1])):
        if not np.isfinite(values).all():
            raise ValueError(f"{what} grade is not a finite number: {values.tolist()}")
    if not math.isfinite(g_max):
        raise ValueError(f"g_max is not a finite number: {g_max}")
    shown = np.bincount(numbers, minlength=len(lists)).astype(np.int64)
    ranks = np.arange(len(numbers)) - (np.cumsum(shown) - shown)[numbers] + 1
    rows = np.zeros(int(known.sum()), dtype=np.int64)
    hits = Hits(numbers[known], ranks[known], rows, grades[known], shown)
    judged = Ideals(Hits.ideal(*ideal_grades, len(lists)), g_max)
    (scores,) = score_hits(hits, judged, [measure])[measure]
    return np.asarray(scores)
