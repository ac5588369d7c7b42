"""Labels that say something of each of several items that were asked about together.

An item is known by a label whatever window of items it was asked in: after an edit only items that
are new are asked about, and a person may label one item or many.
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
"""What items are asked about beside."""

Window = tuple[str, Subject, tuple[str, ...]]
"""Unit, subject and items."""


class Said(NamedTuple):
    """A label of a window: its place among the columns of the ledger, and its number there.
    ``worth`` is of one item after the other, NaN where it does not say."""

    unit: str
    subject: Subject
    items: tuple[str, ...]
    place: int
    number: int
    human: bool
    worth: Sequence[float]


class KnownItems(NamedTuple):
    """What is known of items, a row a subject: the number of each one's label among ``said``, −1
    where there is none, and what it is ``worth``, NaN where there is none or it does not say."""

    said: Sequence[Said]
    label: Integers
    worth: Floats

    def of(self, row: int) -> list[Said | None]:
        """The labels of a subject's items."""
        return [None if at < 0 else self.said[at] for at in self.label[row].tolist()]


@dataclass(eq=False)
class WindowLabels:
    """The labels of a task about some ``subjects``. Of its units the field ``items`` lists items,
    those named in ``about`` are the subject; ``values`` are what a verdict is worth, item by item.
    """

    by_unit: UnitLabels | None
    task: AnyTask
    subjects: Collection[Subject]
    about: tuple[str, ...]
    items: str
    values: Callable[[Mapping[str, Any]], Sequence[float]]

    def request(self, said: Said, topic: str = "") -> Request:
        """What the label is the answer to."""
        content = {**dict(zip(self.about, said.subject, strict=True)), self.items: said.items}
        return Request(self.task, self.task.unit.model_validate(content), topic=topic)

    def _read(
        self, by_unit: UnitLabels, windows: Sequence[Window], places: Places
    ) -> Iterator[Said]:
        """The labels of windows at some places; those say nothing where there is none."""
        labels, numbers = CountedLabels(by_unit, places), places.copy()
        numbers[labels.in_columns] = labels.numbers(labels.in_columns)
        columns = (places.tolist(), numbers.tolist(), labels.human.tolist())
        verdicts = labels.each(self.values)
        for window, place, number, human, said in zip(windows, *columns, verdicts, strict=True):
            worth = tuple(islice(chain(said or (), repeat(nan)), len(window[-1])))
            yield Said(*window, place, number, human, worth)

    @cached_property
    def _counting(self) -> dict[Subject, list[Said]]:
        """By subject the label that counts of each window, as far as one does; its place is CLOSELY
        where that must be looked at."""
        by_unit, windows = self.by_unit, list[Window]()
        if by_unit is None:
            return {}
        once: dict[Any, Any] = {one: one for one in self.subjects}  # equal ones are held once
        for unit, content in by_unit.ledger.unit_contents([self.task.name]):
            subject = once.get(tuple(map(content.__getitem__, self.about)))
            if subject is not None:
                items = tuple(content[self.items])
                windows.append((unit, subject, once.setdefault(items, items)))
        first = by_unit.columns.first(b"".join(packed(unit) for unit, *_ in windows))
        found: dict[Subject, list[Said]] = {}
        for one in self._read(by_unit, windows, by_unit.counting_places(self.task, first)):
            if one.place != NONE:
                found.setdefault(one.subject, []).append(one)
        return found

    def known(self, subjects: Sequence[Subject | None], items: Sequence[str]) -> KnownItems:
        """What is known of items beside some subjects: each by the label that would count if all
        windows that it was asked in were one unit. Nothing beside None."""
        own = [self._counting.get(one, []) if one else [] for one in subjects]
        said = list(chain.from_iterable(own))
        # What labels are of beside these items comes behind them.
        places = {item: at for at, item in enumerate(items)}
        columns: list[int] = []
        of_items: dict[int, list[int]] = {}  # nearly all windows are of the same items
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
        # Of an item that several windows have, or whose labels weigh the same, all are looked at.
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
        self, windows: Iterable[Said], items: Set[str]
    ) -> Iterator[tuple[str, Said | None, float]]:
        """The labels of some items, and what they are worth, by all labels of their windows."""
        if self.by_unit is None:
            return
        of_unit = [(one[:3], at) for one in windows for at in self.by_unit.columns.places(one.unit)]
        labelled, places = zip(*of_unit, strict=True)
        said = list(self._read(self.by_unit, labelled, np.array(places, np.int64)))
        every: dict[str, dict[int, tuple[Said, float]]] = {}
        for one in said:
            for item, worth in zip(one.items, one.worth, strict=True):
                if item in items:
                    every.setdefault(item, {})[one.number] = one, worth
        now = cache(lambda: self.asked_now(said))

        def present(some: Sequence[Label]) -> Sequence[Label]:
            return [one for one in some if one.rowid in now()] or some

        for item, known_by in every.items():
            alone = [_alone(self.by_unit, *known_by[number]) for number in sorted(known_by)]
            unit = next(one.unit for one in reversed(said) if item in one.items)
            chosen = self.by_unit.among(self.task, unit, alone, present)
            yield item, *((None, nan) if chosen is None else known_by[chosen.rowid])

    def asked_now(self, said: Iterable[Said]) -> set[int]:
        """The numbers of the labels that are of the very question that would be asked now; a
        person's always is."""
        by_unit, by_number = self.by_unit, {one.number: one for one in said}
        labeller = None if by_unit is None else by_unit.labellers.get(self.task.name)
        keys = {} if by_unit is None or labeller is None else by_unit.ledger.keys(by_number)
        return {
            number
            for number, one in by_number.items()
            if one.human or (labeller and keys[number] == request_key(labeller, self.request(one)))
        }


def _alone(by_unit: UnitLabels, said: Said, worth: float) -> Label:
    """The label as if it were of one item alone."""
    label = by_unit.columns.at(said.place)
    if worth != worth:
        return label._replace(verdict=None, status=Status.FAILED)
    return label._replace(verdict={"labels": [worth]})
