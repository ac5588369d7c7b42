"""Figures of a report as SVG, drawn by hand.

Matplotlib would not follow the reader's colour scheme, nor keep files small and text as text. Runs
have the colour and shape of the first leaderboard (``Kinds``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from assay.page.parts import Curve, Curves, Figure, LineChart, Point, Reliability, Scatter, Series
from assay.page.wording import NOTHING, number, one_line, shortened
from assay.reports.svg import (
    Plane,
    drawing,
    el,
    label,
    marker,
    path,
    reach,
    text_width,
)

Kinds = Mapping[str, int]
"""Name → number of its colour and shape, counted from 0."""

_STEPS = 60
"""A curve of more points than this has no markers."""

_COARSE = 4
"""In a grey curve, one of this many points can be pointed at."""

_MOST_COUNTS = 12
"""Histograms with more bins than this show no counts."""

_MOST_SAID = 12
"""The most points of a curve in its text alternative, first and last included."""

_WIDTH = 640.0
_Box = tuple[float, float, float, float]


def figure(item: Figure | LineChart, kinds: Kinds) -> Markup:
    """A figure as SVG."""
    if isinstance(item, Scatter):
        return _scatter(item, kinds)
    if isinstance(item, Curves):
        return _curves(item, kinds)
    if isinstance(item, Reliability):
        return _reliability(item)
    return _lines(item, kinds)


def _kinds(names: Sequence[str], kinds: Kinds) -> list[int]:
    """The number of each name: its own if all have one, else its position."""
    if all(name in kinds for name in names):
        return [kinds[name] for name in names]
    return list(range(len(names)))


def _course(points: Sequence[tuple[str, float]]) -> str:
    """A curve in words: each value with its place."""
    if len(points) > _MOST_SAID:
        last, said = len(points) - 1, _MOST_SAID - 1
        points = [points[n * last // said] for n in range(_MOST_SAID)]
    return ", ".join(f"{number(value, 2)} at {place}" for place, value in points) or NOTHING


# --- points --------------------------------------------------------------------------------------


def _scatter(plot: Scatter, kinds: Kinds) -> Markup:
    """Points with names and error bars, over contours. A name is placed where it hides nothing; if
    there is no such place, it appears when its point is pointed at or its run searched for."""
    points = plot.points
    side, top = 352.0, 24.0 if plot.corners[0] else 12.0
    xs = reach([v for p in points for v in (p.x, *(p.x_range or ()))], 0.0, 1.0)
    ys = reach([v for p in points for v in (p.y, *(p.y_range or ()))], 0.0, 1.0)
    if plot.diagonal:
        xs = ys = min(xs[0], ys[0]), max(xs[1], ys[1])
    plane = Plane(46.0, top, side, side, xs, ys)
    height = plane.bottom + (52 if plot.corners[1] else 40)
    width = plane.right + 22.0
    parts = [*plane.frame(), *plane.below()]
    taken: list[_Box] = []
    for contour in plot.contours:
        parts.append(path([plane.at(*one) for one in contour.line], class_="contour"))
    if plot.diagonal:
        ends = max(xs[0], ys[0]), min(xs[1], ys[1])
        parts.append(path([plane.at(end, end) for end in ends], class_="balance"))
    for contour in (one for one in plot.contours if one.name):
        x, y = plane.at(*contour.at)
        parts.append(label(x, y + 3.5, contour.name, class_="tick halo"))
        taken.append((x - 20, y - 7, x + 20, y + 6))
    above, under = plot.corners
    if above:
        parts.append(label(plane.left, top - 7, above, class_="corner", anchor="start"))
    if under:
        parts.append(label(plane.right, height - 3, under, class_="corner", anchor="end"))
    parts += plane.named(plot.x, plot.y, plane.bottom + 33)
    own = _kinds([point.name for point in points], kinds)
    taken += [(x - 6, y - 6, x + 6, y + 6) for x, y in (plane.at(p.x, p.y) for p in points)]
    for kind, point in zip(own, points, strict=True):
        lines, boxes = _whiskers(point, kind, plane)
        parts += lines
        taken += boxes
    frame = (plane.left, plane.top, plane.right, plane.bottom)
    for kind, point in zip(own, points, strict=True):
        x, y = plane.at(point.x, point.y)
        name = shortened(point.name, 24)
        long = 1.1 * text_width(name, 11)  # bold
        place = _free_place(x, y, long, taken, frame)
        if place is None:
            named = label(min(x, plane.right - long), y - 9, name, class_="name halo off",
                          anchor="start")  # fmt: skip
        else:
            taken.append(place[2])
            named = label(*place[:2], name, class_="name halo", anchor="start")
        about = f"{point.name}: {plot.x} {number(point.x)}, {plot.y} {number(point.y)}"
        parts.append(el("g", marker(x, y, kind, about), named, class_="pt", data_name=point.name))
    spoken = f"{plot.title}, {plot.y} against {plot.x}: " + "; ".join(
        f"{point.name} {number(point.x, 2)}, {number(point.y, 2)}" for point in points
    )
    return drawing(width, height, spoken, *parts, class_="plot map")


def _whiskers(point: Point, kind: int, plane: Plane) -> tuple[list[Markup], list[_Box]]:
    """The lines of a point's intervals, and the boxes they occupy."""
    lines, boxes = [], []
    for ends in (
        [(end, point.y) for end in point.x_range or ()],
        [(point.x, end) for end in point.y_range or ()],
    ):
        if ends:
            at = [plane.at(*end) for end in ends]
            lines.append(path(at, class_=f"whisker c{kind % 8}"))
            xs, ys = [x for x, _ in at], [y for _, y in at]
            boxes.append((min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1))
    return lines, boxes


