"""Agreement of labellers: counts, Cohen's κ and Krippendorff's α, with intervals over topics.

Labels are numbers; ``None`` and NaN mean that a labeller gave none. The distance of two labels is
the difference of their values, so scales need not be evenly spaced, and labels of the scale that
nobody gave change nothing.

Intervals resample whole topics, because labels of the same topic are not independent. The
coefficients are defined in :mod:`assay.statistics.kappa`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats, Integers
from assay.measures.bootstrap import MIN_TOPICS, Interval, percentile_interval, topic_counts
from assay.measures.settings import probability
from assay.statistics.checks import defined
from assay.statistics.kappa import LabelPairs, Metric, Weights, alphas, kappas
from assay.statistics.resampling import blocks
from assay.statistics.tables import (
    Outside,
    coincidences,
    confusion_table,
    label_name,
    label_table,
    number_topics,
    on_scale,
    ordered_alike,
    pair_labels,
)

_MOST_IN_TABLE = 2000
"""With more different labels than this, there is no table of counts: nobody could read it."""

_RESAMPLES = 2000
_CELLS_AT_ONCE = 2_000_000
"""How many numbers are in memory at a time, in each of about a dozen arrays: 16 MB."""


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval.

    ``value``: ``None`` if it is undefined. ``interval``: its bootstrap interval, or ``None`` if no
    topics were given, there is only one, or the value is undefined.
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class LabelAgreement:
    """The agreement on one label.

    ``first``, ``second``: how often each labeller gave the label. ``both``: how often both gave it
    to the same item. ``agreement``: the specific agreement, 2 both / (first + second), or ``None``
    if nobody gave the label.
    """

    label: float
    first: int
    second: int
    both: int
    agreement: float | None


@dataclass(frozen=True)
class PairOrders:
    """How two labellers order pairs of items of the same topic, summed over topics.

    ``agree``: the number of pairs that both order in the same way. ``tie``: pairs to which at least
    one labeller gives equal labels. ``disagree``: pairs that they order in opposite ways.
    """

    agree: int
    tie: int
    disagree: int


@dataclass(frozen=True)
class Agreement:
    """The agreement of two labellers.

    ``labels``: the label values of the table, ascending: the scale, and labels outside it.
    ``table``: counts, the first labeller's labels × the second's; ``None`` with more than 2,000
    labels. ``estimates``: by name, the coefficients of
    :meth:`assay.statistics.kappa.LabelPairs.coefficients`, and for every threshold t, ascending,
    ``kappa@t``: κ after binarisation at label ≥ t. ``by_label``: one entry per label value.
    ``orders``: how pairs of items are ordered. ``n``: the number of items that both labelled.
    ``topics``: the number of their topics; ``None`` if none were given. ``outside``: the labels
    that are not on the scale.
    """

    labels: tuple[float, ...]
    table: tuple[tuple[int, ...], ...] | None
    estimates: Mapping[str, Estimate]
    by_label: tuple[LabelAgreement, ...]
    orders: PairOrders
    n: int
    topics: int | None
    outside: tuple[Outside, ...]


def agree(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    topics: Sequence[Hashable] | None = None,
    scale: Sequence[float] | None = None,
    clip: bool = False,
    level: float = 0.95,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Compute the agreement of two labellers on the same items.

    ``first``, ``second``: the labels of each labeller, one per item, in the same order. ``topics``:
    the topic of every item; without it there are no intervals, and for :class:`PairOrders` all
    items belong to one topic. ``scale``: all possible labels; by default those that were given. κ
    is binarised at every label of the scale except the lowest, where all items would be on one
    side. ``clip``: whether labels beyond the scale are moved to its nearest end; otherwise they
    count as labels of their own. They are reported in either case. ``level``, ``resamples``,
    ``seed``: of the bootstrap intervals over topics. Raises ValueError if no item has two labels,
    lengths differ, a label is not a number, the scale is empty or repeats a label, there are too
    many different labels, or a setting is out of range.
    """
    a, b, labelled_twice = pair_labels(first, second)
    a, b, outside = on_scale(a, b, scale, clip)
    values = np.unique(np.concatenate([a, b, [] if scale is None else scale]))
    known = np.unique(np.concatenate([a, b])) if scale is None else np.unique(scale)
    topic, count = np.zeros(len(a), dtype=np.int64), 1
    if topics is not None:
        topic, count = number_topics(topics, labelled_twice)
    one, other = np.searchsorted(values, a), np.searchsorted(values, b)
    pairs = LabelPairs(one, other, topic, count, values)
    thresholds = {f"kappa@{label_name(t)}": np.searchsorted(values, t) for t in known[1:]}
    probability(level, "level")
    points = _coefficients(pairs, thresholds, np.ones((1, count)))
    intervals: dict[str, Interval | None] = {}
    if topics is not None and count > 1:
        drawn = np.concatenate(list(topic_counts(count, resamples, seed)))
        resampled = _coefficients(pairs, thresholds, drawn)
        intervals = {name: percentile_interval(values, level, count) for name, values in resampled}
    estimates = {
        name: Estimate(value, None if value is None else intervals.get(name))
        for name, value in ((name, defined(point[0])) for name, point in points)
    }
    return Agreement(
        labels=tuple(map(float, values)),
        table=None
        if len(values) > _MOST_IN_TABLE
        else tuple(map(tuple, confusion_table(one, other, len(values)).tolist())),
        estimates=estimates,
        by_label=_by_label(one, other, values),
        orders=_orders(topic, one, other),
        n=len(a),
        topics=None if topics is None else count,
        outside=outside,
    )


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, weights: Weights = "unweighted"
) -> float | None:
    """Cohen's κ, or ``None`` if no disagreement is expected by chance (there is only one label).
    Raises ValueError if no item has two labels, lengths differ, or ``weights`` is unknown."""
    a, b, _ = pair_labels(first, second)
    values, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, other = places[: len(a)], places[len(a) :]
    rows, columns = (np.bincount(labels, minlength=len(values)) for labels in (one, other))
    apart = one != other
    kappa = kappas(
        rows[None].astype(np.float64),
        columns[None].astype(np.float64),
        np.ones((1, int(apart.sum()))),
        (one[apart], other[apart]),
        values,
        weights,
    )
    return defined(kappa[0])


