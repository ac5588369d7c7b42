"""The report's plots: functions from numbers to SVG.

They are drawn by hand rather than by matplotlib so that they follow the reader's colour scheme,
stay sharp and small, and keep their text as text. All axes of scores run from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from assay.measures.confidence import (
    Closed,
    bin_numbers,
    check,
    reliability_bins,
    risk_coverage,
)
from assay.protocols.scores import Score
from assay.reports.svg import drawing, el, join, label, marker, path, text_width, turned
from assay.reports.text import NOTHING, interval, number, percent, shortened, span

_BAR = (104.0, 20.0, 5.0)
"""Width, height and margin of an interval bar in a table."""

_MOST_COUNTS = 12
"""With more bins than this their counts are left out."""


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def interval_bar(score: Score | None, *, name: str, kind: int | None) -> Markup:
    """Return a table's picture of a score: its interval as a bar, its value as a point, or a
    thicker bar from floor to ceiling where labels are missing."""
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
    spoken = f"{name} {NOTHING if ends is None else span(*ends)}" + (
        f", interval {interval(low, high)}" if low is not None and high is not None else ""
    )
    return drawing(width, height, spoken, *parts, class_="bar")


def interval_axis() -> Markup:
    """Return the axis that stands over a column of interval bars."""
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
    """Return a small bar as long as a confidence is high; *kind* is ``right``, ``wrong`` …"""
    return drawing(
        64,
        8,
        f"confidence {percent(confidence)}",
        el("rect", x=0, y=0, width=64, height=8, rx=2, class_="rail"),
        el("rect", x=0, y=0, width=64 * _share(confidence), height=8, rx=2, class_=f"fill {kind}"),
        class_="meter",
    )


# --- reliability ---------------------------------------------------------------------------------


def reliability(
    p: npt.ArrayLike, c: npt.ArrayLike, *, name: str, bins: int = 10, closed: Closed = "right"
) -> Markup:
    """Return a reliability diagram over a histogram of right (up) and wrong (down) answers."""
    confidence, correct = check(p, c)
    table = reliability_bins(confidence, correct, bins=bins, closed=closed)
    numbers = bin_numbers(confidence, bins, closed)
    right = np.bincount(numbers[correct], minlength=bins)
    wrong = np.bincount(numbers[~correct], minlength=bins)
    left, top, side = 40.0, 10.0, 210.0
    below, band = top + side + 24, 84.0
    width, height = 262.0, below + band + 36

    def x(score: float) -> float:
        return left + score * side

    def y(score: float) -> float:
        return top + (1 - score) * side

    parts = [el("rect", x=left, y=top, width=side, height=side, class_="area")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(el("line", x1=left, x2=left + side, y1=y(tick), y2=y(tick), class_="gr"))
        if tick in (0.0, 0.5, 1.0):
            parts.append(label(left - 6, y(tick) + 4, number(tick, 1), anchor="end"))
            parts.append(label(x(tick), height - 20, f"{tick * 100:.0f}"))
    parts.append(path([(x(0), y(0)), (x(1), y(1))], class_="balance"))
    most = max(bar.n for bar in table)
    for bar in table:
        if bar.accuracy is None or bar.mean_confidence is None:
            continue
        at, up = x(bar.mean_confidence), y(bar.accuracy)
        about = (
            f"{bar.low * 100:.0f}–{bar.high * 100:.0f}: n {bar.n}, accuracy"
            f" {number(bar.accuracy, 2)}, mean confidence {number(bar.mean_confidence, 2)}"
        )
        over = "wrong" if bar.mean_confidence > bar.accuracy else "right"
        parts.append(
            el("line", x1=at, x2=at, y1=y(bar.mean_confidence), y2=up, class_=f"gap {over}")
        )
        size = 3.0 + 4.0 * math.sqrt(bar.n / most)
        parts.append(el("circle", el("title", about), cx=at, cy=up, r=size, class_="dot"))
    if bins <= _MOST_COUNTS:
        parts.append(label(left - 6, top + side + 14, "n", anchor="end"))
        parts.extend(
            label(x((bar.low + bar.high) / 2), top + side + 14, str(bar.n))
            for bar in table
            if bar.n
        )
    parts.append(_histogram(right, wrong, x, below, band))
    parts.append(
        label(
            0,
            0,
            "accuracy",
            class_="axis",
            transform=turned(11, top + side / 2),
        )
    )
    parts.append(label(left + side / 2, height - 4, "confidence", class_="axis"))
    spoken = f"Reliability of {name}: " + "; ".join(
        f"{bar.low * 100:.0f} to {bar.high * 100:.0f}: {right[i]} right, {wrong[i]} wrong"
        for i, bar in enumerate(table)
        if bar.n
    )
    return drawing(width, height, spoken, *parts)


def _histogram(
    right: npt.NDArray[np.int64],
    wrong: npt.NDArray[np.int64],
    x: Callable[[float], float],
    top: float,
    height: float,
) -> Markup:
    """Return the bars: right answers upwards, wrong ones downwards, on one scale."""
    bins, room = len(right), height - 22
    unit = room / max(1, int(right.max() + wrong.max()))
    zero = top + 11 + unit * int(right.max())
    parts = []
    gap = 1.0 if bins <= 30 else 0.2
    for number_, (ups, downs) in enumerate(zip(right, wrong, strict=True)):
        at, wide = x(number_ / bins) + gap, x(1 / bins) - x(0) - 2 * gap
        for n, kind, start, words in (
            (int(ups), "right", zero - unit * int(ups), zero - unit * int(ups) - 3),
            (int(downs), "wrong", zero, zero + unit * int(downs) + 10),
        ):
            if n:
                parts.append(
                    el("rect", x=at, y=start, width=wide, height=unit * n, class_=f"fill {kind}")
                )
                if bins <= _MOST_COUNTS and n < 1000:
                    parts.append(label(at + wide / 2, words, str(n), class_="tick"))
    parts.append(el("line", x1=x(0), x2=x(1), y1=zero, y2=zero, class_="ax"))
    for at, side in ((zero - 5, "right"), (zero + 12, "wrong")):
        parts.append(label(x(0) - 5, at, side, class_=f"tick {side}-text", anchor="end"))
    return join(parts)


# --- risk and coverage ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A run's confidences and correctness for a risk–coverage curve."""

    name: str
    short: str
    kind: int
    p: npt.ArrayLike
    c: npt.ArrayLike


