"""Significance of differences between runs: paired tests, corrections and effect sizes.

Tests are two-sided, and paired: both runs are scored on the same topics. See also
:mod:`assay.statistics.tukey` (a test of all pairs at once), :mod:`assay.statistics.letters` and
:mod:`assay.statistics.comparison`.

Sources: Sakai, Laboratory Experiments in Information Retrieval (2018), chapters 2, 4 and 5; Smucker
et al., CIKM 2007 (randomisation); Efron & Tibshirani, An Introduction to the Bootstrap (1993),
section 16.4, and Sakai, SIGIR 2006 (bootstrap test); Phipson & Smyth 2010 (Monte Carlo p-values);
Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measures.arrays import Floats
from assay.measures.bootstrap import Interval, mean_interval, topic_counts
from assay.measures.ranges import ROUNDING
from assay.measures.settings import whole_number
from assay.statistics.checks import score_matrix, score_pair
from assay.statistics.resampling import EXACT_LIMIT, blocks, is_exact, sum_slack, swap_masks
from assay.statistics.samplesize import residual_variance

_COLUMNS_AT_ONCE = 500
"""How many pairs of runs the bootstrap test handles at a time."""


def pair_sizes(first: Floats, second: Floats) -> Floats:
    """The larger absolute score of each pair. Rounding errors are proportional to it."""
    return np.maximum(np.abs(first), np.abs(second))


def t_columns(differences: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """t and p of every column; NaN if the column is constant up to rounding. ``differences``:
    scores of one run − scores of the other, n topics × k pairs. ``sizes``: their
    :func:`pair_sizes`."""
    n = len(differences)
    differences, sizes = _scaled(differences, sizes)
    spread = differences.std(axis=0, ddof=1)
    rounding = ROUNDING * np.abs(differences).max(axis=0)
    rounding += 4 * np.finfo(np.float64).eps * sizes.max(axis=0)
    spread[spread <= rounding] = np.nan
    t = differences.mean(axis=0) * math.sqrt(n) / spread
    return t, 2 * special.stdtr(n - 1, -np.abs(t))


def _scaled(differences: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Divide each column by a power of two near its largest score, so that squares of tiny scores
    do not underflow. This rounds nothing."""
    exponents = np.frexp(sizes.max(axis=0))[1]
    return np.ldexp(differences, -exponents), np.ldexp(sizes, -exponents)


def randomisation_test(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
) -> float:
    """The two-sided p-value of the randomisation test, which swaps the scores of two runs topic by
    topic; 1 if the runs are equal.

    p is the share of swaps whose absolute mean difference is at least the observed one. With random
    swaps the observed one is added: p = (count + 1) / (B + 1).

    ``x``, ``y``: n scores of each run, for the same topics in the same order. ``permutations``: B,
    the number of random swaps. ``seed``: of the random swaps. ``exact_limit``: all 2^n swaps are
    used if there are no more than this. Raises ValueError for fewer than 2 topics, different
    lengths, a score that is not finite, or a setting out of range.
    """
    first, second = score_pair(x, y)
    differences, sizes = (first - second)[:, None], pair_sizes(first, second)[:, None]
    return float(randomisation_p(differences, sizes, permutations, seed, exact_limit)[0])


