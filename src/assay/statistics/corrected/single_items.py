"""Corrected scores from single items that people labelled: measures linear in the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.ranges import ROUNDING
from assay.statistics.checks import numbers
from assay.statistics.corrected.calibration import cross_fitted
from assay.statistics.corrected.estimates import (
    LEAST_DF,
    Estimates,
    half_widths,
    modelled_variance,
)
from assay.statistics.corrected.inputs import (
    LEAST_LABELS,
    LEAST_TOPICS,
    Population,
    check_population,
    judge_labels,
    mask,
    people_labels,
    probabilities,
    require_at_least,
    weight_matrix,
)

_OWN = 10.0
"""The number of effective items with which a run's own and the pooled variance weigh the same."""

LEAST_SPREAD = 1e-4
"""The least variance of a label around its expectation, in units of the squared label range."""


def items(
    weights: npt.ArrayLike,
    people: npt.ArrayLike,
    judge: npt.ArrayLike,
    pi: npt.ArrayLike,
    drawn: npt.ArrayLike,
    topic: npt.ArrayLike,
    *,
    offset: npt.ArrayLike = 0.0,
    level: float = 0.95,
    population: Population = "these",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimates:
    """Corrected scores θ_r = c_r + Σ_i w_ri y_i from items that were each drawn independently.

    P@k, support precision and recall, accuracy, nugget recall for a fixed list, RBP and DCG have
    this form. nDCG, Q, nERR and iRBU do not, because their ideal depends on labels that nobody has
    seen: draw whole topics for them, and use :func:`topics`. One draw serves all runs and measures.

    θ̂_r = c_r + Σ_i w_ri m_i + Σ_{i drawn} w_ri (y_i − m_i)/π_i, where m is the judge calibrated
    against people on other topics. The variance combines that of a run's own drawn items with a
    pooled one; the more drawn items a run has, the greater the weight of its own. Source: the
    specification of trust, section 4 (B): augmented inverse probability weighting (Robins,
    Rotnitzky & Zhao 1994), calibrated (van der Laan & van der Laan 2026) and cross-fitted (Zrnic &
    Candès 2023).

    ``weights``: w, R × I. ``people``: I labels, NaN if an item was not drawn. ``judge``: I labels
    of one judge, or J × I of several, on any scale and none missing. ``pi``: the probability with
    which each item was drawn (:class:`Draw`); 0 only if no run has weight. ``drawn``: whether each
    item was drawn. ``topic``: the topic number of each item. ``offset``: c, R numbers or one for
    all. If it includes labels of earlier batches, only intervals for ``these`` are valid, as the
    topics of those labels are unknown here. ``level``: of the intervals. ``population``: ``these``
    items, or those of topics ``like these``. ``bounds``: the lowest and highest label that people
    can give.

    Estimates are in the unit of weight × label. ``judge_weight`` is the share of the labels'
    variance that the judge explains, max(0, 1 − Σe²/π ÷ Σ(y − p₀)²/π). ``human_only`` uses the mean
    label instead of m. ``labels`` is the number of drawn items. Raises ValueError if the shapes do
    not fit; pi is missing, out of range, or 0 for an item that counts; a drawn item has no label by
    people, or any item none by the judge; a label is outside ``bounds``; there are fewer than 10
    drawn items (unless all that count were certain to be drawn) or 3 topics (unless, moreover, the
    population is ``these``); or a setting is out of range.
    """
    check_population(population)
    if not bounds[0] < bounds[1]:
        raise ValueError(f"bounds must be (least, greatest label), got {bounds}")
    w = weight_matrix(weights)
    runs, count = w.shape
    chosen = mask(drawn, count, "drawn", "item")
    f = judge_labels(judge, "item")
    if f.ndim not in (1, 2) or f.shape[-1] != count or not len(f):
        raise ValueError(f"the judge's labels have shape {f.shape}, but there are {count} items")
    probability = probabilities(pi, (w != 0).any(axis=0), chosen)
    y = people_labels(people, chosen, "item", bounds=bounds)
    if y.ndim != 1:
        raise ValueError(f"give one person's label for each item, got shape {y.shape}")
    place = _topic_numbers(topic, count)
    topic_count = int(place.max()) + 1
    sampled = bool((probability[(w != 0).any(axis=0)] < 1.0).any())  # else all labels are known
    if sampled:
        labels = "drawn item with a label", "drawn items with labels"
        require_at_least(LEAST_LABELS, int(chosen.sum()), *labels)
    if sampled or population == "like these":
        require_at_least(LEAST_TOPICS, topic_count, "topic")
    c = numbers(offset, "offsets")
    if c.shape not in ((), (runs,)):
        raise ValueError(f"offset has shape {c.shape}, but there are {runs} runs")
    expected = cross_fitted(y, np.atleast_2d(f), probability, chosen, place)
    sample = _Sample(w, y, probability, chosen, place, topic_count, bounds)
    value, covariance, df = _estimate(sample, expected.given_judge, population, level)
    no_judge = np.full(count, expected.mean)
    alone, alone_covariance, alone_df = _estimate(sample, no_judge, population, level)
    value, alone = value + c, alone + c
    alone_half = half_widths(np.diag(alone_covariance), alone_df, level)
    unexplained, spread = (
        float(((y - m)[chosen] ** 2 / probability[chosen]).sum())
        for m in (expected.given_judge, expected.mean)
    )
    negligible = ROUNDING * (bounds[1] - bounds[0]) ** 2
    return Estimates.of(
        (value, covariance, df),
        (alone, alone_half),
        level=level,
        judge_weight=max(0.0, 1.0 - unexplained / spread) if spread > negligible else 0.0,
        labels=int(chosen.sum()),
        population=population,
    )


class _Sample(NamedTuple):
    """The arguments of :func:`items`, checked."""

    weights: Floats
    people: Floats
    pi: Floats
    drawn: Bools
    topic: Integers
    topics: int
    bounds: tuple[float, float]


def _topic_numbers(topic: npt.ArrayLike, count: int) -> Integers:
    """The topics renumbered from 0 without gaps."""
    array = np.asarray(topic)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"topic must be {count} whole numbers, one for each item, got {array.dtype} of shape"
            f" {array.shape}: np.unique(names, return_inverse=True)[1] makes them of names"
        )
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _estimate(
    sample: _Sample, m: Floats, population: Population, level: float
) -> tuple[Floats, Floats, Floats]:
    """Values, covariance and degrees of freedom, given the expectations ``m`` of all labels."""
    seen = np.flatnonzero(sample.drawn)
    e = (sample.people - m)[seen] / sample.pi[seen]
    own = sample.weights[:, seen]
    value = sample.weights @ m + own @ e
    of_design, design_df = _design_covariance(sample, m)
    if population == "these":
        return value, of_design, design_df
    # The variance between topics already includes the noise of the draw, but not disagreements that
    # nobody has seen. So the interval is at least as wide as that for these items.
    parts = topic_sums(sample.weights * m, sample.topic, sample.topics)
    parts += topic_sums(own * e, sample.topic[seen], sample.topics)
    covariance = np.atleast_2d(np.cov(sample.topics * parts)) / sample.topics
    df = np.full(len(value), sample.topics - 1.0)
    unit = half_widths(np.ones(len(value)), df, level)
    least = (half_widths(np.diag(of_design), design_df, level) / unit) ** 2
    return value, covariance + np.diag(np.maximum(least - np.diag(covariance), 0.0)), df


