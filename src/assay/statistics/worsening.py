"""Whether a run got worse than it was by more than is allowed, and what loss a test could see.

Everything is paired: the same questions, answered before and after. Questions of one session flip
and are drawn together, as turns of one conversation are not independent.

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
"""The power that a loss called detectable is detected with."""

_SEED = 0


def by_session(values: npt.ArrayLike, sessions: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """The sum of the values of each session and how many it holds; without sessions each
    value is one by itself. Raises ValueError if a value is not finite, or there are not as many
    sessions as values."""
    given = numbers(values, "differences")
    if sessions is None:
        return given, np.ones(len(given))
    if len(sessions) != len(given):
        raise ValueError(f"there are {len(given)} differences and {len(sessions)} sessions")
    places = {name: place for place, name in enumerate(dict.fromkeys(sessions))}
    which = [places[name] for name in sessions]
    sums: Floats = np.bincount(which, given).astype(np.float64)
    return sums, np.bincount(which).astype(np.float64)


def sign_flip_p(
    differences: npt.ArrayLike,
    sessions: Sequence[Hashable] | None = None,
    *,
    upper: bool = False,
    permutations: int = 10_000,
) -> float:
    """The one-sided p-value that the mean of ``differences`` is not below 0.

    p is the share of flips of signs whose sum is at most the observed one: all 2^n flips of what is
    not 0 if they are at most 2^17, else ``permutations`` random ones, (count + 1) / (B + 1).
    Exact where signs are exchangeable, as they are if before and after do not differ.

    ``differences``: one value a question, after − before (plus what may be lost). ``sessions``:
    what flips as one. ``upper``: test that the mean is not above 0 instead. ``permutations``: B,
    the number of random flips where the test is not exact. Raises ValueError if there is no
    difference, or one is not finite, or a setting is out of range.
    """
    sums, _ = by_session(differences, sessions)
    if not len(sums):
        raise ValueError("there is nothing to test")
    sums = sums[sums != 0]  # the sign of 0 moves no sum
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
        if exact:  # the mirror images of these flips are left out there
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
    """The percentile interval of the mean difference, drawing whole sessions; None if there is
    one session. Raises ValueError if there is no difference, one is not finite, or a setting is
    out of range."""
    sums, sizes = by_session(differences, sessions)
    if not len(sums):
        raise ValueError("there is no difference")
    drawn = [
        (counts @ sums) / (counts @ sizes) for counts in topic_counts(len(sums), resamples, seed)
    ]
    interval = percentile_interval(np.concatenate(drawn), level, len(sums))
    return interval if len(sums) >= MIN_TOPICS else None


def detectable_loss(spread: float, n: int, alpha: float) -> float | None:
    """The loss δ that a one-sided paired t-test of level ``alpha`` finds with :data:`POWER`, exact
    by the noncentral t; None if it is undefined (fewer than 2 questions) or nothing varies.

    ``spread``: s_d, the standard deviation of the differences; of sessions, that of their sums by
    the mean size of a session. ``n``: the number of questions, or sessions. ``alpha``: the level of
    the test. Raises ValueError if an argument is out of range.
    """
    whole_number(n, "n", 0)
    probability(alpha, "alpha")
    if n < 2 or spread <= 0:
        return None
    critical = special.stdtrit(n - 1, 1 - alpha)
    return float(special.nctdtrinc(n - 1, 1 - POWER, critical)) * spread / math.sqrt(n)


def questions_needed(spread: float, loss: float, alpha: float) -> int | None:
    """How many questions it takes to detect ``loss``; None if nobody could.

    The one-sided test of level α is the two-sided one of level 2α but for its other tail.
    """
    if spread <= 0 or loss <= 0:
        return None
    try:
        return paired_t_topics(min(2 * alpha, 0.999), 1 - POWER, loss, spread * spread / 2)
    except ValueError:  # more than 10⁹
        return None


def jackknife_spread(statistic: Callable[[Integers], float | None], n: int) -> float | None:
    """What takes the place of s_d for a statistic that is no mean over questions: the
    standard deviation of its jackknife pseudo-values (Efron & Tibshirani 1993, section 11.5).

    ``statistic``: of the questions whose places it is given; None if undefined. ``n``: the
    number of questions. Returns None if the statistic is undefined on the whole or without some
    question.
    """
    places = np.arange(n, dtype=np.int64)
    whole = statistic(places)
    without = [statistic(np.delete(places, place)) for place in range(n)] if n > 1 else []
    known = [one for one in without if one is not None]
    if whole is None or len(known) < max(n, 2):
        return None
    return float(np.std(n * whole - (n - 1) * np.array(known), ddof=1))
