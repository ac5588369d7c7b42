"""A run's score: the mean over topics of what is known, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Iterable

from assay.measures.bootstrap import mean_interval
from assay.protocols.base import CommonSettings
from assay.protocols.scores import Score


def mean_score(
    run: str,
    measure: str,
    values: Iterable[float | None],
    settings: CommonSettings,
    *,
    missing: int | None = None,
) -> Score:
    """The mean of the values that are known; None where none is. ``missing`` topics are those
    that lack a label, the unknown ones where left out."""
    every = list(values)
    known = [value for value in every if value is not None]
    lacking = len(every) - len(known) if missing is None else missing
    if not known:
        return Score(run, measure, None, None, None, 0, lacking)
    ends = mean_interval(
        known, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )
    return Score(run, measure, sum(known) / len(known), ends.low, ends.high, len(known), lacking)
