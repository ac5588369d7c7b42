"""Scores of structured summaries: XUX, XUX_F, XUX_G, Comp, SGSS.

Source: Sakai et al., Plans for evaluating structured generative search summaries (2026);
equation numbers are the paper's. Everything is a number in, a number out: labels have been mapped
to 0–1 before. What hangs on missing labels is computed twice, once with the least and once with the
greatest number in their places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from itertools import accumulate
from typing import Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.ranges import Range

Value = float | None
"""A label as a number; None if it is missing."""

V = TypeVar("V", float, Value)

MOST_SCANNED = 100
"""Unknown grades of a summary up to which the ceiling of Comp is sought among the points of the
scale; with more of them it is that of grades anywhere between."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of eqs. 5, 8 and 12. The defaults keep X(l) within 0 to 1."""

    OS: float = 1 / 3
    OF: float = 1 / 3
    OR: float = 1 / 3
    HR: float = 1.0
    SRel: float = 0.5
    SF: float = 0.5
    Comp: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not math.isfinite(getattr(self, field.name)):
                raise ValueError(f"the weight {field.name} is not finite")

    def by_sign(self) -> tuple[Weights, Weights]:
        """The positive and the negative ones; 0 in the others' places."""
        values = astuple(self)
        return Weights(*(max(0.0, v) for v in values)), Weights(*(min(0.0, v) for v in values))


@dataclass(frozen=True, slots=True)
class SectionLabels(Generic[V]):
    """A section: ``g`` of each statement for the heading (empty where there is no heading),
    ``srel`` and ``sf`` of each statement."""

    g: tuple[V, ...]
    srel: tuple[V, ...]
    sf: tuple[V, ...]
    heading: bool = True


@dataclass(frozen=True, slots=True)
class Labelled(Generic[V]):
    """A summary as its labels: those of the overview, and of every section in order."""

    os: V
    of: V
    orep: V
    parts: tuple[SectionLabels[V], ...]
    overview_last: bool = False

    @property
    def lines(self) -> int:
        """L, eq. 1."""
        return 1 + sum(part.heading + len(part.srel) for part in self.parts)


def filled(summary: Labelled[Value], missing: float) -> Labelled[float]:
    """The summary with every missing label worth ``missing``; itself where none is missing."""
    every = (one for part in summary.parts for one in (part.g, part.srel, part.sf))
    if not any(None in some for some in ((summary.os, summary.of, summary.orep), *every)):
        return cast("Labelled[float]", summary)

    def number(value: Value) -> float:
        return missing if value is None else value

    return Labelled(
        number(summary.os),
        number(summary.of),
        number(summary.orep),
        tuple(
            SectionLabels(
                tuple(map(number, part.g)),
                tuple(map(number, part.srel)),
                tuple(map(number, part.sf)),
                part.heading,
            )
            for part in summary.parts
        ),
        summary.overview_last,
    )


def heading_representativeness(g: Sequence[float]) -> float:
    """HR, eq. 6: the mean of g(h, s) over the section's statements."""
    return sum(g) / len(g)


def contributions(summary: Labelled[float], weights: Weights) -> list[float]:
    """What each line adds to X′ (eqs. 5 and 8), in reading order."""
    overview = weights.OS * summary.os + weights.OF * summary.of + weights.OR * summary.orep
    found: list[float] = [] if summary.overview_last else [overview]
    for part in summary.parts:
        if part.heading:
            found.append(weights.HR * heading_representativeness(part.g))
        found += [
            weights.SRel * srel + weights.SF * sf
            for srel, sf in zip(part.srel, part.sf, strict=True)
        ]
    if summary.overview_last:
        found.append(overview)
    return found


def experience(added: Sequence[float]) -> list[float]:
    """X(l) = X′(l)/l for l = 1 … L (eqs. 7 and 8)."""
    return [total / place for place, total in enumerate(accumulate(added), 1)]


