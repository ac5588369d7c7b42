"""α-nDCG: gain for what is new, where documents are judged by the subtopics that they cover."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from assay.measures.base import Measure
from assay.measures.grades import RELEVANT

if TYPE_CHECKING:
    from assay.measures.arrays import Floats
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals


class AlphaNDCG(Measure):
    """α-nDCG: nDCG whose gain shrinks by 1 − α each time a subtopic was covered before.

    The gain of a document is Σ (1 − α)^c over the subtopics it covers (grade of at least ``rel``),
    where c documents above it cover the subtopic; the discount is log2(r + 1). The ideal list takes
    the document of the highest gain at each rank (of equal ones the last id in the alphabet); the
    best list of all is too costly to find. Where documents are not judged by subtopic, all
    relevant ones cover the same single one. Source: Clarke et al. 2008, and TREC's ndeval.
    """

    alpha: float = 0.5
    rel: float = RELEVANT
    name: ClassVar[str] = "α-nDCG"
    only_gains: ClassVar[bool] = True

    def check(self) -> None:
        self._require(0 <= self.alpha <= 1, f"alpha must be from 0 to 1, got {self.alpha}")
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        # Late: a measure that is only named needs no numpy.
        import numpy as np  # noqa: PLC0415

        from assay.measures.coverage import alpha_dcg, alpha_ideals  # noqa: PLC0415

        covers = judged.covers(hits, self.rel)
        values = np.zeros(len(hits.shown))
        for number in hits.count().nonzero()[0].tolist():
            some = slice(hits.starts[number], hits.starts[number + 1])
            values[number] = alpha_dcg(covers[some], alpha=self.alpha, ranks=hits.ranks[some])
        ideals = judged.highest(
            self, lambda _: alpha_ideals(judged.pools(self.rel), alpha=self.alpha, k=self.k)
        )
        return judged.share(values, ideals)
