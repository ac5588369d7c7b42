"""The three settings in which the TREC RAG paper correlates scores, with intervals over topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.bootstrap import Interval, percentile_interval, topic_counts
from assay.statistics import ranks
from assay.statistics.checks import defined
from assay.statistics.stacked import StackedPairs

COEFFICIENTS = ("tau", "rho", "ap", "rbo")
"""Kendall's τ-b, Spearman's ρ, AP correlation and rank-biased overlap."""

_EQUAL = "all scores of a table are equal"
_EQUAL_IN_TOPICS = "in every topic all scores of a table are equal"
_NO_PAIR = "no topic has two runs"


@dataclass(frozen=True)
class Correlation:
    """One coefficient in one setting.

    ``setting``: ``runs`` (of run means), ``topics-mean`` (the mean of the coefficients of topics)
    or ``pairs`` (of all topic–run pairs together). ``measure``: ``tau``, ``rho``, ``ap`` or
    ``rbo``. ``value``: the coefficient, ``None`` if undefined. ``interval``: its bootstrap interval
    over topics; ``None`` if there is a single topic, or no resample in which it is defined. ``n``:
    the number of runs, of topics with a defined coefficient, or of pairs. ``reason``: why ``value``
    is undefined, else ``None``.
    """

    setting: str
    measure: str
    value: float | None
    interval: Interval | None
    n: int
    reason: str | None = None


def run_setting(x: Floats, y: Floats, p: float) -> list[Correlation]:
    """The coefficients for one score per run in each table, without intervals."""
    one = np.ones((1, 1))
    values = ranks.all_rows(_mean_ranks(one, x[None]), _mean_ranks(one, y[None]), p)
    rows = []
    for name in COEFFICIENTS:
        value = defined(values[name][0])
        reason = _EQUAL if value is None else None
        rows.append(Correlation("runs", name, value, None, len(x), reason))
    return rows


def all_settings(
    x: Floats, y: Floats, p: float, level: float, resamples: int, seed: int
) -> list[Correlation]:
    """The coefficients in all three settings. ``x``, ``y``: scores, topics × runs; a missing score
    is NaN in both. Without ``resamples`` there are no intervals."""
    topics = len(x)
    ones = np.ones((1, topics))
    drawn = topics > 1 and resamples != 0
    draws = [ones, *(topic_counts(topics, resamples, seed) if drawn else [])]
    weights = np.concatenate(draws)  # the first row is the original data
    per_topic = _topic_values(x, y, p)
    present = ~np.isnan(x)
    topic, _ = np.nonzero(present)
    used = present.any(axis=1)
    pairs = StackedPairs(x[present], y[present], (np.cumsum(used) - 1)[topic])
    stacked = pairs.values(weights[:, used], p)
    means = ranks.all_rows(_mean_ranks(weights, x), _mean_ranks(weights, y), p)
    no_pair = bool((present.sum(axis=1) < 2).all())
    rows: list[Correlation] = []
    for setting in ("runs", "topics-mean", "pairs"):
        for name in COEFFICIENTS:
            why = _EQUAL
            if setting == "runs":
                values, n = means[name], x.shape[1]
            elif setting == "pairs":
                values, n = stacked[name], pairs.n
            else:
                known = ~np.isnan(per_topic[name])
                counted = weights @ known
                values = np.divide(
                    weights @ np.nan_to_num(per_topic[name]),
                    counted,
                    out=np.full(len(weights), np.nan),
                    where=counted > 0,
                )
                n = int(known.sum())
                why = _NO_PAIR if no_pair else _EQUAL_IN_TOPICS
            value = defined(values[0])
            interval = None
            if drawn and value is not None:
                interval = percentile_interval(values[1:], level, topics)
            reason = why if value is None else None
            rows.append(Correlation(setting, name, value, interval, n, reason))
    return rows


def _mean_ranks(weights: Floats, scores: Floats) -> Floats:
    """The ranks of the run means in every resample, lowest first: resamples × runs. A run that has
    none of a resample's topics is ranked by its mean over all of its topics."""
    present = ~np.isnan(scores)
    n = weights @ present
    overall = np.broadcast_to(np.nanmean(scores, axis=0), n.shape)
    means = np.divide(weights @ np.nan_to_num(scores), n, out=overall.copy(), where=n > 0)
    return ranks.near_ranks(means, np.nanmax(np.abs(scores)))


def _topic_values(x: Floats, y: Floats, p: float) -> dict[str, Floats]:
    """The coefficients of every topic, NaN if fewer than two runs have it."""
    present = ~np.isnan(x)
    by_topic = {name: np.full(len(x), np.nan) for name in COEFFICIENTS}
    for pattern in np.unique(present, axis=0):
        if pattern.sum() < 2:
            continue
        rows = (present == pattern).all(axis=1)
        for name, values in ranks.all_rows(x[rows][:, pattern], y[rows][:, pattern], p).items():
            by_topic[name][rows] = values
    return by_topic
