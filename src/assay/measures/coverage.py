"""Coverage of exam questions: EXAM-Cover, EXAM-Label, and α-nDCG with questions as intents.

Source: Farzi & Dietz, EXAM++, equations 1 and 2; Clarke et al. 2008 for α-nDCG. All functions take
the grades of one query: a matrix with a row a passage and a column a question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "NO_GRADE",
    "TOP_GRADE",
    "Cover",
    "Grades",
    "alpha_ideal",
    "alpha_ndcg",
    "cover",
    "labels",
    "standard_error",
]

GradeMatrix = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]

NO_GRADE = -1
"""What stands in a matrix for a pair that has no (usable) grade."""

TOP_GRADE = 5
"""The best grade of self-rated answerability."""


@dataclass(frozen=True, eq=False)
class Grades:
    """How well each passage answers each question of a query.

    Attributes:
        passages: the ids of the rows.
        questions: the ids of the columns.
        values: grades, :data:`NO_GRADE` where there is none.
    """

    passages: tuple[str, ...]
    questions: tuple[str, ...]
    values: GradeMatrix

    def graded(self) -> tuple[str, ...]:
        """Return the passages that have a grade."""
        some = (self.values != NO_GRADE).any(axis=1).tolist()
        return tuple(one for one, known in zip(self.passages, some, strict=True) if known)

    def of(self, passages: Sequence[str]) -> Grades:
        """Return the grades of other passages; those that it lacks have none."""
        rows = {passage: row for row, passage in enumerate(self.passages)}
        made = np.full((len(passages), len(self.questions)), NO_GRADE, dtype=np.int8)
        known = [(at, rows[one]) for at, one in enumerate(passages) if one in rows]
        if known:
            target, origin = zip(*known, strict=True)
            made[list(target)] = self.values[list(origin)]
        return Grades(tuple(passages), self.questions, made)

    def columns(self, questions: Sequence[str]) -> GradeMatrix:
        """Return the matrix for other questions (those that it lacks have no grades), with a last
        row of no grades that stands for every passage that it lacks."""
        made = np.full((len(self.passages) + 1, len(questions)), NO_GRADE, dtype=np.int8)
        places = {question: place for place, question in enumerate(self.questions)}
        known = [(at, places[q]) for at, q in enumerate(questions) if q in places]
        if known:
            target, origin = zip(*known, strict=True)
            made[:-1, list(target)] = self.values[:, list(origin)]
        return made


@dataclass(frozen=True, slots=True)
class Cover:
    """EXAM-Cover of some passages at one τ.

    Attributes:
        value: the share of the questions' weight that is covered; None where a question without
            a sufficient grade lacks some grade, so that the value is not known, and where there
            are no questions.
        covered: which questions are covered.
        unknown: which questions may be covered or not, for want of a grade.
    """

    value: float | None
    covered: Bools
    unknown: Bools


def cover(
    grades: GradeMatrix, tau: int, weights: npt.ArrayLike | None = None, *, of: object = None
) -> Cover:
    """Return EXAM-Cover: the share of questions that some passage answers with grade ≥ τ.

    Args:
        grades: rows are the passages shown (already cut at k), columns all questions.
        tau: the least grade that counts as answered.
        weights: of the questions, not negative; all equal where left out.
        of: which questions are the denominator (a Boolean array), all where left out.

    Raises:
        ValueError: a weight is negative or not finite.
    """
    n = grades.shape[1]
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("weights must be finite and not negative")
    if of is not None:
        weight = np.where(np.asarray(of, dtype=bool), weight, 0.0)
    covered: Bools = np.asarray((grades >= tau).any(axis=0))
    unknown: Bools = np.asarray((grades == NO_GRADE).any(axis=0)) & ~covered
    total = float(weight.sum())
    if total == 0 or (weight[unknown] > 0).any():
        return Cover(None, covered, unknown)
    if not (weight[~covered] > 0).any():
        return Cover(1.0, covered, unknown)  # exactly, whatever the order of summation
    return Cover(float(weight[covered].sum()) / total, covered, unknown)


def labels(grades: GradeMatrix) -> npt.NDArray[np.int8]:
    """Return EXAM-Label of each passage: its highest grade, NO_GRADE where it has none."""
    if not grades.shape[1]:
        return np.full(grades.shape[0], NO_GRADE, dtype=np.int8)
    return np.asarray(grades.max(axis=1), dtype=np.int8)


def alpha_ideal(covers: Bools, *, alpha: float = 0.5, k: int | None = None) -> float:
    """Return α-DCG of the greedy ideal list over the pool, the denominator of α-nDCG.

    Args:
        covers: rows are the passages of the pool, columns the intents.
        alpha: how much a repeated intent loses.
        k: the cutoff, none where left out.
    """
    left = covers[covers.any(axis=1)].astype(np.float64)
    worth = np.ones(covers.shape[1])
    total = 0.0
    for rank in range(1, min(len(left), k or len(left)) + 1):
        gains = left @ worth
        best = int(gains.argmax())
        if gains[best] <= 0:
            break
        total += float(gains[best]) / math.log2(rank + 1)
        worth = np.where(left[best] > 0, worth * (1.0 - alpha), worth)
        left[best] = 0.0
    return total


def alpha_ndcg(shown: Bools, ideal: float, *, alpha: float = 0.5, k: int | None = None) -> float:
    """Return α-nDCG of one ranked list with questions as intents.

    Args:
        shown: rows are the passages in rank order, columns the intents that each covers.
        ideal: :func:`alpha_ideal` of the pool.
        alpha: as there.
        k: as there.

    Returns:
        The score, 0 where nothing in the pool covers anything; above 1 only where the greedy
        ideal list is not the best one.
    """
    if ideal <= 0:
        return 0.0
    rows = shown[:k]
    before: npt.NDArray[np.intp] = np.cumsum(rows, axis=0) - rows
    gains = (((1.0 - alpha) ** before) * rows).sum(axis=1)
    return float((gains / np.log2(np.arange(2, len(rows) + 2))).sum()) / ideal


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean, s/√n with n − 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
