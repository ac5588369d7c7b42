"""Tests and intervals for verdicts on the same units before and after a change.

Sources: McNemar 1947, exact as in Agresti, Categorical Data Analysis (2013), section 11.1; Bonett &
Price, Statistics in Medicine 31 (2012) (interval of a difference of paired shares); Wilson 1927.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from assay.measures.bootstrap import Interval
from assay.measures.settings import probability, whole_number
from assay.statistics.checks import defined, numbers
from assay.statistics.significance import bootstrap_difference, bootstrap_p, pair_sizes


def mcnemar(up: int, down: int) -> float | None:
    """The exact two-sided p-value of McNemar's test, or ``None`` if no verdict flipped.

    Under the null hypothesis, verdicts flip in either direction with probability ½; p is twice the
    smaller tail of the binomial distribution, at most 1. ``up``: the number of units that flipped
    from no to yes. ``down``: from yes to no. Raises ValueError if one is not a whole number from 0.
    """
    n = whole_number(up, "up", 0) + whole_number(down, "down", 0)
    if not n:
        return None
    return min(1.0, 2.0 * float(special.bdtr(min(up, down), n, 0.5)))


def paired_shares(up: int, down: int, n: int, *, level: float = 0.95) -> Interval:
    """The interval of the share of yes after the change minus that before, within −1 to 1.

    One flip in each direction is added to those seen, so that the interval has a width even if
    nothing flipped (Bonett & Price 2012). ``up``, ``down``: as in :func:`mcnemar`. ``n``: the
    number of units. Raises ValueError if there is no unit, there are more flips than units, or
    ``level`` is not between 0 and 1.
    """
    if not 0 <= up + down <= whole_number(n, "n"):
        raise ValueError(f"{up} + {down} of {n} units cannot have flipped")
    more, less = (up + 1) / (n + 2), (down + 1) / (n + 2)
    half = _z(level) * math.sqrt((more + less - (more - less) ** 2) / (n + 2))
    return Interval(max(-1.0, more - less - half), min(1.0, more - less + half))


def wilson(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval of a share of ``n`` units. Raises ValueError if there is no unit, or
    ``share`` or ``level`` is out of range."""
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, not a number from 0 to 1")
    squared = _z(level) ** 2 / whole_number(n, "n")
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def by_topic(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    topic: npt.ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> tuple[float, float, Interval | None, float | None]:
    """Means over topics (which have equal weight) before and after, the percentile interval of
    their difference, and the p-value of the paired bootstrap test; both resample topics.

    ``before``, ``after``: the values of the same units. ``topic``: the topic of each unit.
    ``level``: of the interval. ``resamples``: how often the topics are drawn. ``seed``: of the
    draws. The interval and p are ``None`` with fewer than 2 topics, p also if all differences are
    equal. Raises ValueError if there is no unit, the lengths differ, a value is not finite, or a
    setting is out of range.
    """
    first, second = numbers(before, "values before"), numbers(after, "values after")
    names, which = np.unique(np.asarray(topic), return_inverse=True)
    if not len(first) or not len(first) == len(second) == len(which):
        raise ValueError("give as many values before as after, and as topics: one at least")
    count = np.bincount(which)
    x, y = (np.bincount(which, values) / count for values in (first, second))
    if len(names) < 2:
        return float(x.mean()), float(y.mean()), None, None
    interval = bootstrap_difference(y, x, level=level, resamples=resamples, seed=seed)
    p = bootstrap_p((y - x)[:, None], pair_sizes(y, x)[:, None], resamples, seed)
    return float(x.mean()), float(y.mean()), interval, defined(p[0])


def look_level(look: int, *, level: float = 0.95) -> float:
    """The level of the interval at look k (``look``, from 1) of an endless sequence of looks.

    It is 1 − α/(k(k + 1)). The errors add up to α over all looks, so all intervals hold together
    with probability ``level``, however many looks there are and however they depend on each other
    (union bound). Raises ValueError if ``look`` is not a whole number from 1, or ``level`` is not
    between 0 and 1.
    """
    whole_number(look, "look")
    return 1.0 - (1.0 - probability(level, "level")) / (look * (look + 1))


def _z(level: float) -> float:
    return float(special.ndtri(0.5 + probability(level, "level") / 2))
