"""Sections of a report as plain values: content without layout.

Protocols know nothing of HTML; ``assay.reports.parts`` renders these and escapes their texts, which
may come from runs and corpora. Runs have their colour from the first leaderboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from assay.measures.ranges import Range
from assay.page.cards import Cards
from assay.page.tables import Table as Table
from assay.page.tables import Value as Value


@dataclass(frozen=True, slots=True)
class Grid:
    """Numbers in colour steps between ``low`` and ``high``: ``cells[row][column]``, None
    if unknown. In a column's name, text after a line break is set small. ``about`` explains rows
    and columns by name; ``faint`` columns rest on little data, and ``total`` is set apart."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Sequence[Sequence[float | Range | Shade | None]]
    low: float = 0.0
    high: float = 1.0
    note: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    digits: int = 0
    folded: bool = False
    faint: frozenset[str] = frozenset()
    total: str = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """A cell of a grid with a text ``below`` its value, and an explanation ``about`` it."""

    value: Range | None
    about: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A point with a name and optional error bars (ends, not lengths)."""

    name: str
    x: float
    y: float
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Contour:
    """A line through points of equal value, labelled ``name`` at the place ``at``."""

    line: tuple[tuple[float, float], ...]
    name: str = ""
    at: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points in a plane; ``corners`` explain the upper left and the lower right."""

    title: str
    x: str
    y: str
    points: tuple[Point, ...]
    note: str = ""
    diagonal: bool = False
    contours: tuple[Contour, ...] = ()
    corners: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points of a plane from 0 to 1, with optional texts about the points."""

    name: str
    points: tuple[tuple[float, float], ...]
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves in a plane from 0 to 1; ``focus`` emphasises one. If ``named`` is set, only these are
    coloured and named; the others are grey until pointed at or searched for. Nothing left of
    ``begin`` is drawn."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    note: str = ""
    focus: str = ""
    named: tuple[str, ...] = ()
    begin: float = 0.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers with confidence from ``low`` to ``high``: numbers ``right`` and ``wrong``, mean
    ``confidence`` and ``accuracy`` (None without answers)."""

    low: float
    high: float
    right: int
    wrong: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Accuracy against confidence by bin, with the number of answers in each."""

    name: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A line through ``values`` at ``places``, with optional error bar ends."""

    name: str
    values: tuple[float | None, ...]
    ranges: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class LineChart:
    """Series over the same places: names (runs) or numbers (thresholds, lines of a text)."""

    title: str
    places: tuple[str, ...]
    series: tuple[Series, ...]
    x: str = ""
    y: str = ""
    note: str = ""
    low: float | None = 0.0
    high: float | None = 1.0
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Text:
    """Numbered lines of a text with a number beside each, as a curve beside its text.

    ``lines`` are (kind, text, value, about); kinds: ``overview``, ``heading``, ``statement``.
    """

    title: str
    lines: tuple[tuple[str, str, float | None, str], ...]
    value: str
    high: float = 1.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cited:
    """A cited passage: its document, its text (empty if not available), its label (``full``,
    ``partial``, ``none``, ``unjudged``), and who gave it and why."""

    doc: str
    text: str
    label: str
    who: str = ""
    why: str = ""


def support_mark(worths: Sequence[float], nothing: str = "uncited") -> str:
    """The label of a passage, or the mark of a sentence: the best support (1 full, 0 none, NaN
    unknown); ``nothing`` if there is no passage."""
    known = [one for one in worths if one == one]
    if not known:
        return "unjudged" if worths else nothing
    return "full" if max(known) == 1 else "partial" if max(known) > 0 else "none"


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence of an answer with a mark: a label of :class:`Cited`, or ``uncited``."""

    text: str
    mark: str
    cited: tuple[Cited, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """An answer with coloured sentences, each of which opens on a click to show its citations."""

    title: str
    sentences: tuple[MarkedSentence, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Names (runs), each with a word and a sentence."""

    rows: tuple[tuple[str, str, str], ...]
    note: str = ""


Figure = Scatter | Curves | Reliability


@dataclass(frozen=True, slots=True)
class Beside:
    """Figures side by side, if there is room."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Panels:
    """Figures of each run, under its name and a note: (name, note, figures)."""

    panels: tuple[tuple[str, str, tuple[Figure, ...]], ...]


Item = Table | Grid | Figure | LineChart | Text | Marked | Sentences | Beside | Panels | Cards
Items = Sequence[Item] | Callable[[], Iterable[Item]]
"""Items, or a function to make them when drawn, as those of all topics may not fit into memory."""


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the report. ``groups`` are items (of one query, one passage …) under a heading
    that opens on a click, or on a separate page if there are many. ``remarks`` is a list below the
    note. A section about individual people's labels (``of_people``) is on no public page."""

    title: str
    note: str = ""
    items: tuple[Item, ...] = ()
    groups: tuple[tuple[str, Items], ...] = ()
    remarks: tuple[str, ...] = ()
    of_people: bool = False

    @classmethod
    def by_topic(
        cls, title: str, note: str, texts: Mapping[str, str], items: Callable[[str], Iterable[Item]]
    ) -> Self:
        """A section with a group for each topic, headed by id and text, whose ``items`` are made
        when needed."""
        named = ((f"{topic}: {text}" if text else topic, topic) for topic, text in texts.items())
        return cls(title, note, groups=tuple((name, partial(items, one)) for name, one in named))


def made(items: Items) -> tuple[Item, ...]:
    """The items, made now if they were not."""
    return tuple(items() if callable(items) else items)
