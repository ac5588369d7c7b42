"""Look-ups of labels one after the other, where each question depends on earlier answers.

One walk serves both sides: a step asks what was looked up, and scoring uses what was found, so that
the two cannot differ.
"""

from __future__ import annotations

from typing import Any

from assay.labellers.base import Request
from assay.model.labels import Label
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask, Unit


class Walk:
    """Looks up labels in a book, which counts them, and records what was looked up."""

    def __init__(self, book: LabelBook) -> None:
        self.book = book
        self._looked_up: list[tuple[AnyTask, Unit, str]] = []

    def note(self, task: AnyTask, unit: Unit, topic: str) -> None:
        """Record a unit whose label was looked up elsewhere."""
        self._looked_up.append((task, unit, topic))

    def label(self, task: AnyTask, unit: Unit, place: Place) -> Label | None:
        """The label that counts for a unit, which may be a failed one."""
        self.note(task, unit, place.topic)
        return self.book.label(task, unit, place)

    def says(self, task: AnyTask, unit: Unit, place: Place) -> Any:
        """The verdict on a unit, or None if there is no usable one."""
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    def take(self, *tasks: AnyTask) -> list[Request]:
        """Return what some tasks are asked of everything looked up since the last call."""
        looked_up, self._looked_up = self._looked_up, []
        names = {one.name for one in tasks}
        return [Request(task, unit, topic=at) for task, unit, at in looked_up if task.name in names]