def randomisation_p(
    differences: Floats,
    sizes: Floats,
    permutations: int,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
) -> Floats:
    """The p-value of every column by the :func:`randomisation_test`, all with the same swaps.
    ``differences``: scores of one run − scores of the other, n topics × k pairs. ``sizes``: their
    :func:`pair_sizes`."""
    n, columns = differences.shape
    observed = np.abs(differences.sum(axis=0)) - sum_slack(differences, sizes)
    counts, total = np.zeros(columns), 0
    for masks in swap_masks(n, permutations, seed, exact_limit):
        signs = 1.0 - 2.0 * masks
        total += len(signs)
        for block in blocks(signs, 1_000_000 // n):
            counts += (np.abs(block @ differences) >= observed).sum(axis=0)
    if is_exact(n, exact_limit):
        return counts / total
    return (counts + 1) / (total + 1)


def bootstrap_difference(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> Interval:
    """Percentile interval of mean(x − y), resampling topics. Raises ValueError for fewer than 2
    topics, different lengths, a score that is not finite, or a setting out of range."""
    first, second = score_pair(x, y)
    whole_number(resamples, "resamples")
    interval = mean_interval(first - second, level=level, resamples=resamples, seed=seed)
    assert interval is not None  # noqa: S101 (there are at least two topics)
    return interval


def bootstrap_p(differences: Floats, sizes: Floats, resamples: int, seed: int) -> Floats:
    """The p-value of the paired bootstrap test for every column.

    The t of the differences is compared with the t of B resamples of the centred differences, for
    which the null hypothesis is true: p = (count + 1) / (B + 1), where count is the number of
    resamples whose absolute t is at least the observed one (Sakai 2006). The sources do not define
    t for a resample without variance. Here it is infinite, or 0 if all its differences equal the
    mean. Ties count, including those split by rounding only, so p does not depend on the unit. p is
    undefined (NaN), like t, if all differences of a column are equal.

    ``differences``: scores of one run − scores of the other, n topics × k pairs. ``sizes``: their
    :func:`pair_sizes`. ``resamples``: B; all columns use the same resamples. ``seed``: of the
    resamples. Raises ValueError if ``resamples`` is not a whole number from 1, or ``seed`` not a
    whole number from 0.
    """
    n, columns = differences.shape
    undefined = np.isnan(t_columns(differences, sizes)[0])
    counts = np.zeros(columns)
    for start in range(0, columns, _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        own, size = _scaled(differences[:, part], sizes[:, part])
        total, length = np.abs(own.sum(axis=0)), np.sqrt(np.square(own).sum(axis=0))
        total[total <= sum_slack(own, size)] = 0.0
        # A resample may contain the topic with the largest scores n times.
        largest = (np.tile(np.abs(x).max(axis=0), (n, 1)) for x in (own, size))
        noise = sum_slack(*largest) / n
        centred = own - own.mean(axis=0)
        centred[np.abs(centred) <= noise] = 0.0
        squares = np.square(centred)
        for drawn in topic_counts(n, resamples, seed):
            sums, lengths = np.abs(drawn @ centred), np.sqrt(drawn @ squares)
            # |t| increases with |Σ x| / √Σ x², so these ratios are compared, cross-multiplied; this
            # avoids a variance as a difference of nearly equal numbers. By the Cauchy–Schwarz
            # inequality |Σ x| is at most √n √Σ x², so an error of *noise* in every x changes the
            # two sides by at most this slack.
            slack = 2 * n * noise * (length + lengths)
            at_least = sums * length + slack >= total * lengths
            counts[part] += (at_least & ((lengths > 0) | (total == 0))).sum(axis=0)
    return np.where(undefined, np.nan, (counts + 1) / (resamples + 1))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the same order. Undefined ones (``None``) stay
    undefined and do not count as tests. Raises ValueError if a p-value is not from 0 to 1."""
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    for p, place in known:
        if not isinstance(p, float | int | np.floating) or not 0 <= p <= 1:
            raise ValueError(f"p-value {place + 1} is {p}, not a number from 0 to 1")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[place] = highest
    return adjusted


def residual_effect_sizes(matrix: npt.ArrayLike) -> Floats | None:
    """Effect sizes (mean of the row's run − mean of the column's) / √V_E2, m × m.

    V_E2 is the residual variance of the two-way ANOVA without replication, the same for all pairs
    (Sakai 2018, section 5.4). Returns ``None`` if it is 0. Raises ValueError if the matrix is not
    complete, or smaller than 2 topics × 2 runs.
    """
    scores = score_matrix(matrix)
    scores = np.ldexp(scores, -np.frexp(np.abs(scores).max())[1])  # as in _scaled
    variance = residual_variance(scores)
    if math.sqrt(variance.value) <= ROUNDING * float(np.abs(scores).max()):
        return None
    means = scores.mean(axis=0)
    return np.asarray((means[:, None] - means[None, :]) / math.sqrt(variance.value))
