"""A corrected measure of a leaderboard: scores, intervals, and the ranks that they leave open."""

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
    """The family of a run or a judge, by its name or by the first pattern that it fits; empty where
    none is named."""
    fits = (said for one, said in families.items() if fnmatch.fnmatchcase(name, one))
    return families.get(name) or next(fits, "")


@dataclass(frozen=True)
class FamilyOff:
    """By how much the judge alone scores the ``runs`` of a family too high (negative: too low), on
    average, with its interval; ``beyond`` names another family where it is by how much more than
    for that one's runs."""

    family: str
    runs: int
    off: float
    low: float
    high: float
    beyond: str = ""


def off_by(a: Floats, judge: Floats, found: Estimates, level: float) -> tuple[float, float, float]:
    """How far the judge is off in a sum over runs with weights ``a`` (a mean of some, or one less
    another), with its interval: a·(judge − θ̂) with variance aᵀCa. The judge's own scores of these
    topics are known; the fewest degrees of freedom count."""
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
    """How far the judge is off for each family with runs here, then for each two
    (:func:`off_by`).

    ``runs``: R names. ``judge``: R scores by the judge alone. ``found``: the corrected scores, of
    these topics. ``families``: family by run or pattern. ``level``: of the intervals.
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
"""By how much two sums over labels may differ that are the same but for rounding."""

MOST_SURE = 0.9999
"""The highest level: ranks come of 10,000 draws, which tell no higher one."""


def check_level(level: float) -> float:
    """A level of intervals. Raises SettingsError where it is none."""
    if not 0 < level <= MOST_SURE:
        raise SettingsError(f"A level must be above 0 and at most {MOST_SURE}, got {level:.10g}.")
    return level


@dataclass(frozen=True)
class Basis:
    """What scores are corrected by: a draw among ``draws`` whose labels a ledger has, and of what
    the intervals are, at which level."""

    ledger: Ledger
    draw: Draw
    draws: Sequence[Draw]
    population: Population
    level: float


@dataclass(frozen=True)
class Corrected:
    """One measure of the runs of a leaderboard.

    ``value`` with ``low`` and ``high`` is the score as people would have labelled everything,
    ``judge`` the machine's alone, ``human`` that of people's labels alone, with its interval (None
    where it is not to be had). ``best`` and ``worst`` are the ranks that each run may have, all
    at once; ``decided`` says of how many of the ``pairs`` the order is settled, ``tau`` between
    which ends Kendall's τ of the corrected order and the machine's lies. They are None where the
    runs' intervals are each by itself. ``weight`` is how much the machine counts, 0 to 1.
    ``warnings`` say what should be known of the intervals; ``estimates`` are what they are made
    from where the runs are estimated together. ``families`` say how far the machine is off for
    each family of systems that is named, and for each two.
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
    """Of how many pairs of runs it is ``decided`` which is above which."""
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
    """A measure as estimated, beside what the machine scores ``alone``: with rank sets at the level
    of its intervals."""
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
