"""What future labels would achieve: expected variances, and pairs of runs decided."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.settings import whole_number
from assay.statistics.checks import numbers
from assay.statistics.corrected.calibration import FOLDS, grade_means
from assay.statistics.corrected.estimates import (
    difference_variance,
    half_widths,
    modelled_variance,
)
from assay.statistics.corrected.inputs import weight_matrix
from assay.statistics.corrected.leaderboard import rank_sets_of, score_differences
from assay.statistics.corrected.single_items import LEAST_SPREAD, blended, topic_sums
from assay.statistics.corrected.whole_topics import mean_covariance

_RANK_DRAWS = 2000
_BEYOND = 10.0
"""The least expected number of draws beyond the critical value."""


class Expected(NamedTuple):
    """A forecast of the leaderboard.

    ``half``: half the width of each run's interval, R. ``decided``: the expected number of decided
    pairs. ``critical``: by how many standard errors runs must differ for that.
    """

    half: Floats
    decided: float
    critical: float


def items_covariance(
    weights: npt.ArrayLike, expectation: npt.ArrayLike, pi: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """The expected covariance after a draw of items is labelled, and degrees of freedom.

    Σ_i w_ri w_si (1 − π_i)/π_i v_i, where people say yes to item i with probability m_i, and v_i is
    the variance of a label that will be estimated from the drawn labels. It is more than m(1 − m),
    because few labels determine m only roughly, and :func:`assay.statistics.corrected.items` allows
    for disagreements that nobody has seen. Source: the specification of trust, section 4 (the
    expectation of ``pool``).

    ``weights``: R × I. ``expectation``: m, I numbers from 0 to 1. ``pi``: the probability that each
    item is drawn; 0 if it is known already. Raises ValueError if the shapes do not fit, or a number
    is missing.
    """
    w = weight_matrix(weights)
    m, p = numbers(expectation, "expectations"), numbers(pi, "pi")
    if not m.shape == p.shape == w.shape[1:]:
        raise ValueError(f"{w.shape[1]} items, but {m.shape} expectations and {p.shape} pi")
    odds = np.divide(1.0 - p, p, out=np.zeros_like(p), where=p > 0)
    around, modelled = _variances(m, p)
    from_own, pooled = ((w * (odds * one)) @ w.T for one in (around, modelled))
    a = w**2 * np.divide(odds, p, out=np.zeros_like(p), where=p > 0)
    return blended(from_own, pooled, a @ p, (a**2) @ p, max(p.sum(), 1.0))


def _variances(m: Floats, pi: Floats) -> tuple[Floats, Floats]:
    """The expected squared residuals of I labels, and the variances that will be modelled from
    those of all drawn labels. Items with equal m count as one grade of the judge."""
    open_to = np.flatnonzero(pi > 0)
    own, n = m * (1.0 - m), float(pi.sum())
    if not n:
        return own, own
    grade = np.unique(m, return_inverse=True)[1]
    fitted_on = np.full(len(open_to), (1.0 - 1.0 / FOLDS) * n / len(open_to))
    means, counts = grade_means(grade, open_to, m[open_to], fitted_on)
    fitted = means[grade]
    q = np.maximum(fitted * (1.0 - fitted), LEAST_SPREAD)
    around = own + (m - fitted) ** 2 + own / counts[grade]
    of_each, mean = np.full(len(open_to), n / len(open_to)), m[open_to].mean()
    seen, expected = of_each @ around[open_to], of_each @ q[open_to]
    return around, modelled_variance(q, seen, expected, n * mean * (1.0 - mean), n)


def topics_covariance(
    weights: npt.ArrayLike, expectation: npt.ArrayLike, topic: npt.ArrayLike, n: int
) -> tuple[Floats, Floats]:
    """The expected covariance after a draw of ``n`` whole topics is labelled, and degrees of
    freedom, for scores that are means over topics and sums over items.

    (1 − n/N) S/n with S_rs = N Σ_i w_ri w_si m_i (1 − m_i), for independent labels. If most topics
    are expected to have exactly the score of the more likely labels, unseen disagreements are added
    as in :func:`assay.statistics.corrected.topics`. Source: the specification of trust, section 3.

    ``weights``: R × I. ``expectation``: m, I numbers from 0 to 1. ``topic``: the topic number of
    each item. ``n``: the number of topics to draw. Raises ValueError if the shapes do not fit, or
    ``n`` is not from 2 to the number of topics.
    """
    w, places = weight_matrix(weights), np.unique(np.asarray(topic), return_inverse=True)[1]
    m, count = numbers(expectation, "expectations"), int(places.max()) + 1
    whole_number(n, "n", 2)
    if n > count:
        raise ValueError(f"{n} of {count} topics cannot be drawn")
    own = m * (1.0 - m)
    spread = count * (w * own) @ w.T
    likely = m >= 0.5
    with np.errstate(divide="ignore"):
        agreed = np.exp(topic_sums((w != 0) * np.log(np.maximum(m, 1.0 - m)), places, count))
    off = topic_sums(w * (m - likely), places, count) ** 2 + topic_sums(w**2 * own, places, count)
    rare = float((1.0 - agreed).mean())
    unseen = None
    if rare <= 0.5:
        greatest = np.ptp(topic_sums(w * likely, places, count))
        unseen = count**2 * float(off.mean() / rare if rare else greatest**2)
    covariance = mean_covariance((n - 1.0) * spread, n, unseen)
    return (1.0 - n / count) * covariance, np.full(len(w), n - 1.0)


def expected(
    value: npt.ArrayLike, covariance: Floats, df: Floats, *, level: float, deciding: float
) -> Expected:
    """Forecast what a leaderboard with this covariance will decide.

    A pair is decided if its estimated difference is beyond the joint critical value. The estimate
    is normally distributed around the difference of ``value``, with the standard error from the
    covariance.

    ``value``: R scores, as far as they are known. ``covariance``: R × R, of the future estimates.
    ``df``: R degrees of freedom. ``level``: of the intervals. ``deciding``: the level at which
    pairs are called decided; it should be higher if this is checked often.
    """
    theta = numbers(value, "scores")
    half = half_widths(np.diag(covariance), df, level)
    draws = max(_RANK_DRAWS, math.ceil(_BEYOND / (1.0 - deciding)))
    middle = float(np.median(df))
    critical = rank_sets_of(theta, covariance, middle, level=deciding, draws=draws).critical
    first, second = np.triu_indices(len(theta), 1)
    delta = np.abs(score_differences(theta)[first, second])
    se = np.sqrt(difference_variance(covariance)[first, second])
    away = np.divide(delta, se, out=np.where(delta > 0, np.inf, -np.inf), where=se > 0)
    from scipy import special  # noqa: PLC0415 (slow to load)

    beyond = special.ndtr(away - critical) + special.ndtr(-away - critical)
    beyond = np.where(se > 0, beyond, (delta > 0).astype(float))
    return Expected(half, float(beyond.sum()), critical)
