"""Measures of cumulated gain: both versions of nDCG, and Q."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from assay.measures.base import Measure
from assay.measures.grades import RELEVANT, Gain

if TYPE_CHECKING:
    from assay.measures.arrays import Floats
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals


class NDCG(Measure):
    """Normalised discounted cumulative gain, Microsoft version: discount log(r + 1).

    With linear gains this is trec_eval's ``ndcg`` and ``ndcg_cut``. Source: Burges et al. 2005;
    docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    name: ClassVar[str] = "nDCG"
    only_gains: ClassVar[bool] = True

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return judged.normalised(
            self, hits, lambda some: some.total(some.gains(self.gain) / some.log_ranks())
        )


class NDCGJK(Measure):
    """Normalised discounted cumulative gain, original version: discount log_b(r) from rank b.

    Ranks below the base ``b`` are not discounted. Source: Järvelin & Kekäläinen 2002;
    docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    b: float = 2.0
    name: ClassVar[str] = "nDCG-JK"
    only_gains: ClassVar[bool] = True

    def check(self) -> None:
        self._require(1 < self.b < math.inf, f"the base b must be above 1, got {self.b}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        # log_b(b) = 1: no discount below b
        return judged.normalised(
            self, hits, lambda some: some.total(some.gains(self.gain) / some.log_ranks(self.b))
        )


class Q(Measure):
    """Q-measure: average precision with the blended ratio (C_r + β cg_r) / (r + β cg*_r).

    The sum is divided by min(k, R). β = 0 gives ``AP(norm=min)``. Documents below grade 1 have no
    gain. Swapping two neighbours so that the better one comes first never lowers Q, but moving a
    document up past better ones may. Source: Sakai 2004; NTCIREVAL; docs/measures.md.
    """

    gain: Gain = Gain.LINEAR
    beta: float = 1.0
    name: ClassVar[str] = "Q"
    only_gains: ClassVar[bool] = True

    def check(self) -> None:
        self._require(0 <= self.beta < math.inf, f"beta must be 0 or more, got {self.beta}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        best = judged.best.cut(self.k).relevant(RELEVANT)
        ideal_sums = best.cumulated(best.gains(self.gain))
        found = hits.relevant(RELEVANT)
        found = found.only(judged.of_topics(best.count(), found) > 0)
        # The ideal list gains nothing after its last relevant document.
        last = found.ranks.clip(max=judged.of_topics(best.count(), found)) - 1
        ideal = ideal_sums[judged.of_topics(best.starts[:-1], found) + last]
        above = found.positions() + self.beta * found.cumulated(found.gains(self.gain))
        total = found.total(above / (found.ranks + self.beta * ideal))
        return judged.share(total, judged.relevant(most=self.k))
