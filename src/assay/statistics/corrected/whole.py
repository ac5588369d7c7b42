"""Scores where people label whole topics: any measure, also nDCG and others that are not linear."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.ranges import ROUNDING
from assay.statistics.corrected.estimates import Estimates, half_widths
from assay.statistics.corrected.given import (
    LEAST_TOPICS,
    Population,
    enough,
    judge_labels,
    mask,
    people_labels,
    population_named,
)

_UNSEEN = 2.0
"""Disagreements of people and judge that are added to each run where these are rare, as of scores
that are 0 or 1: a judge who was never at odds in five topics may be so in the sixth (Agresti & Min
2005)."""

_SAME = 1e-9
"""Scores that differ by less are the same but for rounding."""


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
    leaderboard, and its jackknife covariance, which charges for estimating λ. At λ = 0, as with a
    judge who says the same everywhere, this is the interval of people's labels alone.

    Source: the specification of trust, section 3 (A); PPI++ (Angelopoulos, Duchi & Zrnic 2023)
    with a λ that the runs share.

    ``people``: R × T scores by people's labels; NaN if a topic was not drawn. ``judge``: R × T
    scores by the judge's labels, all of them. ``drawn``: for each topic whether it was drawn, as by
    :func:`draw_topics`. ``level``: of the intervals. ``population``: ``these`` topics, or topics
    ``like these``. Returns estimates in the unit of the scores, ``judge_weight`` λ, ``labels`` the
    number of drawn topics, n − 1 degrees of freedom. A bound above 1 says that n is too small.
    Raises ValueError if the shapes do not fit, a drawn topic lacks a person's score or any topic
    the judge's, fewer than 3 topics were drawn (of ``these`` topics, and not all), or a setting is
    out of range.
    """
    population_named(population)
    f = judge_labels(judge, "topic")
    if f.ndim != 2:
        raise ValueError(f"give the judge's scores as runs × topics, got {f.ndim} dimensions")
    chosen = mask(drawn, f.shape[1], "drawn", "topic")
    y = people_labels(people, chosen, "topic")
    if y.shape != f.shape:
        raise ValueError(f"people's scores are {y.shape}, the judge's {f.shape}: runs × topics")
    n = int(chosen.sum())
    full = n == f.shape[1]
    seen, said = y[:, chosen], f[:, chosen]
    if full and population == "these" and n:  # people said all of it, so that nothing is open
        weight, known = _weights(seen, said)[0] if n > 1 else 0.0, seen.mean(axis=1)
        exact, df = np.zeros((len(f), len(f))), np.full(len(f), max(n - 1.0, 1.0))
        return Estimates.of(
            (known, exact, df), (known, exact[0]),
            level=level, judge_weight=weight, labels=n, population=population,
        )  # fmt: skip
    enough(n, LEAST_TOPICS, "drawn topic")
    # What the judge says of the other topics has no say where there are none.
    beyond = np.zeros(len(f)) if full else f.mean(axis=1) - said.mean(axis=1)
    weight, without = _weights(seen, said)
    df = np.full(len(f), n - 1.0)
    value, covariance = _jackknife(seen, said, beyond, weight, without)
    alone, alone_covariance = _jackknife(seen, said, beyond, 0.0, np.zeros(n))
    share = n / f.shape[1]
    wider = np.atleast_2d(np.cov(seen)) / f.shape[1] if population == "like these" else 0.0
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
    """λ, and λ without each topic, of runs × n drawn topics.

    Without topic i the sums of centred products are the full ones less n/(n − 1) times i's.
    """
    n = y.shape[1]
    # Rounding would leave a spread where the judge says the same of every topic.
    spreads = np.ptp(f, axis=1, keepdims=True) > 0
    y = y - y.mean(axis=1, keepdims=True)
    f = np.where(spreads, f - f.mean(axis=1, keepdims=True), 0.0)
    products, squares = (y * f).sum(axis=0), (f * f).sum(axis=0)
    cut = n / (n - 1.0)
    both = np.append(products.sum(), products.sum() - cut * products)
    spread = np.append(squares.sum(), squares.sum() - cut * squares)
    some = spread > ROUNDING * spread[0]
    found = np.clip(np.divide(both, spread, out=np.zeros(n + 1), where=some), 0.0, 1.0)
    return float(found[0]), found[1:]


def _jackknife(
    y: Floats, f: Floats, beyond: Floats, weight: float, without: Floats
) -> tuple[Floats, Floats]:
    """The values, and their covariance for an endless population.

    ``y``: people's scores of runs × n drawn topics. ``f``: the judge's. ``beyond``: for each run
    the judge's mean over all topics less that over the drawn ones. ``weight``: λ. ``without``: λ
    without each drawn topic.
    """
    n = y.shape[1]
    value = y.mean(axis=1) + weight * beyond
    # Means without a topic: the full mean moves by (mean − score)/(n − 1).
    y_moved = (y.mean(axis=1, keepdims=True) - y) / (n - 1.0)
    f_moved = (f.mean(axis=1, keepdims=True) - f) / (n - 1.0)
    left = y.mean(axis=1, keepdims=True) + y_moved + without * (beyond[:, None] - f_moved)
    e = (n - 1.0) * (left - left.mean(axis=1, keepdims=True))
    return value, mean_covariance(e @ e.T, n, _unseen(y, y - f if weight else y))


def mean_covariance(products: Floats, n: int, unseen: float | None) -> Floats:
    """The covariance of R means over ``n`` topics. ``products``: R × R sums of products of the
    topics' residuals. ``unseen``: the square of a disagreement that no topic shows, of which each
    run has :data:`_UNSEEN` more; None if disagreements are not rare."""
    seen = products / (n * (n - 1.0))
    if unseen is None:
        return seen
    found = (products + _UNSEEN * unseen * np.eye(len(products))) / ((n + 1.0) * n)
    # A run whose own disagreements are larger than those of most has no less than its spread.
    return np.asarray(found + np.diag(np.maximum(np.diag(seen - found), 0.0)))


def _unseen(y: Floats, apart: Floats) -> float | None:
    """The square of a disagreement that no drawn topic shows, where disagreements are rare, as of a
    good judge; None if they are not, and their spread is seen. It is as large as those that are
    seen are on average over all runs.

    ``y``: people's scores of runs × drawn topics. ``apart``: these less the judge's. Of scores that
    are 0 or 1 it is a whole one, also where the judge's are probabilities: all drawn topics may be
    right by luck.
    """
    if bool(((y == 0) | (y == 1)).all()):
        return 1.0
    apart = np.abs(apart - np.median(apart, axis=1, keepdims=True))
    seen = apart[apart > _SAME]
    if 2 * seen.size > apart.size:
        return None
    return float(np.square(seen).mean() if seen.size else np.ptp(y) ** 2)
