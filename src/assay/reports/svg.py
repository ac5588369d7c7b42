"""Hand-built SVG, axes and small figures for tables. All input is escaped, and the same input gives
the same bytes.

Colours, fonts and line widths come from the report's style sheet by class, so that a plot follows
the reader's light or dark scheme and the printer's.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from assay.measures.scores import Score
from assay.page.wording import NOTHING, interval, percent, span, visible

Attribute = str | float | int | None


def _text(value: Attribute) -> str:
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, int):
        return str(value)
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def el(tag: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Build an element. Text children and all attributes are escaped; ``Markup`` is inserted as is.

    ``class_`` stands for ``class``, underscores in names become hyphens, attributes of ``None`` are
    omitted.
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(
        child if isinstance(child, Markup) else str(escape(visible(child))) for child in children
    )
    # Tag and attribute names are our own; values and text are escaped above.
    return Markup(f"<{tag}{given}>{inside}</{tag}>" if inside else f"<{tag}{given}/>")  # noqa: S704


def drawing(
    width: float, height: float, label: str, *children: Markup, class_: str = "plot"
) -> Markup:
    """An ``<svg>`` that scales with its container; ``label`` is its text alternative."""
    return el(
        "svg",
        *children,
        viewBox=f"0 0 {_text(float(width))} {_text(float(height))}",
        width=width,
        height=height,
        class_=class_,
        role="img",
        aria_label=label,
    )


def path(points: Sequence[tuple[float, float]], *, class_: str) -> Markup:
    """A line through ``points``."""
    steps = " ".join(f"{_text(float(x))},{_text(float(y))}" for x, y in points)
    return el("polyline", points=steps, class_=class_)


def label(
    x: float, y: float, text: str, class_: str = "tick", anchor: str = "middle", **more: Attribute
) -> Markup:
    """Text at a position."""
    return el("text", text, x=x, y=y, class_=class_, text_anchor=anchor, **more)


def text_width(text: str, size: float) -> float:
    """Approximate width of ``text`` at a font size (East Asian characters are wide)."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    tall = sum(char.isupper() or char in "mwMW_@%" for char in text) - sum(
        char.isupper() and unicodedata.east_asian_width(char) in "WF" for char in text
    )
    return size * (1.05 * wide + 0.76 * tall + 0.6 * (len(text) - wide - tall))


