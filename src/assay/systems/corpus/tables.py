"""Wiki tables as Markdown tables: the text of every cell, with spans written out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_SPAN = 200
_MOST_COLUMNS = 400
_BULLET = re.compile(r"^\s*(?:[-*#:;]\s+)+")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: its text and the number of rows and columns it covers."""

    text: str
    header: bool = False
    rows: int = 1
    columns: int = 1


def span(raw: str) -> int:
    """Parse a span from wikitext; 1 if it is not a sensible number."""
    digits = re.match(r"\s*[\"']?\s*(\d{1,5})", raw)
    return min(max(int(digits.group(1)), 1), _MOST_SPAN) if digits else 1


def one_line(text: str, between: str = ", ") -> str:
    """The lines of ``text`` joined into one, without bullets."""
    lines = [_BULLET.sub("", line).strip() for line in text.split("\n")]
    return between.join(line for line in lines if line and line not in ("-", "*"))


def markdown(rows: Iterable[Iterable[TableCell]], caption: str = "") -> str:
    """A Markdown table (the first row is its head), after a line with the caption.

    A cell that covers several rows is repeated in each, as a passage may begin in mid-table. One
    that covers several columns is written once, and the rest stay empty. Empty rows and columns are
    left out; a table without text gives an empty string.
    """
    grid = [row for row in _grid(rows) if any(row)]
    if not grid:
        return f"\n{caption}\n" if caption else ""
    width = max(len(row) for row in grid)
    grid = [row + [""] * (width - len(row)) for row in grid]
    used = [column for column in range(width) if any(row[column] for row in grid)]
    lines = ["| " + " | ".join(row[column] for column in used) + " |" for row in grid]
    if len(used) > 1 and len(lines) > 1:
        lines.insert(1, "| " + " | ".join("---" for _ in used) + " |")
    elif len(used) == 1:  # laid out with a table, but no table
        lines = [row[used[0]] for row in grid]
    return "\n".join(["", *([caption] if caption else []), *lines, ""])


def _grid(rows: Iterable[Iterable[TableCell]]) -> list[list[str]]:
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}  # column -> (rows still covered, text)
    for cells in rows:
        row: list[str] = []

        def fill(row: list[str] = row) -> None:
            while len(row) in hanging:
                left, text = hanging.pop(len(row))
                if left > 1:
                    hanging[len(row)] = (left - 1, text)
                row.append(text)

        for cell in cells:
            if len(row) >= _MOST_COLUMNS:
                row[-1] = f"{row[-1]} {cell.text}".strip()
                continue
            fill()
            text = cell.text.replace("|", "\\|")
            for extra in range(cell.columns):
                if cell.rows > 1:
                    hanging[len(row)] = (cell.rows - 1, "" if extra else text)
                row.append("" if extra else text)
        fill()
        grid.append(row)
    return grid
