"""The labels that a protocol's scores rest on: looked up by content, counted, and remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from assay.labellers.base import Labeller, Request
from assay.ledger.columns import CLOSELY, NONE, Places
from assay.ledger.policy import Policy, choose, of_each_person
from assay.measures.arrays import Bools
from assay.model.labels import Label, LabellerId
from assay.protocols.counted_labels import CountedLabels, LabelRow, SeenNumbers
from assay.protocols.places import Place, PlaceColumns, UsedLabels
from assay.protocols.unit_labels import UnitLabels, WholeUnitLabels
from assay.tasks.base import AnyTask, Unit, UnitContent, unit_digests, unit_hash

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

K = TypeVar("K")

_BLOCK = 4096  # units whose contents are held while their labels are looked up


Asked = Iterable[tuple[UnitContent, Place]]
"""The content of each of many units, with the place where its label is used."""


def requests_of(task: AnyTask, asked: Asked) -> Iterator[Request]:
    """Yield one request for each unit. (The engine asks equal ones once.)"""
    for content, place in asked:
        yield Request(task, task.unit.model_validate(content), topic=place.topic)


class LookedUp(NamedTuple):
    """Units with the places of their oldest labels in the columns, and the labels that count."""

    units: Sequence[bytes]
    first: Places
    labels: CountedLabels


@dataclass
class LabelBook:
    """Labels by the content that they are about. The book remembers which labels were used and
    where, and counts those that were wanted and are missing or failed. ``by_unit`` holds all labels
    and knows which of them counts; it is None if there is no ledger yet."""

    by_unit: UnitLabels | None
    used: UsedLabels = field(default_factory=UsedLabels, init=False)
    asked: Counter[str] = field(default_factory=Counter, init=False)
    missing: Counter[str] = field(default_factory=Counter, init=False)
    failed: Counter[str] = field(default_factory=Counter, init=False)
    # Units already counted, by the place of their oldest label.
    _seen: SeenNumbers = field(default_factory=SeenNumbers, init=False)
    _unlabelled: set[bytes] = field(default_factory=set, init=False)

    @classmethod
    def open(
        cls,
        ledger: AnyLedger | None,
        policy: Policy,
        tasks: Iterable[AnyTask],
        labellers: Mapping[str, Labeller | None],
        *,
        asked_as: frozenset[str] = frozenset(),
        strict: frozenset[str] = frozenset(),
        whole: bool = False,
    ) -> LabelBook:
        """Open the labels of ``tasks`` in the ledger. ``asked_as`` and ``strict`` are as in
        :class:`assay.protocols.unit_labels.UnitLabels`. ``whole`` labels have all that reports
        show."""
        if ledger is None:
            return cls(None)
        kind = WholeUnitLabels if whole else UnitLabels
        return cls(kind(ledger, policy, labellers, tuple(tasks), asked_as, strict))

    @property
    def is_whole(self) -> bool:
        """Whether labels have everything that a report shows of them."""
        return isinstance(self.by_unit, WholeUnitLabels)

    def find(
        self,
        task: AnyTask,
        unit: Unit | UnitContent,
        *,
        before: int | None = None,
        still: bool = False,
    ) -> Label | None:
        """The label that counts for a unit, which may be a failed one. Nothing is counted. With
        ``before``, only labels with lower numbers are considered; ``still`` says that the label
        found counts to this day, so that people's disagreement on it is recorded."""
        own = self.by_unit
        return None if own is None else own.choose(task, _content(unit), before, still=still)

    def history(self, task: AnyTask, unit: Unit | UnitContent) -> list[Label]:
        """All labels of a unit, oldest first, whether they count or not."""
        return [] if self.by_unit is None else self.by_unit.labels(task, _content(unit))

    def machine_label(
        self, task: AnyTask, unit: Unit | UnitContent, who: LabellerId | None = None
    ) -> Label | None:
        """The usable label by a machine that would count for a unit without people's labels. The
        machine is the evaluation's own unless ``who`` names another."""
        return (
            None if self.by_unit is None else self.by_unit.machine_label(task, _content(unit), who)
        )

    def counts_machine(self, task: AnyTask) -> bool:
        """Whether a machine's label of a task may count under the policy."""
        return self.by_unit is None or self.by_unit.policy.counts_machine(task.name)

    def choose(self, task: AnyTask, labels: Sequence[Label]) -> Label | None:
        """The one of ``labels``, oldest first, that counts under the policy."""
        own = self.by_unit
        return None if own is None else choose(labels, own.policy, own.configured[task.name])

    def people_labelled(self, task: AnyTask) -> bool:
        """Whether any person ever labelled anything under a task."""
        return self.by_unit is not None and task.name in self.by_unit.ledger.judged_by_people()

    def answered_by_people(self, task: AnyTask) -> bool:
        """Whether any person labelled anything under a task, or under one that implies its
        verdict."""
        return self.by_unit is not None and self.by_unit.answered_by_people(task)

    @property
    def by_people(self) -> bool:
        """Whether any person ever labelled anything under a task that can count."""
        return self.by_unit is not None and self.by_unit.by_people

    def under(self, policy: str) -> LabelBook:
        """The same labels under another policy, with nothing counted yet."""
        own = self.by_unit
        return LabelBook(own and own.with_policy(own.policy.under(policy)))

    def expects(self, task: AnyTask) -> bool:
        """Whether the policy counts labels of a task's labeller. Under ``only:`` it may not."""
        if self.by_unit is None or self.by_unit.policy.only is None:
            return True
        own = self.by_unit.configured[task.name]
        return own is not None and own.name == self.by_unit.policy.only

    def verdict(
        self, task: AnyTask, unit: Unit | UnitContent, place: Place | str
    ) -> Mapping[str, Any] | None:
        """The verdict on a unit, or None if there is no usable label (which is counted). ``place``
        says where it is used: run, topic and position, or everything in one text."""
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    def label(self, task: AnyTask, unit: Unit | UnitContent, place: Place | str) -> Label | None:
        """Like :meth:`verdict`, but returns the whole label, which may be a failed one."""
        content = _content(unit)
        label = self.find(task, content)
        self.count(task, content, label)
        if label is not None:
            self.note(label, place)
        return label

    def of_each_person(
        self, task: AnyTask, asked: Sequence[tuple[UnitContent, Place]]
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """The verdict of every person who counts on something that is ``asked`` in one or more
        forms. Each comes with the index of its form. The labels are noted and counted."""
        if self.by_unit is None:
            return []
        histories = [self.history(task, unit) for unit, _ in asked]
        form_of = {one.rowid: form for form, labels in enumerate(histories) for one in labels}
        given = sorted(chain.from_iterable(histories), key=lambda one: one.rowid)
        verdicts = []
        counting = of_each_person(given, self.by_unit.policy)
        self.used.beside.update(label.rowid for label in counting[1:])
        for label in counting:
            unit, place = asked[form_of[label.rowid]]
            self.count(task, unit, label)
            self.note(label, place)
            verdicts.append((form_of[label.rowid], label.verdict or {}))
        return verdicts

    def in_both_orders(
        self,
        task: AnyTask,
        orders: Sequence[tuple[Unit | UnitContent, Place]],
        *,
        count: bool = True,
    ) -> tuple[list[tuple[int, Label, Mapping[str, Any]]], bool]:
        """Compare two things in both orders: the usable labels, and whether a needed label is
        missing or failed. Each label comes with the index of its order in ``orders`` and its
        verdict. If a person judged one order the other is not needed, as nobody judges the same two
        things twice. With ``count``, the labels that count and those that are missing are noted."""
        found = [self.find(task, unit) for unit, _ in orders]
        by_people = [
            at
            for at, label in enumerate(found)
            if label is not None and label.labeller.is_human and label.verdict is not None
        ]
        # Without any label only one is missing, as a person's would suffice.
        wanted = by_people or range(len(found) if any(found) else 1)
        usable = []
        for at in wanted:
            label, (unit, place) = found[at], orders[at]
            if count:
                self.count(task, unit, label)
                if label is not None:
                    self.note(label, place)
            if label is not None and label.verdict is not None:
                usable.append((at, label, label.verdict))
        return usable, len(usable) < len(wanted)

    def judged_by_machine(self, task: AnyTask, unit: Unit | UnitContent) -> bool:
        """Whether a machine compared two things in one order, so that it is asked the other,
        too."""
        label = self.find(task, unit)
        return label is not None and label.verdict is not None and not label.labeller.is_human

    def labels(self, task: AnyTask, asked: Asked, given: Bools | None = None) -> CountedLabels:
        """Like :meth:`label`, for many units at once. ``given`` marks units of which the inputs
        have a label: there only a person's label is wanted, and a machine's is neither noted nor
        counted."""
        row, noted, remaining = self.row(), self.places(), iter(asked)
        used = row if given is None else self.row()
        while some := list(islice(remaining, _BLOCK)):
            contents, places = zip(*some, strict=True)
            found = self.look_up(task, contents)
            begin, wanted = len(row), None
            row.extend(found.labels)
            noted.add(places)
            if given is not None:
                wanted = ~given[begin : len(row)] | found.labels.human
                used.extend(found.labels.without(~wanted))
            self.count_all(task, found, of=wanted)
        self.used.note_all(used, noted)
        return row[:]

    def look_up(self, task: AnyTask, some: Sequence[UnitContent]) -> LookedUp:
        """The labels of some units, chosen as by :meth:`find`."""
        units = unit_digests(task.name, some)
        first = places = np.full(len(some), NONE, np.int64)
        others: dict[int, Label] = {}
        if self.by_unit is not None:
            first = self.by_unit.columns.first(b"".join(units))
            places = self.by_unit.counting_places(task, first)
            for at in np.flatnonzero(places == CLOSELY).tolist():
                label = self.find(task, some[at])
                places[at] = self.by_unit.place(label)
                if label is not None and places[at] == NONE:
                    others[at] = label
            others.update(self.by_unit.fetch_labels(places))
        return LookedUp(units, first, CountedLabels(self.by_unit, places, others))

    def count_all(self, task: AnyTask, found: LookedUp, *, of: Bools | None = None) -> None:
        """Count the units of which labels were wanted, each once, and whether these are missing or
        failed. ``of`` marks the ones to count; None counts all."""
        which = np.arange(len(found.units)) if of is None else np.flatnonzero(of)
        new = which[self._new(found.first[which], [found.units[at] for at in which.tolist()])]
        missing, failed = ~found.labels.present[new], found.labels.failed[new]
        self.add(task, len(new), int(missing.sum()), int(failed.sum()))

    def _new(self, first: Places, units: Sequence[bytes]) -> Places:
        """The indexes of units that were not counted before. From now on they are. ``first`` are
        the places of their oldest labels."""
        labelled = np.flatnonzero(first >= 0)
        new = [labelled[self._seen.new(first[labelled])]]
        for at in np.flatnonzero(first < 0).tolist():
            if self._is_new(NONE, units[at]):
                new.append(np.array([at]))
        return np.concatenate(new)

    def _is_new(self, first: int, unit: bytes) -> bool:
        """Like :meth:`_new`, for one unit."""
        if first >= 0:
            return self._seen.add(first)
        before = len(self._unlabelled)
        self._unlabelled.add(unit)
        return len(self._unlabelled) > before

    def count(self, task: AnyTask, unit: Unit | UnitContent, label: Label | None) -> None:
        """Count a unit of which a label was wanted, and whether that is missing or failed."""
        identity = unit_hash(task.name, _content(unit)) if label is None else label.unit
        first = NONE if self.by_unit is None else self.by_unit.columns.place(identity)
        if self._is_new(first, bytes.fromhex(identity)):
            self.add(task, 1, label is None, label is not None and label.verdict is None)

    def add(self, task: AnyTask, asked: int, missing: int, failed: int) -> None:
        """Add to the counts of a task: how many units labels were wanted of, and how many of these
        labels are missing or failed."""
        pairs = ((self.asked, asked), (self.missing, missing), (self.failed, failed))
        for counts, number in pairs:
            if number:
                counts[task.name] += number

    def uncalibrated(self) -> list[str]:
        """A warning for each labeller whose labels say that it was not calibrated on people's
        labels of this kind, with the tasks."""
        found: dict[str, dict[str, int]] = {}
        for (task, name, baseline), count in self.used.count(
            lambda label: (label.task, label.labeller.name, label.detail.get("calibrated") is False)
        ).items():
            if baseline:
                found.setdefault(name, {})[task] = count
        return [
            f"{sum(tasks.values())} of the labels by {name} are only a baseline, because there "
            f"were no human labels on their scales to fit it on: {', '.join(tasks)}."
            for name, tasks in found.items()
        ]

    def note(self, label: Label, place: Place | str) -> None:
        """Record a label that was looked up elsewhere as one that counts."""
        where = place if isinstance(place, Place) else Place(position=place)
        self.used.note(label, where, self.by_unit)

    def row(self) -> LabelRow:
        """An empty row for such labels."""
        return LabelRow(self.by_unit, self.used.scratch)

    def places(self) -> PlaceColumns:
        """Empty columns for the places of such a row."""
        return PlaceColumns(scratch=self.used.scratch)

    def note_all(self, labels: Places, at: PlaceColumns) -> None:
        """Record many such labels, given by their places in the ledger's columns."""
        if self.by_unit is not None:
            others = self.by_unit.fetch_labels(labels)
            row = self.row()
            row.extend(CountedLabels(self.by_unit, labels, others))
            self.used.note_all(row, at)

    def whole(self, labels: Mapping[K, Label]) -> dict[K, Label]:
        """The same labels with uids, reasons, errors, costs and times, which scores do not need."""
        if self.by_unit is None:
            return dict(labels)
        return dict(zip(labels, self.by_unit.ledger.whole(labels.values()), strict=True))


def _content(unit: Unit | UnitContent) -> UnitContent:
    return unit.model_dump(mode="json") if isinstance(unit, Unit) else unit