def risk_coverage_plot(curves: Sequence[Curve], *, focus: str | None = None) -> Markup:
    """Return risk–coverage curves; with *focus* that run's alone is coloured, the others grey."""
    small = focus is not None
    left, top = (50.0, 10.0) if small else (52.0, 24.0)
    wide, high = (200.0, 210.0) if small else (230.0, 352.0)
    width, height = (262.0, high + top + 40) if small else (420.0, high + top + 48)

    def place(coverage: float, risk: float) -> tuple[float, float]:
        return left + coverage * wide, top + (1 - risk) * high

    parts = [el("rect", x=left, y=top, width=wide, height=high, class_="area")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = place(tick, tick)
        parts.append(el("line", x1=left, x2=left + wide, y1=y, y2=y, class_="gr"))
        parts.append(label(left - 6, y + 4, number(tick, 2), anchor="end"))
        parts.append(label(x, top + high + 15, number(tick, 2)))
    named: list[tuple[float, Curve]] = []
    ordered = sorted(curves, key=lambda curve: curve.name == focus)
    for curve in ordered:
        steps = risk_coverage(curve.p, curve.c)
        line = [place(step.coverage, step.risk) for step in steps]
        if small and curve.name != focus:
            parts.append(path([*line], class_="curve other"))
            continue
        parts.append(path([*line], class_=f"curve c{curve.kind % 8} d{curve.kind // 8 % 3}"))
        if len(line) <= 60:
            for (x, y), step in zip(line, steps, strict=True):
                about = (
                    f"{curve.name}: answering from confidence {step.threshold * 100:.0f} up covers"
                    f" {percent(step.coverage)}, {percent(step.risk)} of it wrong"
                )
                parts.append(marker(x, y, curve.kind, about, size=2.6))
        named.append((line[-1][1], curve))
    if not small:
        parts.extend(_end_labels(named, left + wide, top, top + high))
    parts.append(label(left + wide / 2, height - 6, "coverage: share answered", class_="axis"))
    parts.append(
        label(
            0,
            0,
            "risk: share of it wrong",
            class_="axis",
            transform=turned(11, top + high / 2),
        )
    )
    spoken = f"Risk–coverage curve of {focus}" if focus else "Risk–coverage curves of all runs"
    return drawing(width, height, spoken, *parts, class_="plot" if small else "plot map")


def _end_labels(
    named: Sequence[tuple[float, Curve]], x: float, top: float, bottom: float
) -> list[Markup]:
    """Return the runs' names beside the ends of their curves, none on another."""
    step = min(14.0, (bottom - top) / max(1, len(named)))
    order = sorted(range(len(named)), key=lambda i: (named[i][0], named[i][1].kind))
    heights = [named[i][0] for i in order]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + step)
    if heights and heights[-1] > bottom:
        heights[-1] = bottom
        for i in range(len(heights) - 2, -1, -1):
            heights[i] = min(heights[i], heights[i + 1] - step)
    parts = []
    for i, height in zip(order, heights, strict=True):
        start, curve = named[i]
        kind = f"c{curve.kind % 8}"
        parts.append(path([(x + 3, start), (x + 12, height)], class_=f"lead {kind}"))
        words = curve.short
        while len(words) > 1 and text_width(words, 11) > 120:
            words = shortened(words, len(words) - 1)
        parts.append(label(x + 15, height + 4, words, class_=f"name text-{kind}", anchor="start"))
    return parts
