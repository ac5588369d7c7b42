"""Ranking measures: from the grades of one ranked list to one number.

Every measure is a frozen dataclass whose fields are its parameters. It has a name that is written
as people write it (``nDCG(gain=exp)@20``) and that :func:`assay.measures.names.parse_measure` reads
back to an equal object. Adding a measure means adding one class here and one line to
:data:`MEASURES`.

Conventions, from ``spec/measures.md`` (golden values there are NTCIREVAL's):

* *grades* are the grades of the documents in rank order, ``None`` where a document was not judged;
  *ideal* holds every judged grade of the topic in any order; *g_max* is the highest **grade** of
  the scale, usually of the whole qrels. Measures with a gain function apply it to *g_max* too, so
  a caller never converts grades to gains.
* An unjudged document has gain 0. So has a document with a negative grade (TREC uses them for
  spam), which counts as judged all the same.
* A topic without anything to find scores 0, by every measure.
* Ranks start at 1. Without a cutoff the whole list counts; the ideal list is cut like the list.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

__all__ = [
    "AP",
    "ERR",
    "IRBU",
    "MEASURES",
    "NDCG",
    "NDCGJK",
    "NERR",
    "NIRBU",
    "RBP",
    "RELEVANT",
    "RR",
    "APNorm",
    "Gain",
    "Grades",
    "Judged",
    "Measure",
    "Precision",
    "Q",
    "RPrecision",
    "Recall",
    "Success",
]

Grades = Sequence[float | None]
"""The grades of a ranked list, best rank first; ``None`` marks an unjudged document."""

RELEVANT = 1.0
"""The lowest grade that counts as relevant unless a measure says otherwise."""


class Gain(StrEnum):
    """How a grade becomes a gain: ``linear`` (the grade) or ``exp`` (2^grade − 1)."""

    LINEAR = "linear"
    EXP = "exp"

    def of(self, grade: float | None) -> float:
        """Return the gain of a grade; 0 for ``None`` and for grades of 0 and below.

        Raises:
            ValueError: the exponential gain of the grade is too large for a float.
        """
        if grade is None or grade <= 0:
            return 0.0
        if self is Gain.LINEAR:
            return float(grade)
        try:
            return float(2.0 ** float(grade) - 1.0)
        except OverflowError:
            raise ValueError(f"the exponential gain of grade {grade} is too large") from None

    def all_of(self, grades: Iterable[float | None]) -> list[float]:
        """Return the gains of *grades*, in the same order."""
        return [self.of(grade) for grade in grades]


class APNorm(StrEnum):
    """What average precision at k divides by: ``R`` (trec_eval) or ``min`` (k, R) (NTCIREVAL)."""

    R = "R"
    MIN = "min"


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A ranking measure with its parameters; equal parameters make equal, hashable measures.

    Args:
        k: the cutoff: only the first *k* documents count. ``None`` means the whole list.

    Raises:
        ValueError: a parameter is outside its range; the message names it and the range.
    """

    k: int | None = None

    name: ClassVar[str]
    """The name before the parameters and the cutoff, e.g. ``nDCG``."""
    cutoff: ClassVar[str] = "optional"
    """``optional``, ``required`` or ``none``: whether the measure takes ``@k``."""

    def __post_init__(self) -> None:
        if self.k is None:
            if self.cutoff == "required":
                raise ValueError(f"{self.name} needs a cutoff, for example {self.name}@10")
        elif self.cutoff == "none":
            raise ValueError(f"{self.name} takes no cutoff, but @{self.k} was given")
        elif isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(
                f"the cutoff of {self.name} must be a whole number from 1, got {self.k}"
            )

    def __str__(self) -> str:
        """Return the measure's name with the parameters that are not at their default."""
        shown = [
            f"{field.name}={_plain(getattr(self, field.name))}"
            for field in fields(self)
            if field.name != "k" and getattr(self, field.name) != field.default
        ]
        arguments = f"({','.join(shown)})" if shown else ""
        return f"{self.name}{arguments}" + ("" if self.k is None else f"@{self.k}")

    def score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        """Score one ranked list of one topic.

        Args:
            grades: grades in rank order, ``None`` for an unjudged document.
            ideal: all judged grades of the topic, in any order.
            g_max: the highest grade of the scale (a grade, not a gain).

        Returns:
            The score, from 0 to 1 as long as *ideal* holds the relevant grades that *grades* shows.

        Raises:
            ValueError: a grade or *g_max* is NaN or infinite, or a grade exceeds *g_max* in a
                measure that uses *g_max*.
        """
        shown = grades if self.k is None else grades[: self.k]
        if not math.isfinite(sum(grade for grade in shown if grade is not None)):
            raise ValueError(f"a ranked grade is not a finite number: {list(shown)}")
        if not math.isfinite(sum(ideal)):
            raise ValueError(f"an ideal grade is not a finite number: {list(ideal)}")
        if not math.isfinite(g_max):
            raise ValueError(f"g_max is not a finite number: {g_max}")
        return float(self._score(shown, ideal, g_max))

    @abstractmethod
    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        """Score grades that are checked and already cut at *k*."""

    def _best(self, ideal: Sequence[float]) -> list[float]:
        """Return the grades of the ideal list: the highest first, cut at *k*."""
        return sorted(ideal, reverse=True)[: self.k]

    def _require(self, condition: bool, wanted: str) -> None:
        if not condition:
            raise ValueError(f"{self.name}: {wanted}")


