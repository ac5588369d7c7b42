"""Checked labels, and tables of their counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.statistics.checks import numbers

Cells = tuple[Integers, Integers]
"""Pairs of different labels: the indices of both among the label values."""

_MOST_CELLS = 50_000_000
"""The most numbers that the tables of all topics may have: 400 MB."""


@dataclass(frozen=True)
class Outside:
    """A label that is not on the scale.

    ``labeller``: ``first`` or ``second``. ``label``: the label as given. ``count``: how often.
    ``counted_as``: what it counts as: the nearest end of the scale if clipped, else itself.
    """

    labeller: str
    label: float
    count: int
    counted_as: float


def pair_labels(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Floats, Floats, Bools]:
    """The labels of the items that both labelled, and a mask of these items. Raises ValueError if
    there are none, or the lists do not fit."""
    a = numbers(first, "first labels", missing=True)
    b = numbers(second, "second labels", missing=True)
    if a.ndim != 1 or b.ndim != 1 or len(a) != len(b):
        raise ValueError(
            f"give two flat lists of labels of the same items, got shapes {a.shape} and {b.shape}"
        )
    usable = ~(np.isnan(a) | np.isnan(b))
    if not usable.any():
        raise ValueError(f"none of the {len(a)} items has a label from both labellers")
    return a[usable], b[usable], usable


def distinct(labels: Sequence[float], what: str) -> Floats:
    """Check a list of label values. Raises ValueError if it is empty, not flat, repeats a label or
    contains anything but numbers."""
    values = numbers(labels, what)
    if values.ndim != 1 or not len(values) or len(np.unique(values)) != len(values):
        raise ValueError(f"the {what} must be a flat list of different labels, got {labels}")
    return values


def on_scale(
    a: Floats, b: Floats, scale: Sequence[float] | None, clip: bool
) -> tuple[Floats, Floats, tuple[Outside, ...]]:
    """The labels as they count, clipped if wanted, and those that are not on the scale."""
    if scale is None:
        if clip:
            raise ValueError("labels can be clipped to a scale only: give one")
        return a, b, ()
    on_scale_labels = distinct(scale, "labels of the scale")
    outside: list[Outside] = []
    counted: list[Floats] = []
    for labeller, labels in (("first", a), ("second", b)):
        used = np.clip(labels, on_scale_labels.min(), on_scale_labels.max()) if clip else labels
        off_scale = ~np.isin(labels, on_scale_labels)
        values, places, counts = np.unique(labels[off_scale], return_index=True, return_counts=True)
        outside += [
            Outside(labeller, float(label), int(count), float(counted_as))
            for label, count, counted_as in zip(
                values, counts, used[off_scale][places], strict=True
            )
        ]
        counted.append(used)
    return counted[0], counted[1], tuple(outside)


def number_topics(topics: Sequence[Hashable], usable: Bools) -> tuple[Integers, int]:
    """The topic number of each usable item, from 0 in order of appearance, and the number of
    topics. Raises ValueError if there is not one topic per item, or a topic is not hashable."""
    if len(topics) != len(usable):
        raise ValueError(f"{len(topics)} topics do not fit {len(usable)} items")
    seen: dict[Hashable, int] = {}
    try:
        of_item = [
            seen.setdefault(topic, len(seen))
            for topic, use in zip(topics, usable, strict=True)
            if use
        ]
    except TypeError as error:
        raise ValueError(f"give topics as text or numbers: {error}") from None
    return np.array(of_item, dtype=np.int64), len(seen)


def label_name(value: float) -> str:
    """A label as short text; different labels have different texts."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def check_size(k: int, cells: int) -> None:
    """Raise ValueError if the tables of ``k`` labels would have too many cells."""
    if cells > _MOST_CELLS:
        raise ValueError(f"{k} different labels are too many to tabulate: round them")


def tally(
    rows: Integers,
    columns: Integers,
    height: int,
    width: int,
    weights: Floats | Integers | None = None,
) -> Floats:
    """Count each combination of row and column, or sum its weights: height × width."""
    counts = np.bincount(rows * width + columns, weights, minlength=height * width)
    return counts.reshape(height, width).astype(np.float64)


