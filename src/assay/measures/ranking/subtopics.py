"""Diversity measures, for documents judged by subtopic (intent): α-nDCG, I-rec, D-nDCG, D♯-nDCG.

All subtopics are equally likely. Without judgements by subtopic, relevant documents cover the
same single one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from assay.measures.base import Measure
from assay.measures.grades import RELEVANT, Gain

if TYPE_CHECKING:
    from assay.measures.arrays import Floats
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals


class SubtopicMeasure(Measure):
    """A measure that uses the grades of each subtopic."""

    only_gains: ClassVar[bool] = True
    by_subtopic: ClassVar[bool] = True


class AlphaNDCG(SubtopicMeasure):
    """α-nDCG: nDCG whose gain shrinks by 1 − α each time a subtopic was covered before.

    The gain of a document is Σ (1 − α)^c over the subtopics it covers (grade of at least ``rel``),
    where c documents above it cover the subtopic; the discount is log2(r + 1). The ideal list is
    greedy: at each rank it takes the document with the highest gain, and of several the one whose
    id is last in the alphabet. (The best list of all would be too costly to find.) Source: Clarke
    et al. 2008, and TREC's ndeval.
    """

    alpha: float = 0.5
    rel: float = RELEVANT
    name: ClassVar[str] = "α-nDCG"

    def check(self) -> None:
        self._require(0 <= self.alpha <= 1, f"alpha must be from 0 to 1, got {self.alpha}")
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        # Imported here so that naming a measure does not load numpy.
        import numpy as np  # noqa: PLC0415

        from assay.measures.coverage import alpha_dcg, alpha_ideals  # noqa: PLC0415

        covers = judged.covered_subtopics(hits, self.rel)
        values = np.zeros(len(hits.shown))
        for number in hits.count().nonzero()[0].tolist():
            own = slice(hits.starts[number], hits.starts[number + 1])
            values[number] = alpha_dcg(covers[own], alpha=self.alpha, ranks=hits.ranks[own])
        ideals = judged.highest(
            self, lambda _: alpha_ideals(judged.pools(self.rel), alpha=self.alpha, k=self.k)
        )
        return judged.share(values, ideals)


class IRec(SubtopicMeasure):
    """I-rec, intent recall: the share of subtopics covered (grade of at least ``rel``), among those
    that some document of the ideal list covers. Source: Sakai & Song 2011."""

    rel: float = RELEVANT
    name: ClassVar[str] = "I-rec"

    def check(self) -> None:
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        import numpy as np  # noqa: PLC0415

        covers = judged.covered_subtopics(hits, self.rel)
        covered = np.zeros((len(hits.shown), covers.shape[1]), dtype=np.bool_)
        places, subtopics = covers.nonzero()
        covered[hits.lists[places], subtopics] = True
        coverable = judged.highest(
            self,
            lambda _: np.array([pool.any(axis=0).sum() for pool in judged.pools(self.rel)], float),
        )
        return judged.share(covered.sum(axis=1), coverable)


class DNDCG(SubtopicMeasure):
    """D-nDCG: nDCG (Microsoft version) with global gains, the sum of a document's gains for all
    subtopics. Source: Sakai & Song 2011."""

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "D-nDCG"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return _global_ndcg(hits, judged, self.gain, self.k)


class DSharpNDCG(IRec):
    """D♯-nDCG: γ I-rec + (1 − γ) D-nDCG, which combines diversity and relevance. Source: Sakai &
    Song 2011; NTCIREVAL ``D#-nDCG``."""

    gain: Gain = Gain.LINEAR
    gamma: float = 0.5
    name: ClassVar[str] = "D#-nDCG"

    def check(self) -> None:
        self._require(0 <= self.gamma <= 1, f"gamma must be from 0 to 1, got {self.gamma}")
        super().check()

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        relevance = _global_ndcg(hits, judged, self.gain, self.k)
        return self.gamma * super().scores(hits, judged) + (1.0 - self.gamma) * relevance


def _global_ndcg(hits: Hits, judged: Ideals, gain: Gain, k: int | None) -> Floats:
    own, best = judged.with_global_gains(hits, gain), judged.ideal_with_global_gains(gain).cut(k)
    return judged.share(
        own.total(own.grades / own.log_ranks()), best.total(best.grades / best.log_ranks())
    )
