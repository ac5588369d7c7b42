"""What labels that nobody gave yet will buy: expected variances, and pairs of runs settled."""

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
from assay.statistics.corrected.given import weight_matrix
from assay.statistics.corrected.linear import LEAST_SPREAD, joined, topic_sums
from assay.statistics.corrected.order import apart, ranks_between
from assay.statistics.corrected.whole import mean_covariance

_RANK_DRAWS = 2000
_BEYOND = 10.0
"""Draws beyond the critical value, at least, at levels that are looked at often."""


class Expected(NamedTuple):
    """What a leaderboard will look like: half of each run's interval, R; how many pairs of runs
    are expected to be settled; and by how many standard errors runs must differ for that."""

    half: Floats
    decided: float
    critical: float


def items_covariance(
    weights: npt.ArrayLike, expectation: npt.ArrayLike, pi: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """The covariance that a draw of items is expected to leave, and degrees of freedom.

    Σ_i w_ri w_si (1 − π_i)/π_i v_i: people say yes to item i with chance m_i, and v is what the
    variance of a label will be taken for when the drawn labels are there. That is more than m(1 −
    m): few labels tell m roughly, and :func:`assay.statistics.corrected.items` counts disagreements
    that nobody has seen.

    Source: the specification of trust, section 4 (the expectation of ``pool``).

    ``weights``: R × I. ``expectation``: I times m, 0 to 1. ``pi``: I probabilities of being drawn;
    an item with 0 is known already. Raises ValueError if the shapes do not fit, or a number is
    missing.
    """
    w = weight_matrix(weights)
    m, p = numbers(expectation, "expectations"), numbers(pi, "pi")
    if not m.shape == p.shape == w.shape[1:]:
        raise ValueError(f"{w.shape[1]} items, but {m.shape} expectations and {p.shape} pi")
    odds = np.divide(1.0 - p, p, out=np.zeros_like(p), where=p > 0)
    around, modelled = _variances(m, p)
    from_own, pooled = ((w * (odds * one)) @ w.T for one in (around, modelled))
    a = w**2 * np.divide(odds, p, out=np.zeros_like(p), where=p > 0)
    return joined(from_own, pooled, a @ p, (a**2) @ p, max(p.sum(), 1.0))


def _variances(m: Floats, pi: Floats) -> tuple[Floats, Floats]:
    """What drawn labels will show of the variances of I labels, and what these will be taken for by
    what all that are drawn show. Items are drawn by ``pi``, and the chance m of a yes is fitted to
    the labels of each grade, of which items have one for each m."""
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
    """The covariance that a draw of ``n`` whole topics is expected to leave, for scores that
    are means over topics and sums over items, and degrees of freedom.

    (1 − n/N) S/n with S_rs = N Σ_i w_ri w_si m_i (1 − m_i): what people say of items of a topic
    errs by itself around what is expected. Where most topics will have the very score that the
    likelier labels give, disagreements that nobody has seen are counted as
    :func:`assay.statistics.corrected.topics` does.

    Source: the specification of trust, section 3.

    ``weights``: R × I. ``expectation``: I times m. ``topic``: I numbers of the items' topics.
    ``n``: how many of them are drawn. Raises ValueError if the shapes do not fit, or ``n`` is
    not from 2 to the number of topics.
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
    """What a leaderboard with this covariance will settle.

    A pair is settled where its estimated difference is beyond the joint critical value; the
    estimate falls around δ, the difference of ``value``, with the covariance's standard error.

    ``value``: R scores as far as they are known. ``covariance``: R × R, of the estimates to come.
    ``df``: R degrees of freedom. ``level``: of the intervals. ``deciding``: the level at which
    pairs are called settled: higher where it is looked at often.
    """
    theta = numbers(value, "scores")
    half = half_widths(np.diag(covariance), df, level)
    draws = max(_RANK_DRAWS, math.ceil(_BEYOND / (1.0 - deciding)))
    middle = float(np.median(df))
    critical = ranks_between(theta, covariance, middle, level=deciding, draws=draws).critical
    first, second = np.triu_indices(len(theta), 1)
    delta = np.abs(apart(theta)[first, second])
    se = np.sqrt(difference_variance(covariance)[first, second])
    away = np.divide(delta, se, out=np.where(delta > 0, np.inf, -np.inf), where=se > 0)
    from scipy import special  # noqa: PLC0415 (slow to load)

    beyond = special.ndtr(away - critical) + special.ndtr(-away - critical)
    beyond = np.where(se > 0, beyond, (delta > 0).astype(float))
    return Expected(half, float(beyond.sum()), critical)
