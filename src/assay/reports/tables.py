"""Terminal tables that break no name and cut no number if it can be avoided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.measures.ranges import Range
from assay.model.wording import printable, printable_lines
from assay.page import tables
from assay.page.wording import number as rounded
from assay.page.wording import shortened, span

_SENTENCE = 2
"""Number of spaces from which a text counts as a sentence, which may wrap."""

_PIECE = 3
"""Fewest letters of a heading that may stand alone on a line."""

_NARROW = 12
"""Minimum width of a sentence column."""


@dataclass(frozen=True)
class Column:
    """A column, right-aligned if every row holds a ``number``, unless ``left`` is set. ``running``
    text wraps over several lines, ``cut`` text is shortened to one."""

    heading: Text
    cells: Sequence[Text]
    number: bool = False
    left: bool = False
    running: bool = False
    cut: bool = False

    @cached_property
    def natural(self) -> int:
        """The width at which nothing wraps."""
        return max(map(_longest_line, (self.heading, *self.cells)))

    @cached_property
    def least(self) -> int:
        """The width at which no name or number is broken."""
        title = max(map(cell_len, _pieces(self.heading.plain)), default=0)
        if self.running:
            longest = max(map(_longest_line, self.cells), default=0)
            words = 0 if self.cut else max(map(_longest_word, self.cells), default=0)
            return max(title, min(longest, max(_NARROW, min(words, 2 * _NARROW))))
        return max(title, max(map(_longest_line, self.cells), default=0))


def table(part: tables.Table, width: int = 80) -> RenderableType:
    """A table of the page with all its rows. Numbers are right-aligned; text from files is plain
    text with control characters visible, never Rich markup. Columns without names have no heading;
    tables with ranks (``#``) are set closer, like leaderboards. Columns that do not fit into
    ``width`` follow in tables of their own."""
    title = Text(printable_lines(part.title), style="italic") if part.title else None
    return laid_out(title, _columns(part), width, close="#" in part.columns)


def laid_out(
    title: Text | None,
    columns: Sequence[Column],
    width: int,
    *,
    below: str = "",
    close: bool = False,
) -> RenderableType:
    """``columns`` as one table, or as several that share the first ones."""
    drawn: list[RenderableType] = [] if title is None else [title]
    close = close or room(columns) > width
    drawn += [_drawn(part, width, close=close) for part in parts(columns, width)]
    if below:
        drawn.append(Text(below))
    return Group(*drawn)


def room(columns: Sequence[Column], *, close: bool = False) -> int:
    """The width of a table in which nothing is broken."""
    return sum(one.natural for one in columns) + _gaps(columns, close=close)


def parts(columns: Sequence[Column], width: int) -> Iterator[Sequence[Column]]:
    """Groups of columns that fit into ``width``, each with those that identify a row: the first
    names and whatever precedes them."""
    if _needed(columns) <= width:
        yield columns
        return
    first = next((at for at, one in enumerate(columns) if not one.number), 0)
    named = (at for at, one in enumerate(columns) if at > first and (one.number or one.running))
    head = columns[: next(named, len(columns))]
    while len(head) > first + 1 and _needed(head) > width * 2 // 3:
        head = head[:-1]  # of several names, only the first fits
    part = list(head)
    for one in columns[len(head) :]:
        if len(part) > len(head) and _needed([*part, one]) > width:
            yield part
            part = list(head)
        part.append(one)
    yield part


def _gaps(columns: Sequence[Column], *, close: bool) -> int:
    return (2 if close else 3) * len(columns) - (0 if close else 1)


def _needed(columns: Sequence[Column]) -> int:
    return sum(one.least for one in columns) + _gaps(columns, close=True)


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Column widths that fit into ``room``: natural ones, if possible; otherwise the widest shrink
    first, none below its minimum; names are broken only as a last resort."""
    least, natural = [one.least for one in columns], [one.natural for one in columns]
    if sum(least) > room:  # break only the longest names, as little as possible
        natural = least
        least = [w if one.number else 1 for w, one in zip(least, columns, strict=True)]
    level = max(natural, default=0)
    while level > 1 and sum(_at(level, least, natural)) > room:
        level -= 1
    widths = _at(level, least, natural)
    for place, most in enumerate(natural):  # distribute what is left after whole steps
        more = min(max(room - sum(widths), 0), most - widths[place])
        widths[place] += more
    return widths


def _at(level: int, least: Sequence[int], natural: Sequence[int]) -> list[int]:
    return [max(low, min(level, high)) for low, high in zip(least, natural, strict=True)]


def _drawn(columns: Sequence[Column], width: int, *, close: bool) -> Table:
    drawn = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0) if close else (0, 1),
        pad_edge=False,
        show_header=not columns or any(one.heading.plain for one in columns),
    )
    widths = _widths(columns, width - _gaps(columns, close=close))
    for one, most in zip(columns, widths, strict=True):
        drawn.add_column(
            _heading(one.heading, most),
            justify="right" if one.number and not one.left else "left",
            overflow="fold",
            width=most,
        )
    for row in zip(
        *(_cut(one, most) for one, most in zip(columns, widths, strict=True)), strict=True
    ):
        drawn.add_row(*row)
    return drawn


def _cut(column: Column, width: int) -> Iterable[Text]:
    if not column.cut:
        return column.cells
    return [Text(shortened(cell.plain, width)) for cell in column.cells]


def _heading(text: Text, width: int) -> Text:
    """A heading wrapped to ``width``."""
    if _longest_line(text) <= width:
        return text
    made = Text()
    for piece in _pieces(text.plain):
        line = made.plain.rpartition("\n")[2]
        if line:
            made.append(" " if cell_len(line) + 1 + cell_len(piece) <= width else "\n")
        made.append(piece)
    return made


def _pieces(heading: str) -> list[str]:
    """Parts at which a heading may wrap; none is a lone character."""
    made: list[str] = []
    for word in heading.split():
        if made and sum(map(str.isalnum, word)) < _PIECE:
            made[-1] += f" {word}"
        else:
            made.append(word)
    return made


def _longest_line(text: Text) -> int:
    return max(map(cell_len, text.plain.split("\n")))


def _longest_word(text: Text) -> int:
    return max(map(cell_len, text.plain.split()), default=0)


def _columns(part: tables.Table) -> list[Column]:
    made = []
    for place, name in enumerate(part.columns):
        values = [row[place] for row in part.rows]
        cells = [_cell(part, name, value) for value in values]
        number = name in part.numbers or not any(isinstance(value, str) for value in values)
        spaces = max((cell.plain.count(" ") for cell in cells), default=0)
        sentences = spaces >= _SENTENCE and name not in part.whole
        running = not number and (name in part.texts or sentences)
        heading, cut = Text(printable_lines(name)), name in part.cut
        made.append(Column(heading, cells, number=number, running=running or cut, cut=cut))
    return made


def _cell(part: tables.Table, column: str, value: tables.Value) -> Text:
    if isinstance(value, str):
        own_lines = column in part.texts or column in part.numbers
        return Text(printable_lines(value) if own_lines else printable(value))
    if isinstance(value, Range):
        return Text(span(*value, part.digits))
    return Text(f"{value:,}" if isinstance(value, int) else rounded(value, part.digits))