def experience_ends(
    least: Labelled[float], greatest: Labelled[float], weights: Weights
) -> tuple[list[float], list[float]]:
    """The least and the greatest X(l), l = 1 … L, of a summary whose labels lie between ``least``
    and ``greatest``. X(l) is linear in the labels, so that a label of negative weight is at its
    greatest where X(l) is least. The same labels make every X(l) least, and thus XUX, XUX_F and
    XUX_G, their means."""
    rising, falling = weights.by_sign()

    def end(good: Labelled[float], bad: Labelled[float]) -> list[float]:
        added = zip(contributions(good, rising), contributions(bad, falling), strict=True)
        return experience([up + down for up, down in added])

    floor = end(least, greatest)
    return floor, floor if least is greatest else end(greatest, least)


def lines_read(lines: int, most: float | None = None) -> int:
    """L′ = min(L, L_max). Raises ValueError for an L_max below 1."""
    if most is not None and most < 1:
        raise ValueError("L_max must be at least 1")
    return lines if most is None else min(lines, math.floor(most))


def xux(x: Sequence[float], most: float | None = None) -> float:
    """XUX, eq. 2: the mean of X(l) over the first L′ lines."""
    read = lines_read(len(x), most)
    return math.fsum(x[:read]) / read


def final_lines(summary: Labelled[V]) -> list[int]:
    """The lines where F(l) = 1 (from 1): the overview, and each section's last line."""
    place = 0 if summary.overview_last else 1
    found: list[int] = [] if summary.overview_last else [1]
    for part in summary.parts:
        place += part.heading + len(part.srel)
        found.append(place)
    return [*found, place + 1] if summary.overview_last else found


def xux_f(x: Sequence[float], finals: Sequence[int]) -> float:
    """XUX_F, eq. 3: the mean of X(l) over the overview line and each section's last line."""
    return math.fsum(x[line - 1] for line in finals) / len(finals)


def xux_g(x: Sequence[float], pr: Sequence[float]) -> float:
    """XUX_G, eq. 4: Σ Pr(l) X(l).

    Raises ValueError if ``pr`` is no distribution over (some of) the lines.
    """
    if len(pr) > len(x):
        raise ValueError(f"{len(pr)} probabilities for {len(x)} lines")
    if any(p < 0 for p in pr) or not math.isclose(math.fsum(pr), 1.0, abs_tol=1e-9):
        raise ValueError("the probabilities must not be negative, and sum to 1")
    return math.fsum(p * value for p, value in zip(pr, x, strict=False))


def geometric(lines: int, p: float) -> list[float]:
    """Abandonment with probability p after each line, normalised over ``lines`` lines.

    Raises ValueError for p outside (0, 1].
    """
    if not 0 < p <= 1:
        raise ValueError("p must be above 0 and at most 1")
    raw = [(1 - p) ** place for place in range(lines)]
    total = math.fsum(raw)
    return [value / total for value in raw]


def abandonment(counts: Sequence[float], lines: int) -> list[float]:
    """An abandonment distribution from how many users were seen to leave at each line. Those who
    left further down than the summary is long leave at its last line.

    Raises ValueError if a count is negative or none is above 0.
    """
    if any(count < 0 for count in counts) or not any(counts):
        raise ValueError("counts must not be negative, and one must be above 0")
    by_line = [float(count) for count in counts[:lines]] + [0.0] * (lines - len(counts))
    by_line[-1] += math.fsum(counts[lines:])
    total = math.fsum(by_line)
    return [count / total for count in by_line]


def jsd(first: npt.ArrayLike, second: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> Floats:
    """The Jensen–Shannon divergence of two distributions, in bits: 0 to 1. They lie along the last
    axis; a probability that stands for several places alike counts ``times`` times."""
    p, q = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))

    def part(p: Floats, q: Floats) -> Floats:
        ratio = np.divide(2 * p, p + q, out=np.ones_like(p), where=p > 0)
        return p * np.log2(ratio)

    total = (np.asarray(times) * (part(p, q) + part(q, p)) / 2).sum(axis=-1)
    return np.asarray(np.clip(total, 0.0, 1.0))


