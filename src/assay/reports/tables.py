"""Tables in the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from assay.measures.ranges import Range
from assay.model.wording import printable
from assay.page import tables
from assay.page.wording import number as rounded
from assay.page.wording import span

_LEAST = 10
"""Columns that a name has at least, so that numbers beside it need not be broken."""


def table(part: tables.Table, width: int = 80) -> Table:
    """A table as the page has it, with all its rows: numbers stand to the right, texts of files
    are put in as plain text with their controls visible, never as Rich markup. Columns without
    names have no heading; those of a table with ranks (``#``), or of more than ``width``, stand
    closer, as in leaderboards. Where there is room for that, no number is broken, whatever the
    length of its row's name."""
    cells = [
        [_cell(part, name, value) for name, value in zip(part.columns, row, strict=True)]
        for row in part.rows
    ]
    right = [
        name in part.numbers or not any(isinstance(row[place], str) for row in part.rows)
        for place, name in enumerate(part.columns)
    ]
    headings = [Text(_lines(name)) for name in part.columns]
    widths = [
        max(map(_width, (heading, *(row[place] for row in cells))))
        for place, heading in enumerate(headings)
    ]
    close = "#" in part.columns or sum(widths) + 3 * len(widths) - 1 > width
    drawn = Table(
        title=Text(_lines(part.title), style="italic") if part.title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0) if close else (0, 1),
        pad_edge=False,
        show_header=any(part.columns) or not part.columns,
    )
    least = (w if number else min(w, _LEAST) for w, number in zip(widths, right, strict=True))
    whole = sum(least) + (2 * len(widths) if close else 3 * len(widths) - 1) <= width
    for heading, number in zip(headings, right, strict=True):
        drawn.add_column(
            heading,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number and whole,
        )
    for row in cells:
        drawn.add_row(*row)
    return drawn


def _width(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _cell(part: tables.Table, column: str, value: tables.Value) -> Text:
    if isinstance(value, str):
        own_lines = column in part.texts or column in part.numbers
        return Text(_lines(value) if own_lines else printable(value))
    if isinstance(value, Range):
        return Text(span(*value, part.digits))
    return Text(f"{value:,}" if isinstance(value, int) else rounded(value, part.digits))


def _lines(text: str) -> str:
    """A text whose line breaks are meant."""
    return "\n".join(map(printable, text.split("\n")))
