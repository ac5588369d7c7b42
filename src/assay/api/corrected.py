"""A corrected measure of a leaderboard: scores, intervals, and the ranks they leave possible."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.ledger import Ledger
from assay.ledger.draws import Draw
from assay.measures.arrays import Bools, Floats
from assay.model.errors import SettingsError
from assay.statistics import corrected
from assay.statistics.corrected import Estimates, Population
from assay.statistics.corrected.estimates import half_widths


def family_of(name: str, families: Mapping[str, str]) -> str:
    """The family of a run or judge, by its name or the first pattern that matches; empty if there
    is none."""
    fits = (family for pattern, family in families.items() if fnmatch.fnmatchcase(name, pattern))
    return families.get(name) or next(fits, "")


@dataclass(frozen=True)
class FamilyOff:
    """By how much the judge alone scores the ``runs`` of a family too high on average (negative:
    too low), with its interval. If ``beyond`` names another family, it is by how much more than
    for that family's runs."""

    family: str
    runs: int
    off: float
    low: float
    high: float
    beyond: str = ""


def off_by(a: Floats, judge: Floats, found: Estimates, level: float) -> tuple[float, float, float]:
    """The judge's error in a sum over runs with weights ``a`` (a mean, or a difference of means),
    with its interval: a·(judge − θ̂) with variance aᵀCa. The judge's own scores of these topics are
    known exactly; the smallest degrees of freedom of these runs are used."""
    off = float(a @ (judge - found.value))
    variance = max(0.0, float(a @ found.covariance @ a))
    df = np.array([found.df[a != 0].min()])
    half = float(half_widths(np.array([variance]), df, level)[0])
    return off, off - half, off + half


def off_by_family(
    runs: Sequence[str],
    judge: Floats,
    found: Estimates,
    families: Mapping[str, str],
    level: float,
) -> Iterator[FamilyOff]:
    """The judge's error for each family that has runs here, then for each pair of families
    (:func:`off_by`).

    ``runs``: R names. ``judge``: R scores by the judge alone. ``found``: the corrected scores on
    these topics. ``families``: run or pattern → family. ``level``: level of the intervals.
    """
    named = [family_of(run, families) for run in runs]
    means: dict[str, Floats] = {}
    for family in sorted(set(named) - {""}):
        mine = np.array([one == family for one in named], dtype=np.float64)
        means[family] = mine / mine.sum()

    def one(a: Floats, family: str, beyond: str = "") -> FamilyOff:
        ends = off_by(a, judge, found, level)
        return FamilyOff(family, named.count(family), *ends, beyond)

    for family, a in means.items():
        yield one(a, family)
    for first, second in combinations(means, 2):
        yield one(means[first] - means[second], first, second)


SAME = 1e-9
"""Tolerance for rounding when two sums over labels are compared."""

MOST_SURE = 0.9999
"""The highest level of intervals: ranks are simulated with 10,000 draws, too few for a higher one.
"""


def check_level(level: float) -> float:
    """Check a level of intervals. Raises SettingsError if it is out of range."""
    if not 0 < level <= MOST_SURE:
        raise SettingsError(f"A level must be above 0 and at most {MOST_SURE}, got {level:.10g}.")
    return level


@dataclass(frozen=True)
class Basis:
    """What scores are corrected by: one of the ``draws`` with its labels in a ledger, and the
    population and level of the intervals."""

    ledger: Ledger
    draw: Draw
    draws: Sequence[Draw]
    population: Population
    level: float


@dataclass(frozen=True)
class Corrected:
    """A corrected measure for the runs of a leaderboard.

    ``value``, with ``low`` and ``high``, estimates the score if people had labelled everything.
    ``judge`` is the score from the machine's labels alone, ``human`` that from people's labels
    alone, with its interval (None if unavailable). ``best`` and ``worst`` are simultaneous bounds
    on each run's rank. ``decided`` is the number of ``pairs`` whose order is settled; ``tau``
    bounds Kendall's τ between the corrected and the machine's order. Ranks and ``tau`` are None if
    each run is estimated separately. ``weight`` is the machine's weight, 0 to 1. ``warnings`` are
    about the intervals. ``estimates`` is their basis if the runs are estimated together.
    ``families`` holds the machine's error for each family of systems and each pair of them.
    """

    measure: str
    lower_is_better: bool
    runs: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    judge: Floats
    human: Floats | None = None
    human_low: Floats | None = None
    human_high: Floats | None = None
    best: tuple[int, ...] | None = None
    worst: tuple[int, ...] | None = None
    decided: int = 0
    pairs: int = 0
    tau: tuple[float, float] | None = None
    weight: float | None = None
    warnings: tuple[str, ...] = ()
    estimates: Estimates | None = None
    families: tuple[FamilyOff, ...] = ()


def settled_pairs(decided: Bools) -> int:
    """Number of pairs of runs whose order is ``decided``."""
    return int(np.triu(decided | decided.T, 1).sum())


def ranked(
    measure: str,
    runs: tuple[str, ...],
    found: Estimates,
    alone: Floats,
    *,
    lower: bool,
    level: float,
) -> Corrected:
    """An estimated measure beside the machine's scores ``alone``, with rank sets at the level of
    its intervals."""
    sign = -1.0 if lower else 1.0
    order = corrected.rank_sets(replace(found, value=sign * found.value), level=level)
    pairs = len(runs) * (len(runs) - 1) // 2
    return Corrected(
        measure, lower, runs, found.value, found.low, found.high, alone,
        found.human_only_value, found.human_only_low, found.human_only_high,
        tuple(map(int, order.best)), tuple(map(int, order.worst)),
        settled_pairs(order.decided), pairs,
        corrected.tau_bounds(order.decided, sign * found.value, sign * alone) if pairs else None,
        found.judge_weight, estimates=found,
    )  # fmt: skip