def _apart(a: _Box, b: _Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def _free_place(
    x: float, y: float, width: float, taken: Sequence[_Box], frame: _Box
) -> tuple[float, float, _Box] | None:
    """A place for a point's label (left end, baseline) and the box it occupies; None if it would
    hide something everywhere."""
    left = x - 9 - width
    places = [
        (x + 9, y + 4), (left, y + 4), (x - width / 2, y - 10), (x - width / 2, y + 19),
        (x + 7, y - 8), (x + 7, y + 16), (left + 2, y - 8), (left + 2, y + 16),
        (x - width / 2, y - 24), (x - width / 2, y + 33), (x + 9, y - 22), (x + 9, y + 30),
    ]  # fmt: skip
    for a, b in places:
        box = (a - 2, b - 10, a + width + 2, b + 3)
        inside = box[0] >= frame[0] and box[2] <= frame[2] and box[1] >= frame[1]
        if inside and box[3] <= frame[3] and all(_apart(box, other) for other in taken):
            return a, b, box
    return None


# --- curves --------------------------------------------------------------------------------------


def _curves(plot: Curves, kinds: Kinds) -> Markup:
    """Curves in a plane from 0 to 1. With a focus, only that one is coloured."""
    small = bool(plot.focus)
    plane = Plane(50.0, 10.0, 200.0, 210.0) if small else Plane(52.0, 24.0, 230.0, 352.0)
    width, height = (262.0, plane.bottom + 40) if small else (420.0, plane.bottom + 48)
    parts = [*plane.frame(), *plane.below()]
    names = [curve.name for curve in plot.curves]
    own = dict(zip(names, _kinds(names, kinds), strict=True))
    named: list[tuple[float, str, int]] = []
    first = {plot.focus} if small else {*(plot.named or names)}
    for curve in sorted(plot.curves, key=lambda one: one.name in first):
        points = [point for point in curve.points if point[0] >= plot.begin] or curve.points[-1:]
        line = [plane.at(*point) for point in points]
        if curve.name not in first:
            parts.append(path(line, class_="curve other") if small else _grey(curve, line, own))
            continue
        kind = own[curve.name]
        drawn = [path(line, class_=f"curve c{kind % 8} d{kind // 8 % 3}")]
        if len(line) <= _STEPS:
            drawn += [
                marker(x, y, kind, ": ".join(filter(None, (curve.name, about))), size=2.6)
                for (x, y), about in zip(
                    line, curve.about[-len(line) :] or [""] * len(line), strict=True
                )
            ]
        about = el("title", curve.name)
        parts.append(el("g", about, *drawn, class_="pt", data_name=curve.name))
        if line:
            named.append((line[-1][1], one_line(curve.name), kind))
    if not small:
        parts += _end_labels(named, plane)
    parts += plane.named(plot.x, plot.y, height - 6)
    whose = plot.focus or "all runs"
    said = f"{plot.title} of {whose}, {plot.y} against {plot.x}: " + "; ".join(
        ("" if small else f"{curve.name} ")
        + _course([(number(x, 2), y) for x, y in curve.points if x >= plot.begin])
        for curve in plot.curves
        if curve.name in first
    )
    return drawing(width, height, said, *parts, class_="plot" if small else "plot map")


def _grey(curve: Curve, line: Sequence[tuple[float, float]], own: Kinds) -> Markup:
    """A grey curve, named when pointed at. As it is thin, its surroundings react, too."""
    parts = [path(line, class_=f"curve other c{own[curve.name] % 8}")]
    if line:
        parts.append(path([*line[::_COARSE], line[-1]], class_="hit"))
        (x, y), name = line[-1], shortened(curve.name, 40)
        parts.append(label(x - 4, y - 7, name, class_="name halo off", anchor="end"))
    about = el("title", curve.name)
    return el("g", about, *parts, class_="pt", data_name=curve.name)


def _end_labels(named: Sequence[tuple[float, str, int]], plane: Plane) -> list[Markup]:
    """Names beside the ends of their curves, without overlap; if there is not enough room, only
    those of the best runs."""
    step = 14.0
    best = sorted(named, key=lambda one: one[2])[: int(plane.high / step)]
    order = sorted(best, key=lambda one: (one[0], one[2]))
    heights = [start for start, _, _ in order]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + step)
    if heights and heights[-1] > plane.bottom:
        heights[-1] = plane.bottom
        for i in range(len(heights) - 2, -1, -1):
            heights[i] = min(heights[i], heights[i + 1] - step)
    parts = []
    for (start, name, number_), height in zip(order, heights, strict=True):
        kind = f"c{number_ % 8}"
        x = plane.right
        parts.append(path([(x + 3, start), (x + 12, height)], class_=f"lead {kind}"))
        words = _ends_of(name, 20)
        while len(words) > 3 and text_width(words, 11) > 120:
            words = _ends_of(name, len(words) - 1)
        parts.append(label(x + 15, height + 4, words, class_=f"name text-{kind}", anchor="start"))
    return parts


