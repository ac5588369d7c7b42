"""A table as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.measures.ranges import Range

Value = str | int | float | Range | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Floats are rounded to ``digits``, ranges shown from lower to upper end, None shown
    as undefined. Columns in ``texts`` hold running text and wrap; a terminal truncates those in
    ``cut`` and does not wrap those in ``whole``; those in ``numbers`` are right-aligned though they
    hold words; those in ``links`` hold names of files beside the report. Reports omit and count
    rows beyond ``most``; ``empty`` is shown if there are none."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]
    note: str = ""
    digits: int = 3
    texts: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    most: int = 300
    folded: bool = False
    empty: str = "None."
