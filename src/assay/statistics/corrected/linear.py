"""Scores where people label single items: measures that are linear in the labels."""

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
from assay.statistics.corrected.given import (
    LEAST_LABELS,
    LEAST_TOPICS,
    Population,
    enough,
    judge_labels,
    mask,
    people_labels,
    population_named,
    probabilities,
    weight_matrix,
)

_OWN = 10.0
"""A run's own variance weighs as much as the pooled one at so many (effective) drawn items."""

LEAST_SPREAD = 1e-4
"""The least variance of a label around its expectation, in squares of the labels' range."""


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
    """Corrected scores θ_r = c_r + Σ_i w_ri y_i from items drawn each by its own coin.

    P@k, support precision and recall, accuracy, nugget recall for a fixed list, RBP and DCG are of
    this kind. nDCG, Q, nERR and iRBU are not: their ideal depends on labels nobody has seen; draw
    whole topics for them and use :func:`topics`. One draw serves all runs and all such measures.

    θ̂_r = c_r + Σ_i w_ri m_i + Σ_{i drawn} w_ri (y_i − m_i)/π_i, m the judge calibrated against
    people in other topics. The variance joins what a run's own drawn items show with what all
    drawn items show; the more items of its own, the more the former.

    Source: the specification of trust, section 4 (B): augmented inverse probability weighting
    (Robins, Rotnitzky & Zhao 1994), calibrated (van der Laan & van der Laan 2026) and cross-fitted
    (Zrnic & Candès 2023).

    ``weights``: R × I, w. ``people``: I labels; NaN if an item was not drawn. ``judge``: I
    labels of one judge on any scale, or J × I of several, all of them. ``pi``: I probabilities of
    being drawn, as of :class:`Draw`; 0 only where no run has weight. ``drawn``: for each item
    whether it was drawn. ``topic``: I whole numbers; items of a topic have the same one.
    ``offset``: c, R numbers or one for all. With labels of earlier batches in it, only ``these``
    has a right interval: nothing is known here of their topics. ``level``: of the intervals.
    ``population``: ``these`` items, or those of topics ``like these``. ``bounds``: the least and
    the greatest label that people can give. Returns estimates in the unit of weight × label.
    ``judge_weight`` is the share of the labels' spread that the judge explains, max(0, 1 − Σe²/π ÷
    Σ(y − p₀)²/π); ``human_only`` takes the mean label in place of m; ``labels`` is the number of
    drawn items. Raises ValueError if the shapes do not fit, pi is missing, beyond 0 to 1, or 0
    on an item that counts, a drawn item lacks a person's label or any item the judge's, a label is
    outside of ``bounds``, there are fewer than 10 drawn items or 3 topics (but where all that count
    were drawn for sure, and of topics for ``these``), or a setting is out of range.
    """
    population_named(population)
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
    some = bool((probability[(w != 0).any(axis=0)] < 1.0).any())  # else all that counts is known
    if some:
        labels = "drawn item with a label", "drawn items with labels"
        enough(int(chosen.sum()), LEAST_LABELS, *labels)
    if some or population == "like these":
        enough(topic_count, LEAST_TOPICS, "topic")
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
    """What was drawn, and what is known of it: arrays as :func:`items` takes them."""

    weights: Floats
    people: Floats
    pi: Floats
    drawn: Bools
    topic: Integers
    topics: int
    bounds: tuple[float, float]


def _topic_numbers(topic: npt.ArrayLike, count: int) -> Integers:
    """The rank of each item's topic among the topics, from 0."""
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
    """Values, covariance and degrees of freedom, given expectations ``m`` of all labels."""
    seen = np.flatnonzero(sample.drawn)
    e = (sample.people - m)[seen] / sample.pi[seen]
    own = sample.weights[:, seen]
    value = sample.weights @ m + own @ e
    of_design, design_df = _design_covariance(sample, m)
    if population == "these":
        return value, of_design, design_df
    # The noise of the draw is in the topics' spread already, but for disagreements nobody has seen:
    # where topics happen to differ by less, the interval is as wide as that of these items.
    parts = topic_sums(sample.weights * m, sample.topic, sample.topics)
    parts += topic_sums(own * e, sample.topic[seen], sample.topics)
    covariance = np.atleast_2d(np.cov(sample.topics * parts)) / sample.topics
    df = np.full(len(value), sample.topics - 1.0)
    unit = half_widths(np.ones(len(value)), df, level)
    least = (half_widths(np.diag(of_design), design_df, level) / unit) ** 2
    return value, covariance + np.diag(np.maximum(least - np.diag(covariance), 0.0)), df


def topic_sums(values: Floats, topic: Integers, topics: int) -> Floats:
    """The sums of runs × items over the items of each topic, runs × topics."""
    return np.stack([np.bincount(topic, weights=row, minlength=topics) for row in values])


def _design_covariance(sample: _Sample, m: Floats) -> tuple[Floats, Floats]:
    """The covariance over draws of the same items, and the degrees of freedom."""
    w, pi, (low, high) = sample.weights, sample.pi, sample.bounds
    seen = np.flatnonzero(sample.drawn)
    e = (sample.people - m)[seen]
    # (1 − π)/π of what no draw could hold never counts: it has no weight.
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
    return joined(from_own, pooled, a.sum(axis=1), (a**2).sum(axis=1), len(seen))


def joined(
    from_own: Floats, pooled: Floats, sums: Floats, squares: Floats, n: float
) -> tuple[Floats, Floats]:
    """The covariance that R runs' own drawn items show and that which all ``n`` show, as one, and
    its degrees of freedom; the more items of its own a run has in effect, the more counts the
    former. ``sums``: of what each drawn item adds to a run's variance. ``squares``: of its
    squares."""
    effective = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
    effective = np.maximum(effective, 0.5)
    share = effective / (effective + _OWN)
    mine, pools = np.sqrt(share), np.sqrt(1.0 - share)
    covariance = np.outer(mine, mine) * from_own + np.outer(pools, pools) * pooled
    first, second = share * np.diag(from_own), (1.0 - share) * np.diag(pooled)
    below = first**2 / effective + second**2 / n
    df = np.divide((first + second) ** 2, below, out=np.full(len(sums), LEAST_DF), where=below > 0)
    return covariance, np.maximum(df, LEAST_DF)