def _plain(value: object) -> str:
    """Write a parameter value so that it parses back to the same: ``2``, ``0.99``, ``exp``."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _relevant(grades: Iterable[float | None], rel: float) -> list[bool]:
    return [grade is not None and grade >= rel for grade in grades]


def _count(ideal: Sequence[float], rel: float = RELEVANT) -> int:
    """Return R, the number of judged documents with a grade of at least *rel*."""
    return sum(grade >= rel for grade in ideal)


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
    return sum(gain * discount for gain, discount in zip(gains, discounts, strict=True))


@dataclass(frozen=True, kw_only=True)
class NDCG(Measure):
    """Normalised discounted cumulative gain, Microsoft version: discount log(r + 1).

    With linear gains this is trec_eval's ``ndcg`` and ``ndcg_cut``. Source: Burges et al. 2005;
    spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "nDCG"

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
    spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    b: float = 2.0
    name: ClassVar[str] = "nDCG-JK"

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
    here. Source: Sakai 2004; NTCIREVAL; spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    beta: float = 1.0
    name: ClassVar[str] = "Q"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.beta < math.inf, f"beta must be 0 or more, got {self.beta}")

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = _count(ideal)
        if relevant == 0:
            return 0.0
        best = [self.gain.of(grade) for grade in self._best(ideal) if grade >= RELEVANT]
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
    it (2^g − 1) / 2^g_max, as Chapelle et al. 2009 have it. Source: spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "ERR"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return self._expected(grades, g_max)

    def _expected(self, grades: Iterable[float | None], g_max: float) -> float:
        stops = _stops(self.gain.all_of(grades), self.gain.of(g_max))
        return sum(stop / rank for rank, stop in enumerate(stops, 1))


@dataclass(frozen=True, kw_only=True)
class NERR(ERR):
    """Normalised expected reciprocal rank: ERR over the ERR of the ideal list."""

    name: ClassVar[str] = "nERR"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        highest = self._expected(self._best(ideal), g_max)
        return self._expected(grades, g_max) / highest if highest > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class IRBU(Measure):
    """Intentwise rank-biased utility: Σ φ^r s_r, with persistence φ.

    Source: Sakai & Zeng 2019; spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    phi: float = 0.99
    name: ClassVar[str] = "iRBU"

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
    """Normalised intentwise rank-biased utility: iRBU over the iRBU of the ideal list."""

    name: ClassVar[str] = "niRBU"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        highest = self._utility(self._best(ideal), g_max)
        return self._utility(grades, g_max) / highest if highest > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class RBP(Measure):
    """Rank-biased precision: (1 − p) Σ p^(r−1) g_r / g_max, with persistence p.

    Source: Moffat & Zobel 2008, graded as in spec/measures.md.
    """

    gain: Gain = Gain.LINEAR
    p: float = 0.8
    name: ClassVar[str] = "RBP"

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


# --- binary relevance ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Binary(Measure):
    """A measure that only asks whether a grade is at least *rel*."""

    rel: float = RELEVANT

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")


@dataclass(frozen=True, kw_only=True)
class AP(_Binary):
    """Average precision: the mean of the precision at each relevant document.

    ``norm=R`` (default) divides by the number of relevant documents, as trec_eval's ``map`` and
    ``map_cut`` do; ``norm=min`` by min(k, R), as NTCIREVAL does. They differ only where k < R.
    """

    norm: APNorm = APNorm.R
    name: ClassVar[str] = "AP"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = _count(ideal, self.rel)
        if relevant == 0:
            return 0.0
        found, total = 0, 0.0
        for rank, hit in enumerate(_relevant(grades, self.rel), 1):
            if hit:
                found += 1
                total += found / rank
        if self.norm is APNorm.MIN and self.k is not None:
            return total / min(self.k, relevant)
        return total / relevant


@dataclass(frozen=True, kw_only=True)
class Precision(_Binary):
    """Precision at k: relevant documents among the first k, over k even where fewer are shown."""

    name: ClassVar[str] = "P"
    cutoff: ClassVar[str] = "required"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return sum(_relevant(grades, self.rel)) / (self.k or 1)


@dataclass(frozen=True, kw_only=True)
class RPrecision(_Binary):
    """R-precision: precision at rank R, the number of relevant documents (trec_eval ``Rprec``)."""

    name: ClassVar[str] = "Rprec"
    cutoff: ClassVar[str] = "none"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = _count(ideal, self.rel)
        return sum(_relevant(grades[:relevant], self.rel)) / relevant if relevant else 0.0


@dataclass(frozen=True, kw_only=True)
class RR(_Binary):
    """Reciprocal rank of the first relevant document (trec_eval ``recip_rank``); 0 without one."""

    name: ClassVar[str] = "RR"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        for rank, hit in enumerate(_relevant(grades, self.rel), 1):
            if hit:
                return 1.0 / rank
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Recall(_Binary):
    """Recall: relevant documents shown, over all relevant documents (trec_eval ``recall``)."""

    name: ClassVar[str] = "Recall"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = _count(ideal, self.rel)
        return sum(_relevant(grades, self.rel)) / relevant if relevant else 0.0


@dataclass(frozen=True, kw_only=True)
class Success(_Binary):
    """Success: 1 if any document shown is relevant, else 0 (trec_eval ``success``)."""

    name: ClassVar[str] = "Success"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return float(any(_relevant(grades, self.rel)))


@dataclass(frozen=True, kw_only=True)
class Judged(Measure):
    """The share of the documents shown that were judged at all; 0 where nothing is shown.

    It divides by the number of documents shown, at most k: a short list is not an unjudged one.
    """

    name: ClassVar[str] = "Judged"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        if not len(grades):
            return 0.0
        return sum(grade is not None for grade in grades) / len(grades)


MEASURES: dict[str, type[Measure]] = {
    kind.name: kind
    for kind in (
        NDCG,
        NDCGJK,
        Q,
        AP,
        ERR,
        NERR,
        IRBU,
        NIRBU,
        RBP,
        Precision,
        RPrecision,
        RR,
        Recall,
        Success,
        Judged,
    )
}
"""Every ranking measure by the name it is written with."""
