"""Ranking measures of graded relevance: cumulated gain, Q, the cascade measures, RBP."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import ClassVar

from assay.measures.base import RELEVANT, Gain, Grades, Measure, count_relevant

__all__ = ["ERR", "IRBU", "NDCG", "NDCGJK", "NERR", "NIRBU", "RBP", "Q"]

# --- cumulated gain ------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _log_discounts(length: int) -> tuple[float, ...]:
    """Return 1 / log2(r + 1) for the ranks 1 to *length*."""
    return tuple(1.0 / math.log2(rank + 1) for rank in range(1, length + 1))


@lru_cache(maxsize=64)
def _jk_discounts(length: int, b: float) -> tuple[float, ...]:
    """Return 1 for the ranks below *b* and 1 / log_b(r) from there on."""
    return tuple(1.0 if rank < b else math.log(b) / math.log(rank) for rank in range(1, length + 1))


def _discounted(gains: Sequence[float], discounts: Sequence[float]) -> float:
    total: float = sum(map(mul, gains, discounts))  # both have a value a rank
    return total


@dataclass(frozen=True, kw_only=True)
class NDCG(Measure):
    """Normalised discounted cumulative gain, Microsoft version: discount log(r + 1).

    With linear gains this is trec_eval's ``ndcg`` and ``ndcg_cut``. Source: Burges et al. 2005;
    docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "nDCG"
    only_gains: ClassVar[bool] = True

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        best = self.gain.all_of(self._best(ideal))
        highest = _discounted(best, _log_discounts(len(best)))
        if highest <= 0:
            return 0.0
        return _discounted(self.gain.all_of(grades), _log_discounts(len(grades))) / highest


@dataclass(frozen=True, kw_only=True)
class NDCGJK(Measure):
    """Normalised discounted cumulative gain, original version: discount log_b(r) from rank b.

    Ranks below the base *b* are not discounted. Source: Järvelin & Kekäläinen 2002;
    docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    b: float = 2.0
    name: ClassVar[str] = "nDCG-JK"
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(1 < self.b < math.inf, f"the base b must be above 1, got {self.b}")

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        best = self.gain.all_of(self._best(ideal))
        highest = _discounted(best, _jk_discounts(len(best), self.b))
        if highest <= 0:
            return 0.0
        return _discounted(self.gain.all_of(grades), _jk_discounts(len(grades), self.b)) / highest


@dataclass(frozen=True, kw_only=True)
class Q(Measure):
    """Q-measure: average precision with the blended ratio (C_r + β cg_r) / (r + β cg*_r).

    It divides by min(k, R). β = 0 makes it ``AP(norm=min)``. A document below grade 1 has no gain
    here. A better document that overtakes its neighbour never lowers Q, but one that overtakes
    documents better still may. Source: Sakai 2004; NTCIREVAL; docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    beta: float = 1.0
    name: ClassVar[str] = "Q"
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.beta < math.inf, f"beta must be 0 or more, got {self.beta}")

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = count_relevant(ideal)
        if relevant == 0:
            return 0.0
        best = self.gain.all_of(grade for grade in self._best(ideal) if grade >= RELEVANT)
        ideal_sums = list(accumulate(best))
        found, cumulated, total = 0, 0.0, 0.0
        for rank, grade in enumerate(grades, 1):
            if grade is None or grade < RELEVANT:
                continue
            found += 1
            cumulated += self.gain.of(grade)
            ideal_sum = ideal_sums[min(rank, len(ideal_sums)) - 1]
            total += (found + self.beta * cumulated) / (rank + self.beta * ideal_sum)
        return total / (relevant if self.k is None else min(self.k, relevant))


# --- the cascade: ERR, iRBU ----------------------------------------------------------------------


def _stops(gains: Sequence[float], highest: float) -> list[float]:
    """Return s_r = p_r Π_{j<r} (1 − p_j), p_r = g_r / (g_max + 1), for gains in rank order.

    s_r is the chance that a user who reads down the list is satisfied at rank r and stops.
    """
    stops, going_on = [], 1.0
    for gain in gains:
        if gain > highest:
            raise ValueError(
                f"a gain of {gain} is above the gain of g_max ({highest}): give the highest grade"
                " of the whole scale as g_max"
            )
        chance = gain / (highest + 1.0)
        stops.append(going_on * chance)
        going_on *= 1.0 - chance
    return stops


@dataclass(frozen=True, kw_only=True)
class ERR(Measure):
    """Expected reciprocal rank: Σ s_r / r.

    Note that p_r divides by g_max + 1 in gain units, as NTCIREVAL does; the exponential gain makes
    it (2^g − 1) / 2^g_max, as Chapelle et al. 2009 have it. Source: docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "ERR"
    only_gains: ClassVar[bool] = True

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return self._expected(grades, g_max)

    def _expected(self, grades: Iterable[float | None], g_max: float) -> float:
        stops = _stops(self.gain.all_of(grades), self.gain.of(g_max))
        return sum(stop / rank for rank, stop in enumerate(stops, 1))


@dataclass(frozen=True, kw_only=True)
class NERR(ERR):
    """Normalised expected reciprocal rank: ERR over the ERR of the ideal list.

    Source: NTCIREVAL ``nERR``.
    """

    name: ClassVar[str] = "nERR"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        highest = self._expected(self._best(ideal), g_max)
        return self._expected(grades, g_max) / highest if highest > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class IRBU(Measure):
    """Intentwise rank-biased utility: Σ φ^r s_r, with persistence φ.

    Source: Sakai & Zeng 2019; docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    phi: float = 0.99
    name: ClassVar[str] = "iRBU"
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.phi <= 1, f"phi must be above 0 and at most 1, got {self.phi}")

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return self._utility(grades, g_max)

    def _utility(self, grades: Iterable[float | None], g_max: float) -> float:
        stops = _stops(self.gain.all_of(grades), self.gain.of(g_max))
        return sum(self.phi**rank * stop for rank, stop in enumerate(stops, 1))


@dataclass(frozen=True, kw_only=True)
class NIRBU(IRBU):
    """Normalised intentwise rank-biased utility: iRBU over the iRBU of the ideal list.

    Source: Sakai & Zeng 2019 for iRBU; normalised as nERR is (docs/measures.md).
    """

    name: ClassVar[str] = "niRBU"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        highest = self._utility(self._best(ideal), g_max)
        return self._utility(grades, g_max) / highest if highest > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class RBP(Measure):
    """Rank-biased precision: (1 − p) Σ p^(r−1) g_r / g_max, with persistence p.

    Source: Moffat & Zobel 2008, graded as in docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    p: float = 0.8
    name: ClassVar[str] = "RBP"
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.p < 1, f"p must be between 0 and 1, got {self.p}")

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        highest = self.gain.of(g_max)
        gains = self.gain.all_of(grades)
        if any(gain > highest for gain in gains):
            raise ValueError(f"a gain of {max(gains)} is above the gain of g_max ({highest})")
        if highest <= 0:
            return 0.0
        total = sum(self.p**passed * gain for passed, gain in enumerate(gains))
        return (1.0 - self.p) * total / highest