def confusion_table(first: Integers, second: Integers, k: int) -> Integers:
    """The k × k confusion table of two labellers. Labels are indices among the k values."""
    check_size(k, k * k)
    return tally(first, second, k, k).astype(np.int64)


def ordered_alike(topic: Integers, first: Integers, second: Integers) -> int:
    """Count the pairs of items of the same topic that both labels order in the same way.

    ``topic``: the number of each item's topic. ``first``, ``second``: the labels as whole numbers
    from 0 in the same order.

    With items sorted by the first label, these are the pairs that ascend in the second one. Two
    numbers ascend if the second has a 1 in the highest bit in which they differ. So for each bit,
    items are grouped by all higher bits, and each item with a 1 is paired with those before it in
    its group that have a 0.
    """
    # Items with equal first labels are in descending order of the second, so that none ascend.
    order = np.lexsort((-second, first, topic))
    second = second[order]
    bits = int(second.max()).bit_length()
    keys = (topic[order] << bits) | second
    pairs = 0
    for bit in range(bits):
        group = keys >> (bit + 1)
        together = np.argsort(group, kind="stable")
        ones = ((keys >> bit) & 1)[together]
        zeros = np.cumsum(1 - ones)
        _, start, members = np.unique(group[together], return_index=True, return_counts=True)
        before = np.repeat(zeros[start] - (1 - ones[start]), members)
        pairs += int((ones * (zeros - before)).sum())
    return pairs


def label_table(labels: npt.ArrayLike) -> Floats:
    """Check a table of labellers × units, NaN if a labeller gave no label. Raises ValueError if it
    is not such a table, or is empty."""
    array = numbers(labels, "labels (labeller, unit)", missing=True)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"give a table of labellers × units, got shape {array.shape}")
    return array


def coincidences(
    labels: Floats, topic: Integers, topics: int
) -> tuple[Floats, Floats, Cells, Floats]:
    """Count how often labels occur, and coincide with other labels, in every topic.

    A unit with m labels adds each of its m(m − 1) ordered pairs with weight 1 / (m − 1); a unit
    with fewer than two labels adds nothing. Only pairs of labels that occur take space.

    ``labels``: labellers × units, NaN if there is none. ``topic``: the number of each unit's topic,
    from 0. ``topics``: the number of topics. Returns topics × k, how often units with two or more
    labels got each label; topics × L, the coincidences of each pair of different labels, in one
    order only; these L pairs, as the lower and the higher label; and the k label values, ascending.
    Raises ValueError if there are too many different labels.
    """
    labelled = ~np.isnan(labels)
    m = labelled.sum(axis=0)
    # The only label of a unit coincides with none.
    labelled &= m > 1
    values, place = np.unique(labels[labelled], return_inverse=True)
    k = len(values)
    # For every unit: its different labels, ascending, and how many labellers gave each.
    cells, count = np.unique(np.nonzero(labelled)[1] * k + place, return_counts=True)
    unit, place = np.divmod(cells, max(1, k))
    distinct_labels = np.bincount(unit, minlength=len(m))
    check_size(k, int((distinct_labels * (distinct_labels - 1) // 2).sum()))
    keys, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for step in range(1, int(distinct_labels.max(initial=0))):
        (low,) = np.nonzero(unit[step:] == unit[:-step])
        high, of = low + step, unit[low]
        keys.append((topic[of] * k + place[low]) * k + place[high])
        weights.append(count[low] * count[high] / (m[of] - 1))
    own, pair = np.divmod(np.concatenate(keys), max(1, k * k))
    pairs, which = np.unique(pair, return_inverse=True)
    check_size(k, topics * (k + len(pairs)))
    apart = tally(own, which, topics, len(pairs), np.concatenate(weights))
    totals = tally(topic[unit], place, topics, k, count)
    return totals, apart, (pairs // max(1, k), pairs % max(1, k)), values
