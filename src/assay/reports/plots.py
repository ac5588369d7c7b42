"""Small pictures for tables: bars and meters from 0 to 1, as SVG."""

from __future__ import annotations

from markupsafe import Markup

from assay.measures.scores import Score
from assay.page.wording import NOTHING, interval, percent, span
from assay.reports.svg import drawing, el, label

_BAR = (104.0, 20.0, 5.0)
"""Width, height and margin of an interval bar in a table."""


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


def interval_bar(score: Score | None, *, name: str, kind: int | None) -> Markup:
    """A table's picture of a score: its interval as a bar, its value as a point, or a
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
    """The axis that stands over a column of interval bars."""
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
    """A small bar as long as a confidence is high; ``kind`` is ``right``, ``wrong`` …"""
    return share_bar(64, 8, confidence, f"confidence {percent(confidence)}", kind)


def share_bar(width: float, height: float, share: float, said: str, kind: str) -> Markup:
    """A bar of which a share is filled."""
    whole = {"x": 0, "y": 0, "height": height, "rx": 2}
    rail = el("rect", **whole, width=width, class_="rail")
    fill = el("rect", **whole, width=width * _share(share), class_=f"fill {kind}")
    return drawing(width, height, said, rail, fill, class_="meter")
