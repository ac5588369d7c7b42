"""Labels about several items that were asked about together, item by item.

An item is known by a label whatever window of items it was asked in: after an edit only new items
are asked about, and a person may label one item or many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, compress, islice, repeat
from math import nan
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request, request_key
from assay.ledger.columns import CLOSELY, NONE, Places
from assay.ledger.hashes import packed
from assay.measures.arrays import Floats, Integers
from assay.model.labels import Label, Status
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.unit_labels import UnitLabels
from assay.tasks.base import AnyTask

Subject = tuple[str, ...]
"""What items are judged against."""

Window = tuple[str, Subject, tuple[str, ...]]
"""Unit, subject and items."""


class WindowLabel(NamedTuple):
    """A label of a window, with its place in the ledger's columns and its number. ``worth`` has one
    value per item, NaN if the label does not say."""

    unit: str
    subject: Subject
    items: tuple[str, ...]
    place: int
    number: int
    human: bool
    worth: Sequence[float]


class KnownItems(NamedTuple):
    """What is known about items, one row per subject: ``label`` is the index of each item's label
    in ``said`` (−1 for none), ``worth`` its value (NaN for none)."""

    said: Sequence[WindowLabel]
    label: Integers
    worth: Floats

    def of(self, row: int) -> list[WindowLabel | None]:
        """The labels of a subject's items."""
        return [None if at < 0 else self.said[at] for at in self.label[row].tolist()]


