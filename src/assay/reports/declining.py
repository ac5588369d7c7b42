"""How runs decline, and what they would come to if they declined more often, as cells of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.measures.ranges import Range
from assay.protocols.r2c2.results import Found
from assay.reports.text import NOTHING, number, span

COLUMNS = (
    "t", "coverage", "withheld", "accuracy", "HMR", "accuracy, attempted", "HMR, attempted",
    "withheld that are wrong", "wrong that are withheld",
)  # fmt: skip


@dataclass(frozen=True)
class Declining:
    """A run's ``cells``, and the rows of its threshold ``sweep`` under ``columns``."""

    run: str
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    sweep: tuple[tuple[str, ...], ...]


def declining(result: Found, runs: Sequence[str]) -> list[Declining]:
    """The runs in this order."""
    found = []
    for run in runs:
        one = result.abstention[run]
        refused = str(one.refused)
        if one.unknown:
            refused += f" to {one.refused + one.unknown}"
        cells = (
            refused, str(one.rightly), str(one.to_refuse), _shown(one.precision), _shown(one.recall)
        )  # fmt: skip
        rows = tuple(
            (
                number(point.threshold, 1),
                _shown(point.coverage),
                str(point.withheld),
                *map(_shown, (point.accuracy, point.hmr)),
                *map(_shown, (point.attempted_accuracy, point.attempted_hmr)),
                *map(_shown, (point.precision, point.recall)),
            )
            for point in one.sweep
        )
        found.append(Declining(run, cells, COLUMNS, rows))
    return found


def _shown(ends: Range | None) -> str:
    return NOTHING if ends is None else span(*ends)
