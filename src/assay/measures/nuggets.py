"""Nugget recall and coverage: how much of what a good answer should say an answer says.

s(n) is 1 if the answer supports nugget n, 1/2 if it supports it in part, else 0; strict measures
count partial support as 0. Source: overview of the TREC 2025 RAG track, section 3.2, after Pradeep
et al. (2025), *The great nugget recall*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats

NUGGET_MEASURES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""The measures of :func:`nugget_ends`, the track's main measure first. ``weighted`` is
(Σ s vital + ½ Σ s okay) / (#vital + ½ #okay)."""

STRICT = ("strict_vital", "strict_all")
"""The measures that count partial support as 0."""

FULL = 1.0


def nugget_ends(values: npt.ArrayLike, vital: npt.ArrayLike) -> tuple[Floats, Floats, Bools]:
    """Exact floors and ceilings of the nugget recall measures of answers.

    ``values``: s, answers × nuggets (1, 0.5 or 0); NaN if the assignment is missing. ``vital``: 1
    or 0 for each nugget; NaN if its importance is missing. Returns floors, ceilings and whether the
    measure is certainly defined, each measures × answers in the order of :data:`NUGGET_MEASURES`;
    NaN if no labels would define the measure.

    A missing assignment is 0 in the floor and 1 in the ceiling. If the importance of nuggets is
    missing, a measure is a mean with partly unknown weights. It is lowest if these nuggets weigh
    most when their s is below some threshold, and highest if they do when it is above one, so
    trying every threshold finds the ends.
    """
    worth, weight = np.asarray(values, np.float64), np.asarray(vital, np.float64)
    missing, unknown = np.isnan(worth), np.isnan(weight)
    thresholds = (0.0, 0.5, 1.0, 1.5) if unknown.any() else (0.0,)
    ends = []
    for worst in (True, False) if missing.any() or len(thresholds) > 1 else (True,):
        known = np.where(missing, 0.0 if worst else 1.0, worth)
        ends += [
            _scores(known, np.where(unknown, (known < threshold) == worst, weight == 1))
            for threshold in thresholds
        ]
    candidates = np.stack(ends)
    surely_defined: Bools = ~np.isnan(candidates.sum(axis=0))
    return np.fmin.reduce(candidates), np.fmax.reduce(candidates), surely_defined


def coverage_ends(
    values: npt.ArrayLike, groups: Sequence[str | None], sub_narratives: Iterable[str] = ()
) -> tuple[Floats, Floats]:
    """Exact floors and ceilings of the share of sub-narratives that answers cover. An answer covers
    one if it fully supports at least one of its nuggets.

    ``values``: s, answers × nuggets; NaN if the assignment is missing. ``groups``: the
    sub-narrative of each nugget, or None. ``sub_narratives``: all sub-narratives of the narrative;
    those of the nuggets are added. Returns NaN if there is no sub-narrative.
    """
    worth = np.asarray(values, np.float64)
    names = list(dict.fromkeys(name for name in (*sub_narratives, *groups) if name is not None))
    mapped = np.array([[group == name for name in names] for group in groups], np.int64)
    mapped = mapped.reshape(len(groups), len(names))

    def covered(full: Bools) -> Floats:
        hits = full.astype(np.int64) @ mapped > 0
        if not names:
            return np.full(len(full), np.nan)
        shares: Floats = hits.sum(axis=1) / len(names)
        return shares

    floors, missing = covered(worth == FULL), np.isnan(worth)
    return floors, covered((worth == FULL) | missing) if missing.any() else floors


def nugget_weights(vital: npt.ArrayLike) -> Floats:
    """The weights of nuggets in each measure, which is a weighted mean of s: measures × the shape
    of ``vital``, which is 1 for vital and 0 for okay nuggets."""
    is_vital = np.asarray(vital, np.float64)
    ones = np.ones_like(is_vital)
    return np.stack([is_vital, is_vital, ones, ones, (ones + is_vital) / 2])


def _scores(worth: Floats, vital: Bools) -> Floats:
    """Measures × answers, NaN if undefined. Sums of multiples of 1/4 are exact in any order."""
    weights, full = nugget_weights(vital), worth == FULL
    sums = [
        ((full if name in STRICT else worth) * weight).sum(axis=-1)
        for name, weight in zip(NUGGET_MEASURES, weights, strict=True)
    ]
    with np.errstate(invalid="ignore"):  # 0 of 0 nuggets is undefined
        scores: Floats = np.stack(sums) / weights.sum(axis=-1)
    return scores
