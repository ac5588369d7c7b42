"""Regression tests of a run: whether it got worse than is allowed, and what loss is detectable.

Everything is paired: the same questions, before and after. The questions of a session are flipped
and drawn together, because the turns of a conversation are not independent.

Sources: Fisher 1935 (randomisation of signs); Phipson & Smyth 2010 (Monte Carlo p-values); Sakai,
Laboratory Experiments in Information Retrieval (2018), chapter 6 (power of the paired t-test).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measures.arrays import Floats, Integers
from assay.measures.bootstrap import MIN_TOPICS, Interval, percentile_interval, topic_counts
from assay.measures.settings import probability, whole_number
from assay.statistics.checks import numbers
from assay.statistics.resampling import is_exact, sum_slack, swap_masks
from assay.statistics.samplesize import paired_t_topics

POWER = 0.8
"""The power with which a detectable loss is detected."""

_SEED = 0


def by_session(values: npt.ArrayLike, sessions: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """The sum of the values of each session, and their number. ``sessions``: the session of each
    value; without it each value is one by itself. Raises ValueError if a value is not finite, or
    there is not one session per value."""
    differences = numbers(values, "differences")
    if sessions is None:
        return differences, np.ones(len(differences))
    if len(sessions) != len(differences):
        raise ValueError(f"there are {len(differences)} differences and {len(sessions)} sessions")
    index = {name: number for number, name in enumerate(dict.fromkeys(sessions))}
    session = [index[name] for name in sessions]
    sums: Floats = np.bincount(session, differences).astype(np.float64)
    return sums, np.bincount(session).astype(np.float64)


def sign_flip_p(
    differences: npt.ArrayLike,
    sessions: Sequence[Hashable] | None = None,
    *,
    upper: bool = False,
    permutations: int = 10_000,
) -> float:
    """The one-sided p-value of the sign-flip test that the mean of ``differences`` is not below 0.

    p is the share of flips of signs whose sum is at most the observed one: of all 2^n flips of the
    differences other than 0 if these are at most 2^17, else of ``permutations`` random ones, as
    (count + 1) / (B + 1). It is exact if signs are exchangeable, as they are if before and after do
    not differ.

    ``differences``: one value per question, after − before (plus the loss allowed). ``sessions``:
    the session of each question; its signs flip together. ``upper``: whether to test that the mean
    is not above 0 instead. ``permutations``: B. Raises ValueError if there is no difference, one is
    not finite, or a setting is out of range.
    """
    sums, _ = by_session(differences, sessions)
    if not len(sums):
        raise ValueError("there is nothing to test")
    sums = sums[sums != 0]  # flipping the sign of 0 changes nothing
    if not len(sums):
        return 1.0
    column = (-sums if upper else sums)[:, None]
    observed = column.sum() + sum_slack(column, np.maximum(np.abs(column), 1.0))[0]
    exact = is_exact(len(sums))
    count = total = 0
    for masks in swap_masks(len(sums), permutations, _SEED):
        flipped = (1.0 - 2.0 * masks) @ column
        count += int((flipped <= observed).sum())
        total += len(flipped)
        if exact:  # swap_masks leaves out the mirror images of these flips
            count += int((-flipped <= observed).sum())
            total += len(flipped)
    return count / total if exact else (count + 1) / (total + 1)


def session_interval(
    differences: npt.ArrayLike,
    sessions: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Percentile interval of the mean difference, drawing whole sessions, or None if there is only
    one session. Raises ValueError if there is no difference, one is not finite, or a setting is out
    of range."""
    sums, sizes = by_session(differences, sessions)
    if not len(sums):
        raise ValueError("there is no difference")
    drawn = [
        (counts @ sums) / (counts @ sizes) for counts in topic_counts(len(sums), resamples, seed)
    ]
    interval = percentile_interval(np.concatenate(drawn), level, len(sums))
    return interval if len(sums) >= MIN_TOPICS else None


def detectable_loss(spread: float, n: int, alpha: float) -> float | None:
    """The loss δ that a one-sided paired t-test of level ``alpha`` detects with power
    :data:`POWER`, by the noncentral t; None with fewer than 2 questions, or if nothing varies.

    ``spread``: s_d, the standard deviation of the differences; with sessions, that of their sums
    divided by the mean size of a session. ``n``: the number of questions, or sessions. Raises
    ValueError if an argument is out of range.
    """
    whole_number(n, "n", 0)
    probability(alpha, "alpha")
    if n < 2 or spread <= 0:
        return None
    critical = special.stdtrit(n - 1, 1 - alpha)
    return float(special.nctdtrinc(n - 1, 1 - POWER, critical)) * spread / math.sqrt(n)


def questions_needed(spread: float, loss: float, alpha: float) -> int | None:
    """The number of questions needed to detect ``loss``, or None if it cannot be detected. (A
    one-sided test of level α is a two-sided test of level 2α without its other tail.)"""
    if spread <= 0 or loss <= 0:
        return None
    try:
        return paired_t_topics(min(2 * alpha, 0.999), 1 - POWER, loss, spread * spread / 2)
    except ValueError:  # more than 10⁹
        return None


def jackknife_spread(statistic: Callable[[Integers], float | None], n: int) -> float | None:
    """The substitute of s_d for a statistic that is not a mean over questions: the standard
    deviation of its jackknife pseudo-values (Efron & Tibshirani 1993, section 11.5).

    ``statistic``: a function of the indices of some questions; None if undefined. ``n``: the number
    of questions. Returns None if the statistic is undefined for all questions, or without one.
    """
    questions = np.arange(n, dtype=np.int64)
    full = statistic(questions)
    without = [statistic(np.delete(questions, one)) for one in range(n)] if n > 1 else []
    known = [value for value in without if value is not None]
    if full is None or len(known) < max(n, 2):
        return None
    return float(np.std(n * full - (n - 1) * np.array(known), ddof=1))
