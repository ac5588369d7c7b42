"""From grades to scores: EXAM-Cover in its variants, EXAM-Qrels, α-nDCG, and sweeps over τ.

Source: Farzi & Dietz, EXAM++, section 4.3. Pure: grades may come from labels or from a published
file. A value that hangs on grades that are missing is a range from what it is at worst to what it
is at best, never a guess. What the pool does not hold is not judged: it covers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.coverage import (
    alpha_ideal_range,
    alpha_ideals,
    alpha_ndcg,
    alpha_ndcg_range,
    cover,
    labels,
    normalised_cover,
)
from assay.measures.grades import RELEVANT
from assay.measures.names import parse_measure
from assay.measures.ranges import Range, Ranges
from assay.measures.ranking.subtopics import AlphaNDCG
from assay.measures.ranking_ranges import Ends, KnownGrades, score_ranges
from assay.model.computed import Computed
from assay.model.exam import Bank, Ranking, Run
from assay.model.exam_grades import NO_GRADE, NO_GRADES, GradeMatrix, Grades
from assay.model.scratch import Parts, Scratch
from assay.protocols.ranked import Ranked

COVER = "EXAM-Cover"
WEIGHTED = "EXAM-Cover-weighted"
NORMALISED = "EXAM-Cover-normalised"

Rows = npt.NDArray[np.int32]

SILENT = Ranking()
"""What a run shows that is silent."""

_Scorer = tuple[
    Integers,
    dict[Measure, Floats | Ends],
    Callable[[list[Measure]], Mapping[Measure, Floats | Ends]],
]
"""Numbers of queries, their values by the measures that were seen, and what scores others."""

_PLACES = 1 << 18
"""Places in ranked lists that are looked at side by side."""

Values = Mapping[str, Ranges]
"""measure → query → value, from floor to ceiling."""


MEASURES = ("AP", "nDCG@20", "Rprec", "RR", "α-nDCG@20")
"""The measures of EXAM-Qrels where no others are named."""


@dataclass(frozen=True)
class ExamOptions:
    """How grades become scores.

    ``tau``: the least grade that counts as answered. ``k``: the passages of a run that count.
    ``denominator``: ``bank``, all active questions of the query, or ``graded``, those that have a
    grade for some passage of the pool. ``measures``: of EXAM-Qrels, by name; binary ones ask for
    a label of at least τ. ``top``: the best grade there is.
    """

    tau: int = 4
    k: int = 20
    denominator: Literal["bank", "graded"] = "bank"
    measures: tuple[str, ...] = MEASURES
    top: int = 5


@dataclass(eq=False)
class _Query:
    """A query's pool, looked at through its bank: rows are passages (the last, of grade 0, stands
    for any that is not in the pool), columns the active questions. ``labels`` are the best grades
    that there are, row by row. A question that is not ``asked`` is nobody's to answer: where it
    has no grade, nothing is missing."""

    rows: Mapping[str, int]
    questions: Sequence[str]
    labels: GradeMatrix
    matrix: GradeMatrix
    weights: Floats
    asked: Bools
    top: int

    @cached_property
    def by_id(self) -> list[int]:
        """The rows of passages, the last id in the alphabet first."""
        return [row for _, row in sorted(self.rows.items(), reverse=True)]

    def by_question(self) -> dict[str, dict[str, int]]:
        """The grades that are known: question → passage → grade."""
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
        """How many pairs lack a grade."""
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
        """The same if every missing grade were the best."""
        return labels(_filled(self.matrix, self.top))[:-1].astype(np.float64)

    def shown(self, lists: Sequence[Sequence[str | None]]) -> Rows:
        """The row of each passage, a list a run; the last one for those that the pool does not
        hold, and where lists are shorter than others."""
        absent = len(self.rows)
        rows = np.full((len(lists), max(map(len, lists), default=0)), absent, np.int32)
        for number, passages in enumerate(lists):
            rows[number, : len(passages)] = [self.rows.get(one or "", absent) for one in passages]
        return rows


def _held_places(run: Run, query: str) -> Sequence[str]:
    """What is shown for a query, place by place: what nobody knows keeps its rank, under an id that
    is no passage's."""
    shown = run[query]
    places = shown.places()
    if places is shown.passages and all(shown.passages):
        return shown.passages  # as nearly always: another list of each would take much
    return [one or f"unknown;{rank}" for rank, one in enumerate(places, 1)]