def topic_sums(values: Floats, topic: Integers, topics: int) -> Floats:
    """Sum values of runs × items over the items of each topic: runs × topics."""
    return np.stack([np.bincount(topic, weights=row, minlength=topics) for row in values])


def _design_covariance(sample: _Sample, m: Floats) -> tuple[Floats, Floats]:
    """The covariance over repeated draws from the same items, and its degrees of freedom."""
    w, pi, (low, high) = sample.weights, sample.pi, sample.bounds
    seen = np.flatnonzero(sample.drawn)
    e = (sample.people - m)[seen]
    # Items with π = 0 have no weight, so their odds do not matter.
    odds = np.divide(1.0 - pi, pi, out=np.zeros_like(pi), where=pi > 0)
    own = w[:, seen]
    own_scale = odds[seen] / pi[seen]
    from_own = (own * (own_scale * e**2)) @ own.T
    q = np.maximum((high - m) * (m - low), LEAST_SPREAD * (high - low) ** 2)
    h = 1.0 / pi[seen]
    h /= h.mean()
    labels = sample.people[seen]
    spread = h @ (labels - np.average(labels, weights=h)) ** 2
    modelled = modelled_variance(q, h @ e**2, h @ q[seen], spread, len(seen), high - low)
    pooled = (w * (odds * modelled)) @ w.T
    a = own**2 * own_scale
    return blended(from_own, pooled, a.sum(axis=1), (a**2).sum(axis=1), len(seen))


def blended(
    from_own: Floats, pooled: Floats, sums: Floats, squares: Floats, n: float
) -> tuple[Floats, Floats]:
    """Blend two covariances of R runs: that from each run's own drawn items, and that pooled over
    all ``n``. The more effective items a run has, the greater the weight of its own. ``sums``,
    ``squares``: the sum over drawn items of each one's contribution to a run's variance, and of its
    square. Returns the covariance and its degrees of freedom."""
    effective = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
    effective = np.maximum(effective, 0.5)
    share = effective / (effective + _OWN)
    own_root, pooled_root = np.sqrt(share), np.sqrt(1.0 - share)
    covariance = np.outer(own_root, own_root) * from_own
    covariance += np.outer(pooled_root, pooled_root) * pooled
    first, second = share * np.diag(from_own), (1.0 - share) * np.diag(pooled)
    below = first**2 / effective + second**2 / n
    df = np.divide((first + second) ** 2, below, out=np.full(len(sums), LEAST_DF), where=below > 0)
    return covariance, np.maximum(df, LEAST_DF)
