"""Measures that ask only whether a document is relevant, or whether it was judged."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from assay.measures.base import Measure
from assay.measures.grades import RELEVANT

if TYPE_CHECKING:
    from assay.measures.arrays import Floats, Integers
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals


class APNorm(StrEnum):
    """What average precision at k divides by: ``R`` (trec_eval) or ``min`` (k, R) (NTCIREVAL)."""

    R = "R"
    MIN = "min"


class BinaryMeasure(Measure):
    """A measure that only asks whether a grade is at least ``rel``."""

    rel: float = RELEVANT
    only_gains: ClassVar[bool] = True

    def check(self) -> None:
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")


class AP(BinaryMeasure):
    """Average precision: the mean of the precision at each relevant document.

    ``norm=R`` (default) divides by the number of relevant documents, as trec_eval's ``map`` and
    ``map_cut`` do; ``norm=min`` by min(k, R), as NTCIREVAL does. They differ only where k < R.
    """

    norm: APNorm = APNorm.R
    name: ClassVar[str] = "AP"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        found = hits.relevant(self.rel)
        most = self.k if self.norm is APNorm.MIN else None
        return judged.share(
            found.total(found.numbers() / found.ranks), judged.relevant(self.rel, most)
        )


class Precision(BinaryMeasure):
    """Precision at k: relevant documents among the first k, over k even where fewer are shown.

    Source: trec_eval ``P``.
    """

    name: ClassVar[str] = "P"
    cutoff: ClassVar[str] = "required"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return hits.relevant(self.rel).count() / (self.k or 1)


class RPrecision(BinaryMeasure):
    """R-precision: precision at rank R, the number of relevant documents (trec_eval ``Rprec``)."""

    name: ClassVar[str] = "Rprec"
    cutoff: ClassVar[str] = "none"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        relevant = judged.relevant(self.rel)
        found = hits.relevant(self.rel)
        within = found.only(found.ranks <= judged.of_topics(relevant, found))
        return judged.share(within.count(), relevant)


class RR(BinaryMeasure):
    """Reciprocal rank of the first relevant document (trec_eval ``recip_rank``); 0 without one."""

    name: ClassVar[str] = "RR"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        found = hits.relevant(self.rel)
        first = found.only(found.numbers() == 1)
        return first.total(1.0 / first.ranks)


class Recall(BinaryMeasure):
    """Recall: relevant documents shown, over all relevant documents (trec_eval ``recall``)."""

    name: ClassVar[str] = "Recall"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return judged.share(hits.relevant(self.rel).count(), judged.relevant(self.rel))


class Success(BinaryMeasure):
    """Success: 1 if any document shown is relevant, else 0 (trec_eval ``success``)."""

    name: ClassVar[str] = "Success"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return (hits.relevant(self.rel).count() > 0).astype(float)


class Judged(Measure):
    """The share of the documents shown that were judged at all; 0 if nothing is shown.

    It divides by the number of documents shown, at most k: a short list is not an unjudged one.
    Source: ir_measures ``Judged``.
    """

    name: ClassVar[str] = "Judged"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        shown: Integers = hits.shown.clip(1, self.k)
        return hits.count() / shown
