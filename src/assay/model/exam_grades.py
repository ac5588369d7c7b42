"""Matrix of grades: how well each passage of a query answers each question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GradeMatrix = npt.NDArray[np.int8]

NO_GRADE = -1
"""Matrix entry of a pair without a usable grade."""

TOP_GRADE = 5
"""The best grade of self-rated answerability."""


@dataclass(frozen=True, eq=False)
class Grades:
    """How well each passage answers each question of a query. ``passages`` are the ids of the rows,
    ``questions`` those of the columns. ``values`` holds the grades, and :data:`NO_GRADE` for pairs
    without one."""

    passages: tuple[str, ...]
    questions: tuple[str, ...]
    values: GradeMatrix

    def graded(self) -> tuple[str, ...]:
        """The passages that have at least one grade."""
        has_grade = (self.values != NO_GRADE).any(axis=1).tolist()
        return tuple(one for one, has in zip(self.passages, has_grade, strict=True) if has)

    def of(self, passages: Sequence[str]) -> Grades:
        """The grades of ``passages``, in this order; unknown passages have none."""
        rows = {passage: row for row, passage in enumerate(self.passages)}
        made = np.full((len(passages), len(self.questions)), NO_GRADE, dtype=np.int8)
        known = [(at, rows[one]) for at, one in enumerate(passages) if one in rows]
        if known:
            target, origin = zip(*known, strict=True)
            made[list(target)] = self.values[list(origin)]
        return Grades(tuple(passages), self.questions, made)

    def columns(self, questions: Sequence[str]) -> GradeMatrix:
        """The matrix with columns ``questions``; unknown questions have no grades. A last row
        without grades is added, to which unknown passages can be mapped."""
        made = np.full((len(self.passages) + 1, len(questions)), NO_GRADE, dtype=np.int8)
        places = {question: place for place, question in enumerate(self.questions)}
        known = [(at, places[q]) for at, q in enumerate(questions) if q in places]
        if known:
            target, origin = zip(*known, strict=True)
            made[:-1, list(target)] = self.values[:, list(origin)]
        return made


NO_GRADES = Grades((), (), np.empty((0, 0), dtype=np.int8))
"""The grades of a query of which nothing was graded."""