def marker(x: float, y: float, kind: int, title: str = "", size: float = 4.5) -> Markup:
    """A point with the colour and shape of run number ``kind``."""
    about = (el("title", title),) if title else ()
    colour = f"mk c{kind % 8}"
    shape = (kind // 8 + kind) % 4
    if shape == 0:
        return el("circle", *about, cx=x, cy=y, r=size, class_=colour)
    if shape == 1:
        side = size * 1.75
        return el(
            "rect", *about, x=x - side / 2, y=y - side / 2, width=side, height=side, class_=colour
        )
    corners = (
        [(x, y - size * 1.25), (x + size * 1.2, y + size * 0.9), (x - size * 1.2, y + size * 0.9)]
        if shape == 2
        else [
            (x, y - size * 1.35),
            (x + size * 1.35, y),
            (x, y + size * 1.35),
            (x - size * 1.35, y),
        ]
    )
    steps = " ".join(f"{_text(a)},{_text(b)}" for a, b in corners)
    return el("polygon", *about, points=steps, class_=colour)


@dataclass(frozen=True)
class Plane:
    """A rectangle of the drawing, and the value ranges of its axes."""

    left: float
    top: float
    wide: float
    high: float
    xs: tuple[float, float] = (0.0, 1.0)
    ys: tuple[float, float] = (0.0, 1.0)

    def x(self, value: float) -> float:
        return self.left + (value - self.xs[0]) / (self.xs[1] - self.xs[0]) * self.wide

    def y(self, value: float) -> float:
        return self.bottom - (value - self.ys[0]) / (self.ys[1] - self.ys[0]) * self.high

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.x(x), self.y(y)

    @property
    def bottom(self) -> float:
        return self.top + self.high

    @property
    def right(self) -> float:
        return self.left + self.wide

    def frame(self) -> list[Markup]:
        """The rectangle with grid lines at round values of y."""
        parts = [
            el("rect", x=self.left, y=self.top, width=self.wide, height=self.high, class_="area")
        ]
        for tick in _ticks(*self.ys):
            y = self.y(tick)
            parts.append(el("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="gr"))
            parts.append(label(self.left - 6, y + 4, _tick_text(tick), anchor="end"))
        return parts

    def below(self, by: float = 15.0, shown: Callable[[float], str] | None = None) -> list[Markup]:
        """Round values of x below the axis."""
        text = shown or _tick_text
        return [label(self.x(tick), self.bottom + by, text(tick)) for tick in _ticks(*self.xs)]

    def named(self, x: str, y: str, at: float) -> list[Markup]:
        """Axis titles, with that of x at a given height."""
        upright = f"translate(10 {_text(self.top + self.high / 2)}) rotate(-90)"
        parts = [label(self.left + self.wide / 2, at, x, "axis")] if x else []
        return [*parts, *([label(0, 0, y, "axis", transform=upright)] if y else [])]


def _ticks(low: float, high: float) -> list[float]:
    """Round tick positions, about four to eight."""
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


def reach(values: Sequence[float], low: float | None, high: float | None) -> tuple[float, float]:
    """Range of an axis: all the values, and at least from ``low`` to ``high``."""
    least = min([*values, *([] if low is None else [low])], default=0.0)
    most = max([*values, *([] if high is None else [high])], default=1.0)
    return (least, most) if most > least else (least - 0.5, most + 0.5)


def _tick_text(value: float) -> str:
    shown = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown


_BAR = (104.0, 20.0, 5.0)
"""Width, height and margin of an interval bar in a table."""


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def interval_bar(score: Score | None, *, name: str, kind: int | None) -> Markup:
    """A score as a figure in a table: its interval as a bar and value as a point, or a thicker bar
    from floor to ceiling if labels are missing."""
    low, high = (None, None) if score is None else (score.low, score.high)
    ends = None if score is None else score.ends
    width, height, margin = _BAR
    middle = height / 2

    def x(score: float) -> float:
        return margin + _share(score) * (width - 2 * margin)

    colour = "ink" if kind is None else f"c{kind % 8}"
    parts = [
        el("line", x1=x(tick), x2=x(tick), y1=0.0, y2=height, class_="gr")
        for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    if low is not None and high is not None:
        parts.append(
            el("line", x1=x(low), x2=x(high), y1=middle, y2=middle, class_=f"range {colour}")
        )
    if ends is not None and ends.value is not None:
        parts.append(el("circle", cx=x(ends.value), cy=middle, r=4, class_=f"mk {colour}"))
    elif ends is not None:
        left, right = sorted(map(x, ends))
        parts.append(
            el("rect", x=left, y=middle - 3, width=max(2.0, right - left), height=6, rx=3,
               class_=f"mk {colour}")
        )  # fmt: skip
    shown = interval(low, high, outwards=ends is not None and ends.value is None)
    spoken = f"{name} {NOTHING if ends is None else span(*ends)}"
    spoken += f", interval {shown}" if shown else ""
    return drawing(width, height, spoken, *parts, class_="bar")


def interval_axis() -> Markup:
    """The axis above a column of interval bars."""
    width, _, margin = _BAR
    ticks = [
        label(margin + tick * (width - 2 * margin), 10, text, anchor=anchor)
        for tick, text, anchor in (
            (-0.03, "0", "start"),
            (0.5, "0.5", "middle"),
            (1.03, "1", "end"),
        )
    ]
    return drawing(width, 12, "axis from 0 to 1", *ticks, class_="bar")


def meter(confidence: float, kind: str) -> Markup:
    """A small bar whose length is a confidence; ``kind`` is ``right``, ``wrong`` …"""
    return share_bar(64, 8, confidence, f"confidence {percent(confidence)}", kind)


def share_bar(width: float, height: float, share: float, said: str, kind: str) -> Markup:
    """A bar filled to a given share."""
    whole = {"x": 0, "y": 0, "height": height, "rx": 2}
    rail = el("rect", **whole, width=width, class_="rail")
    fill = el("rect", **whole, width=width * _share(share), class_=f"fill {kind}")
    return drawing(width, height, said, rail, fill, class_="meter")
