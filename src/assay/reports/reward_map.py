"""Over- and underconfidence in one picture: R_O against R_U, with contours of equal HMR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from assay.reports.svg import drawing, el, label, marker, path, text_width, turned
from assay.reports.text import number

_Place = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True)
class RewardPoint:
    """A run in the plot of R_O against R_U; *kind* sets its colour and shape."""

    name: str
    short: str
    kind: int
    over: float
    under: float
    over_range: tuple[float, float] | None = None
    under_range: tuple[float, float] | None = None


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


_Box = tuple[float, float, float, float]


def _apart(a: _Box, b: _Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def _free_place(
    x: float, y: float, width: float, taken: Sequence[_Box], frame: _Box
) -> tuple[float, float, _Box]:
    """Return where a label of a point may stand (left end, baseline) and the box it takes."""
    size = 11.0
    places = [
        (x + 9, y + 4),
        (x - 9 - width, y + 4),
        (x - width / 2, y - 10),
        (x - width / 2, y + 19),
        (x + 7, y - 8),
        (x + 7, y + 16),
        (x - 7 - width, y - 8),
        (x - 7 - width, y + 16),
        (x - width / 2, y - 24),
        (x - width / 2, y + 33),
        (x + 9, y - 22),
        (x + 9, y + 30),
    ]
    choices = [(a, b, (a - 2, b - size + 1, a + width + 2, b + 3)) for a, b in places]
    for a, b, box in choices:
        inside = box[0] >= frame[0] and box[2] <= frame[2] and box[1] >= frame[1]
        if inside and box[3] <= frame[3] and all(_apart(box, other) for other in taken):
            return a, b, box
    for a, b, box in choices:
        if box[0] >= frame[0] and box[2] <= frame[2]:
            return a, b, box
    return choices[1]


def reward_map(points: Sequence[RewardPoint]) -> Markup:
    """Return R_O against R_U, one labelled point a run, over contours of equal HMR."""
    width, height = 420.0, 424.0
    left, top, side = 46.0, 24.0, 352.0

    def place(over: float, under: float) -> tuple[float, float]:
        return left + _clip(over) * side, top + (1 - _clip(under)) * side

    parts = [el("rect", x=left, y=top, width=side, height=side, class_="area")]
    taken: list[_Box] = []
    for step in range(1, 10):
        h = step / 10
        overs = np.linspace(h / (2 - h), 1.0, 60)
        line = [place(float(over), float(h * over / (2 * over - h))) for over in overs]
        parts.append(path(line, class_="contour"))
    parts.append(path([place(0, 0), place(1, 1)], class_="balance"))
    for step in range(2, 10, 2):
        x, y = place(step / 10, step / 10)
        parts.append(label(x, y + 3.5, f"HMR .{step}", class_="tick halo"))
        taken.append((x - 20, y - 7, x + 20, y + 6))
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x, y = place(tick, tick)
        parts.append(label(x, top + side + 15, number(tick, 1)))
        parts.append(label(left - 7, y + 4, number(tick, 1), anchor="end"))
    parts.append(label(left, top - 7, "↖ overconfident", class_="corner", anchor="start"))
    parts.append(label(left + side, height - 6, "underconfident ↘", class_="corner", anchor="end"))
    parts.append(
        label(left, height - 6, "R_O: overconfidence suppressed →", class_="axis", anchor="start")
    )
    parts.append(
        label(
            0,
            0,
            "R_U: underconfidence suppressed →",
            class_="axis",
            transform=turned(12, top + side / 2),
        )
    )
    for point in points:
        x, y = place(point.over, point.under)
        taken.append((x - 6, y - 6, x + 6, y + 6))
    if len(points) <= 8:
        for point in points:
            lines, boxes = _whiskers(point, place)
            parts.extend(lines)
            taken.extend(boxes)
    parts.extend(_labelled(points, place, taken, (left, top, left + side, top + side)))
    spoken = "R_O against R_U: " + "; ".join(
        f"{point.name} {number(point.over, 2)}, {number(point.under, 2)}" for point in points
    )
    return drawing(width, height, spoken, *parts, class_="plot map")


def _whiskers(point: RewardPoint, place: _Place) -> tuple[list[Markup], list[_Box]]:
    """Return the lines of a point's intervals and the boxes that they take."""
    lines, boxes = [], []
    for ends in (
        [(end, point.under) for end in point.over_range or ()],
        [(point.over, end) for end in point.under_range or ()],
    ):
        if ends:
            at = [place(*end) for end in ends]
            lines.append(path(at, class_=f"whisker c{point.kind % 8}"))
            xs, ys = [x for x, _ in at], [y for _, y in at]
            boxes.append((min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1))
    return lines, boxes


def _labelled(
    points: Sequence[RewardPoint], place: _Place, taken: list[_Box], frame: _Box
) -> list[Markup]:
    parts = []
    for point in points:
        x, y = place(point.over, point.under)
        a, b, box = _free_place(x, y, text_width(point.short, 11), taken, frame)
        taken.append(box)
        about = f"{point.name}: R_O {number(point.over)}, R_U {number(point.under)}"
        parts.append(marker(x, y, point.kind, about))
        parts.append(label(a, b, point.short, class_="name halo", anchor="start"))
    return parts
