"""Topic set size design, and the power of a finished experiment.

The residual variance of a topics × runs matrix (two-way ANOVA without replication) estimates σ²,
the variance of a score, from which Sakai's three designs compute a number of topics. They assume
the same σ² for every run, so a difference of two scores has the variance 2σ².

Sources: Sakai, Topic set size design, Information Retrieval Journal 19 (2016); Sakai, Laboratory
Experiments in Information Retrieval (2018), chapters 3, 6 and 7; Nagata, How to Design the Sample
Size (2003). Their spreadsheets approximate the noncentral distributions; here they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measures.ranges import ROUNDING
from assay.measures.settings import probability, whole_number
from assay.statistics.checks import score_matrix

Design = Literal["paired-t", "anova", "interval"]
"""What is required of the number of topics: the power of a paired t-test or of a one-way ANOVA over
m runs, or the expected width of a confidence interval."""

_MOST_TOPICS = 10**9

_SMALLEST = 1e-100
"""If all scores are smaller than this, their variance may underflow to 0."""


@dataclass(frozen=True)
class Variance:
    """An estimate of a variance. ``degrees``: its degrees of freedom, which are its weight when
    estimates are pooled."""

    value: float
    degrees: int


def residual_variance(matrix: npt.ArrayLike) -> Variance:
    """V_E2, the residual variance of the two-way ANOVA without replication.

    V = Σ (x_ij − topic mean_i − run mean_j + grand mean)² / ((n − 1)(m − 1)). ``matrix``: scores, n
    topics × m runs, none missing. Raises ValueError for fewer than 2 topics or 2 runs, or a score
    is missing or not finite.
    """
    scores = score_matrix(matrix)
    topics, runs = scores.shape
    residuals = (
        scores
        - scores.mean(axis=1, keepdims=True)
        - scores.mean(axis=0, keepdims=True)
        + scores.mean()
    )
    degrees = (topics - 1) * (runs - 1)
    return Variance(float(np.square(residuals).sum() / degrees), degrees)


def pooled_variance(variances: Iterable[Variance]) -> Variance:
    """The mean of variances, weighted by their degrees of freedom (Sakai 2016). Raises ValueError
    if there are none, or one is negative, not finite or without degrees of freedom."""
    several = list(variances)
    if not several:
        raise ValueError("there are no variances to pool")
    for number, variance in enumerate(several, 1):
        if not (math.isfinite(variance.value) and variance.value >= 0 and variance.degrees >= 1):
            raise ValueError(f"variance {number} cannot be pooled: {variance}")
    degrees = sum(variance.degrees for variance in several)
    return Variance(sum(v.value * v.degrees for v in several) / degrees, degrees)


# --- power and width of a given number of topics -------------------------------------------------


def paired_t_power(topics: int, min_difference: float, variance: float, alpha: float) -> float:
    """The exact power of a two-sided paired t-test.

    For n pairs whose difference has the mean minD and the variance 2σ², t² follows a noncentral F
    distribution with 1 and n − 1 degrees of freedom and λ = n minD² / (2σ²).

    ``topics``: n, at least 2. ``min_difference``: minD, the smallest difference worth detecting.
    ``variance``: σ², the variance of a score (not of a difference). ``alpha``: the level of the
    test. Raises ValueError if an argument is out of range.
    """
    whole_number(topics, "topics", 2)
    _check(min_difference, variance, alpha)
    noncentrality = _noncentrality(topics, min_difference, variance)
    return _f_power(1, topics - 1, noncentrality, alpha)


def anova_power(topics: int, min_range: float, variance: float, alpha: float, runs: int) -> float:
    """The exact power of a one-way ANOVA in Sakai's worst case.

    In the worst case all runs but the best and the worst are half-way between these two; the
    statistic then follows a noncentral F distribution with m − 1 and m(n − 1) degrees of freedom
    and λ = n minD² / (2σ²).

    ``topics``: n, at least 2. ``min_range``: minD, the smallest difference between the best and the
    worst run worth detecting. ``variance``: σ², the variance of a score. ``alpha``: the level of
    the test. ``runs``: m, at least 2. Raises ValueError if an argument is out of range.
    """
    whole_number(topics, "topics", 2)
    whole_number(runs, "runs", 2)
    _check(min_range, variance, alpha)
    noncentrality = _noncentrality(topics, min_range, variance)
    return _f_power(runs - 1, runs * (topics - 1), noncentrality, alpha)


def expected_width(topics: int, variance: float, alpha: float) -> float:
    """The expected width of the (1 − α) t interval of a paired mean difference.

    2 t(n − 1; α) E[√V] / √n, where V is the sample variance of the differences with the mean 2σ²
    and E[√V] = √(2σ²) · √(2/(n − 1)) · Γ(n/2) / Γ((n − 1)/2): the exact expectation of the root
    (Sakai 2016), not the root of the expectation.

    ``topics``: n, at least 2. ``variance``: σ², the variance of a score (not of a difference).
    ``alpha``: 1 − the level of the interval. Raises ValueError if an argument is out of range.
    """
    whole_number(topics, "topics", 2)
    _check(1.0, variance, alpha)
    quantile = -float(special.stdtrit(topics - 1, alpha / 2))
    shrinkage = math.exp(special.gammaln(topics / 2) - special.gammaln((topics - 1) / 2))
    root = 2 * math.sqrt(variance) * math.sqrt(1 / (topics - 1)) * shrinkage
    return 2 * quantile * root / math.sqrt(topics)


def _noncentrality(topics: int, difference: float, variance: float) -> float:
    """λ. (The square of the difference itself could underflow or raise an OverflowError.)"""
    effect = difference / math.sqrt(variance)
    return topics * (effect * effect) / 2


def _f_power(upper: int, lower: int, noncentrality: float, alpha: float) -> float:
    critical = 1 / special.fdtri(lower, upper, alpha)  # 1/F has swapped degrees of freedom
    power = 1 - float(special.ncfdtr(upper, lower, noncentrality, critical))
    if math.isnan(power) and noncentrality > 1e4:  # scipy gives NaN although the power is 1
        return 1.0
    return min(1.0, power)


def _check(difference: float, variance: float, alpha: float) -> None:
    if not (math.isfinite(difference) and difference > 0):
        raise ValueError(f"the difference to detect must be greater than 0, got {difference}")
    if not (math.isfinite(variance) and variance > 0):
        raise ValueError(f"the variance must be greater than 0, got {variance}")
    probability(alpha, "alpha")


# --- the three designs ---------------------------------------------------------------------------


def paired_t_topics(alpha: float, beta: float, min_difference: float, variance: float) -> int:
    """The smallest n for which the paired t-test has a power of at least 1 − β.

    ``beta``: the risk of missing a difference of ``min_difference``; for the other arguments see
    :func:`paired_t_power`. Raises ValueError if an argument is out of range, or more than 10⁹
    topics would be needed.
    """
    _check(min_difference, variance, alpha)
    probability(beta, "beta")
    return _smallest(
        lambda n: paired_t_power(n, min_difference, variance, alpha) >= 1 - beta,
        min_difference,
        variance,
    )


def anova_topics(
    alpha: float, beta: float, min_range: float, variance: float, runs: int = 2
) -> int:
    """The smallest n for which the one-way ANOVA over ``runs`` runs has a power of at least 1 − β.

    Sakai recommends it also for comparing every pair of m runs. ``beta``: the risk of missing a
    range of ``min_range``; for the other arguments see :func:`anova_power`. Raises ValueError if an
    argument is out of range, or more than 10⁹ topics would be needed.
    """
    _check(min_range, variance, alpha)
    probability(beta, "beta")
    whole_number(runs, "runs", 2)
    return _smallest(
        lambda n: anova_power(n, min_range, variance, alpha, runs) >= 1 - beta,
        min_range,
        variance,
    )


def interval_topics(alpha: float, width: float, variance: float) -> int:
    """The smallest n for which the expected width of the interval is at most ``width``.

    For the other arguments see :func:`expected_width`. Raises ValueError if an argument is out of
    range, or more than 10⁹ topics would be needed.
    """
    _check(width, variance, alpha)
    return _smallest(lambda n: expected_width(n, variance, alpha) <= width, width, variance)


def _smallest(enough: Callable[[int], bool], difference: float, variance: float) -> int:
    """The smallest sufficient n ≥ 2; the search starts at about variance / difference²."""
    ratio = math.sqrt(variance) / difference
    start = max(2, math.ceil(min(ratio * ratio, _MOST_TOPICS)))
    topics = smallest(enough, start, _MOST_TOPICS)
    if topics is None:
        raise ValueError("more than 10⁹ topics would be needed: ask for a larger difference")
    return topics


def smallest(
    enough: Callable[[int], bool], start: int, most: int, *, tolerance: float = 0.0
) -> int | None:
    """The smallest n ≥ 2 that is ``enough``, as every larger n must be; None if ``most`` is not.
    The search starts at ``start``, and ends once n is known to within a share ``tolerance``."""
    low, high = 1, start
    while not enough(high):
        low, high = high, 2 * high
        if low >= most:
            return None
    while high - low > max(1, int(high * tolerance)):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class SizeRow:
    """One row of a table of topic set sizes.

    ``design``: the requirement, see :data:`Design`. ``alpha``: the level of the test, or 1 − the
    level of the interval. ``beta``: the risk of missing the difference; ``None`` for an interval.
    ``mind``: the smallest difference to detect, or the width of the interval. ``m``: the number of
    runs, 2 for the paired designs. ``topics``: the number of topics needed.
    """

    design: Design
    alpha: float
    beta: float | None
    mind: float
    m: int
    topics: int


def size_table(
    variance: float,
    *,
    alphas: Sequence[float] = (0.05,),
    betas: Sequence[float] = (0.2,),
    differences: Sequence[float] = (0.05, 0.1, 0.2),
    runs: Sequence[int] = (2, 5, 10, 20, 50, 100),
    widths: Sequence[float] | None = None,
) -> list[SizeRow]:
    """The topic set sizes of all three designs for every combination of the settings.

    ``variance``: σ², e.g. from :func:`pooled_variance`. ``alphas``: levels. ``betas``: risks of
    missing the difference. ``differences``: differences to detect. ``runs``: numbers of runs for
    the ANOVA design. ``widths``: widths of the interval, by default ``differences``. Raises
    ValueError if a setting is out of range.
    """
    rows: list[SizeRow] = []
    for alpha in alphas:
        for beta in betas:
            for mind in differences:
                topics = paired_t_topics(alpha, beta, mind, variance)
                rows.append(SizeRow("paired-t", alpha, beta, mind, 2, topics))
                for m in runs:
                    topics = anova_topics(alpha, beta, mind, variance, m)
                    rows.append(SizeRow("anova", alpha, beta, mind, m, topics))
        for width in differences if widths is None else widths:
            topics = interval_topics(alpha, width, variance)
            rows.append(SizeRow("interval", alpha, None, width, 2, topics))
    return rows


# --- a finished experiment -----------------------------------------------------------------------


@dataclass(frozen=True)
class AchievedPower:
    """What a finished experiment could detect.

    ``topics``: n. ``runs``: m. ``variance``: its residual variance. ``difference``: the difference
    to detect. ``paired_t``: the power of a paired t-test of two runs that differ by it. ``anova``:
    the power of a one-way ANOVA over m runs with this range. ``width``: the expected width of the
    interval of a difference of two runs.
    """

    topics: int
    runs: int
    variance: Variance
    difference: float
    paired_t: float
    anova: float
    width: float


def achieved_power(
    matrix: npt.ArrayLike, *, alpha: float = 0.05, min_difference: float | None = None
) -> AchievedPower | None:
    """The power that an experiment had with its own topics, runs and residual variance.

    ``matrix``: scores, topics × runs. ``alpha``: the level of the tests. ``min_difference``: the
    difference to detect, by default the observed range of the run means. (Power for the observed
    difference says no more than its p-value; power for a difference that matters to you says what
    the experiment could have shown.) Returns ``None`` if power is undefined: the residual variance
    is 0, or no difference was given and all run means are equal. Raises ValueError if the matrix is
    not complete, all its scores are below 10⁻¹⁰⁰, or a setting is out of range.
    """
    scores = score_matrix(matrix)
    probability(alpha, "alpha")
    variance = residual_variance(scores)
    observed = float(np.ptp(scores.mean(axis=0)))
    difference = observed if min_difference is None else float(min_difference)
    largest = float(np.abs(scores).max())
    if 0 < largest < _SMALLEST:
        raise ValueError(
            f"all scores are within ±{largest:g}, too small for their variance to be a number: "
            "scale them up"
        )
    negligible = ROUNDING * largest
    if math.sqrt(variance.value) <= negligible:
        return None
    if min_difference is None and observed <= negligible:
        return None
    topics, runs = scores.shape
    return AchievedPower(
        topics=topics,
        runs=runs,
        variance=variance,
        difference=difference,
        paired_t=paired_t_power(topics, difference, variance.value, alpha),
        anova=anova_power(topics, difference, variance.value, alpha, runs),
        width=expected_width(topics, variance.value, alpha),
    )
