"""What the estimators return: scores of all runs with their joint covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.ranges import ROUNDING
from assay.measures.settings import probability
from assay.statistics.corrected.given import Population

LEAST_DF = 4.0
"""Fewer degrees of freedom are never assumed: the pooled part of a variance has many."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Scores of R runs, in the unit of the labels; nothing is clipped.

    ``value``: R scores, corrected. ``low``: lower ends of the runs' own intervals. ``high``: upper
    ends. ``covariance``: R × R, of the values: runs share units, so that differences are known
    better than scores. ``df``: R degrees of freedom of Student's t. ``judge_weight``: what the
    judge was good for, 0 (nothing) to 1; see the estimator. ``human_only_value``: R scores from the
    same labels of people without the judge. ``human_only_low``: lower ends of their intervals.
    ``human_only_high``: upper ends. ``labels``: how many units people labelled: topics, or items.
    ``population``: what the intervals are about.
    """

    value: Floats
    low: Floats
    high: Floats
    covariance: Floats
    df: Floats
    judge_weight: float
    human_only_value: Floats
    human_only_low: Floats
    human_only_high: Floats
    labels: int
    population: Population

    @classmethod
    def of(
        cls,
        given: tuple[Floats, Floats, Floats],
        alone: tuple[Floats, Floats],
        *,
        level: float,
        judge_weight: float,
        labels: int,
        population: Population,
    ) -> Estimates:
        """Estimates with their intervals, of the value, covariance and degrees of freedom with the
        judge, and of the value and half the intervals' widths without."""
        value, covariance, df = given
        half = half_widths(np.diag(covariance), df, level)
        low, high = value - half, value + half
        other, wide = alone
        return cls(
            value, low, high, covariance, df, judge_weight, other, other - wide, other + wide,
            labels, population,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Differences:
    """Each run (row) less each other (column), R × R.

    ``value``: the row's score − the column's. ``low``: lower ends; each interval stands alone, not
    for all pairs together. ``high``: upper ends. ``se``: standard errors.
    """

    value: Floats
    low: Floats
    high: Floats
    se: Floats


def differences(estimates: Estimates, *, level: float = 0.95) -> Differences:
    """The differences between all runs (specification of trust, section 6).

    The variance is C_rr + C_ss − 2 C_rs. Two separate intervals that overlap say nothing about a
    difference. Where the runs' degrees of freedom differ, the fewer count. Raises ValueError if
    ``level`` is not between 0 and 1.
    """
    value = estimates.value[:, None] - estimates.value[None, :]
    variance = difference_variance(estimates.covariance)
    half = half_widths(variance, np.minimum.outer(estimates.df, estimates.df), level)
    return Differences(value, value - half, value + half, np.sqrt(variance))


def difference_variance(covariance: Floats) -> Floats:
    """The variance of each pair's difference, R × R; exactly 0 if only rounding is left.

    Equal runs have equal rows, but sums of their products may differ in the last digit.
    """
    own = np.diag(covariance)
    both = own[:, None] + own[None, :]
    variance = both - 2.0 * covariance
    return np.where(variance > ROUNDING * both, variance, 0.0)


def half_widths(variance: Floats, df: Floats, level: float) -> Floats:
    """Half the widths of Student's t intervals. Raises ValueError if ``level`` is not
    between 0 and 1."""
    from scipy import special  # noqa: PLC0415 (slow to load)

    quantile = special.stdtrit(df, (1.0 + probability(level, "level")) / 2.0)
    return np.asarray(quantile * np.sqrt(variance), dtype=np.float64)


def modelled_variance(
    q: Floats, around: Floats, expected: Floats, spread: Floats, n: float, span: float = 1.0
) -> Floats:
    """The variances of labels around what is expected of them, … × labels.

    ``q`` is what they are by the expectations alone. They are as much larger as what ``n`` drawn
    labels show is, once two whole disagreements that nobody has seen yet are added to both: a judge
    who was right in all that was drawn is not perfect for that. Where fewer than three labels
    differ from the others, what is expected is about what the others say, and q is next to nothing,
    though some per cent of the labels that nobody gave may differ: with none among n their share
    may be 3/n (the rule of three; Hanley & Lippman-Hand 1983). Measured with 98 % of labels alike
    and n = 60: coverage .73 without this, .99 with it.

    ``around``: the sum of the drawn labels' squared distances from what is expected of them.
    ``expected``: the sum of their q. ``spread``: that of their squared distances from their mean.
    ``span``: greatest less least possible label.
    """
    unseen = 2.0 * span**2
    excess = (around + unseen) / (expected + unseen)
    least = np.where(spread < unseen, 3.0 * span**2 / n, 0.0)
    more = np.maximum(0.0, least - excess * expected / n)
    return np.asarray(excess[..., None] * q + more[..., None])


def satterthwaite(parts: Floats, df: Floats) -> Floats:
    """The degrees of freedom of sums of independent variances (Welch and Satterthwaite).
    ``parts``: the variances, parts × runs. ``df``: their degrees of freedom, of the same shape.
    Returns at least :data:`LEAST_DF`, and that where all parts are 0."""
    squares = (parts**2 / df).sum(axis=0)
    total = parts.sum(axis=0)
    found = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)
    return np.asarray(np.maximum(found, LEAST_DF))
