"""Measures with a model of when the user stops reading: ERR and iRBU, whose user stops once
satisfied, and RBP, whose user stops with a fixed probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from assay.measures.base import Measure
from assay.measures.grades import Gain

if TYPE_CHECKING:
    from assay.measures.arrays import Floats
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals


class ScaledMeasure(Measure):
    """A measure that scales gains by the gain of the highest grade."""

    gain: Gain = Gain.LINEAR
    only_gains: ClassVar[bool] = True
    uses_g_max: ClassVar[bool] = True

    def _stop_probabilities(self, hits: Hits, judged: Ideals) -> Floats:
        """s_r = p_r Π_{j<r} (1 − p_j), where p_r = g_r / (g_max + 1): the probability that the user
        is satisfied at rank r and stops there. An unjudged document has p = 0."""
        satisfied = hits.gains(self.gain) / (judged.highest_gain(self.gain) + 1.0)
        return hits.product_above(1.0 - satisfied) * satisfied


class ERR(ScaledMeasure):
    """Expected reciprocal rank: Σ s_r / r.

    The denominator of p_r is the highest gain plus 1, as in NTCIREVAL; with exponential gains this
    is (2^g − 1) / 2^g_max, as in Chapelle et al. 2009. Source: docs/measures.md.
    """

    name: ClassVar[str] = "ERR"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return hits.total(self._stop_probabilities(hits, judged) / hits.ranks)


class NERR(ERR):
    """Normalised expected reciprocal rank: ERR divided by that of the ideal list (NTCIREVAL
    ``nERR``)."""

    name: ClassVar[str] = "nERR"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return judged.normalised(self, hits, lambda some: ERR.scores(self, some, judged))


class IRBU(ScaledMeasure):
    """Intentwise rank-biased utility: Σ φ^r s_r, with persistence φ.

    Source: Sakai & Zeng 2019; docs/measures.md.
    """

    phi: float = 0.99
    name: ClassVar[str] = "iRBU"

    def check(self) -> None:
        self._require(0 < self.phi <= 1, f"phi must be above 0 and at most 1, got {self.phi}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return hits.total(self.phi**hits.ranks * self._stop_probabilities(hits, judged))


class NIRBU(IRBU):
    """Normalised intentwise rank-biased utility: iRBU divided by that of the ideal list.

    Source: Sakai & Zeng 2019 for iRBU; normalised like nERR (docs/measures.md).
    """

    name: ClassVar[str] = "niRBU"

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        return judged.normalised(self, hits, lambda some: IRBU.scores(self, some, judged))


class RBP(ScaledMeasure):
    """Rank-biased precision: (1 − p) Σ p^(r−1) g_r / g_max, with persistence p.

    Source: Moffat & Zobel 2008, graded as in docs/measures.md.
    """

    p: float = 0.8
    name: ClassVar[str] = "RBP"

    def check(self) -> None:
        self._require(0 < self.p < 1, f"p must be between 0 and 1, got {self.p}")

    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        # If no grade is above 0, every gain is 0, and so is the score.
        highest = judged.highest_gain(self.gain) or 1.0
        total = hits.total(self.p ** (hits.ranks - 1) * hits.gains(self.gain))
        return (1.0 - self.p) * total / highest
