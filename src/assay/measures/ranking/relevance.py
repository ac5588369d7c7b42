"""Measures that depend only on whether documents are relevant, or whether they were judged."""

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
    """A measure for which a document is relevant if its grade is at least ``rel``, or not."""

    rel: float = RELEVANT
    only_gains: ClassVar[bool] = True

    def check(self) -> None:
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")


class AP(BinaryMeasure):
    """Average precision: the mean precision at the ranks of the relevant documents.

    ``norm=R`` (default) divides by the number of relevant documents, as trec_eval's ``map`` and
    ``map_cut`` do; ``norm=min`` divides by min(k, R), as NTCIREVAL does. They differ only if k < R.
    """

    norm: APNorm = APNorm.R
    name: ClassVar[str] = "AP"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        found = hits.relevant(self.rel)
        most = self.k if self.norm is APNorm.MIN else None
        return judged.share(
            found.total(found.positions() / found.ranks), judged.relevant(self.rel, most)
        )


class Precision(BinaryMeasure):
    """Precision at k (trec_eval ``P``): relevant documents among the first k, divided by k even if
    the list is shorter."""

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
    """Reciprocal rank of the first relevant document, 0 without one (trec_eval ``recip_rank``)."""

    name: ClassVar[str] = "RR"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        found = hits.relevant(self.rel)
        first = found.only(found.positions() == 1)
        return first.total(1.0 / first.ranks)


class Recall(BinaryMeasure):
    """Recall: the share of all relevant documents that the list shows (trec_eval ``recall``)."""

    name: ClassVar[str] = "Recall"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return judged.share(hits.relevant(self.rel).count(), judged.relevant(self.rel))


class Success(BinaryMeasure):
    """Success: 1 if the list shows a relevant document, else 0 (trec_eval ``success``)."""

    name: ClassVar[str] = "Success"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return (hits.relevant(self.rel).count() > 0).astype(float)


class Judged(Measure):
    """The share of the documents shown that were judged; 0 if none are shown (ir_measures
    ``Judged``).

    The denominator is the number of documents shown, at most k, so a short list is not penalised.
    """

    name: ClassVar[str] = "Judged"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        shown: Integers = hits.shown.clip(1, self.k)
        return hits.count() / shown
