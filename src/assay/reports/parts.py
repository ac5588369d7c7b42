"""Sections of a protocol's report as HTML and SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.measures.ranges import Range
from assay.protocols.parts import Grid, Item, Lines, Marked, Part, Scatter, Series, Table, Text
from assay.reports.page import environment
from assay.reports.svg import drawing, el, label, marker, path, turned
from assay.reports.text import NOTHING, number, shortened, span

MARKS = {
    "full": ("✓", "full support"),
    "partial": ("◐", "partial support"),
    "none": ("✗", "no support"),
    "unjudged": ("?", "unjudged"),
    "uncited": ("∅", "cites nothing"),
}
"""Sign and words of a sentence's mark: colour alone says nothing to some readers."""

_WIDTH = 640.0
_NAMED = 12
"""With more points than this a plot numbers them."""


def draw(item: Item) -> Markup:
    """Return an item of a section as HTML."""
    if isinstance(item, Table):
        return _table(item)
    if isinstance(item, Grid):
        return _grid(item)
    if isinstance(item, Scatter):
        return _figure(item.title, item.note, scatter(item))
    if isinstance(item, Lines):
        return _figure(item.title, item.note, lines(item))
    if isinstance(item, Marked):
        return _macros("marked", item, MARKS)
    return _text(item)


@dataclass(frozen=True)
class Cell:
    """A table's cell: what is shown, and what it is sorted by (None: its text)."""

    text: str
    key: float | None
    running: bool
    link: bool = False


def _macros(name: str, *arguments: object) -> Markup:
    module = environment().get_template("parts.html.j2").module
    return Markup(getattr(module, name)(*arguments))  # noqa: S704 (made by an escaping template)