def _filled(matrix: GradeMatrix, top: int) -> GradeMatrix:
    """The grades if every missing one were the best."""
    return np.where(matrix == NO_GRADE, np.int8(top), matrix)


@dataclass(frozen=True, eq=False)
class _Shown:
    """What runs show for a query (the query's ``number``), as rows of its pool: an array with a row
    a run. ``first`` has what counts for cover, ``places`` whole lists, which have these
    ``lengths``; shorter ones are filled up with the row of what is not in the pool."""

    number: int
    query: _Query
    first: Rows
    places: Rows
    lengths: Integers

    @property
    def shape(self) -> tuple[object, ...]:
        """What queries have in common whose arrays fit side by side."""
        shapes = self.query.matrix.shape[1], self.first.shape, self.places.shape
        return (*shapes, self.query.missing > 0)


class _Group:
    """Queries side by side: arrays have an axis for them before the others."""

    def __init__(self, some: Sequence[_Shown]) -> None:
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
        # Of equal gains the last id in the alphabet, as everywhere (AlphaNDCG).
        pools = [pool[one.by_id] for pool, one in zip(self.pool, self.queries, strict=True)]
        if not self.queries[0].missing:
            ideals = alpha_ideals((pool >= tau for pool in pools), alpha=alpha, k=k)
            sure = alpha_ndcg(shown >= tau, ideals[:, None], alpha=alpha, k=k)
            return sure, sure
        top = self.queries[0].top
        possible = [_filled(pool, top) >= tau for pool in pools]
        ideal = alpha_ideal_range([pool >= tau for pool in pools], possible, alpha=alpha, k=k)
        return alpha_ndcg_range(shown >= tau, _filled(shown, top) >= tau, ideal, alpha=alpha, k=k)


