"""The labels that a protocol's scores rest on: had by content, counted, and remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.model.labels import Label
from assay.protocols.book import Book
from assay.protocols.places import Place, Used
from assay.tasks.base import AnyTask, Unit, unit_hash

K = TypeVar("K")


@dataclass
class LabelBook:
    """Labels by what they are about. It remembers which were given out and where they were used,
    and counts those that were wanted and are not there. ``book`` None is an evaluation without
    any label (there is no ledger yet)."""

    book: Book | None
    used: list[Used] = field(default_factory=list, init=False)
    asked: Counter[str] = field(default_factory=Counter, init=False)
    missing: Counter[str] = field(default_factory=Counter, init=False)
    failed: Counter[str] = field(default_factory=Counter, init=False)
    _counted: set[str] = field(default_factory=set, init=False)

    @classmethod
    def open(
        cls,
        ledger: Ledger | None,
        policy: Policy,
        tasks: Iterable[AnyTask],
        labellers: Mapping[str, Labeller | None],
        *,
        asked_as: frozenset[str] = frozenset(),
        strict: frozenset[str] = frozenset(),
    ) -> LabelBook:
        """The labels of ``tasks`` in the ledger. Those in ``asked_as`` are asked under another
        task, those in ``strict`` under none (:class:`assay.protocols.book.Book`)."""
        if ledger is None:
            return cls(None)
        return cls(Book(ledger, policy, labellers, tuple(tasks), asked_as, strict))

    def find(self, task: AnyTask, unit: Unit | Mapping[str, Any]) -> Label | None:
        """The label of a unit that counts, which may be a failed one; nothing is counted."""
        content = _content(unit)
        return self._find(task, unit_hash(task.name, content), content)

    def verdict(
        self, task: AnyTask, unit: Unit | Mapping[str, Any], place: Place | str
    ) -> Mapping[str, Any] | None:
        """The verdict on a unit, or None where there is no usable label (which is counted).
        ``place`` says where it is used: run, topic and position, or all in one text."""
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    def label(
        self, task: AnyTask, unit: Unit | Mapping[str, Any], place: Place | str
    ) -> Label | None:
        """As :meth:`verdict`, but the whole label, which may be a failed one."""
        content = _content(unit)
        identity = unit_hash(task.name, content)
        label = self._find(task, identity, content)
        if identity not in self._counted:
            self._counted.add(identity)
            self.asked[task.name] += 1
            if label is None:
                self.missing[task.name] += 1
            elif label.verdict is None:
                self.failed[task.name] += 1
        if label is not None:
            self.note(label, place)
        return label

    def uncalibrated(self) -> list[str]:
        """A sentence for each labeller whose labels say that they were not fitted on people's
        labels of this kind, with the tasks."""
        found: dict[str, dict[str, set[int]]] = {}
        for label, _ in self.used:
            if label.detail.get("calibrated") is False:
                tasks = found.setdefault(label.labeller.name, {})
                tasks.setdefault(label.task, set()).add(label.rowid)
        return [
            f"{sum(map(len, tasks.values()))} of the labels by {name} are a baseline, as no human "
            f"labels on their scales were at hand to fit it on: {', '.join(tasks)}."
            for name, tasks in found.items()
        ]

    def note(self, label: Label, place: Place | str) -> None:
        """Remember a label that was had from elsewhere as one that counts."""
        where = place if isinstance(place, Place) else Place(position=place)
        self.used.append(Used(label, where))

    def whole(self, labels: Mapping[K, Label]) -> dict[K, Label]:
        """The same labels with their uids, reasons, errors, costs and times, which scores do not
        need."""
        if self.book is None:
            return dict(labels)
        return dict(zip(labels, self.book.ledger.whole(labels.values()), strict=True))

    def _find(self, task: AnyTask, identity: str, content: Mapping[str, Any]) -> Label | None:
        return None if self.book is None else self.book.choose(task, identity, content)


def _content(unit: Unit | Mapping[str, Any]) -> Mapping[str, Any]:
    return unit.model_dump(mode="json") if isinstance(unit, Unit) else unit
