"""From labels to tables of counts, with the checks on the way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.confidence import Bools, Floats, Integers
from assay.statistics.checks import numbers

__all__ = [
    "Outside",
    "check_size",
    "distinct",
    "number_topics",
    "on_scale",
    "pair_labels",
    "topic_tables",
    "unit_counts",
]

_MOST_CELLS = 50_000_000
"""How many cells (topics × labels × labels) the tables may have: 400 MB."""


@dataclass(frozen=True)
class Outside:
    """A label that is not on the scale.

    Attributes:
        labeller: ``first`` or ``second``.
        label: the label as given.
        count: how often.
        counted_as: the label it counts as: an end of the scale where it was clipped, else itself.
    """

    labeller: str
    label: float
    count: int
    counted_as: float


def pair_labels(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Floats, Floats, Bools]:
    """Return the labels of the items that both labelled, and which items those are."""
    a = numbers(first, "first labels", missing=True)
    b = numbers(second, "second labels", missing=True)
    if a.ndim != 1 or b.ndim != 1 or len(a) != len(b):
        raise ValueError(
            f"give two flat lists of labels of the same items, got shapes {a.shape} and {b.shape}"
        )
    kept = ~(np.isnan(a) | np.isnan(b))
    if not kept.any():
        raise ValueError(f"none of the {len(a)} items has a label from both labellers")
    return a[kept], b[kept], kept


def distinct(labels: Sequence[float], what: str) -> Floats:
    """Return a list of label values.

    Raises:
        ValueError: it is empty, not flat, repeats a label or holds something else than numbers.
    """
    values = numbers(labels, what)
    if values.ndim != 1 or not len(values) or len(np.unique(values)) != len(values):
        raise ValueError(f"the {what} must be a flat list of different labels, got {list(labels)}")
    return values


def on_scale(
    a: Floats, b: Floats, scale: Sequence[float] | None, clip: bool
) -> tuple[Floats, Floats, tuple[Outside, ...]]:
    if scale is None:
        if clip:
            raise ValueError("labels can be clipped to a scale only: give one")
        return a, b, ()
    ends = distinct(scale, "labels of the scale")
    outside: list[Outside] = []
    counted: list[Floats] = []
    for labeller, labels in (("first", a), ("second", b)):
        used = np.clip(labels, ends.min(), ends.max()) if clip else labels
        strange = ~np.isin(labels, ends)
        found, places, counts = np.unique(labels[strange], return_index=True, return_counts=True)
        outside += [
            Outside(labeller, float(label), int(count), float(used[strange][place]))
            for label, place, count in zip(found, places, counts, strict=True)
        ]
        counted.append(used)
    return counted[0], counted[1], tuple(outside)


def number_topics(topics: Sequence[Hashable], kept: Bools) -> tuple[Integers, int]:
    """Return the number of each kept item's topic, from 0 in order of appearance, and how many.

    Raises:
        ValueError: their number differs from that of the items, or a topic is a list, say.
    """
    if len(topics) != len(kept):
        raise ValueError(f"{len(topics)} topics do not fit {len(kept)} items")
    seen: dict[Hashable, int] = {}
    try:
        of_item = [
            seen.setdefault(topic, len(seen))
            for topic, use in zip(topics, kept, strict=True)
            if use
        ]
    except TypeError as error:
        raise ValueError(f"give topics as text or numbers: {error}") from None
    return np.array(of_item, dtype=np.int64), len(seen)


def check_size(topics: int, k: int) -> None:
    if topics * k * k > _MOST_CELLS:
        raise ValueError(f"{k} different labels in {topics} topics are too many to tabulate")


def topic_tables(a: Floats, b: Floats, topic: Integers, count: int, values: Floats) -> Floats:
    """Return the confusion table of every topic: topics × k × k."""
    k = len(values)
    check_size(count, k)
    cells = (topic * k + np.searchsorted(values, a)) * k + np.searchsorted(values, b)
    counts = np.bincount(cells, minlength=count * k * k)
    return counts.reshape(count, k, k).astype(np.float64)


def unit_counts(labels: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return how often each unit got each label, units × k, and the k labels, ascending."""
    array = numbers(labels, "labels (labeller, unit)", missing=True)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"give a table of labellers × units, got shape {array.shape}")
    given = ~np.isnan(array)
    values = np.unique(array[given]) if given.any() else np.zeros(1)
    k, units = len(values), array.shape[1]
    check_size(1, k)
    unit = np.broadcast_to(np.arange(units), array.shape)[given]
    cells = unit * k + np.searchsorted(values, array[given])
    counts = np.bincount(cells, minlength=units * k)
    return counts.reshape(units, k).astype(np.float64), values
