"""Sections of a report as HTML, with details that open on a click: inside the page while that is
small, else on separate pages.

Separate pages are opened by a plain link, which works from a folder without a server, a network or
a script. Passages that several answers on such a page cite are in it only once.
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
"""With more details than this a report becomes a folder."""

MAX_BYTES = 22_000_000
"""The limit for details in a report that must be a single file."""

_SHORT = 120
"""Shorter passages are repeated: a reference to one would be as long."""


class TooLarge(Exception):
    """The details exceed the limit for a single file."""


@dataclass
class Passages:
    """The passages of a page, each with its anchor."""

    places: dict[str, str] = field(default_factory=dict)

    def keep(self, text: str) -> str:
        """The anchor of a passage, or an empty string if it is to be repeated where it is cited."""
        if len(text) <= _SHORT:
            return ""
        return self.places.setdefault(text, f"p{len(self.places) + 1}")


Keep = Callable[[str], str]


def repeated(text: str) -> str:
    """In a single file, passages are repeated where they are cited."""
    return ""


@dataclass(frozen=True)
class Detail:
    """A detail that opens under ``title``. ``draw`` renders it, given a keeper of its passages.
    ``anchor`` is its anchor in the report, ``place`` its number among the ``of`` in its section."""

    anchor: str
    title: str
    place: int
    of: int
    draw: Callable[[Keep], Markup]


@dataclass(frozen=True)
class ShownDetail:
    """A detail in the page: its ``body``, or the ``link`` to its own page, or neither if there was
    no room for it."""

    body: Markup | None = None
    link: str = ""


class Inside:
    """Details inside the page, up to ``most`` bytes. Beyond that they are left out or, with
    ``all_``, TooLarge is raised."""

    def __init__(self, most: int, *, all_: bool = False) -> None:
        self._left = most
        self._all = all_

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """The detail, if there is room for it."""
        if self._left >= 0:
            body = detail.draw(repeated)
            self._left -= len(body.encode())
            if self._left >= 0:
                return ShownDetail(body)
        if self._all:
            raise TooLarge
        return ShownDetail()


class Apart:
    """Details on separate pages, written as they are rendered. ``write`` takes file name, detail,
    content and passages; ``folder`` is the folder of the files as seen from the report."""

    def __init__(self, folder: str, write: Callable[[str, Detail, Markup, Passages], None]) -> None:
        self._folder = folder
        self._write = write

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """Write the detail's page and return a link to it."""
        name = page_name(section, detail.place)
        passages = Passages()
        self._write(name, detail, detail.draw(passages.keep), passages)
        return ShownDetail(link=f"{self._folder}/{name}")


Details = Inside | Apart


_ALIGNED_RUNS = 6
"""With more runs than this the outcomes of a topic are below its text."""

_ROW_TEXT = 90
"""The most characters that a grid shows about a row beside its name."""

_DENSE = 14
"""With more columns than this a grid's columns are narrow, and their names vertical."""

_VAST = 40
"""With more columns than this a grid is small print on paper."""


MARKS = {
    "full": ("✓", "full support"),
    "partial": ("◐", "partial support"),
    "none": ("✗", "no support"),
    "unjudged": ("?", "unjudged"),
    "uncited": ("∅", "cites nothing"),
}
"""Sign and words of a sentence's mark, as some readers cannot tell colours apart."""


@dataclass(frozen=True)
class Look:
    """Context of all parts of a page: the runs' colours, definitions of measures, and the
    destination of details. ``section`` is the anchor of the current section, ``keep`` keeps its
    passages."""

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
    """Cards with their bodies, or links to these, as far as there is room."""
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
    """A card's content; inside the report's page it also shows its link."""
    own = "" if isinstance(look.details, Apart) else anchor
    return macro("cards", "body", body(), own, look.kinds, keep)


@dataclass(frozen=True)
class TableCell:
    """A table's cell: its content and sort key (None: its text)."""

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
    # The row header for screen readers: the first column of short texts.
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
    """A rendered section; ``limited`` says what had no room."""

    anchor: str
    title: str
    note: str
    items: tuple[Markup, ...]
    groups: tuple[tuple[str, str, ShownDetail], ...]
    remarks: tuple[str, ...]
    limited: str = ""


def sections(parts: Sequence[Part], look: Look, anchor: str = "part") -> Iterator[Section]:
    """Render the sections of a report, with the anchors ``anchor-1`` and so on."""
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
    """Each group's anchor, title and detail as shown."""
    for place, (title, items) in enumerate(part.groups, 1):
        anchor = f"{look.section}-{place}"

        def drawn(keep: Keep, items: Items = items) -> Markup:
            return Markup("\n").join(draw(one, replace(look, keep=keep)) for one in made(items))

        detail = Detail(anchor, title, place, len(part.groups), drawn)
        yield anchor, title, look.details.show(look.section, detail)
