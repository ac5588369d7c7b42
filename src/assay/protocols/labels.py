"""The labels that a protocol's scores rest on: had by content, counted, and remembered."""

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

_AT_ONCE = 4096  # units whose contents are held while their labels are looked up


Asked = Iterable[tuple[UnitContent, Place]]
"""What a row of units is about, and where the label of each is used."""


def requests_of(task: AnyTask, asked: Asked) -> Iterator[Request]:
    """One request a unit (equal ones are asked once)."""
    for content, place in asked:
        yield Request(task, task.unit.model_validate(content), topic=place.topic)


class LookedUp(NamedTuple):
    """Units, the places of their oldest labels, and the labels that count."""

    units: Sequence[bytes]
    first: Places
    labels: CountedLabels


@dataclass
class LabelBook:
    """Labels by what they are about. It remembers which were given out and where they were used,
    and counts those that were wanted and are not there. ``by_unit`` are all labels, and which of
    them counts; None is an evaluation without any (there is no ledger yet)."""

    by_unit: UnitLabels | None
    used: UsedLabels = field(default_factory=UsedLabels, init=False)
    asked: Counter[str] = field(default_factory=Counter, init=False)
    missing: Counter[str] = field(default_factory=Counter, init=False)
    failed: Counter[str] = field(default_factory=Counter, init=False)
    # The units, by their oldest label's place, of which it was counted that one was wanted.
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
        """The labels of ``tasks`` in the ledger. Those in ``asked_as`` are asked under another
        task, those in ``strict`` under none (:class:`assay.protocols.unit_labels.UnitLabels`). With
        ``whole`` labels are had with all that a report shows of them."""
        if ledger is None:
            return cls(None)
        kind = WholeUnitLabels if whole else UnitLabels
        return cls(kind(ledger, policy, labellers, tuple(tasks), asked_as, strict))

    @property
    def is_whole(self) -> bool:
        """Whether labels are had with all that a report shows of them."""
        return isinstance(self.by_unit, WholeUnitLabels)

    def find(
        self,
        task: AnyTask,
        unit: Unit | UnitContent,
        *,
        before: int | None = None,
        still: bool = False,
    ) -> Label | None:
        """The label of a unit that counts, which may be a failed one; nothing is counted. The one
        that counted when the label with the number ``before`` was not there yet, or ``still``
        does."""
        own = self.by_unit
        return None if own is None else own.choose(task, _content(unit), before, still=still)

    def history(self, task: AnyTask, unit: Unit | UnitContent) -> list[Label]:
        """All labels of a unit, oldest first, whether they count or not."""
        return [] if self.by_unit is None else self.by_unit.labels(task, _content(unit))

    def machine_label(
        self, task: AnyTask, unit: Unit | UnitContent, who: LabellerId | None = None
    ) -> Label | None:
        """The usable label of a unit by a machine, the evaluation's own unless another is named,
        that counts where people's are left out."""
        return (
            None if self.by_unit is None else self.by_unit.machine_label(task, _content(unit), who)
        )

    def counts_machine(self, task: AnyTask) -> bool:
        """Whether a machine's label of a task may count under the policy."""
        return self.by_unit is None or self.by_unit.policy.counts_machine(task.name)

    def choose(self, task: AnyTask, labels: Sequence[Label]) -> Label | None:
        """The one of some labels, oldest first, that counts under the policy."""
        own = self.by_unit
        return None if own is None else choose(labels, own.policy, own.configured[task.name])

    def people_labelled(self, task: AnyTask) -> bool:
        """Whether any person ever labelled anything under a task."""
        return self.by_unit is not None and task.name in self.by_unit.ledger.judged_by_people()

    def answered_by_people(self, task: AnyTask) -> bool:
        """The same, also under one that tells its verdict."""
        return self.by_unit is not None and self.by_unit.answered_by_people(task)

    @property
    def by_people(self) -> bool:
        """Whether any person ever labelled anything under a task that can count."""
        return self.by_unit is not None and self.by_unit.by_people

    def under(self, policy: str) -> LabelBook:
        """The same labels under another policy, nothing counted yet."""
        own = self.by_unit
        return LabelBook(own and own.with_policy(own.policy.under(policy)))

    def expects(self, task: AnyTask) -> bool:
        """Whether the policy counts labels of somebody who is asked for a task: with ``only:``
        perhaps nobody."""
        if self.by_unit is None or self.by_unit.policy.only is None:
            return True
        own = self.by_unit.configured[task.name]
        return own is not None and own.name == self.by_unit.policy.only

    def verdict(
        self, task: AnyTask, unit: Unit | UnitContent, place: Place | str
    ) -> Mapping[str, Any] | None:
        """The verdict on a unit, or None where there is no usable label (which is counted).
        ``place`` says where it is used: run, topic and position, or all in one text."""
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    def label(self, task: AnyTask, unit: Unit | UnitContent, place: Place | str) -> Label | None:
        """As :meth:`verdict`, but the whole label, which may be a failed one."""
        content = _content(unit)
        label = self.find(task, content)
        self.count(task, content, label)
        if label is not None:
            self.note(label, place)
        return label

    def of_each_person(
        self, task: AnyTask, asked: Sequence[tuple[UnitContent, Place]]
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """What each person who counts says of something that is ``asked`` in one or more ways: the
        verdicts, each with which of them it is of, noted and counted."""
        if self.by_unit is None:
            return []
        histories = [self.history(task, unit) for unit, _ in asked]
        of_which = {one.rowid: at for at, labels in enumerate(histories) for one in labels}
        given = sorted(chain.from_iterable(histories), key=lambda one: one.rowid)
        found = []
        said = of_each_person(given, self.by_unit.policy)
        self.used.beside.update(label.rowid for label in said[1:])
        for label in said:
            unit, place = asked[of_which[label.rowid]]
            self.count(task, unit, label)
            self.note(label, place)
            found.append((of_which[label.rowid], label.verdict or {}))
        return found

    def in_both_orders(
        self,
        task: AnyTask,
        orders: Sequence[tuple[Unit | UnitContent, Place]],
        *,
        count: bool = True,
    ) -> tuple[list[tuple[int, Label, Mapping[str, Any]]], bool]:
        """The usable labels of two things beside each other, each with which of the ``orders`` it
        is of and its verdict, and whether one is wanted that is missing or failed. Who judged them
        in one order is a person: then no other is wanted, as nobody judges the same two things
        twice. With ``count`` the labels that count, and those that are missing, are noted."""
        found = [self.find(task, unit) for unit, _ in orders]
        by_people = [
            at
            for at, label in enumerate(found)
            if label is not None and label.labeller.is_human and label.verdict is not None
        ]
        # Before there is any label, one is missing: a person's would do.
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
        """Whether a machine told which of two things is better in one order, and so is asked in
        the other, too; a person is not."""
        label = self.find(task, unit)
        return label is not None and label.verdict is not None and not label.labeller.is_human

    def labels(self, task: AnyTask, asked: Asked, given: Bools | None = None) -> CountedLabels:
        """As :meth:`label`, of a row of units. Of those that the inputs have a label of (``given``)
        none but a person's is wanted here: a machine's is had, and neither noted nor counted."""
        row, noted, remaining = self.row(), self.places(), iter(asked)
        used = row if given is None else self.row()
        while some := list(islice(remaining, _AT_ONCE)):
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
        """The labels of some units, as :meth:`find` has them."""
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
        """Count units that labels were wanted of, each once, and what was found; ``of`` some of the
        row alone."""
        which = np.arange(len(found.units)) if of is None else np.flatnonzero(of)
        new = which[self._new(found.first[which], [found.units[at] for at in which.tolist()])]
        missing, failed = ~found.labels.present[new], found.labels.failed[new]
        self.add(task, len(new), int(missing.sum()), int(failed.sum()))

    def _new(self, first: Places, units: Sequence[bytes]) -> Places:
        """Which of some units were not counted before, and are from now on; ``first`` are the
        places of their oldest labels."""
        held = np.flatnonzero(first >= 0)
        new = [held[self._seen.new(first[held])]]
        for at in np.flatnonzero(first < 0).tolist():
            if self._is_new(NONE, units[at]):
                new.append(np.array([at]))
        return np.concatenate(new)

    def _is_new(self, first: int, unit: bytes) -> bool:
        """The same of one unit."""
        if first >= 0:
            return self._seen.add(first)
        before = len(self._unlabelled)
        self._unlabelled.add(unit)
        return len(self._unlabelled) > before

    def count(self, task: AnyTask, unit: Unit | UnitContent, label: Label | None) -> None:
        """Count a unit that a label was wanted of, and what was found."""
        identity = unit_hash(task.name, _content(unit)) if label is None else label.unit
        first = NONE if self.by_unit is None else self.by_unit.columns.place(identity)
        if self._is_new(first, bytes.fromhex(identity)):
            self.add(task, 1, label is None, label is not None and label.verdict is None)

    def add(self, task: AnyTask, asked: int, missing: int, failed: int) -> None:
        """Count units of a task that labels were wanted of, how many of these are not there and how
        many failed."""
        pairs = ((self.asked, asked), (self.missing, missing), (self.failed, failed))
        for counts, number in pairs:
            if number:
                counts[task.name] += number

    def uncalibrated(self) -> list[str]:
        """A sentence for each labeller whose labels say that they were not fitted on people's
        labels of this kind, with the tasks."""
        found: dict[str, dict[str, int]] = {}
        for (task, name, baseline), count in self.used.count(
            lambda label: (label.task, label.labeller.name, label.detail.get("calibrated") is False)
        ).items():
            if baseline:
                found.setdefault(name, {})[task] = count
        return [
            f"{sum(tasks.values())} of the labels by {name} are a baseline, as no human "
            f"labels on their scales were at hand to fit it on: {', '.join(tasks)}."
            for name, tasks in found.items()
        ]

    def note(self, label: Label, place: Place | str) -> None:
        """Remember a label that was had from elsewhere as one that counts."""
        where = place if isinstance(place, Place) else Place(position=place)
        self.used.note(label, where, self.by_unit)

    def row(self) -> LabelRow:
        """A row that such labels can be put into."""
        return LabelRow(self.by_unit, self.used.scratch)

    def places(self) -> PlaceColumns:
        """Places for such a row."""
        return PlaceColumns(scratch=self.used.scratch)

    def note_all(self, labels: Places, at: PlaceColumns) -> None:
        """The same of many, by their places among the ledger's columns."""
        if self.by_unit is not None:
            others = self.by_unit.fetch_labels(labels)
            row = self.row()
            row.extend(CountedLabels(self.by_unit, labels, others))
            self.used.note_all(row, at)

    def whole(self, labels: Mapping[K, Label]) -> dict[K, Label]:
        """The same labels with their uids, reasons, errors, costs and times, which scores do not
        need."""
        if self.by_unit is None:
            return dict(labels)
        return dict(zip(labels, self.by_unit.ledger.whole(labels.values()), strict=True))


def _content(unit: Unit | UnitContent) -> UnitContent:
    return unit.model_dump(mode="json") if isinstance(unit, Unit) else unit
