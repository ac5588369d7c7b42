"""bpref (Buckley & Voorhees 2004) as in trec_eval: a measure that Assay does not have."""

from typing import ClassVar

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.base import Measure
from assay.measures.hits import Hits
from assay.measures.judgements import Ideals


class Bpref(Measure):
    rel: float = 1.0
    name: ClassVar[str] = "bpref"
    cutoff: ClassVar[str] = "none"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        relevant, others = judged.relevant(self.rel), judged.best.count()
        least = np.maximum(np.minimum(relevant, others - relevant), 1)
        found = hits.grades >= self.rel
        above = np.minimum(hits.cumulated((~found).astype(float)), judged.of_topics(relevant, hits))
        worth = found * (1.0 - above / judged.of_topics(least, hits))
        return judged.share(hits.total(worth), relevant)
