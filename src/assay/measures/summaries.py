"""Scores of structured summaries: XUX, XUX_F, XUX_G, Comp, SGSS.

Labels are numbers from 0 to 1. With missing labels, a score is computed once with the lowest and
once with the highest number in their place. Source: Sakai et al., Plans for evaluating structured
generative search summaries (2026); equation numbers are the paper's.
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
"""With more unknown grades than this, the ceiling of Comp allows grades between the points of the
scale, because there are too many combinations of points to try."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of eqs. 5, 8 and 12. With the defaults, X(l) is from 0 to 1."""

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
        """The weights with negative ones set to 0, and with positive ones set to 0."""
        values = astuple(self)
        return Weights(*(max(0.0, v) for v in values)), Weights(*(min(0.0, v) for v in values))


@dataclass(frozen=True, slots=True)
class SectionLabels(Generic[V]):
    """The labels of a section: for each statement ``srel``, ``sf``, and ``g``, how well the heading
    represents it (empty if there is no heading)."""

    g: tuple[V, ...]
    srel: tuple[V, ...]
    sf: tuple[V, ...]
    heading: bool = True


@dataclass(frozen=True, slots=True)
class SummaryLabels(Generic[V]):
    """The labels of a summary: OS, OF and OR of the overview (``os``, ``of``, ``orep``), and those
    of each section, in order."""

    os: V
    of: V
    orep: V
    parts: tuple[SectionLabels[V], ...]
    overview_last: bool = False

    @property
    def lines(self) -> int:
        """L, the number of lines (eq. 1)."""
        return 1 + sum(part.heading + len(part.srel) for part in self.parts)


def fill_missing(summary: SummaryLabels[Value], missing: float) -> SummaryLabels[float]:
    """Replace every missing label by ``missing``. Returns the same object if none is missing."""
    sections = (labels for part in summary.parts for labels in (part.g, part.srel, part.sf))
    overview = (summary.os, summary.of, summary.orep)
    if not any(None in labels for labels in (overview, *sections)):
        return cast("SummaryLabels[float]", summary)

    def number(value: Value) -> float:
        return missing if value is None else value

    return SummaryLabels(
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
    """HR (eq. 6): the mean of g(h, s) over the section's statements."""
    return sum(g) / len(g)


def contributions(summary: SummaryLabels[float], weights: Weights) -> list[float]:
    """What each line adds to X′ (eqs. 5 and 8), in reading order."""
    overview = weights.OS * summary.os + weights.OF * summary.of + weights.OR * summary.orep
    added: list[float] = [] if summary.overview_last else [overview]
    for part in summary.parts:
        if part.heading:
            added.append(weights.HR * heading_representativeness(part.g))
        added += [
            weights.SRel * srel + weights.SF * sf
            for srel, sf in zip(part.srel, part.sf, strict=True)
        ]
    if summary.overview_last:
        added.append(overview)
    return added


def experience(added: Sequence[float]) -> list[float]:
    """X(l) = X′(l)/l for l = 1 … L (eqs. 7 and 8), from the :func:`contributions`."""
    return [total / line for line, total in enumerate(accumulate(added), 1)]


def experience_ends(
    least: SummaryLabels[float], greatest: SummaryLabels[float], weights: Weights
) -> tuple[list[float], list[float]]:
    """Floors and ceilings of X(l), l = 1 … L, if each label is between ``least`` and ``greatest``.

    X(l) is linear in the labels: at the floor, labels with negative weights have their greatest
    values, all others their least. The same labels minimise every X(l), and thus also XUX, XUX_F
    and XUX_G, which are means of these.
    """
    positive, negative = weights.by_sign()

    def end(for_positive: SummaryLabels[float], for_negative: SummaryLabels[float]) -> list[float]:
        raising = contributions(for_positive, positive)
        lowering = contributions(for_negative, negative)
        return experience([up + down for up, down in zip(raising, lowering, strict=True)])

    floor = end(least, greatest)
    return floor, floor if least is greatest else end(greatest, least)


def lines_read(lines: int, most: float | None = None) -> int:
    """L′ = min(L, L_max). ``most``: L_max. Raises ValueError if it is below 1."""
    if most is not None and most < 1:
        raise ValueError("L_max must be at least 1")
    return lines if most is None else min(lines, math.floor(most))


def xux(x: Sequence[float], most: float | None = None) -> float:
    """XUX (eq. 2): the mean of X(l) over the first L′ lines."""
    read = lines_read(len(x), most)
    return math.fsum(x[:read]) / read


def final_lines(summary: SummaryLabels[V]) -> list[int]:
    """The lines with F(l) = 1, numbered from 1: the overview, and the last line of each section."""
    line = 0 if summary.overview_last else 1
    finals: list[int] = [] if summary.overview_last else [1]
    for part in summary.parts:
        line += part.heading + len(part.srel)
        finals.append(line)
    return [*finals, line + 1] if summary.overview_last else finals


def xux_f(x: Sequence[float], finals: Sequence[int]) -> float:
    """XUX_F (eq. 3): the mean of X(l) over the :func:`final_lines`."""
    return math.fsum(x[line - 1] for line in finals) / len(finals)


def xux_g(x: Sequence[float], pr: Sequence[float]) -> float:
    """XUX_G (eq. 4): Σ Pr(l) X(l). Raises ValueError if ``pr`` is not a distribution over the lines
    or the first of them."""
    if len(pr) > len(x):
        raise ValueError(f"{len(pr)} probabilities for {len(x)} lines")
    if any(p < 0 for p in pr) or not math.isclose(math.fsum(pr), 1.0, abs_tol=1e-9):
        raise ValueError("the probabilities must not be negative, and sum to 1")
    return math.fsum(p * value for p, value in zip(pr, x, strict=False))


def geometric(lines: int, p: float) -> list[float]:
    """The distribution over ``lines`` lines of users who leave after each line with probability
    ``p``, normalised. Raises ValueError if ``p`` is not above 0 and at most 1."""
    if not 0 < p <= 1:
        raise ValueError("p must be above 0 and at most 1")
    raw = [(1 - p) ** line for line in range(lines)]
    total = math.fsum(raw)
    return [value / total for value in raw]


def abandonment(counts: Sequence[float], lines: int) -> list[float]:
    """The distribution of abandonment, from the number of users observed to leave at each line.
    Users who left beyond the end of the summary count at its last line. Raises ValueError if a
    count is negative or none is above 0."""
    if any(count < 0 for count in counts) or not any(counts):
        raise ValueError("counts must not be negative, and one must be above 0")
    by_line = [float(count) for count in counts[:lines]] + [0.0] * (lines - len(counts))
    by_line[-1] += math.fsum(counts[lines:])
    total = math.fsum(by_line)
    return [count / total for count in by_line]


def jsd(first: npt.ArrayLike, second: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> Floats:
    """The Jensen–Shannon divergence of two distributions along the last axis, in bits (0 to 1).
    ``times``: how many outcomes each probability stands for."""
    p, q = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))

    def part(p: Floats, q: Floats) -> Floats:
        ratio = np.divide(2 * p, p + q, out=np.ones_like(p), where=p > 0)
        return p * np.log2(ratio)

    total = (np.asarray(times) * (part(p, q) + part(q, p)) / 2).sum(axis=-1)
    return np.asarray(np.clip(total, 0.0, 1.0))