def krippendorff_alpha(labels: npt.ArrayLike, metric: Metric = "nominal") -> float | None:
    """Krippendorff's α of any number of labellers.

    ``labels``: labellers × units, ``None`` or NaN if a labeller gave none. Units with fewer than
    two labels are left out. ``metric``: how much two labels disagree, see
    :data:`assay.statistics.kappa.Metric`. Returns ``None`` if no unit has two labels, or all labels
    of such units are equal. Raises ValueError if the labels are not a table of numbers, or
    ``metric`` is unknown.
    """
    return alpha_estimate(labels, metric).value


def alpha_estimate(
    labels: npt.ArrayLike,
    metric: Metric = "nominal",
    *,
    topics: Sequence[Hashable] | None = None,
) -> Estimate:
    """Krippendorff's α (see :func:`krippendorff_alpha`) with its 95 % interval, which resamples
    topics. ``topics``: the topic of each unit."""
    table = label_table(labels)
    several = (~np.isnan(table)).sum(axis=0) > 1
    topic, count = np.zeros(int(several.sum()), dtype=np.int64), 1
    if topics is not None and several.any():
        topic, count = number_topics(topics, several)
    totals, apart, cells, values = coincidences(table[:, several], topic, count)

    def alpha_of(weights: Floats) -> Floats:
        return alphas(weights @ totals, weights @ apart, cells, values, metric)

    value = defined(alpha_of(np.ones((1, count)))[0])
    if value is None or count < MIN_TOPICS:
        return Estimate(value, None)
    drawn = np.concatenate(list(topic_counts(count, _RESAMPLES, 0)))
    weight_blocks = blocks(drawn, _CELLS_AT_ONCE // max(totals.shape[1], apart.shape[1]))
    resampled = np.concatenate(list(map(alpha_of, weight_blocks)))
    return Estimate(value, percentile_interval(resampled, 0.95, count))


def pair_orders(
    first: npt.ArrayLike, second: npt.ArrayLike, topics: Sequence[Hashable] | None = None
) -> PairOrders:
    """Count the pairs of items that two labellers order in the same way, in opposite ways, or not
    at all. Only items of the same topic are paired, or all items without ``topics``. Raises
    ValueError if no item has two labels, or lengths differ."""
    return agree(first, second, topics=topics, resamples=1).orders


def _coefficients(
    pairs: LabelPairs, thresholds: Mapping[str, np.intp], weights: Floats
) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each coefficient, and its value in every resample."""
    weight_blocks = blocks(weights, _CELLS_AT_ONCE // pairs.widest)
    by_block = list(map(pairs.coefficients, weight_blocks))
    for name in by_block[0]:
        yield name, np.concatenate([values[name] for values in by_block])
    names, places = list(thresholds), np.array(list(thresholds.values()), dtype=np.int64)
    at_once = max(1, _CELLS_AT_ONCE // len(weights))
    for start in range(0, len(names), at_once):
        part = slice(start, start + at_once)
        yield from zip(names[part], pairs.binary_kappas(weights, places[part]).T, strict=True)


def _by_label(first: Integers, second: Integers, values: Floats) -> tuple[LabelAgreement, ...]:
    rows, columns, same = (
        np.bincount(labels, minlength=len(values)).tolist()
        for labels in (first, second, first[first == second])
    )
    return tuple(
        LabelAgreement(value, r, c, s, 2 * s / (r + c) if r + c else None)
        for value, r, c, s in zip(values.tolist(), rows, columns, same, strict=True)
    )


def _orders(topic: Integers, first: Integers, second: Integers) -> PairOrders:
    concordant = ordered_alike(topic, first, second)
    opposite = ordered_alike(topic, first, second.max() - second)
    n = np.bincount(topic)
    return PairOrders(concordant, int((n * (n - 1) // 2).sum()) - concordant - opposite, opposite)
