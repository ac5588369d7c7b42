"""Labels looked up one after the other, where what is asked hangs on what was said before it.

The same walk serves both: a step asks what was looked up, scoring takes what was found, so that the
two cannot differ.
"""

from __future__ import annotations

from typing import Any

from assay.labellers.base import Request
from assay.model.labels import Label
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask, Unit


class Walk:
    """Looks labels up in a book, where they are counted, and notes what it looked up."""

    def __init__(self, book: LabelBook) -> None:
        self.book = book
        self._looked_up: list[tuple[AnyTask, Unit, str]] = []

    def note(self, task: AnyTask, unit: Unit, topic: str) -> None:
        """A unit whose label was looked up elsewhere."""
        self._looked_up.append((task, unit, topic))

    def label(self, task: AnyTask, unit: Unit, place: Place) -> Label | None:
        """The label of a unit that counts, which may be a failed one."""
        self.note(task, unit, place.topic)
        return self.book.label(task, unit, place)

    def says(self, task: AnyTask, unit: Unit, place: Place) -> Any:
        """The verdict on a unit; None where there is none that can be used."""
        label = self.label(task, unit, place)
        return None if label is None else label.verdict

    def take(self, *tasks: AnyTask) -> list[Request]:
        """Forget what was looked up, and give what some tasks were asked of it."""
        looked_up, self._looked_up = self._looked_up, []
        names = {one.name for one in tasks}
        return [Request(task, unit, topic=at) for task, unit, at in looked_up if task.name in names]