def _table(table: Table) -> Markup:
    def cell(value: object, column: str) -> Cell:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return Cell(NOTHING, None, column in table.texts)
        if isinstance(value, Range):
            return Cell(span(*value, table.digits), value.floor, False)
        if isinstance(value, float):
            return Cell(number(value, table.digits), value, False)
        if isinstance(value, int):
            return Cell(f"{value:,}", value, False)
        return Cell(str(value), None, column in table.texts, column in table.links)

    rows = [
        [cell(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows[: table.most]
    ]
    left = [
        all(isinstance(row[place], str) for row in table.rows[: table.most])
        for place in range(len(table.columns))
    ]
    return _macros("table", table, rows, left, len(table.rows))


def _grid(grid: Grid) -> Markup:
    width = (grid.high - grid.low) or 1.0

    def step(value: float | None) -> int | None:
        return None if value is None else min(10, max(0, round((value - grid.low) / width * 10)))

    cells = [[(number(v, grid.digits), step(v)) for v in row] for row in grid.cells]
    return _macros("grid", grid, cells)


def _text(text: Text) -> Markup:
    high = max([text.high, *(v for _, _, v, _ in text.lines if v is not None)]) or 1.0
    rows = []
    for place, (kind, words, value, about) in enumerate(text.lines, 1):
        bar = el("rect", x=0, y=0, width=160, height=12, class_="rail")
        fill = el(
            "rect", x=0, y=0, width=160 * max(0.0, (value or 0.0) / high), height=12,
            class_="fill right",
        )  # fmt: skip
        said = f"line {place}, {text.value} {number(value)}"
        rows.append((place, kind, words, number(value), drawing(160, 12, said, bar, fill,
                     class_="meter"), about))  # fmt: skip
    return _macros("text", text, rows)


def _figure(title: str, note: str, picture: Markup) -> Markup:
    return _macros("figure", title, note, picture)


# --- plots ---------------------------------------------------------------------------------------


def _ticks(low: float, high: float) -> list[float]:
    """Round places on an axis, some four to eight."""
    width = high - low
    if width <= 0:
        return [low]
    step = 10 ** math.floor(math.log10(width))
    for divisor in (1, 2, 5):
        if width / (step / divisor) >= 4:
            step /= divisor
            break
    start = math.ceil(low / step - 1e-9)
    return [k * step for k in range(start, math.floor(high / step + 1e-9) + 1)]


def _span(values: Sequence[float], low: float | None, high: float | None) -> tuple[float, float]:
    least = min([*values, *([] if low is None else [low])], default=0.0)
    most = max([*values, *([] if high is None else [high])], default=1.0)
    return (least, most) if most > least else (least - 0.5, most + 0.5)


def _tick_text(value: float) -> str:
    shown = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown


def scatter(plot: Scatter) -> Markup:
    """Return points in a plane with their names and error bars."""
    left, top, side = 52.0, 12.0, 330.0
    points = plot.points
    numbered = len(points) > _NAMED
    legend = 14.0 * len(points) if numbered else 0.0
    height = max(top + side + 44, top + legend + 10)
    width = left + side + (210 if numbered else 120)
    xs = [v for p in points for v in (p.x, *(p.x_range or ()))]
    ys = [v for p in points for v in (p.y, *(p.y_range or ()))]
    (x0, x1), (y0, y1) = _span(xs, 0.0, 1.0), _span(ys, 0.0, 1.0)
    if plot.diagonal:
        x0, x1 = y0, y1 = min(x0, y0), max(x1, y1)

    def x(value: float) -> float:
        return left + (value - x0) / (x1 - x0) * side

    def y(value: float) -> float:
        return top + side - (value - y0) / (y1 - y0) * side

    parts = [el("rect", x=left, y=top, width=side, height=side, class_="area")]
    for tick in _ticks(x0, x1):
        parts.append(el("line", x1=x(tick), x2=x(tick), y1=top, y2=top + side, class_="gr"))
        parts.append(label(x(tick), top + side + 15, _tick_text(tick)))
    for tick in _ticks(y0, y1):
        parts.append(el("line", x1=left, x2=left + side, y1=y(tick), y2=y(tick), class_="gr"))
        parts.append(label(left - 6, y(tick) + 4, _tick_text(tick), anchor="end"))
    if plot.diagonal:
        parts.append(path([(x(x0), y(x0)), (x(x1), y(x1))], class_="balance"))
    for kind, point in enumerate(points):
        colour = f"whisker c{kind % 8}"
        if point.x_range:
            parts.append(el("line", x1=x(point.x_range[0]), x2=x(point.x_range[1]), y1=y(point.y),
                            y2=y(point.y), class_=colour))  # fmt: skip
        if point.y_range:
            parts.append(el("line", x1=x(point.x), x2=x(point.x), y1=y(point.y_range[0]),
                            y2=y(point.y_range[1]), class_=colour))  # fmt: skip
    for kind, point in enumerate(points):
        about = f"{point.name}: {plot.x} {number(point.x)}, {plot.y} {number(point.y)}"
        parts.append(marker(x(point.x), y(point.y), kind, about))
        name = str(kind + 1) if numbered else shortened(point.name, 24)
        parts.append(label(x(point.x) + 7, y(point.y) + 4, name, "name halo", "start"))
        if numbered:
            place = top + 12 + 14 * kind
            parts.append(marker(left + side + 18, place - 4, kind, size=3.5))
            said = f"{kind + 1} {shortened(point.name, 28)}"
            parts.append(label(left + side + 26, place, said, "tick", "start"))
    parts.append(label(left + side / 2, top + side + 36, plot.x, "axis"))
    parts.append(label(0, 0, plot.y, "axis", transform=turned(13, top + side / 2)))
    said = f"{plot.title}: {plot.y} against {plot.x} of {len(points)} points"
    return drawing(width, height, said, *parts, class_="plot map")


def lines(plot: Lines) -> Markup:
    """Return series over common places, with error bars where they have any."""
    longest = max((len(shortened(place, 22)) for place in plot.places), default=1)
    slanted = longest > 4 and len(plot.places) > 1 and longest * len(plot.places) * 6.2 > _WIDTH
    left, top, tall = 46.0, 12.0, 230.0
    below = 20.0 + (longest * 4.6 if slanted else 12) + (18 if plot.x else 0)
    legend = 18.0 * ((len(plot.series) + 2) // 3)
    height = top + tall + below + legend + 6
    wide = _WIDTH - left - 14
    values = [v for s in plot.series for v in s.values if v is not None]
    values += [end for s in plot.series for r in s.ranges if r is not None for end in r]
    low, high = _span(values, plot.low, plot.high)

    def x(place: int) -> float:
        return left + (place + 0.5) / max(1, len(plot.places)) * wide

    def y(value: float) -> float:
        return top + tall - (value - low) / (high - low) * tall

    parts = [el("rect", x=left, y=top, width=wide, height=tall, class_="area")]
    for tick in _ticks(low, high):
        parts.append(el("line", x1=left, x2=left + wide, y1=y(tick), y2=y(tick), class_="gr"))
        parts.append(label(left - 6, y(tick) + 4, _tick_text(tick), anchor="end"))
    for place, name in enumerate(plot.places):
        text = shortened(name, 22)
        if slanted:
            turn = f"translate({x(place):.1f} {top + tall + 12:.1f}) rotate(-40)"
            parts.append(label(0, 0, text, anchor="end", transform=turn))
        else:
            parts.append(label(x(place), top + tall + 15, text))
    for kind, series in enumerate(plot.series):
        parts += _series(series, kind, len(plot.series), plot.joined, x, y)
    if plot.x:
        parts.append(label(left + wide / 2, top + tall + below - 6, plot.x, "axis"))
    if plot.y:
        parts.append(label(0, 0, plot.y, "axis", transform=turned(11, top + tall / 2)))
    for kind, series in enumerate(plot.series):
        column, row = kind % 3, kind // 3
        at = (left + column * wide / 3, top + tall + below + 14 + 18 * row)
        parts.append(marker(at[0] + 5, at[1] - 4, kind, size=4))
        parts.append(label(at[0] + 14, at[1], shortened(series.name, 32), "tick", "start"))
    said = f"{plot.title}: {len(plot.series)} series over {len(plot.places)} places"
    return drawing(_WIDTH, height, said, *parts)


def _series(series: Series, kind: int, of: int, joined: bool, x, y) -> list[Markup]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    shift = (kind - (of - 1) / 2) * 5 if series.ranges or not joined else 0.0
    parts: list[Markup] = []
    stretch: list[tuple[float, float]] = []
    for place, value in enumerate(series.values):
        if value is None:
            if len(stretch) > 1 and joined:
                parts.append(path(stretch, class_=f"curve c{kind % 8}"))
            stretch = []
            continue
        at = (x(place) + shift, y(value))
        stretch.append(at)
        ends = series.ranges[place] if series.ranges else None
        if ends is not None:
            parts.append(el("line", x1=at[0], x2=at[0], y1=y(ends[0]), y2=y(ends[1]),
                            class_=f"whisker c{kind % 8}"))  # fmt: skip
    if len(stretch) > 1 and joined:
        parts.append(path(stretch, class_=f"curve c{kind % 8}"))
    for place, value in enumerate(series.values):
        if value is not None:
            about = f"{series.name}: {number(value)}"
            parts.append(marker(x(place) + shift, y(value), kind, about, size=3.6))
    return parts


@dataclass(frozen=True)
class Section:
    """A section, drawn."""

    anchor: str
    title: str
    note: str
    items: tuple[Markup, ...]
    groups: tuple[tuple[str, tuple[Markup, ...]], ...]


def sections(parts: Sequence[Part]) -> list[Section]:
    """Return the sections of a report, drawn."""
    return [
        Section(
            f"part-{place}",
            part.title,
            part.note,
            tuple(draw(item) for item in part.items),
            tuple((title, tuple(draw(item) for item in items)) for title, items in part.groups),
        )
        for place, part in enumerate(parts, 1)
    ]
