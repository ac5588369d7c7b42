"""Scores of structured summaries: XUX, XUX_F, XUX_G, Comp, SGSS.

Source: Sakai et al., Plans for evaluating structured generative search summaries (2026);
equation numbers are the paper's. Everything is a number in, a number out: labels have been mapped
to 0–1 before. A label that is missing is None, and so is every value that hangs on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

__all__ = [
    "Labelled",
    "Part",
    "Weights",
    "abandonment",
    "comp",
    "contributions",
    "experience",
    "final_lines",
    "geometric",
    "heading_representativeness",
    "jsd",
    "lines_read",
    "sgss",
    "weight_warnings",
    "xux",
    "xux_f",
    "xux_g",
]

Value = float | None


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


@dataclass(frozen=True, slots=True)
class Part:
    """A section: ``g`` of each statement for the heading (empty where there is no heading),
    ``srel`` and ``sf`` of each statement."""

    g: tuple[Value, ...]
    srel: tuple[Value, ...]
    sf: tuple[Value, ...]
    heading: bool = True


@dataclass(frozen=True, slots=True)
class Labelled:
    """A summary as its labels: those of the overview, and of every section in order."""

    os: Value
    of: Value
    orep: Value
    parts: tuple[Part, ...]
    overview_last: bool = False

    @property
    def lines(self) -> int:
        """L, eq. 1."""
        return 1 + sum(part.heading + len(part.srel) for part in self.parts)


def _weighted(*terms: tuple[float, Value]) -> Value:
    """Σ w·v; a term of weight 0 needs no label."""
    total = 0.0
    for weight, value in terms:
        if weight == 0:
            continue
        if value is None:
            return None
        total += weight * value
    return total


def heading_representativeness(g: Sequence[Value]) -> Value:
    """HR, eq. 6: the mean of g(h, s) over the section's statements."""
    if not g or None in g:
        return None
    return sum(value for value in g if value is not None) / len(g)


def contributions(summary: Labelled, weights: Weights) -> list[Value]:
    """What each line adds to X′ (eqs. 5 and 8), in reading order."""
    overview = _weighted(
        (weights.OS, summary.os), (weights.OF, summary.of), (weights.OR, summary.orep)
    )
    found: list[Value] = [] if summary.overview_last else [overview]
    for part in summary.parts:
        if part.heading:
            found.append(_weighted((weights.HR, heading_representativeness(part.g))))
        found += [
            _weighted((weights.SRel, srel), (weights.SF, sf))
            for srel, sf in zip(part.srel, part.sf, strict=True)
        ]
    if summary.overview_last:
        found.append(overview)
    return found


def experience(added: Sequence[Value]) -> list[Value]:
    """X(l) = X′(l)/l for l = 1 … L (eqs. 7 and 8); None from the first unknown line on."""
    found: list[Value] = []
    total: Value = 0.0
    for place, value in enumerate(added, 1):
        total = None if total is None or value is None else total + value
        found.append(None if total is None else total / place)
    return found


def lines_read(lines: int, most: float | None = None) -> int:
    """L′ = min(L, L_max). Raises ValueError for an L_max below 1."""
    if most is not None and most < 1:
        raise ValueError("L_max must be at least 1")
    return lines if most is None else min(lines, math.floor(most))


def _mean(values: Sequence[Value]) -> Value:
    if not values or None in values:
        return None
    return math.fsum(value for value in values if value is not None) / len(values)


def xux(x: Sequence[Value], most: float | None = None) -> Value:
    """XUX, eq. 2: the mean of X(l) over the first L′ lines."""
    return _mean(x[: lines_read(len(x), most)])


def final_lines(summary: Labelled) -> list[int]:
    """The lines where F(l) = 1 (from 1): the overview, and each section's last line."""
    place = 0 if summary.overview_last else 1
    found = [] if summary.overview_last else [1]
    for part in summary.parts:
        place += part.heading + len(part.srel)
        found.append(place)
    return [*found, place + 1] if summary.overview_last else found


def xux_f(x: Sequence[Value], finals: Sequence[int]) -> Value:
    """XUX_F, eq. 3: the mean of X(l) over the overview line and each section's last line."""
    return _mean([x[line - 1] for line in finals])


def xux_g(x: Sequence[Value], pr: Sequence[float]) -> Value:
    """XUX_G, eq. 4: Σ Pr(l) X(l).

    Raises ValueError where ``pr`` is no distribution over (some of) the lines.
    """
    if len(pr) > len(x):
        raise ValueError(f"{len(pr)} probabilities for {len(x)} lines")
    if any(p < 0 for p in pr) or not math.isclose(math.fsum(pr), 1.0, abs_tol=1e-9):
        raise ValueError("the probabilities must not be negative, and sum to 1")
    terms = [(p, value) for p, value in zip(pr, x, strict=False) if p > 0]
    if any(value is None for _, value in terms):
        return None
    return math.fsum(p * value for p, value in terms if value is not None)


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

    Raises ValueError where a count is negative or none is above 0.
    """
    if any(count < 0 for count in counts) or not any(counts):
        raise ValueError("counts must not be negative, and one must be above 0")
    kept = [float(count) for count in counts[:lines]] + [0.0] * (lines - len(counts))
    kept[-1] += math.fsum(counts[lines:])
    total = math.fsum(kept)
    return [count / total for count in kept]


def jsd(first: Sequence[float], second: Sequence[float]) -> float:
    """The Jensen–Shannon divergence of two distributions, in bits: 0 to 1."""

    def part(p: float, q: float) -> float:
        return p * math.log2(2 * p / (p + q)) if p > 0 else 0.0

    pairs = list(zip(first, second, strict=True))
    total = math.fsum((part(p, q) + part(q, p)) / 2 for p, q in pairs)
    return min(1.0, max(0.0, total))


def comp(grades: Sequence[Value]) -> Value:
    """Comp, eqs. 9–11: 1 − JSD of the grades of the K pooled sections and the uniform
    distribution. 0 where every grade is 0, None where one is missing or there is no section.

    Raises ValueError for a negative grade.
    """
    if not grades or None in grades:
        return None
    known = [value for value in grades if value is not None]
    if min(known) < 0:
        raise ValueError("grades must not be negative")
    total = math.fsum(known)
    if total == 0:
        return 0.0
    if min(known) == max(known):
        return 1.0
    k = len(known)
    return 1.0 - jsd([value / total for value in known], [1 / k] * k)


def sgss(xux_value: Value, comp_value: Value, weights: Weights) -> Value:
    """SGSS, eq. 12. With a weight of 0 Comp may be unknown."""
    return _weighted((1.0, xux_value), (weights.Comp, comp_value))


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
