"""Sections of a report as HTML, and what opens on a click in them: in the page itself as long as
that is small, else a page for each.

A page of its own is loaded when it is opened, by a plain link: it works from a folder without a
server, without a network and without a script. Passages that several answers of such a page cite
stand in it once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from markupsafe import Markup

from assay.measures.ranges import Range
from assay.page.cards import Body, Cards
from assay.page.files import page_name
from assay.page.parts import (
    Beside,
    Grid,
    Item,
    Items,
    Marked,
    Panels,
    Part,
    Sentences,
    Shade,
    Table,
    Text,
    made,
)
from assay.page.wording import NOTHING, narrow, number, shortened, span
from assay.reports.figures import Kinds, figure
from assay.reports.page import macro
from assay.reports.svg import share_bar
from assay.reports.text import question_anchor, slug

SINGLE_BYTES = 4_000_000
"""With details of more than this a report is a folder."""

MAX_BYTES = 22_000_000
"""A report that must be a single file has details until they take as much as this."""

_SHORT = 120
"""Shorter passages are repeated: a reference to one would be as long."""


class TooLarge(Exception):
    """The details take more than a single file may."""


@dataclass
class Passages:
    """The passages of a page, each with the name of its place there."""

    places: dict[str, str] = field(default_factory=dict)

    def keep(self, text: str) -> str:
        """The name of a passage's place; empty for one that is to stand where it is cited."""
        if len(text) <= _SHORT:
            return ""
        return self.places.setdefault(text, f"p{len(self.places) + 1}")


Keep = Callable[[str], str]


def repeated(text: str) -> str:
    """Passages of a single file stand where they are cited."""
    return ""


@dataclass(frozen=True)
class Detail:
    """What opens under ``title``: ``draw`` makes it, given where its passages are kept. ``anchor``
    is its place in the report, ``place`` its number among the ``of`` of its section."""

    anchor: str
    title: str
    place: int
    of: int
    draw: Callable[[Keep], Markup]


@dataclass(frozen=True)
class ShownDetail:
    """A detail as the page has it: its ``body``, or the address of its own page (``link``), or
    neither where there was no room for it."""

    body: Markup | None = None
    link: str = ""


class Inside:
    """Details in the page, until they take ``most`` bytes: the rest is left out, or with ``all_``
    TooLarge is raised."""

    def __init__(self, most: int, *, all_: bool = False) -> None:
        self._left = most
        self._all = all_

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """The detail, if there is room left."""
        if self._left >= 0:
            body = detail.draw(repeated)
            self._left -= len(body.encode())
            if self._left >= 0:
                return ShownDetail(body)
        if self._all:
            raise TooLarge
        return ShownDetail()


class Apart:
    """A page for each detail, written as it is drawn. ``write`` takes the name of its file, the
    detail, what is in it and its passages; ``folder`` is where the report finds the files."""

    def __init__(self, folder: str, write: Callable[[str, Detail, Markup, Passages], None]) -> None:
        self._folder = folder
        self._write = write

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """The address of the detail's page, which is written now."""
        name = page_name(section, detail.place)
        passages = Passages()
        self._write(name, detail, detail.draw(passages.keep), passages)
        return ShownDetail(link=f"{self._folder}/{name}")


Details = Inside | Apart


_ALIGNED_RUNS = 6
"""With more runs than this the outcomes of a topic stand below its text."""

_ROW_TEXT = 90
"""Characters of what a grid says of a row beside its name."""

_DENSE = 14
"""With more columns than this a grid has narrow ones, and their names stand upright."""

_VAST = 40
"""With more columns than this a grid is small print on paper."""


MARKS = {
    "full": ("✓", "full support"),
    "partial": ("◐", "partial support"),
    "none": ("✗", "no support"),
    "unjudged": ("?", "unjudged"),
    "uncited": ("∅", "cites nothing"),
}
"""Sign and words of a sentence's mark: colour alone says nothing to some readers."""


@dataclass(frozen=True)
class Look:
    """What all parts of a page share: the runs' colours, what measures mean, and where details go.
    Of what is drawn now, ``section`` is the anchor, and ``keep`` keeps passages."""

    kinds: Kinds = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    details: Details = field(default_factory=lambda: Inside(MAX_BYTES))
    section: str = ""
    keep: Keep = repeated


def draw(item: Item, look: Look) -> Markup:
    """An item of a section as HTML."""
    if isinstance(item, Table):
        return _table(item, look)
    if isinstance(item, Grid):
        return _grid(item)
    if isinstance(item, Marked):
        return macro("parts", "marked", item, MARKS, look.keep)
    if isinstance(item, Text):
        return _text(item)
    if isinstance(item, Sentences):
        return macro("parts", "sentences", item, look.kinds)
    if isinstance(item, Cards):
        return draw_cards(item, look)
    if isinstance(item, Beside):
        drawn = [(one, figure(one, look.kinds)) for one in item.figures]
        return macro("parts", "beside", drawn)
    if isinstance(item, Panels):
        panels = [
            (
                name, slug("run", name), look.kinds.get(name), note,
                [figure(one, look.kinds) for one in figures],
            )
            for name, note, figures in item.panels
        ]  # fmt: skip
        return macro("parts", "panels", panels)
    return macro("parts", "figure", item, figure(item, look.kinds))


