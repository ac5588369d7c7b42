"""The pools of queries, and what runs show of them, as arrays over many queries at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.coverage import (
    alpha_ideal_range,
    alpha_ideals,
    alpha_ndcg,
    alpha_ndcg_range,
    cover,
    labels,
    normalised_cover,
)
from assay.measures.ranking.subtopics import AlphaNDCG
from assay.measures.ranking_ranges import Ends, KnownGrades
from assay.model.exam_grades import NO_GRADE, GradeMatrix

COVER = "EXAM-Cover"
WEIGHTED = "EXAM-Cover-weighted"
NORMALISED = "EXAM-Cover-normalised"

Rows = npt.NDArray[np.int32]

_PLACES = 1 << 18
"""Places in ranked lists that are processed at once."""


@dataclass(eq=False)
class Query:
    """A query's pool, graded by its bank: rows are passages (the last, of grade 0, stands for any
    that is not in the pool), columns are the active questions. ``labels`` are the best existing
    grades, row by row. Questions that are not ``asked`` count for nobody: if such a question has no
    grade, nothing is missing."""

    rows: Mapping[str, int]
    questions: Sequence[str]
    labels: GradeMatrix
    matrix: GradeMatrix
    weights: Floats
    asked: Bools
    top: int

    @cached_property
    def by_id(self) -> list[int]:
        """The rows of passages, in descending order of their ids."""
        return [row for _, row in sorted(self.rows.items(), reverse=True)]

    def by_question(self) -> dict[str, dict[str, int]]:
        """The known grades: question → passage → grade."""
        return {
            question: {
                passage: grade
                for passage, grade in zip(self.rows, grades.tolist(), strict=False)
                if grade != NO_GRADE
            }
            for question, grades in zip(self.questions, self.matrix.T, strict=True)
        }

    @cached_property
    def missing(self) -> int:
        """The number of pairs without a grade."""
        return int((self.matrix == NO_GRADE).sum())

    @cached_property
    def weighted(self) -> bool:
        """Whether the weights make a difference."""
        return bool((self.weights != 1.0).any())

    @property
    def least(self) -> Floats:
        """The label of each passage if every missing grade were 0."""
        return np.maximum(labels(self.matrix), 0)[:-1].astype(np.float64)

    @property
    def most(self) -> Floats:
        """The label of each passage if every missing grade were the highest."""
        return labels(filled(self.matrix, self.top))[:-1].astype(np.float64)

    def shown(self, lists: Sequence[Sequence[str | None]]) -> Rows:
        """The row of each passage, one list per run. The last row stands for passages that are not
        in the pool, and pads shorter lists."""
        absent = len(self.rows)
        rows = np.full((len(lists), max(map(len, lists), default=0)), absent, np.int32)
        for number, passages in enumerate(lists):
            rows[number, : len(passages)] = [self.rows.get(one or "", absent) for one in passages]
        return rows


def filled(matrix: GradeMatrix, top: int) -> GradeMatrix:
    """The grades, with the highest for every missing one."""
    return np.where(matrix == NO_GRADE, np.int8(top), matrix)


@dataclass(frozen=True, eq=False)
class ShownLists:
    """What runs show for a query (at index ``number``), as rows of its pool, one array row per run.
    ``first`` has what counts for cover, ``places`` the whole lists, whose ``lengths`` are given;
    shorter lists are padded with the row for passages outside the pool."""

    number: int
    query: Query
    first: Rows
    places: Rows
    lengths: Integers

    @property
    def shape(self) -> tuple[object, ...]:
        """A key that is equal for queries whose arrays can be stacked."""
        shapes = self.query.matrix.shape[1], self.first.shape, self.places.shape
        return (*shapes, self.query.missing > 0)


class Group:
    """Stacked queries: arrays have a first axis for the queries."""

    def __init__(self, some: Sequence[ShownLists]) -> None:
        self.queries = [one.query for one in some]
        self.numbers = np.array([one.number for one in some])
        self.weights, self.asked = (
            np.array([getattr(one, name) for one in self.queries])[:, None]
            for name in ("weights", "asked")
        )
        most = max(len(one.matrix) for one in self.queries)
        # Rows of grade 0 change nothing.
        self.pool = np.zeros((len(some), most, self.asked.shape[-1]), np.int8)
        for pool, one in zip(self.pool, self.queries, strict=True):
            pool[: len(one.matrix)] = one.matrix
        self._places = np.array([one.places for one in some])
        self.first = self._grades(np.array([one.first for one in some]))

    def _grades(self, rows: Rows) -> GradeMatrix:
        return self.pool[np.arange(len(rows))[:, None, None], rows]

    def covers(self, tau: int) -> Iterator[tuple[str, Ends]]:
        """EXAM-Cover in its variants."""
        plain = weighted = cover(self.first, tau, of=self.asked)
        if any(one.weighted for one in self.queries):
            weighted = cover(self.first, tau, self.weights, of=self.asked)
        yield COVER, (plain.floor, plain.ceiling)
        yield WEIGHTED, (weighted.floor, weighted.ceiling)
        yield NORMALISED, normalised_cover(self.pool[:, None], self.first, tau, of=self.asked)

    def alpha(self, measure: AlphaNDCG, tau: int) -> Ends:
        """α-nDCG with the questions as intents."""
        alpha, k = measure.alpha, measure.k
        shown = self._grades(self._places[..., :k])
        # Of equal gains, the last id in the alphabet is taken first, as in AlphaNDCG.
        pools = [pool[one.by_id] for pool, one in zip(self.pool, self.queries, strict=True)]
        if not self.queries[0].missing:
            ideals = alpha_ideals((pool >= tau for pool in pools), alpha=alpha, k=k)
            sure = alpha_ndcg(shown >= tau, ideals[:, None], alpha=alpha, k=k)
            return sure, sure
        top = self.queries[0].top
        possible = [filled(pool, top) >= tau for pool in pools]
        ideal = alpha_ideal_range([pool >= tau for pool in pools], possible, alpha=alpha, k=k)
        return alpha_ndcg_range(shown >= tau, filled(shown, top) >= tau, ideal, alpha=alpha, k=k)


def portions(lists: Iterable[ShownLists]) -> Iterator[list[ShownLists]]:
    """Queries in blocks that are processed at once."""
    some: list[ShownLists] = []
    places = 0
    for one in lists:
        some.append(one)
        places += one.places.size
        if places >= _PLACES:
            yield some
            some, places = [], 0
    if some:
        yield some


def by_shape(some: Iterable[ShownLists]) -> Iterable[list[ShownLists]]:
    groups: dict[object, list[ShownLists]] = {}
    for one in some:
        groups.setdefault(one.shape, []).append(one)
    return groups.values()


def known_grades(some: Sequence[ShownLists]) -> KnownGrades:
    """The known grades of the lists of some queries, one list per query, run after run."""
    queries = [one.query for one in some]
    least, most = (
        np.concatenate([getattr(one, end) for one in queries]) for end in ("least", "most")
    )
    graded = np.concatenate([one.labels[:-1] for one in queries]) != NO_GRADE
    before = 0
    parts: list[tuple[Integers, ...]] = []
    for topic, one in enumerate(some):
        absent = len(one.query.rows)
        run, place = np.nonzero(one.places != absent)
        rows = one.places[run, place].astype(np.int64) + before
        parts.append((run * len(some) + topic, place + 1, rows))
        before += absent
    lists, ranks, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
    # A stable sort keeps the order of ranks within a list.
    order = np.argsort(lists, kind="stable")
    lists, ranks, rows = lists[order], ranks[order], rows[order]
    return KnownGrades(
        lists, ranks, np.where(graded, least, np.nan)[rows], most[rows],
        np.array([one.lengths for one in some]).T.ravel(),
        np.repeat(np.arange(len(some)), [len(one.rows) for one in queries]), least, most, len(some),
    )  # fmt: skip
