"""Tables in the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from assay.measures.ranges import Range
from assay.model.wording import printable
from assay.page import tables
from assay.page.wording import number, span


def table(part: tables.Table) -> Table:
    """A table as the page has it, with all its rows: numbers stand to the right, texts of files
    are put in as plain text with their controls visible, never as Rich markup. Columns without
    names have no heading; those of a table with ranks (``#``) stand closer, as in leaderboards."""
    drawn = Table(
        title=Text(_lines(part.title), style="italic") if part.title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0) if "#" in part.columns else (0, 1),
        pad_edge=False,
        show_header=any(part.columns) or not part.columns,
    )
    for place, name in enumerate(part.columns):
        words = any(isinstance(row[place], str) for row in part.rows)
        right = name in part.numbers or not words
        drawn.add_column(Text(_lines(name)), justify="right" if right else "left", overflow="fold")
    for row in part.rows:
        drawn.add_row(
            *(_cell(part, name, value) for name, value in zip(part.columns, row, strict=True))
        )
    return drawn


def _cell(part: tables.Table, column: str, value: tables.Value) -> Text:
    if isinstance(value, str):
        own_lines = column in part.texts or column in part.numbers
        return Text(_lines(value) if own_lines else printable(value))
    if isinstance(value, Range):
        return Text(span(*value, part.digits))
    return Text(f"{value:,}" if isinstance(value, int) else number(value, part.digits))


def _lines(text: str) -> str:
    """A text whose line breaks are meant."""
    return "\n".join(map(printable, text.split("\n")))
