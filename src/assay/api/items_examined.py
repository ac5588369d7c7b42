"""Diagnoses of single questions or nuggets, and the order of the proposed changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

from assay.measures.bootstrap import ends_of
from assay.measures.ranges import Range
from assay.statistics.agreement import Estimate

EFFECT_COLUMNS = ("decides", "tau_without", "tau_without_low", "tau_without_high")
SAME = 0.9
"""Lowest overlap at which two items count as the same."""
PROPOSAL_COLUMNS = ("proposal", "settles_floor", "settles_ceiling", "why")


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An item, or a topic that needs one.

    ``discrimination`` is its correlation with the rest of the topic, ``overlap`` its correlation
    with the item ``most_like`` it; both are None if unknown or undefined. ``decides`` counts the
    pairs of runs whose order on the topic changes without the item (for a topic that needs one: the
    tied pairs), None if labels are missing. ``tau_without`` is the change in Kendall's τ-b with
    another leaderboard if the item is left out, None without such a leaderboard. ``proposal`` is
    the suggested change, if any, and ``why`` its reason; ``settles`` counts the pairs of runs whose
    order on the topic it changes (:meth:`assay.statistics.items.ItemBoard.settles`).
    """

    COLUMNS: ClassVar[tuple[str, ...]]

    discrimination: float | None = None
    overlap: float | None = None
    most_like: str = ""
    decides: int | None
    tau_without: Estimate | None
    proposal: str
    settles: Range | None
    why: str

    def row(self) -> tuple[object, ...]:
        """The cells under ``COLUMNS``: a range has two, an estimate three."""
        cells: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Range):
                ends = map(int, value)
                cells[f"{field.name}_floor"], cells[f"{field.name}_ceiling"] = ends
            elif isinstance(value, Estimate):
                cells |= estimate_cells(field.name, value)
            else:
                cells[field.name] = value
        return tuple(cells.get(name) for name in self.COLUMNS)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return dict(zip(self.COLUMNS, self.row(), strict=True))

    @classmethod
    def first_settled(cls, items: Iterable[Self]) -> Sequence[Self]:
        """The items with a proposal, those that settle most pairs first."""
        return sorted(
            (one for one in items if one.proposal),
            key=lambda one: (0.0, 0.0) if one.settles is None else
            (-one.settles.ceiling, -one.settles.floor),
        )  # fmt: skip


E = TypeVar("E", bound=Examined)


@dataclass(frozen=True, slots=True)
class Examination(Generic[E]):
    """All items, ``what`` they are, and the proposals, those that settle most first. ``tau`` is the
    whole leaderboard's τ-b with another one, or None without another."""

    what: str
    items: Sequence[E]
    proposals: Sequence[E]
    tau: Estimate | None

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The cells under ``COLUMNS``: every item, then the proposed additions."""
        yield from (one.row() for one in self.items)
        yield from (one.row() for one in self.proposals if one.proposal == "add")

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            **estimate_cells("tau", self.tau),
            self.what: [one.document() for one in self.items],
            "proposals": [one.document() for one in self.proposals],
        }


def estimate_cells(name: str, found: Estimate | None) -> dict[str, object]:
    """An estimate as columns for its value and ends."""
    cells = (None,) * 3 if found is None else (found.value, *ends_of(found.interval))
    return dict(zip((name, f"{name}_low", f"{name}_high"), cells, strict=True))