@dataclass(eq=False)
class WindowLabels:
    """The labels of a task about some ``subjects``. In its units, the field ``items`` lists the
    items and the fields ``about`` are the subject. ``values``: the worth of a verdict for each
    item."""

    by_unit: UnitLabels | None
    task: AnyTask
    subjects: Collection[Subject]
    about: tuple[str, ...]
    items: str
    values: Callable[[Mapping[str, Any]], Sequence[float]]

    def request(self, label: WindowLabel, topic: str = "") -> Request:
        """The request that a label answers."""
        content = {**dict(zip(self.about, label.subject, strict=True)), self.items: label.items}
        return Request(self.task, self.task.unit.model_validate(content), topic=topic)

    def _read(
        self, by_unit: UnitLabels, windows: Sequence[Window], places: Places
    ) -> Iterator[WindowLabel]:
        """The labels of windows at some places. If there is none, nothing is said."""
        labels, numbers = CountedLabels(by_unit, places), places.copy()
        numbers[labels.in_columns] = labels.numbers(labels.in_columns)
        columns = (places.tolist(), numbers.tolist(), labels.human.tolist())
        verdicts = labels.each(self.values)
        for window, place, number, human, values in zip(windows, *columns, verdicts, strict=True):
            worth = tuple(islice(chain(values or (), repeat(nan)), len(window[-1])))
            yield WindowLabel(*window, place, number, human, worth)

    @cached_property
    def _counting(self) -> dict[Subject, list[WindowLabel]]:
        """By subject, the label that counts for each window, if any. Its place is CLOSELY if all
        labels must be compared."""
        by_unit, windows = self.by_unit, list[Window]()
        if by_unit is None:
            return {}
        once: dict[Any, Any] = {one: one for one in self.subjects}  # equal ones are one object
        for unit, content in by_unit.ledger.unit_contents([self.task.name]):
            subject = once.get(tuple(map(content.__getitem__, self.about)))
            if subject is not None:
                items = tuple(content[self.items])
                windows.append((unit, subject, once.setdefault(items, items)))
        first = by_unit.columns.first(b"".join(packed(unit) for unit, *_ in windows))
        found: dict[Subject, list[WindowLabel]] = {}
        for one in self._read(by_unit, windows, by_unit.counting_places(self.task, first)):
            if one.place != NONE:
                found.setdefault(one.subject, []).append(one)
        return found

    def known(self, subjects: Sequence[Subject | None], items: Sequence[str]) -> KnownItems:
        """What is known about items for some subjects, each item by the label that would count if
        all windows in which it was asked were one unit. Nothing is known for None."""
        own = [self._counting.get(one, []) if one else [] for one in subjects]
        said = list(chain.from_iterable(own))
        # Other items of the windows get columns after these.
        places = {item: at for at, item in enumerate(items)}
        columns: list[int] = []
        of_items: dict[int, list[int]] = {}  # by id, as nearly all windows have the same items
        for window_items in (one.items for one in said):
            if (same := id(window_items)) not in of_items:
                of_items[same] = [places.setdefault(one, len(places)) for one in window_items]
            columns += of_items[same]
        sizes = np.array([len(one.items) for one in said], np.int64)
        rows = np.repeat(np.arange(len(own)), np.array(list(map(len, own)), np.int64))
        window = np.repeat(np.arange(len(said)), sizes)
        cells = rows[window], np.array(columns, np.int64)
        label = np.full((len(own), len(places)), NONE, np.int64)
        worth = np.full(label.shape, nan)
        label[cells] = window
        worth[cells] = list(chain.from_iterable(one.worth for one in said))
        # All labels are compared for items in several windows, or with labels of equal rank.
        closely = np.array([one.place == CLOSELY for one in said], np.bool_)
        unsure = np.zeros(label.shape, np.bool_)
        np.logical_or.at(unsure, cells, closely[window] | (label[cells] != window))
        texts = list(places)
        for row in np.flatnonzero(unsure.any(axis=1)).tolist():
            some = set(compress(texts, unsure[row].tolist()))
            for item, one, value in self._looked_at(own[row], some):
                label[row, places[item]] = NONE if one is None else len(said)
                worth[row, places[item]] = value
                said += () if one is None else (one,)
        return KnownItems(said, label[:, : len(items)], worth[:, : len(items)])

    def _looked_at(
        self, windows: Iterable[WindowLabel], items: Set[str]
    ) -> Iterator[tuple[str, WindowLabel | None, float]]:
        """The labels that count for some items, from all labels of their windows, and their
        worth."""
        if self.by_unit is None:
            return
        of_unit = [(one[:3], at) for one in windows for at in self.by_unit.columns.places(one.unit)]
        labelled, places = zip(*of_unit, strict=True)
        labels = list(self._read(self.by_unit, labelled, np.array(places, np.int64)))
        every: dict[str, dict[int, tuple[WindowLabel, float]]] = {}
        for one in labels:
            for item, worth in zip(one.items, one.worth, strict=True):
                if item in items:
                    every.setdefault(item, {})[one.number] = one, worth
        now = cache(lambda: self.asked_now(labels))

        def present(some: Sequence[Label]) -> Sequence[Label]:
            return [one for one in some if one.rowid in now()] or some

        for item, known_by in every.items():
            alone = [_alone(self.by_unit, *known_by[number]) for number in sorted(known_by)]
            unit = next(one.unit for one in reversed(labels) if item in one.items)
            chosen = self.by_unit.among(self.task, unit, alone, present)
            yield item, *((None, nan) if chosen is None else known_by[chosen.rowid])

    def asked_now(self, labels: Iterable[WindowLabel]) -> set[int]:
        """The numbers of the labels, including all by people, that answer the question asked
        now."""
        by_unit, by_number = self.by_unit, {one.number: one for one in labels}
        labeller = None if by_unit is None else by_unit.labellers.get(self.task.name)
        keys = {} if by_unit is None or labeller is None else by_unit.ledger.keys(by_number)
        return {
            number
            for number, one in by_number.items()
            if one.human or (labeller and keys[number] == request_key(labeller, self.request(one)))
        }


def _alone(by_unit: UnitLabels, window_label: WindowLabel, worth: float) -> Label:
    """The label as if it were about one item alone."""
    label = by_unit.columns.at(window_label.place)
    if worth != worth:
        return label._replace(verdict=None, status=Status.FAILED)
    return label._replace(verdict={"labels": [worth]})