def _comps(grades: Floats, counts: Floats) -> Floats:
    """Comp for each row of ``counts``, which has the frequencies of the distinct ``grades``."""
    totals = counts @ grades
    shares = grades / np.where(totals > 0, totals, 1.0)[..., None]
    values = 1.0 - jsd(shares, 1.0 / counts.sum(axis=-1)[..., None], counts)
    values = np.where((counts > 0).sum(axis=-1) == 1, 1.0, values)
    return np.where(totals > 0, values, 0.0)


def comp(grades: Sequence[float]) -> float:
    """Comp (eqs. 9–11): 1 − JSD between the normalised grades of the K pooled sections and the
    uniform distribution; 0 if all grades are 0. Raises ValueError if there are none, or one is
    negative."""
    if not grades or min(grades) < 0:
        raise ValueError("there must be grades, and none below 0")
    distinct, counts = np.unique(np.asarray(grades, float), return_counts=True)
    return float(_comps(distinct, counts.astype(float)))


def comp_range(grades: Sequence[Value], points: Sequence[float], *, between: bool = False) -> Range:
    """The range of Comp if missing grades (None) may be any of ``points``, the values of the three
    points of the scale; with ``between``, anything from the lowest to the highest point.

    Only the number of unknown grades at each point matters, as Comp is symmetric in the grades. The
    divergence is convex in the normalised grades, which are linear-fractional in the grades; so at
    the floor every unknown grade is at the lowest or highest point. For the ceiling all
    combinations of points are tried. With ``between``, or more than :data:`MOST_SCANNED` unknown
    grades, they are all equal at the ceiling, because making them equal never increases a convex
    symmetric function; the maximum over this single number bounds that over the points.
    """
    known = sorted(grade for grade in grades if grade is not None)
    unknown = len(grades) - len(known)
    return _comp_range(tuple(known), unknown, tuple(sorted(points)), between)


@lru_cache(maxsize=4096)  # many summaries have the same grades
def _comp_range(
    known: tuple[float, ...], unknown: int, points: tuple[float, ...], between: bool
) -> Range:
    if not unknown:
        return Range.certain(comp(known))
    distinct = np.unique([*known, *points])
    counts = np.bincount(np.searchsorted(distinct, known), minlength=len(distinct))

    def all_comps(choices: tuple[float, ...]) -> Floats:
        """Comp for all combinations in which each unknown grade is one of ``choices``."""
        rest = np.indices((unknown + 1,) * (len(choices) - 1)).reshape(len(choices) - 1, -1).T
        rest = rest[rest.sum(axis=1) <= unknown]
        combinations = np.column_stack([unknown - rest.sum(axis=1), rest])
        columns = np.eye(len(distinct))[np.searchsorted(distinct, choices)]
        return _comps(distinct, counts + combinations @ columns)

    floor = float(all_comps((points[0], points[-1])).min())
    if not between and unknown <= MOST_SCANNED:
        return Range(floor, float(all_comps(points).max()))

    def comp_with(grade: float) -> float:
        return comp([*known, *[grade] * unknown])

    low, high = points[0], points[-1]
    for _ in range(80):  # Comp is quasi-concave in this grade, so ternary search finds the maximum
        third = (high - low) / 3
        if comp_with(low + third) < comp_with(high - third):
            low += third
        else:
            high -= third
    return Range(floor, max(comp_with(one) for one in (points[0], points[-1], (low + high) / 2)))


def sgss(xux_value: float, comp_value: float, weights: Weights) -> float:
    """SGSS (eq. 12)."""
    return xux_value + weights.Comp * comp_value


def weight_warnings(weights: Weights) -> list[str]:
    """Warnings about weights with which a line may add more than 1, so that XUX may exceed 1
    (footnote 5 of the paper), and about negative weights."""
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