def draw_cards(cards: Cards, look: Look) -> Markup:
    """The cards, each with its body, or a link to it, as far as there is room."""
    wide = " many" if len(cards.runs) > _ALIGNED_RUNS else ""
    drawn, whole = [], 0
    for place, card in enumerate(cards.cards, 1):
        anchor, shown = question_anchor(card.topic), ShownDetail()
        if card.body is not None:
            body = partial(_body, card.body, anchor, look)
            title = f"{card.topic} {card.text}"
            detail = Detail(anchor, title, place, len(cards.cards), body)
            shown = look.details.show(look.section, detail)
        whole += shown != ShownDetail()
        drawn.append(macro("cards", "card", card, anchor, shown, wide))
    limited = ""
    if whole < len(drawn):
        limited = (
            f"To keep this file small, the first {whole:,} of {len(drawn):,} {cards.what}s are "
            f"shown in full; each of the others is one line of the matrix. All scores above cover "
            f"all {cards.what}s. {cards.whole}"
        )
    categories = dict.fromkeys(card.category for card in cards.cards if card.category)
    alone = isinstance(look.details, Apart)
    return macro("cards", "cards", cards, drawn, list(categories), limited, wide, alone)


def _body(body: Callable[[], Body], anchor: str, look: Look, keep: Keep) -> Markup:
    """A card's inside; one in the page of the report says how to point at it."""
    own = "" if isinstance(look.details, Apart) else anchor
    return macro("cards", "body", body(), own, look.kinds, keep)


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
    # What a row is of, for who listens: its first column of short texts.
    short = (at for at, name in enumerate(table.columns) if left[at] and name not in table.texts)
    head, count = next(short, None), len(table.rows)
    return macro("parts", "table", table, rows, left, head, count, look.about)


def _grid(grid: Grid) -> Markup:
    width = (grid.high - grid.low) or 1.0
    wide = len(grid.columns) > _DENSE

    def cell(given: float | Range | Shade | None) -> tuple[str, int | None, str, str]:
        shade = given if isinstance(given, Shade) else None
        value = given.value if isinstance(given, Shade) else given
        floor = value.floor if isinstance(value, Range) else value
        text = span(*value, grid.digits) if isinstance(value, Range) else number(value, grid.digits)
        step = None if floor is None else min(10, max(0, round((floor - grid.low) / width * 10)))
        text = narrow(text) if wide and grid.digits > 1 else text
        return text, step, shade.about if shade else "", shade.below if shade else ""

    cells = [[cell(value) for value in row] for row in grid.cells]
    columns = [(name, *name.partition("\n")[::2]) for name in grid.columns]
    rows = [(name, shortened(grid.about.get(name, ""), _ROW_TEXT)) for name in grid.rows]
    width_class = "wide vast" if len(columns) > _VAST else "wide" if wide else ""
    legend = [(name, grid.about[name]) for name in grid.columns if name in grid.about]
    return macro("parts", "grid", grid, columns, rows, cells, legend, width_class)


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
    """A section, drawn; ``limited`` says what of it there is no room for."""

    anchor: str
    title: str
    note: str
    items: tuple[Markup, ...]
    groups: tuple[tuple[str, str, ShownDetail], ...]
    remarks: tuple[str, ...]
    limited: str = ""


def sections(parts: Sequence[Part], look: Look, anchor: str = "part") -> Iterator[Section]:
    """The sections of a report, drawn, with ``anchor-1`` and so on as their anchors."""
    for place, part in enumerate(parts, 1):
        own = replace(look, section=f"{anchor}-{place}")
        groups = tuple(_groups(part, own))
        whole = sum(shown != ShownDetail() for _, _, shown in groups)
        limited = ""
        if whole < len(groups):
            limited = (
                f"To keep this file small, the first {whole:,} of {len(groups):,} are shown in "
                "full. All scores cover all of them. “assay report” writes a folder with a page "
                "for each."
            )
        items = tuple(draw(item, own) for item in part.items)
        yield Section(own.section, part.title, part.note, items, groups, part.remarks, limited)


def _groups(part: Part, look: Look) -> Iterator[tuple[str, str, ShownDetail]]:
    """Each group's anchor, its title, and what is shown of it."""
    for place, (title, items) in enumerate(part.groups, 1):
        anchor = f"{look.section}-{place}"

        def drawn(keep: Keep, items: Items = items) -> Markup:
            return Markup("\n").join(draw(one, replace(look, keep=keep)) for one in made(items))

        detail = Detail(anchor, title, place, len(part.groups), drawn)
        yield anchor, title, look.details.show(look.section, detail)
