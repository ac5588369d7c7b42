"""Axes of figures: a rectangle, and the numbers that its sides stand for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from assay.reports.svg import el, label, turned


@dataclass(frozen=True)
class Plane:
    """A rectangle of the drawing, and the numbers that its sides stand for."""

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
        """The rectangle with lines across at round numbers of y."""
        parts = [
            el("rect", x=self.left, y=self.top, width=self.wide, height=self.high, class_="area")
        ]
        for tick in _ticks(*self.ys):
            y = self.y(tick)
            parts.append(el("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="gr"))
            parts.append(label(self.left - 6, y + 4, _tick_text(tick), anchor="end"))
        return parts

    def below(self, by: float = 15.0, shown: Callable[[float], str] | None = None) -> list[Markup]:
        """Round numbers of x."""
        text = shown or _tick_text
        return [label(self.x(tick), self.bottom + by, text(tick)) for tick in _ticks(*self.xs)]

    def named(self, x: str, y: str, at: float) -> list[Markup]:
        """What the axes are, that of x at a height."""
        upright = turned(10, self.top + self.high / 2)
        parts = [label(self.left + self.wide / 2, at, x, "axis")] if x else []
        return [*parts, *([label(0, 0, y, "axis", transform=upright)] if y else [])]


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


def reach(values: Sequence[float], low: float | None, high: float | None) -> tuple[float, float]:
    """What an axis runs over: the values, and from ``low`` to ``high`` at least."""
    least = min([*values, *([] if low is None else [low])], default=0.0)
    most = max([*values, *([] if high is None else [high])], default=1.0)
    return (least, most) if most > least else (least - 0.5, most + 0.5)


def _tick_text(value: float) -> str:
    shown = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown
