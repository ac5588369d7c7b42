"""Ranking measures that ask only whether a document is relevant, or whether it was judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.measures.base import RELEVANT, APNorm, Grades, Measure, count_relevant

__all__ = ["AP", "RR", "BinaryMeasure", "Judged", "Precision", "RPrecision", "Recall", "Success"]


def _relevant(grades: Iterable[float | None], rel: float) -> list[bool]:
    return [grade is not None and grade >= rel for grade in grades]


@dataclass(frozen=True, kw_only=True)
class BinaryMeasure(Measure):
    """A measure that only asks whether a grade is at least *rel*."""

    rel: float = RELEVANT
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMeasure):
    """Average precision: the mean of the precision at each relevant document.

    ``norm=R`` (default) divides by the number of relevant documents, as trec_eval's ``map`` and
    ``map_cut`` do; ``norm=min`` by min(k, R), as NTCIREVAL does. They differ only where k < R.
    """

    norm: APNorm = APNorm.R
    name: ClassVar[str] = "AP"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = count_relevant(ideal, self.rel)
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
class Precision(BinaryMeasure):
    """Precision at k: relevant documents among the first k, over k even where fewer are shown.

    Source: trec_eval ``P``.
    """

    name: ClassVar[str] = "P"
    cutoff: ClassVar[str] = "required"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return sum(_relevant(grades, self.rel)) / (self.k or 1)


@dataclass(frozen=True, kw_only=True)
class RPrecision(BinaryMeasure):
    """R-precision: precision at rank R, the number of relevant documents (trec_eval ``Rprec``)."""

    name: ClassVar[str] = "Rprec"
    cutoff: ClassVar[str] = "none"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = count_relevant(ideal, self.rel)
        return sum(_relevant(grades[:relevant], self.rel)) / relevant if relevant else 0.0


@dataclass(frozen=True, kw_only=True)
class RR(BinaryMeasure):
    """Reciprocal rank of the first relevant document (trec_eval ``recip_rank``); 0 without one."""

    name: ClassVar[str] = "RR"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        for rank, hit in enumerate(_relevant(grades, self.rel), 1):
            if hit:
                return 1.0 / rank
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Recall(BinaryMeasure):
    """Recall: relevant documents shown, over all relevant documents (trec_eval ``recall``)."""

    name: ClassVar[str] = "Recall"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        relevant = count_relevant(ideal, self.rel)
        return sum(_relevant(grades, self.rel)) / relevant if relevant else 0.0


@dataclass(frozen=True, kw_only=True)
class Success(BinaryMeasure):
    """Success: 1 if any document shown is relevant, else 0 (trec_eval ``success``)."""

    name: ClassVar[str] = "Success"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        return float(any(_relevant(grades, self.rel)))


@dataclass(frozen=True, kw_only=True)
class Judged(Measure):
    """The share of the documents shown that were judged at all; 0 where nothing is shown.

    It divides by the number of documents shown, at most k: a short list is not an unjudged one.
    Source: ir_measures ``Judged``.
    """

    name: ClassVar[str] = "Judged"

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        if not len(grades):
            return 0.0
        return sum(grade is not None for grade in grades) / len(grades)
