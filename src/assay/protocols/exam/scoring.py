"""From grades to scores: EXAM-Cover in its variants, EXAM-Qrels, α-nDCG, and sweeps over τ.

Source: Farzi & Dietz, EXAM++, section 4.3. Pure: grades may come from labels or from a published
file. A value that hangs on grades that are missing is a range from what it is at worst to what it
is at best, never a guess. What the pool does not hold is not judged: it covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.coverage import (
    AlphaIdeal,
    alpha_ideal,
    alpha_ideal_range,
    alpha_ndcg,
    alpha_ndcg_range,
    cover,
    labels,
    normalised_cover,
)
from assay.measures.grades import RELEVANT
from assay.measures.hits import Floats, Hits, Integers
from assay.measures.judgements import Judgements
from assay.measures.names import parse_measure
from assay.measures.ranges import Range
from assay.measures.ranking.subtopics import AlphaNDCG
from assay.measures.ranking_ranges import score_range
from assay.model.exam import Bank, Ranking, Run
from assay.model.exam_grades import NO_GRADE, NO_GRADES, GradeMatrix, Grades
from assay.protocols.ranked import Ranked

COVER = "EXAM-Cover"
WEIGHTED = "EXAM-Cover-weighted"
NORMALISED = "EXAM-Cover-normalised"

Rows = npt.NDArray[np.intp]
Answered = npt.NDArray[np.bool_]

NOTHING = Ranking()
"""What a run shows that is silent."""

Values = dict[str, dict[str, Range]]
"""measure → query → value, from floor to ceiling."""


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
    measures: tuple[str, ...] = ("AP", "nDCG@20", "Rprec", "RR", "α-nDCG@20")
    top: int = 5


Ideal = tuple[float, AlphaIdeal | None]
"""The denominator of α-nDCG, and its ends where grades are missing."""


@dataclass(eq=False)
class _Query:
    """A query's pool, looked at through its bank: rows are passages (the last, of grade 0, stands
    for any that is not in the pool), columns the active questions. ``labels`` are the best grades
    that there are, row by row. A question that is not ``asked`` is nobody's to answer: where it
    has no grade, nothing is missing."""

    rows: Mapping[str, int]
    questions: Sequence[str]
    labels: Sequence[int]
    matrix: GradeMatrix
    weights: npt.NDArray[np.float64]
    asked: npt.NDArray[np.bool_]
    top: int
    _ideals: dict[tuple[int, float, int | None], Ideal] = field(default_factory=dict)

    def places(self, passages: Iterable[str | None]) -> list[int]:
        """The row of each passage, the last one for those that the pool does not hold."""
        absent = len(self.rows)
        return [self.rows.get(one or "", absent) for one in passages]

    def rows_of(self, lists: Sequence[Sequence[str | None]]) -> Rows:
        """The same of each list, filled up with the last row."""
        rows = np.full((len(lists), max(map(len, lists), default=0)), len(self.rows))
        for number, passages in enumerate(lists):
            rows[number, : len(passages)] = self.places(passages)
        return rows

    @cached_property
    def missing(self) -> int:
        """How many pairs lack a grade."""
        return int((self.matrix == NO_GRADE).sum())

    @cached_property
    def weighted(self) -> bool:
        """Whether the weights make a difference."""
        return bool((self.weights != 1.0).any())

    def by_question(self) -> dict[str, dict[str, int]]:
        """The grades that are known: question → passage → grade."""
        return {
            question: {
                passage: grade
                for passage, row in self.rows.items()
                if (grade := int(self.matrix[row, column])) != NO_GRADE
            }
            for column, question in enumerate(self.questions)
        }

    @cached_property
    def least(self) -> list[float]:
        """The label of each row if every missing grade were 0."""
        return [float(max(label, 0)) for label in labels(self.matrix).tolist()]

    @cached_property
    def most(self) -> list[float]:
        """The same if every missing grade were the best."""
        return [float(label) for label in labels(self.possible).tolist()]

    @cached_property
    def possible(self) -> GradeMatrix:
        """The grades if every missing one were the best."""
        filled = np.where(self.matrix == NO_GRADE, self.top, self.matrix)
        return np.asarray(filled, dtype=np.int8)

    def ideal(self, tau: int, alpha: float, k: int | None) -> Ideal:
        key = (tau, alpha, k)
        if key not in self._ideals:
            # Of equal gains the last id in the alphabet, as everywhere (AlphaNDCG).
            order = [row for _, row in sorted(self.rows.items(), reverse=True)]
            surely, possibly = self.matrix[order] >= tau, self.possible[order] >= tau
            ends = alpha_ideal_range(surely, possibly, alpha=alpha, k=k) if self.missing else None
            self._ideals[key] = (0.0 if ends else alpha_ideal(surely, alpha=alpha, k=k), ends)
        return self._ideals[key]


@dataclass(frozen=True, eq=False)
class Shown:
    """What runs show for each query, as rows of its pool: an array with a row a run. ``first`` has
    what counts for cover, ``places`` whole lists, which have these ``lengths``; shorter ones are
    filled up with the row of what is not in the pool. ``known`` are scores that were computed."""

    runs: tuple[str, ...]
    first: Mapping[str, Rows]
    places: Mapping[str, Rows]
    lengths: Mapping[str, Integers]
    known: dict[Measure, Floats] = field(default_factory=dict)


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
            known = labels(matrix).tolist()
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

    def qrels(self) -> dict[str, dict[str, int]]:
        """EXAM-Label of every passage of the pool that has a grade, by the grades that there are:
        query → passage → label."""
        return {
            query: {
                passage: one.labels[row]
                for passage, row in one.rows.items()
                if one.labels[row] != NO_GRADE
            }
            for query, one in self._queries.items()
        }

    @property
    def weighted(self) -> bool:
        """Whether the weights of questions make a difference."""
        return any(one.weighted for one in self._queries.values())

    def label_ranges(self) -> dict[str, dict[str, Range]]:
        """EXAM-Label of every passage of the pool, from its least to its greatest."""
        return {
            query: {name: Range(one.least[row], one.most[row]) for name, row in one.rows.items()}
            for query, one in self._queries.items()
        }

    def ranked(self, runs: Mapping[str, Run], measures: Iterable[str], *, answered: bool) -> Ranked:
        """The runs as ``measures`` score them, for files."""
        wanted = {name: self.measures[name] for name in measures if name in self.measures}
        tau = self.options.tau
        return Ranked(
            topics=self.queries,
            qrels={query: judged for query, judged in self.qrels().items() if judged},
            runs={
                run: {
                    # What nobody knows keeps its rank, under an id that is no passage's.
                    query: [one or f"unknown;{rank}" for rank, one in enumerate(shown.places(), 1)]
                    for query, shown in rankings.items()
                }
                for run, rankings in runs.items()
            },
            measures={n: str(_at(m, tau)) for n, m in wanted.items() if _is_plain(m)},
            g_max=float(self.options.top),
            answered=answered,
            subtopics={query: one.by_question() for query, one in self._queries.items()},
            subtopic_measures={n: str(_at(m, tau)) for n, m in wanted.items() if not _is_plain(m)},
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

    def shown(self, runs: Mapping[str, Run]) -> Shown:
        """What runs show, to be scored at any τ."""
        first: dict[str, Rows] = {}
        places: dict[str, Rows] = {}
        for query, one in self._queries.items():
            lists = [run.get(query, NOTHING) for run in runs.values()]
            first[query] = one.rows_of([each.first(self.options.k) for each in lists])
            places[query] = one.rows_of([each.places() for each in lists])
        lengths = {
            query: np.array([len(run.get(query, NOTHING).places()) for run in runs.values()])
            for query in self._queries
        }
        return Shown(tuple(runs), first, places, lengths)

    def by_run(self, shown: Shown, tau: int) -> Iterator[tuple[str, Answered, Answered, Answered]]:
        """For each query which questions (columns) each run (rows) answers among what counts for
        cover, surely and possibly; and which each passage of the pool answers surely."""
        for query, one in self._queries.items():
            surely, possibly = one.matrix >= tau, one.possible >= tau
            rows = shown.first[query]
            yield query, np.any(surely[rows], axis=1), np.any(possibly[rows], axis=1), surely

    def asked(self, query: str) -> npt.NDArray[np.bool_]:
        """Which of a query's questions are in the denominator."""
        return self._queries[query].asked

    def score(self, run: Run) -> Values:
        """Every measure for every query at the τ of the options; a query that the run is silent on
        is 0."""
        return self.at(self.shown({"": run}), self.options.tau)[""]

    def at(self, shown: Shown, tau: int) -> dict[str, Values]:
        """The same of each run, at any τ."""
        measures = {name: _at(measure, tau) for name, measure in self.measures.items()}
        known = self._known(shown, measures.values())
        found: dict[str, Values] = {
            run: {name: {} for name in (COVER, WEIGHTED, NORMALISED, *measures)}
            for run in shown.runs
        }

        def take(name: str, query: str, floors: Floats, ceilings: Floats) -> None:
            for run, floor, ceiling in zip(
                shown.runs, floors.tolist(), ceilings.tolist(), strict=True
            ):
                found[run][name][query] = Range(floor, ceiling)

        for query, one in self._queries.items():
            first, places = shown.first[query], shown.places[query]
            plain = cover(one.matrix[first], tau, of=one.asked)
            take(COVER, query, plain.floor, plain.ceiling)
            if one.weighted:
                plain = cover(one.matrix[first], tau, one.weights, of=one.asked)
            take(WEIGHTED, query, plain.floor, plain.ceiling)
            take(NORMALISED, query, *normalised_cover(one.matrix, first, tau, of=one.asked))
            for name, measure in measures.items():
                if isinstance(measure, AlphaNDCG):
                    take(name, query, *_alpha(one, places[:, : measure.k], tau, measure))
                elif not one.missing:
                    values = known[measure][:, self._complete.index[query]]
                    take(name, query, values, values)
                else:
                    for run, rows, length in zip(
                        shown.runs, places.tolist(), shown.lengths[query].tolist(), strict=True
                    ):
                        found[run][name][query] = _ranked(one, rows[:length], measure)
        return found

    @cached_property
    def _complete(self) -> Judgements:
        """The labels of the queries without a missing grade, of which there is one at least."""
        return Judgements(
            {
                query: dict(zip(one.rows, one.least, strict=False))
                for query, one in self._queries.items()
                if not one.missing
            },
            g_max=float(self.options.top),
        )

    def _known(self, shown: Shown, measures: Iterable[Measure]) -> Mapping[Measure, Floats]:
        """Measures of EXAM-Qrels over the queries without a missing grade: a row a run."""
        plain = [one for one in measures if _is_plain(one) and one not in shown.known]
        if plain and not all(one.missing for one in self._queries.values()):
            shown.known.update(score_hits(self._hits(shown), self._complete, plain))
        return shown.known

    def _hits(self, shown: Shown) -> Hits:
        topics = self._complete.topics
        before = 0
        parts: list[tuple[Integers, ...]] = []
        for topic, query in enumerate(topics):
            absent = len(self._queries[query].rows)
            run, place = np.nonzero(shown.places[query] != absent)
            lists = run * len(topics) + topic
            parts.append((lists, place + 1, shown.places[query][run, place] + before))
            before += absent
        lists, ranks, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        lengths = np.array([shown.lengths[query] for query in topics]).T.ravel()
        return Hits.collect(lists, ranks, rows, self._complete.flat, lengths)

    def covered(self, run: Run, query: str, tau: int) -> npt.NDArray[np.bool_]:
        """Which of the query's questions the run covers."""
        one = self._queries[query]
        shown = one.places(run.get(query, NOTHING).first(self.options.k))
        return cover(one.matrix[shown], tau).covered

    def unjudged(self, run: Run) -> int:
        """How many of the run's first k passages have no grade at all."""
        return sum(
            one.labels[row] == NO_GRADE
            for query, one in self._queries.items()
            for row in one.places(run.get(query, NOTHING).first(self.options.k))
        )