class ExamScorer:
    """Scores runs over the queries of a bank by the grades of a pool.

    Raises ValueError where a measure's name is not understood.
    """

    def __init__(self, bank: Bank, pool: Mapping[str, Grades], options: ExamOptions) -> None:
        self.options = options
        self.measures: dict[str, Measure] = {name: parse_measure(name) for name in options.measures}
        self.queries = tuple(query for query in bank.queries if bank.questions(query))
        self._queries: dict[str, _Query] = {}
        for query in self.queries:
            questions = bank.questions(query)
            grades = pool.get(query, NO_GRADES)
            matrix = grades.columns([question.id for question in questions])
            known = labels(matrix)
            graded = (matrix != NO_GRADE).any(axis=0)
            # Where nothing has a grade yet, any question may turn out to be one that has.
            every = options.denominator == "bank" or not graded.any()
            asked = np.ones(len(questions), bool) if every else graded
            matrix[:, ~asked] = 0
            matrix[-1] = 0
            self._queries[query] = _Query(
                {passage: row for row, passage in enumerate(grades.passages)},
                [question.id for question in questions],
                known,
                matrix,
                np.array([question.weight for question in questions]),
                asked,
                options.top,
            )
        self._places = {query: place for place, query in enumerate(self._queries)}

    def qrels(self) -> dict[str, dict[str, int]]:
        """EXAM-Label of every passage of the pool that has a grade, by the grades that there are:
        query → passage → label."""
        return {
            query: {
                passage: label
                for passage, label in zip(one.rows, one.labels.tolist(), strict=False)
                if label != NO_GRADE
            }
            for query, one in self._queries.items()
        }

    @property
    def weighted(self) -> bool:
        """Whether the weights of questions make a difference."""
        return any(one.weighted for one in self._queries.values())

    def label_ranges(self) -> Iterator[tuple[str, dict[str, Range]]]:
        """EXAM-Label of every passage of the pool, from its least to its greatest, by query."""
        for query, one in self._queries.items():
            ends = map(Range, one.least.tolist(), one.most.tolist())
            yield query, dict(zip(one.rows, ends, strict=True))

    def ranked(self, runs: Mapping[str, Run], measures: Iterable[str], *, answered: bool) -> Ranked:
        """The runs as ``measures`` score them, for files."""
        wanted = {name: self.measures[name] for name in measures if name in self.measures}
        alphas = [name for name, one in wanted.items() if isinstance(one, AlphaNDCG)]
        tau = self.options.tau
        return Ranked(
            topics=self.queries,
            qrels={query: judged for query, judged in self.qrels().items() if judged},
            runs={
                run: Computed(rankings, partial(_held_places, rankings))
                for run, rankings in runs.items()
            },
            measures={n: str(_at(m, tau)) for n, m in wanted.items() if n not in alphas},
            g_max=float(self.options.top),
            answered=answered,
            subtopics=Computed(self._queries, lambda query: self._queries[query].by_question()),
            subtopic_measures={name: str(_at(wanted[name], tau)) for name in alphas},
        )

    def judged(self, least: int | None = None) -> Iterator[tuple[str, str, int]]:
        """The lines of :meth:`qrels`: query, passage, label; with ``least`` 1 for a label of at
        least that, else 0."""
        for query, found in self.qrels().items():
            for passage, label in found.items():
                yield query, passage, label if least is None else int(label >= least)

    def unsure(self, query: str) -> int:
        """How many pairs of the query's pool and bank lack a grade."""
        return self._queries[query].missing

    def _lists(self, runs: Iterable[Run]) -> Iterator[_Shown]:
        every = list(runs)
        for number, (query, one) in enumerate(self._queries.items()):
            lists = [run.get(query, SILENT) for run in every]
            places = [each.places() for each in lists]
            yield _Shown(
                number,
                one,
                one.shown([each.first(self.options.k) for each in lists]),
                one.shown(places),
                np.array(list(map(len, places))),
            )

    def by_run(
        self, runs: Mapping[str, Run], tau: int
    ) -> Iterator[tuple[str, Bools, Bools, Bools]]:
        """For each query which questions (columns) each run (rows) answers among what counts for
        cover, surely and possibly; and which each passage of the pool answers surely."""
        for query, shown in zip(self.queries, self._lists(runs.values()), strict=True):
            surely = shown.query.matrix >= tau
            possibly = _filled(shown.query.matrix, self.options.top) >= tau
            answered = (np.any(one[shown.first], axis=1) for one in (surely, possibly))
            yield query, *answered, surely

    def asked(self, query: str) -> Bools:
        """Which of a query's questions are in the denominator."""
        return self._queries[query].asked

    def at(self, runs: Mapping[str, Run], taus: Iterable[int]) -> Mapping[int, dict[str, Values]]:
        """Every measure for every query of each run, at any τ; made when they are looked up. A
        query that the run is silent on is 0."""
        names = (COVER, WEIGHTED, NORMALISED, *self.measures)
        parts, by_tau = Parts(Scratch()), tuple(taus)
        for some in _portions(self._lists(runs.values())):
            tables = self._tables(some, names, len(runs), by_tau)
            for tau, values in tables.items():
                # Queries first: those of the next portion follow.
                parts.add(tau, np.moveaxis(values, -1, 0).tobytes())

        def found(tau: int) -> dict[str, Values]:
            rows = np.frombuffer(parts.read(tau)).reshape(-1, len(names), 2, len(runs))
            columns = np.ascontiguousarray(np.moveaxis(rows, 0, -1))
            return {
                run: {
                    name: Ranges(self._places, *ends[:, number])
                    for name, ends in zip(names, columns, strict=True)
                }
                for number, run in enumerate(runs)
            }

        return Computed(by_tau, found)

    def _tables(
        self, some: Sequence[_Shown], names: Sequence[str], runs: int, taus: Sequence[int]
    ) -> dict[int, Floats]:
        """Of some queries, by τ: measures × floors and ceilings × runs × queries."""
        found = {tau: np.zeros((len(names), 2, runs, len(some))) for tau in taus}
        tables = {tau: dict(zip(names, values, strict=True)) for tau, values in found.items()}
        first = some[0].number
        groups = [_Group(same_shape) for same_shape in _of_one_shape(some)]
        scorers = list(self._scorers(some))
        for tau, table in tables.items():
            measures = {name: _at(one, tau) for name, one in self.measures.items()}
            plain = {n: one for n, one in measures.items() if not isinstance(one, AlphaNDCG)}
            for numbers, known, score in scorers:
                known.update(score([one for one in plain.values() if one not in known]))
                for name, one in plain.items():
                    table[name][:, :, numbers - first] = known[one]
            for group in groups:
                ranges = dict(group.covers(tau))
                for name, one in measures.items():
                    if isinstance(one, AlphaNDCG):
                        ranges[name] = group.alpha(one, tau)
                for name, (floors, ceilings) in ranges.items():
                    table[name][0][:, group.numbers - first] = floors.T
                    table[name][1][:, group.numbers - first] = ceilings.T
        return found

    def _scorers(self, some: Sequence[_Shown]) -> Iterator[_Scorer]:
        """Of queries without a missing grade and of the others, what scores their lists by
        EXAM-Labels: certainly, or from the worst to the best."""
        top = float(self.options.top)
        for is_open in (False, True):
            own = [one for one in some if (one.query.missing > 0) == is_open]
            if not own:
                continue
            known, numbers = _known(own), np.array([one.number for one in own])
            if is_open:
                yield numbers, {}, partial(score_ranges, known=known, g_max=[top])
            else:
                hits, ideals = known.hits(known.best, top), known.ideals(known.ideal_best, top)
                yield numbers, {}, partial(score_hits, hits, ideals)

    def unjudged(self, run: Run) -> int:
        """How many of the run's first k passages have no grade at all."""
        return sum(
            int((one.query.labels[one.first] == NO_GRADE).sum()) for one in self._lists([run])
        )


