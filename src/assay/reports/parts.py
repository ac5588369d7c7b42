"""Sections of a report as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from assay.measures.ranges import Range
from assay.page.cards import Card, Cards
from assay.page.parts import (
    Beside,
    Figure,
    Grid,
    Item,
    Marked,
    Panels,
    Part,
    Sentences,
    Shade,
    Table,
    Text,
)
from assay.page.wording import NOTHING, number, span
from assay.reports.figures import Kinds, figure
from assay.reports.page import macro
from assay.reports.plots import share_bar
from assay.reports.text import question_anchor, slug

_ALIGNED_RUNS = 6
"""With more runs than this the outcomes of a topic stand below its text."""


def draw_cards(cards: Cards, kinds: Kinds, max_bytes: int) -> Markup:
    """Return the cards; their bodies until these take *max_bytes*, and those that have any."""
    wide = " many" if len(cards.runs) > _ALIGNED_RUNS else ""
    drawn: list[Markup] = []
    whole, size = 0, 0
    for place, card in enumerate(cards.cards):
        if whole == place and card.body is not None:
            one = _drawn(card, kinds, wide)
            size += len(one.encode())
            if size <= max_bytes:
                drawn.append(one)
                whole += 1
                continue
        drawn.append(_drawn(replace(card, body=None), kinds, wide))
    limited = ""
    if whole < len(drawn):
        limited = (
            f"To keep this file small, the first {whole:,} of {len(drawn):,} {cards.what}s are "
            f"shown in full, the others as a line of the matrix. All scores above are over all "
            f"{cards.what}s. {cards.whole}"
        )
    categories = dict.fromkeys(card.category for card in cards.cards if card.category)
    return macro("cards", "cards", cards, drawn, list(categories), limited, wide)


def _drawn(card: Card, kinds: Kinds, wide: str) -> Markup:
    return macro("cards", "card", card, question_anchor(card.topic), kinds, wide)


MARKS = {
    "full": ("✓", "full support"),
    "partial": ("◐", "partial support"),
    "none": ("✗", "no support"),
    "unjudged": ("?", "unjudged"),
    "uncited": ("∅", "cites nothing"),
}
"""Sign and words of a sentence's mark: colour alone says nothing to some readers."""

MAX_BYTES = 22_000_000
"""Cards have their bodies until these take as much as this."""


@dataclass(frozen=True)
class Look:
    """What all parts of a page share: the runs' colours, and what measures mean."""

    kinds: Kinds = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = MAX_BYTES


def draw(item: Item, look: Look) -> Markup:
    """Return an item of a section as HTML."""
    if isinstance(item, Table):
        return _table(item, look)
    if isinstance(item, Grid):
        return _grid(item)
    if isinstance(item, Marked):
        return macro("parts", "marked", item, MARKS)
    if isinstance(item, Text):
        return _text(item)
    if isinstance(item, Sentences):
        return macro("parts", "sentences", item, look.kinds)
    if isinstance(item, Cards):
        return draw_cards(item, look.kinds, look.max_bytes)
    if isinstance(item, Beside):
        drawn = [(one, figure(one, look.kinds)) for one in item.figures]
        return macro("parts", "beside", drawn)
    if isinstance(item, Panels):
        panels = [
            (name, slug("run", name), look.kinds.get(name), note, _pictures(figures, look))
            for name, note, figures in item.panels
        ]
        return macro("parts", "panels", panels)
    return macro("parts", "figure", item, figure(item, look.kinds))


def _pictures(figures: Sequence[Figure], look: Look) -> list[Markup]:
    return [figure(one, look.kinds) for one in figures]


@dataclass(frozen=True)
class TableCell:
    """A table's cell: what is shown, and what it is sorted by (None: its text)."""

    text: str
    key: float | None
    running: bool
    link: bool = False


def _table(table: Table, look: Look) -> Markup:
    def cell(value: object, column: str) -> TableCell:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return TableCell(NOTHING, None, column in table.texts)
        if isinstance(value, Range):
            return TableCell(span(*value, table.digits), value.floor, False)
        if isinstance(value, float):
            return TableCell(number(value, table.digits), value, False)
        if isinstance(value, int):
            return TableCell(f"{value:,}", value, False)
        return TableCell(str(value), None, column in table.texts, column in table.links)

    rows = [
        [cell(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows[: table.most]
    ]
    left = [
        all(isinstance(row[place], str) for row in table.rows[: table.most])
        for place in range(len(table.columns))
    ]
    return macro("parts", "table", table, rows, left, len(table.rows), look.about)


def _grid(grid: Grid) -> Markup:
    width = (grid.high - grid.low) or 1.0

    def cell(given: float | Range | Shade | None) -> tuple[str, int | None, str, str]:
        shade = given if isinstance(given, Shade) else None
        value = given.value if isinstance(given, Shade) else given
        floor = value.floor if isinstance(value, Range) else value
        text = span(*value, grid.digits) if isinstance(value, Range) else number(value, grid.digits)
        step = None if floor is None else min(10, max(0, round((floor - grid.low) / width * 10)))
        return text, step, shade.about if shade else "", shade.below if shade else ""

    cells = [[cell(value) for value in row] for row in grid.cells]
    columns = [(name, *name.partition("\n")[::2]) for name in grid.columns]
    return macro("parts", "grid", grid, columns, cells)


def _text(text: Text) -> Markup:
    high = max([text.high, *(v for _, _, v, _ in text.lines if v is not None)]) or 1.0
    rows = []
    for place, (kind, words, value, about) in enumerate(text.lines, 1):
        said = f"line {place}, {text.value} {number(value)}"
        bar = share_bar(160, 12, (value or 0.0) / high, said, "right")
        rows.append((place, kind, words, number(value), bar, about))
    return macro("parts", "text", text, rows)


@dataclass(frozen=True)
class Section:
    """A section, drawn."""

    anchor: str
    title: str
    note: str
    items: tuple[Markup, ...]
    groups: tuple[tuple[str, tuple[Markup, ...]], ...]
    remarks: tuple[str, ...]


def sections(parts: Sequence[Part], look: Look, anchor: str = "part") -> Iterator[Section]:
    """Return the sections of a report, drawn, with ``anchor-1`` and so on as their anchors."""
    for place, part in enumerate(parts, 1):
        yield Section(
            f"{anchor}-{place}",
            part.title,
            part.note,
            tuple(draw(item, look) for item in part.items),
            tuple(
                (title, tuple(draw(item, look) for item in items)) for title, items in part.groups
            ),
            part.remarks,
        )