def certain(values: Iterable[Range]) -> list[float]:
    """The values of queries; none at all where one of them is open."""
    found = [(one.floor, one.value) for one in values]
    return [] if any(value is None for _, value in found) else [floor for floor, _ in found]


def mean_range(values: Iterable[Range]) -> Range:
    """The mean of ranges, which has at least one."""
    every = list(values)
    floor, ceiling = (fsum(ends) / len(every) for ends in zip(*every, strict=True))
    return Range(floor, ceiling)


def _alpha(one: _Query, rows: Rows, tau: int, measure: AlphaNDCG) -> tuple[Floats, Floats]:
    alpha, k = measure.alpha, measure.k
    value, ends = one.ideal(tau, alpha, k)
    surely = one.matrix[rows] >= tau
    if ends is None:
        sure = alpha_ndcg(surely, value, alpha=alpha, k=k)
        return sure, sure
    return alpha_ndcg_range(surely, one.possible[rows] >= tau, ends, alpha=alpha, k=k)


def _ranked(one: _Query, rows: Sequence[int], measure: Measure) -> Range:
    """A measure of EXAM-Qrels, by the least and greatest label at each rank."""
    absent = len(one.rows)  # what is not in the pool is not judged
    least = [None if one.labels[row] == NO_GRADE else one.least[row] for row in rows]
    most = [None if row == absent else one.most[row] for row in rows]
    return score_range(measure, least, most, one.least[:-1], one.most[:-1], [float(one.top)])


def _is_plain(measure: Measure) -> bool:
    """Whether labels of passages are all that the measure needs."""
    return not isinstance(measure, AlphaNDCG)


def _at(measure: Measure, tau: int) -> Measure:
    """A binary measure asks for labels of at least τ, unless its name says otherwise."""
    rel = getattr(measure, "rel", None)
    return measure(rel=float(tau)) if rel == RELEVANT else measure
