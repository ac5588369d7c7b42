"""Families of systems: by how much the judge is off for each, and for one more than for another."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.measures.confidence import Floats
from assay.statistics.corrected import Estimates
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