def _portions(lists: Iterable[_Shown]) -> Iterator[list[_Shown]]:
    """As many queries as are looked at side by side."""
    some: list[_Shown] = []
    places = 0
    for one in lists:
        some.append(one)
        places += one.places.size
        if places >= _PLACES:
            yield some
            some, places = [], 0
    if some:
        yield some


def _of_one_shape(some: Iterable[_Shown]) -> Iterable[list[_Shown]]:
    groups: dict[object, list[_Shown]] = {}
    for one in some:
        groups.setdefault(one.shape, []).append(one)
    return groups.values()


def _known(some: Sequence[_Shown]) -> KnownGrades:
    """What is known of the lists of some queries, one a query, run after run."""
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
    # Stable: within a list they are in the order of ranks already.
    order = np.argsort(lists, kind="stable")
    lists, ranks, rows = lists[order], ranks[order], rows[order]
    return KnownGrades(
        lists, ranks, np.where(graded, least, np.nan)[rows], most[rows],
        np.array([one.lengths for one in some]).T.ravel(),
        np.repeat(np.arange(len(some)), [len(one.rows) for one in queries]), least, most, len(some),
    )  # fmt: skip


def _at(measure: Measure, tau: int) -> Measure:
    """A binary measure asks for labels of at least τ, unless its name says otherwise."""
    rel = getattr(measure, "rel", None)
    return measure(rel=float(tau)) if rel == RELEVANT else measure