def _ends_of(name: str, most: int) -> str:
    """A long name shortened in the middle, as many differ only in their last letters."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[:half]}…{name[half - most + 1 :]}"


def _lines(plot: LineChart, kinds: Kinds) -> Markup:
    """Series over common places, with any error bars."""
    longest = max((len(shortened(place, 22)) for place in plot.places), default=1)
    slanted = longest > 4 and len(plot.places) > 1 and longest * len(plot.places) * 6.2 > _WIDTH
    below = 20.0 + (longest * 4.6 if slanted else 12) + (18 if plot.x else 0)
    values = [v for s in plot.series for v in s.values if v is not None]
    values += [end for s in plot.series for r in s.ranges if r is not None for end in r]
    span = reach(values, plot.low, plot.high)
    plane = Plane(46.0, 12.0, _WIDTH - 60.0, 230.0, (-0.5, max(1, len(plot.places)) - 0.5), span)
    height = plane.bottom + below + 18.0 * ((len(plot.series) + 2) // 3) + 6
    parts = plane.frame()
    for place, name in enumerate(plot.places):
        text = shortened(name, 22)
        if slanted:
            turn = f"translate({plane.x(place):.1f} {plane.bottom + 12:.1f}) rotate(-40)"
            parts.append(label(0, 0, text, anchor="end", transform=turn))
        else:
            parts.append(label(plane.x(place), plane.bottom + 15, text))
    own = _kinds([series.name for series in plot.series], kinds)
    step = plane.wide / max(1, len(plot.places))
    for place, (kind, series) in enumerate(zip(own, plot.series, strict=True)):
        apart = (place - (len(own) - 1) / 2) * min(5.0, 0.8 * step / len(own))
        shift = apart if series.ranges or not plot.joined else 0.0
        drawn = _series(series, kind, shift, plane, joined=plot.joined)
        parts.append(el("g", el("title", series.name), *drawn, class_="pt", data_name=series.name))
        column, row = place % 3, place // 3
        at = (plane.left + column * plane.wide / 3, plane.bottom + below + 14 + 18 * row)
        parts.append(marker(at[0] + 5, at[1] - 4, kind, size=4))
        parts.append(label(at[0] + 14, at[1], shortened(series.name, 26), "tick", "start"))
    parts += plane.named(plot.x, plot.y, plane.bottom + below - 6)
    said = []
    for one in plot.series:
        known = zip(plot.places, one.values, strict=True)
        said.append(
            f"{one.name} {_course([(at, value) for at, value in known if value is not None])}"
        )
    return drawing(_WIDTH, height, f"{plot.title}: {'; '.join(said)}", *parts)


def _series(series: Series, kind: int, shift: float, plane: Plane, *, joined: bool) -> list[Markup]:
    parts: list[Markup] = []
    dots: list[Markup] = []
    stretch: list[tuple[float, float]] = []
    for place, value in enumerate((*series.values, None)):
        if value is None:
            if len(stretch) > 1 and joined:
                parts.append(path(stretch, class_=f"curve c{kind % 8}"))
            stretch = []
            continue
        at = (plane.x(place) + shift, plane.y(value))
        stretch.append(at)
        ends = series.ranges[place] if series.ranges else None
        if ends is not None:
            parts.append(el("line", x1=at[0], x2=at[0], y1=plane.y(ends[0]), y2=plane.y(ends[1]),
                            class_=f"whisker c{kind % 8}"))  # fmt: skip
        dots.append(marker(*at, kind, f"{series.name}: {number(value)}", size=3.6))
    return [*parts, *dots]


# --- reliability ---------------------------------------------------------------------------------


def _reliability(plot: Reliability) -> Markup:
    """A reliability diagram over a histogram of right (up) and wrong (down) answers."""
    plane = Plane(44.0, 10.0, 210.0, 210.0)
    below, band = plane.bottom + 24, 84.0
    width, height = 266.0, below + band + 36
    parts = [*plane.frame(), *plane.below(height - 20 - plane.bottom, lambda x: f"{x * 100:.0f}")]
    parts.append(path([plane.at(0, 0), plane.at(1, 1)], class_="balance"))
    most = max((one.right + one.wrong for one in plot.bins), default=0)
    for one in plot.bins:
        if one.accuracy is None or one.confidence is None:
            continue
        n = one.right + one.wrong
        at, up = plane.at(one.confidence, one.accuracy)
        about = (
            f"{one.low * 100:.0f}–{one.high * 100:.0f}: n {n}, accuracy"
            f" {number(one.accuracy, 2)}, mean confidence {number(one.confidence, 2)}"
        )
        over = "wrong" if one.confidence > one.accuracy else "right"
        diagonal = plane.y(one.confidence)
        parts.append(el("line", x1=at, x2=at, y1=diagonal, y2=up, class_=f"gap {over}"))
        size = 3.0 + 4.0 * math.sqrt(n / most)
        parts.append(el("circle", el("title", about), cx=at, cy=up, r=size, class_="dot"))
    if len(plot.bins) <= _MOST_COUNTS:
        parts.append(label(plane.left - 6, plane.bottom + 14, "n", anchor="end"))
        parts += [
            label(plane.x((one.low + one.high) / 2), plane.bottom + 14, str(one.right + one.wrong))
            for one in plot.bins
            if one.right + one.wrong
        ]
    parts.append(_histogram(plot, plane, below, band))
    parts += plane.named("confidence", "accuracy", height - 4)
    spoken = f"Reliability of {plot.name}: " + "; ".join(
        f"{one.low * 100:.0f} to {one.high * 100:.0f}: {one.right} right, {one.wrong} wrong"
        for one in plot.bins
        if one.right + one.wrong
    )
    return drawing(width, height, spoken, *parts)


def _histogram(plot: Reliability, plane: Plane, top: float, height: float) -> Markup:
    """The bars: right answers upwards, wrong ones downwards, on one scale."""
    right = max((one.right for one in plot.bins), default=0)
    wrong = max((one.wrong for one in plot.bins), default=0)
    unit = (height - 22) / max(1, right + wrong)
    zero = top + 11 + unit * right
    gap = 1.0 if len(plot.bins) <= 30 else 0.2
    parts = []
    for one in plot.bins:
        at, wide = plane.x(one.low) + gap, plane.x(one.high) - plane.x(one.low) - 2 * gap
        for n, kind, start, words in (
            (one.right, "right", zero - unit * one.right, zero - unit * one.right - 3),
            (one.wrong, "wrong", zero, zero + unit * one.wrong + 10),
        ):
            if n:
                bar = el("rect", x=at, y=start, width=wide, height=unit * n, class_=f"fill {kind}")
                parts.append(bar)
                if len(plot.bins) <= _MOST_COUNTS and n < 1000:
                    parts.append(label(at + wide / 2, words, str(n), class_="tick"))
    parts.append(el("line", x1=plane.left, x2=plane.right, y1=zero, y2=zero, class_="ax"))
    for at, side in ((zero - 5, "right"), (zero + 12, "wrong")):
        parts.append(label(plane.left - 5, at, side, class_=f"tick {side}-text", anchor="end"))
    return Markup("").join(parts)
