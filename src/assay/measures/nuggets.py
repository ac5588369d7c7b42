"""How much of what a good answer should say an answer says: nugget recall and coverage.

Source: overview of the TREC 2025 RAG track, section 3.2, after Pradeep et al. (2025), *The great
nugget recall*. s(n) is 1 if the answer supports nugget n, 1/2 where it supports it in part,
else 0; the strict form counts partial support as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats

NUGGET_MEASURES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""Names of what :func:`nugget_ends` gives, the track's main measure first. ``weighted`` is
(Σ s vital + ½ Σ s okay) / (#vital + ½ #okay)."""

STRICT = ("strict_vital", "strict_all")
"""Those for which partial support counts nothing."""

FULL = 1.0


def nugget_ends(values: npt.ArrayLike, vital: npt.ArrayLike) -> tuple[Floats, Floats, Bools]:
    """The nugget recall measures of answers: between which ends they lie where labels are
    missing.

    A missing assignment is 0 in the floor and 1 in the ceiling. With nuggets whose importance is
    missing a measure is a mean whose weights are free: it is least where, of these nuggets, just
    those below some value weigh most, and greatest where those above do, so that trying every such
    value finds the ends. They are exact. ``values``: s of answers × nuggets (1, 0.5 or 0); NaN
    if an assignment is missing. ``vital``: of each nugget 1 or 0; NaN if its importance is
    missing. Returns floors, ceilings and whether the measure is surely defined, each measures ×
    answers in the order of :data:`NUGGET_MEASURES`; NaN if no label would define the measure.
    """
    worth, weight = np.asarray(values, np.float64), np.asarray(vital, np.float64)
    missing, unknown = np.isnan(worth), np.isnan(weight)
    levels = (0.0, 0.5, 1.0, 1.5) if unknown.any() else (0.0,)
    ends = []
    for worst in (True, False) if missing.any() or len(levels) > 1 else (True,):
        known = np.where(missing, 0.0 if worst else 1.0, worth)
        ends += [
            _scores(known, np.where(unknown, (known < level) == worst, weight == 1))
            for level in levels
        ]
    every = np.stack(ends)
    sure: Bools = ~np.isnan(every.sum(axis=0))
    return np.fmin.reduce(every), np.fmax.reduce(every), sure


def coverage_ends(
    values: npt.ArrayLike, groups: Sequence[str | None], every: Iterable[str] = ()
) -> tuple[Floats, Floats]:
    """The share of sub-narratives that answers cover: those with at least one nugget that an
    answer fully supports.

    ``values``: s of answers × nuggets; NaN if an assignment is missing. ``groups``: the
    sub-narrative that each nugget is mapped to, None for none. ``every``: all sub-narratives of the
    narrative; those that nuggets are mapped to are added. Returns the ends where missing
    assignments are 0 or 1, exact; NaN if there is no sub-narrative.
    """
    worth = np.asarray(values, np.float64)
    names = list(dict.fromkeys(one for one in (*every, *groups) if one is not None))
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
    """What nuggets weigh in the measures, measures × the shape of ``vital`` (in which the others
    are okay): each measure is a mean of s with these weights."""
    is_vital = np.asarray(vital, np.float64)
    every = np.ones_like(is_vital)
    return np.stack([is_vital, is_vital, every, every, (every + is_vital) / 2])


def _scores(worth: Floats, vital: Bools) -> Floats:
    """The measures (in the order of their names) × answers; NaN if undefined. All sums are of
    halves and quarters, which are exact in any order."""
    weights, full = nugget_weights(vital), worth == FULL
    above = [
        ((full if name in STRICT else worth) * weight).sum(axis=-1)
        for name, weight in zip(NUGGET_MEASURES, weights, strict=True)
    ]
    with np.errstate(invalid="ignore"):  # 0 of 0 nuggets is undefined
        found: Floats = np.stack(above) / weights.sum(axis=-1)
    return found