def _comps(grades: Floats, counts: Floats) -> Floats:
    """Comp of each row of ``counts``: how often each of the distinct ``grades`` occurs."""
    totals = counts @ grades
    shares = grades / np.where(totals > 0, totals, 1.0)[..., None]
    found = 1.0 - jsd(shares, 1.0 / counts.sum(axis=-1)[..., None], counts)
    found = np.where((counts > 0).sum(axis=-1) == 1, 1.0, found)
    return np.where(totals > 0, found, 0.0)


def comp(grades: Sequence[float]) -> float:
    """Comp, eqs. 9–11: 1 − JSD of the grades of the K pooled sections and the uniform
    distribution. 0 if every grade is 0.

    Raises ValueError for a negative grade, and where there is none.
    """
    if not grades or min(grades) < 0:
        raise ValueError("there must be grades, and none below 0")
    distinct, counts = np.unique(np.asarray(grades, float), return_counts=True)
    return float(_comps(distinct, counts.astype(float)))


def comp_range(grades: Sequence[Value], points: Sequence[float], *, between: bool = False) -> Range:
    """Comp where missing grades (None) may turn out to be any of ``points``, the worth of the three
    points of the scale; with ``between`` anything from the least to the greatest.

    The places of the pool are alike, so that it only matters how many unknown grades are at which
    point. The divergence is convex in the normalised grades, and these are linear-fractional in the
    grades: the floor is where every unknown grade is at an end. The ceiling is sought among all
    ways to share the unknown grades out; between the points, and with more than
    :data:`MOST_SCANNED` of them, unknown grades are equal at the ceiling, as making them equal
    never adds to a convex symmetric function: it is then the greatest value over one number, which
    bounds that of the points.
    """
    known = sorted(grade for grade in grades if grade is not None)
    unknown = len(grades) - len(known)
    return _comp_range(tuple(known), unknown, tuple(sorted(points)), between)


@lru_cache(maxsize=4096)  # many summaries' grades are equal
def _comp_range(
    known: tuple[float, ...], unknown: int, points: tuple[float, ...], between: bool
) -> Range:
    if not unknown:
        return Range.certain(comp(known))
    distinct = np.unique([*known, *points])
    counts = np.bincount(np.searchsorted(distinct, known), minlength=len(distinct))

    def every(among: tuple[float, ...]) -> Floats:
        """Comp for all ways to share the unknown grades out among these points."""
        rest = np.indices((unknown + 1,) * (len(among) - 1)).reshape(len(among) - 1, -1).T
        rest = rest[rest.sum(axis=1) <= unknown]
        ways = np.column_stack([unknown - rest.sum(axis=1), rest])
        at = np.eye(len(distinct))[np.searchsorted(distinct, among)]
        return _comps(distinct, counts + ways @ at)

    floor = float(every((points[0], points[-1])).min())
    if not between and unknown <= MOST_SCANNED:
        return Range(floor, float(every(points).max()))

    def comp_with(grade: float) -> float:
        return comp([*known, *[grade] * unknown])

    low, high = points[0], points[-1]
    for _ in range(80):  # quasi-concave in the one grade: thirds close in on its top
        third = (high - low) / 3
        if comp_with(low + third) < comp_with(high - third):
            low += third
        else:
            high -= third
    return Range(floor, max(comp_with(one) for one in (points[0], points[-1], (low + high) / 2)))


def sgss(xux_value: float, comp_value: float, weights: Weights) -> float:
    """SGSS, eq. 12."""
    return xux_value + weights.Comp * comp_value


def weight_warnings(weights: Weights) -> list[str]:
    """What lets a line add more than 1, so that XUX may pass 1 (paper, footnote 5)."""
    sums = {
        "w_OS + w_OF + w_OR": weights.OS + weights.OF + weights.OR,
        "w_HR": weights.HR,
        "w_SRel + w_SF": weights.SRel + weights.SF,
    }
    return [
        f"{name} is {total:g}, above 1: XUX may pass 1."
        for name, total in sums.items()
        if total > 1 + 1e-9
    ] + [
        f"The weight of {field.name} is negative: what is better there lowers the score."
        for field in fields(weights)
        if getattr(weights, field.name) < 0
    ]
