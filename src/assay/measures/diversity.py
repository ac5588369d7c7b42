"""α-nDCG: gain for what is new, where documents are judged by the subtopics that they cover."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.measures.base import RELEVANT, Grades, Measure

__all__ = ["AlphaNDCG"]

Covered = Collection[Hashable]
"""The subtopics that a document covers; empty for one that is not relevant or not judged."""


@dataclass(frozen=True, kw_only=True)
class AlphaNDCG(Measure):
    """α-nDCG: nDCG whose gain shrinks by 1 − α each time a subtopic was covered before.

    The gain of a document is Σ (1 − α)^c over the subtopics it covers (grade of at least *rel*),
    where c documents above it cover the subtopic; the discount is log2(r + 1). The ideal list takes
    the document of the highest gain at each rank (of equal ones the last id in the alphabet); the
    best list of all is too costly to find. Where documents are not judged by subtopic, all
    relevant ones cover the same single one. Source: Clarke et al. 2008, and TREC's ndeval.
    """

    alpha: float = 0.5
    rel: float = RELEVANT
    name: ClassVar[str] = "α-nDCG"
    only_gains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.alpha <= 1, f"alpha must be from 0 to 1, got {self.alpha}")
        self._require(0 < self.rel < math.inf, f"rel must be above 0, got {self.rel}")

    def score_subtopics(self, shown: Sequence[Covered], judged: Sequence[Covered]) -> float:
        """Score one ranked list of one topic.

        Args:
            shown: for each document of the list, best rank first, the subtopics it covers.
            judged: the same for all judged documents of the topic; the ideal list takes the
                first of those with equal gain.

        Returns:
            The score; above 1 only where the greedy ideal list is not the best one. 0 where no
            judged document covers anything.
        """
        highest = self.ideal(judged)
        return self.gained(shown) / highest if highest > 0 else 0.0

    def gained(self, shown: Sequence[Covered]) -> float:
        """Return α-DCG, the numerator: the discounted gains of the first *k* documents."""
        before: Counter[Hashable] = Counter()
        total = 0.0
        for rank, covered in enumerate(shown[: self.k], 1):
            if covered:
                total += self._gain(covered, before) / math.log2(rank + 1)
                before.update(covered)
        return total

    def ideal(self, judged: Sequence[Covered]) -> float:
        """Return α-DCG of the ideal list, the denominator."""
        left = [covered for covered in judged if covered]
        before: Counter[Hashable] = Counter()
        total = 0.0
        for rank in range(1, len(left) + 1 if self.k is None else min(self.k, len(left)) + 1):
            best = max(range(len(left)), key=lambda place: self._gain(left[place], before))
            covered = left.pop(best)
            total += self._gain(covered, before) / math.log2(rank + 1)
            before.update(covered)
        return total

    def _gain(self, covered: Covered, before: Counter[Hashable]) -> float:
        return math.fsum((1.0 - self.alpha) ** before[subtopic] for subtopic in covered)

    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        def covers(grade: float | None) -> Covered:
            return (0,) if grade is not None and grade >= self.rel else ()

        return self.score_subtopics(list(map(covers, grades)), list(map(covers, ideal)))
