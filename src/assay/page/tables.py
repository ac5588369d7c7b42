"""A table as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.measures.ranges import Range

Value = str | int | float | Range | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. A float is rounded to ``digits``, a range shown from its lower to its upper end,
    None is shown as undefined. Columns named in ``texts`` hold running text and wrap; of those in
    ``cut`` a terminal shows what has room, those in ``whole`` it does not wrap; those in
    ``numbers`` stand to the right though they have words; those in ``links`` hold names of files
    beside the report. Reports leave rows past ``most`` out, and count them; ``empty`` stands where
    there is none."""

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
