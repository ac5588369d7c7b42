"""Display order of a unit's two sides. It is random for each person and unit, so that a preference
for one position favours no run. Labels name the sides as in the unit, and record whether they were
``turned``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.model.labels import Label, is_turned
from assay.tasks.base import AnyTask
from assay.web.values import Json, as_given, reason_of


@dataclass(frozen=True, slots=True)
class Sides:
    """Converts between a unit's sides and the displayed ones; the same swap works both ways."""

    task: AnyTask
    turned: bool

    def _swapped(self, which: int) -> dict[str, str]:
        if self.task.sides is None or not self.turned:
            return {}
        one, other = self.task.sides[which]
        return {one: other, other: one}

    def content(self, content: Mapping[str, Any]) -> Json:
        """The unit's content, with sides swapped if turned."""
        swapped = self._swapped(0)
        return {name: content[swapped.get(name, name)] for name in content}

    def verdict(self, verdict: Mapping[str, Any] | None) -> Json:
        """A verdict, with sides swapped if turned."""
        swapped = self._swapped(1)
        return {
            name: swapped.get(value, value)
            if isinstance(value, str) and name != "reason"
            else value
            for name, value in (verdict or {}).items()
        }

    def evidence(self, marked: Sequence[Json]) -> list[Json]:
        """Marked parts of the texts, with sides swapped if turned."""
        swapped = self._swapped(0)
        return [{**one, "field": swapped.get(one["field"], one["field"])} for one in marked]

    def own(self, label: Label, content: Mapping[str, Any]) -> Json:
        """The person's own label on a unit with this content."""
        given = as_given(label, content)
        return {
            **given,
            "verdict": self.verdict(given["verdict"]),
            "evidence": self.evidence(given["evidence"]),
        }

    def others(self, label: Label) -> Json:
        """Another person's label; a reason that was written for the opposite order says so."""
        reason = reason_of(label)
        if reason and self.task.sides is not None and bool(is_turned(label)) != self.turned:
            reason += " (labelled with the two sides swapped)"
        return {"uid": label.uid, "verdict": self.verdict(label.verdict), "reason": reason}
