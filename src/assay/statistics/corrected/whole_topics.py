"""Corrected scores from whole topics that people labelled: any measure, including nDCG."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.ranges import ROUNDING
from assay.statistics.corrected.estimates import Estimates, half_widths
from assay.statistics.corrected.inputs import (
    LEAST_TOPICS,
    Population,
    check_population,
    judge_labels,
    mask,
    people_labels,
    require_at_least,
)

_UNSEEN = 2.0
"""The number of unseen disagreements between people and judge that are added to each run if these
are rare: a judge that agreed in five topics may not in the sixth (Agresti & Min 2005)."""

_SAME = 1e-9
"""Scores that differ by less count as equal."""


def topics(
    people: npt.ArrayLike,
    judge: npt.ArrayLike,
    drawn: npt.ArrayLike,
    *,
    level: float = 0.95,
    population: Population = "these",
) -> Estimates:
    """Corrected scores from topics drawn by simple random sampling.

    θ̂_r = ȳ_rs + λ (f̄_rN − f̄_rs), a regression estimator with one λ from 0 to 1 for the whole
    leaderboard. Its covariance is a jackknife, which includes the estimation of λ. With λ = 0, for
    example if the judge gives the same score everywhere, this is the interval from people's labels
    alone. Source: the specification of trust, section 3 (A); PPI++ (Angelopoulos, Duchi & Zrnic
    2023) with one λ for all runs.

    ``people``: R × T scores from people's labels, NaN if a topic was not drawn. ``judge``: R × T
    scores from the judge's labels, none missing. ``drawn``: whether each topic was drawn, for
    example by :func:`draw_topics`. ``level``: of the intervals. ``population``: ``these`` topics,
    or topics ``like these``. Estimates are in the unit of the scores, with n − 1 degrees of
    freedom; ``judge_weight`` is λ, ``labels`` the number of drawn topics. An end above 1 means that
    n is too small. Raises ValueError if the shapes do not fit, a drawn topic has no score from
    people, or any topic none from the judge, fewer than 3 topics were drawn (unless all of
    ``these`` were), or a setting is out of range.
    """
    check_population(population)
    f = judge_labels(judge, "topic")
    if f.ndim != 2:
        raise ValueError(f"give the judge's scores as runs × topics, got {f.ndim} dimensions")
    chosen = mask(drawn, f.shape[1], "drawn", "topic")
    y = people_labels(people, chosen, "topic")
    if y.shape != f.shape:
        raise ValueError(f"people's scores are {y.shape}, the judge's {f.shape}: runs × topics")
    n = int(chosen.sum())
    full = n == f.shape[1]
    people_drawn, judge_drawn = y[:, chosen], f[:, chosen]
    if full and population == "these" and n:  # people labelled everything
        weight = _weights(people_drawn, judge_drawn)[0] if n > 1 else 0.0
        known = people_drawn.mean(axis=1)
        exact, df = np.zeros((len(f), len(f))), np.full(len(f), max(n - 1.0, 1.0))
        return Estimates.of(
            (known, exact, df), (known, exact[0]),
            level=level, judge_weight=weight, labels=n, population=population,
        )  # fmt: skip
    require_at_least(LEAST_TOPICS, n, "drawn topic")
    # Exactly 0 if there are no other topics.
    beyond = np.zeros(len(f)) if full else f.mean(axis=1) - judge_drawn.mean(axis=1)
    weight, without = _weights(people_drawn, judge_drawn)
    df = np.full(len(f), n - 1.0)
    value, covariance = _jackknife(people_drawn, judge_drawn, beyond, weight, without)
    alone, alone_covariance = _jackknife(people_drawn, judge_drawn, beyond, 0.0, np.zeros(n))
    share = n / f.shape[1]
    wider = np.atleast_2d(np.cov(people_drawn)) / f.shape[1] if population == "like these" else 0.0
    covariance = (1.0 - share) * covariance + wider
    alone_covariance = (1.0 - share) * alone_covariance + wider
    return Estimates.of(
        (value, covariance, df),
        (alone, half_widths(np.diag(alone_covariance), df, level)),
        level=level,
        judge_weight=weight,
        labels=n,
        population=population,
    )


def _weights(y: Floats, f: Floats) -> tuple[float, Floats]:
    """λ, and λ without each topic, from scores of runs × n drawn topics.

    Without topic i, the sums of centred products are the full ones minus n/(n − 1) times those of
    topic i.
    """
    n = y.shape[1]
    # Set to exactly 0 if the judge gives every topic the same score, where rounding would not.
    spreads = np.ptp(f, axis=1, keepdims=True) > 0
    y = y - y.mean(axis=1, keepdims=True)
    f = np.where(spreads, f - f.mean(axis=1, keepdims=True), 0.0)
    products, squares = (y * f).sum(axis=0), (f * f).sum(axis=0)
    cut = n / (n - 1.0)
    both = np.append(products.sum(), products.sum() - cut * products)
    spread = np.append(squares.sum(), squares.sum() - cut * squares)
    varies = spread > ROUNDING * spread[0]
    weights = np.clip(np.divide(both, spread, out=np.zeros(n + 1), where=varies), 0.0, 1.0)
    return float(weights[0]), weights[1:]


def _jackknife(
    y: Floats, f: Floats, beyond: Floats, weight: float, without: Floats
) -> tuple[Floats, Floats]:
    """The values, and their jackknife covariance for an infinite population of topics.

    ``y``, ``f``: people's and the judge's scores, runs × n drawn topics. ``beyond``: for each run,
    the judge's mean over all topics minus that over the drawn ones. ``weight``: λ. ``without``: λ
    without each drawn topic.
    """
    n = y.shape[1]
    value = y.mean(axis=1) + weight * beyond
    # Leaving out a topic changes the mean by (mean − score)/(n − 1).
    y_moved = (y.mean(axis=1, keepdims=True) - y) / (n - 1.0)
    f_moved = (f.mean(axis=1, keepdims=True) - f) / (n - 1.0)
    left = y.mean(axis=1, keepdims=True) + y_moved + without * (beyond[:, None] - f_moved)
    e = (n - 1.0) * (left - left.mean(axis=1, keepdims=True))
    return value, mean_covariance(e @ e.T, n, _unseen(y, y - f if weight else y))


def mean_covariance(products: Floats, n: int, unseen: float | None) -> Floats:
    """The covariance of R means over ``n`` topics. ``products``: R × R sums of products of the
    topics' residuals. ``unseen``: the square of an unseen disagreement, of which each run gets
    :data:`_UNSEEN`; None if disagreements are not rare."""
    seen = products / (n * (n - 1.0))
    if unseen is None:
        return seen
    added = (products + _UNSEEN * unseen * np.eye(len(products))) / ((n + 1.0) * n)
    # A run with larger disagreements than most has at least the variance that it shows.
    return np.asarray(added + np.diag(np.maximum(np.diag(seen - added), 0.0)))


def _unseen(y: Floats, disagreements: Floats) -> float | None:
    """The mean square of disagreements over all runs, if these are rare, as with a good judge; None
    if they are not, so that the drawn topics show their variance.

    ``y``: people's scores, runs × drawn topics. ``disagreements``: these minus the judge's. For
    scores of 0 or 1, a disagreement counts as 1 even if the judge's scores are probabilities: that
    all drawn topics are right may be luck.
    """
    if bool(((y == 0) | (y == 1)).all()):
        return 1.0
    distances = np.abs(disagreements - np.median(disagreements, axis=1, keepdims=True))
    seen = distances[distances > _SAME]
    if 2 * seen.size > distances.size:
        return None
    return float(np.square(seen).mean() if seen.size else np.ptp(y) ** 2)
