"""From grades to scores: EXAM-Cover in its variants, EXAM-Qrels, α-nDCG, and sweeps over τ.

Source: Farzi & Dietz, EXAM++, section 4.3. Pure: grades may come from labels or from a published
file. A value that hangs on a grade that is not known is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.measures.coverage import (
    NO_GRADE,
    GradeMatrix,
    Grades,
    alpha_ideal,
    alpha_ndcg,
    cover,
    labels,
)
from assay.measures.diversity import AlphaNDCG
from assay.measures.names import parse_measure
from assay.measures.ranking import RELEVANT, Measure
from assay.model.exam import Bank, Ranking, Run
from assay.protocols.ranked import Ranked

COVER = "EXAM-Cover"
WEIGHTED = "EXAM-Cover-weighted"
NORMALISED = "EXAM-Cover-normalised"

NOTHING = Ranking()
"""What a run shows that is silent."""

Values = dict[str, dict[str, float | None]]
"""measure → query → value; None where a label is missing."""


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


@dataclass(eq=False)
class _Query:
    """A query's pool, looked at through its bank: rows are passages (the last stands for any that
    is not in the pool), columns the active questions."""

    rows: Mapping[str, int]
    questions: Sequence[str]
    matrix: GradeMatrix
    weights: npt.NDArray[np.float64]
    asked: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.int8]
    _ideals: dict[tuple[int, float, int | None], float] = field(default_factory=dict)

    def shown(self, passages: Sequence[str | None]) -> GradeMatrix:
        absent = len(self.matrix) - 1
        return self.matrix[[self.rows.get(one or "", absent) for one in passages]]

    @cached_property
    def pool_best(self) -> npt.NDArray[np.int8]:
        return np.asarray(self.matrix.max(axis=0), dtype=np.int8)

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

    def ideal(self, tau: int, alpha: float, k: int | None) -> float:
        key = (tau, alpha, k)
        if key not in self._ideals:
            # Of equal gains the last id in the alphabet, as everywhere (AlphaNDCG).
            order = [row for _, row in sorted(self.rows.items(), reverse=True)]
            self._ideals[key] = alpha_ideal(self.matrix[order] >= tau, alpha=alpha, k=k)
        return self._ideals[key]


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
            grades = pool.get(query) or Grades((), (), np.empty((0, 0), dtype=np.int8))
            matrix = grades.columns([question.id for question in questions])
            graded = (matrix != NO_GRADE).any(axis=0)
            asked = graded if options.denominator == "graded" else np.ones(len(questions), bool)
            self._queries[query] = _Query(
                {passage: row for row, passage in enumerate(grades.passages)},
                [question.id for question in questions],
                matrix,
                np.array([question.weight for question in questions]),
                asked,
                labels(matrix[:-1]),
            )

    def qrels(self) -> dict[str, dict[str, int]]:
        """EXAM-Label of every passage of the pool that has a grade: query → passage → label."""
        return {
            query: {
                passage: int(found.labels[row])
                for passage, row in found.rows.items()
                if found.labels[row] != NO_GRADE
            }
            for query, found in self._queries.items()
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

    @cached_property
    def _judged(self) -> dict[str, dict[str, float]]:
        return {
            query: {passage: float(label) for passage, label in by_passage.items()}
            for query, by_passage in self.qrels().items()
        }

    @cached_property
    def _ideal_labels(self) -> dict[str, list[float]]:
        return {q: sorted(judged.values(), reverse=True) for q, judged in self._judged.items()}

    def unsure(self, query: str) -> int:
        """How many pairs of the query's pool and bank lack a grade."""
        return int((self._queries[query].matrix[:-1] == NO_GRADE).sum())

    def score(self, run: Run) -> Values:
        """Every measure for every query; a query that the run is silent on is 0."""
        values = self.covers(run, self.options.tau)
        values.update(self._qrels_values(run, self.options.tau))
        return values

    def covers(self, run: Run, tau: int) -> Values:
        """EXAM-Cover, weighted and normalised, at another τ."""
        found: Values = {COVER: {}, WEIGHTED: {}, NORMALISED: {}}
        for query, one in self._queries.items():
            shown = one.shown(run.get(query, NOTHING).first(self.options.k))
            can = one.asked & (one.pool_best >= tau)
            found[COVER][query] = _value(shown, tau, None, one.asked)
            found[WEIGHTED][query] = (
                _value(shown, tau, one.weights, one.asked) if one.weighted else found[COVER][query]
            )
            # What the pool can answer: its unknown grades leave the denominator open, so that a
            # normalised value is known only where the plain one is.
            known = found[COVER][query] is not None
            found[NORMALISED][query] = _value(shown, tau, None, can) if known else None
        return found

    def covered(self, run: Run, query: str, tau: int) -> npt.NDArray[np.bool_]:
        """Which of the query's questions the run covers."""
        one = self._queries[query]
        return cover(one.shown(run.get(query, NOTHING).first(self.options.k)), tau).covered

    def sweep(self, run: Run, taus: Iterable[int]) -> dict[int, Values]:
        """Every measure at every τ."""
        return {tau: {**self.covers(run, tau), **self._qrels_values(run, tau)} for tau in taus}

    def unjudged(self, run: Run) -> int:
        """How many of the run's first k passages have no grade at all."""
        count = 0
        for query, one in self._queries.items():
            shown = one.shown(run.get(query, NOTHING).first(self.options.k))
            count += int((shown == NO_GRADE).all(axis=1).sum())
        return count

    def _qrels_values(self, run: Run, tau: int) -> Values:
        plain = {n: m for n, m in self.measures.items() if _is_plain(m)}
        # The ideal lists are the pool's, the same for all runs: sorted once.
        top = float(self.options.top)
        measures = {name: _at(measure, tau) for name, measure in plain.items()}
        found: Values = {name: {} for name in measures}
        for query, judged in self._judged.items():
            shown = [judged.get(p or "") for p in run.get(query, NOTHING).places()]
            ideal = self._ideal_labels[query]
            for name, measure in measures.items():
                found[name][query] = measure.score(shown, ideal, top) if shown else 0.0
        for name, alpha in self.measures.items():
            if isinstance(alpha, AlphaNDCG):
                found[name] = {}
                for query, one in self._queries.items():
                    best = one.ideal(tau, alpha.alpha, alpha.k)
                    covers = one.shown(run.get(query, NOTHING).places()[: alpha.k]) >= tau
                    value = alpha_ndcg(covers, best, alpha=alpha.alpha, k=alpha.k)
                    found[name][query] = value
        return found


def _value(
    shown: GradeMatrix,
    tau: int,
    weights: npt.NDArray[np.float64] | None,
    of: npt.NDArray[np.bool_],
) -> float | None:
    if not len(shown):
        return 0.0 if of.any() else None
    return cover(shown, tau, weights, of=of).value


def _is_plain(measure: Measure) -> bool:
    """Whether labels of passages are all that the measure needs."""
    return not isinstance(measure, AlphaNDCG)


def _at(measure: Measure, tau: int) -> Measure:
    """A binary measure asks for labels of at least τ, unless its name says otherwise."""
    rel = getattr(measure, "rel", None)
    return measure(rel=float(tau)) if rel == RELEVANT else measure
