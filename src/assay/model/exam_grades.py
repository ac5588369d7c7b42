"""The grades of a query's passages by question, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GradeMatrix = npt.NDArray[np.int8]

NO_GRADE = -1
"""What stands in a matrix for a pair that has no (usable) grade."""

TOP_GRADE = 5
"""The best grade of self-rated answerability."""


@dataclass(frozen=True, eq=False)
class Grades:
    """How well each passage answers each question of a query.

    ``passages``: the ids of the rows. ``questions``: the ids of the columns. ``values``: grades,
    :data:`NO_GRADE` where there is none.
    """

    passages: tuple[str, ...]
    questions: tuple[str, ...]
    values: GradeMatrix

    def graded(self) -> tuple[str, ...]:
        """The passages that have a grade."""
        some = (self.values != NO_GRADE).any(axis=1).tolist()
        return tuple(one for one, known in zip(self.passages, some, strict=True) if known)

    def of(self, passages: Sequence[str]) -> Grades:
        """The grades of other passages; those that it lacks have none."""
        rows = {passage: row for row, passage in enumerate(self.passages)}
        made = np.full((len(passages), len(self.questions)), NO_GRADE, dtype=np.int8)
        known = [(at, rows[one]) for at, one in enumerate(passages) if one in rows]
        if known:
            target, origin = zip(*known, strict=True)
            made[list(target)] = self.values[list(origin)]
        return Grades(tuple(passages), self.questions, made)

    def columns(self, questions: Sequence[str]) -> GradeMatrix:
        """The matrix for other questions (those that it lacks have no grades), with a last
        row of no grades that stands for every passage that it lacks."""
        made = np.full((len(self.passages) + 1, len(questions)), NO_GRADE, dtype=np.int8)
        places = {question: place for place, question in enumerate(self.questions)}
        known = [(at, places[q]) for at, q in enumerate(questions) if q in places]
        if known:
            target, origin = zip(*known, strict=True)
            made[:-1, list(target)] = self.values[:, list(origin)]
        return made


NO_GRADES = Grades((), (), np.empty((0, 0), dtype=np.int8))
"""Those of a query of which nothing was graded."""
