"""Where labels are used: a label is about a content, which several runs and topics may hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from assay.model.labels import Label


class Place(NamedTuple):
    """A place that a label is used at. What a label is not about is empty: a grade of a passage
    belongs to no run, and ``position`` (``nugget 3``, ``sentence 2 citation 1``) says the rest."""

    run: str = ""
    topic: str = ""
    position: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


class Used(NamedTuple):
    """A label that counted, and where."""

    label: Label
    place: Place


class WhereUsed:
    """The places of labels, also of those that do not count but are about the same."""

    def __init__(self, used: Iterable[Used]) -> None:
        units: dict[str, dict[Place, None]] = {}
        self._units = units
        # What a label says under another task than its own is about a unit of that task.
        self._others: dict[int, set[str]] = {}
        for label, place in used:
            units.setdefault(label.unit, {})[place] = None
            self._others.setdefault(label.rowid, set()).add(label.unit)

    def of(self, unit: str, rowid: int = 0) -> tuple[Place, ...]:
        """Where the labels of a unit, or the label with the number ``rowid``, are used."""
        places: dict[Place, None] = {}
        for one in sorted({unit} | self._others.get(rowid, set())):
            places.update(self._units.get(one, {}))
        return tuple(places)
