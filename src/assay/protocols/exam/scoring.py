"""From grades to scores: EXAM-Cover in its variants, EXAM-Qrels, α-nDCG, and sweeps over τ.

Source: Farzi & Dietz, EXAM++, section 4.3. Pure: grades may come from labels or from a published
file. A value that hangs on grades that are missing is a range from what it is at worst to what it
is at best, never a guess. What the pool does not hold is not judged: it covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.base import Measure
from assay.measures.batch import score_hits
from assay.measures.coverage import labels
from assay.measures.grades import RELEVANT
from assay.measures.names import parse_measure
from assay.measures.ranges import Range, Ranges
from assay.measures.ranking.subtopics import AlphaNDCG
from assay.measures.ranking_ranges import Ends, score_ranges
from assay.model.exam import Bank, Ranking, Run
from assay.model.exam_grades import NO_GRADE, NO_GRADES, Grades
from assay.model.lazy import LazyMapping
from assay.model.scratch import Parts, Scratch
from assay.protocols.exam.pools import (
    COVER,
    NORMALISED,
    WEIGHTED,
    Group,
    Query,
    ShownLists,
    by_shape,
    filled,
    known_grades,
    portions,
)
from assay.protocols.ranked import Ranked

SILENT = Ranking()
"""The ranking of a run without passages."""

Values = Mapping[str, Ranges]
"""measure → query → value, from floor to ceiling."""


MEASURES = ("AP", "nDCG@20", "Rprec", "RR", "α-nDCG@20")
"""The default measures of EXAM-Qrels."""


@dataclass(frozen=True)
class ExamOptions:
    """How grades become scores. ``tau``: the lowest grade that counts as answered. ``k``: the
    passages of a run that count. ``denominator``: ``bank`` for all active questions of the query,
    or ``graded`` for those with a grade for some passage of the pool. ``measures``: of EXAM-Qrels,
    by name; binary ones require a label of at least τ. ``top``: the highest possible grade."""

    tau: int = 4
    k: int = 20
    denominator: Literal["bank", "graded"] = "bank"
    measures: tuple[str, ...] = MEASURES
    top: int = 5


def _held_places(run: Run, query: str) -> Sequence[str]:
    """The passages shown for a query, rank by rank. Unknown ones get an id that no passage has."""
    shown = run[query]
    places = shown.places()
    if places is shown.passages and all(shown.passages):
        return shown.passages  # the usual case, without a copy of each list
    return [one or f"unknown;{rank}" for rank, one in enumerate(places, 1)]


class ExamScorer:
    """Scores runs over the queries of a bank by the grades of a pool. Raises ValueError if the name
    of a measure is not understood."""

    def __init__(self, bank: Bank, pool: Mapping[str, Grades], options: ExamOptions) -> None:
        self.options = options
        self.measures: dict[str, Measure] = {name: parse_measure(name) for name in options.measures}
        self.queries = tuple(query for query in bank.queries if bank.questions(query))
        self._queries: dict[str, Query] = {}
        for query in self.queries:
            questions = bank.questions(query)
            grades = pool.get(query, NO_GRADES)
            matrix = grades.columns([question.id for question in questions])
            known = labels(matrix)
            graded = (matrix != NO_GRADE).any(axis=0)
            # If nothing has a grade yet, any question may turn out to have one.
            every = options.denominator == "bank" or not graded.any()
            asked = np.ones(len(questions), bool) if every else graded
            matrix[:, ~asked] = 0
            matrix[-1] = 0
            self._queries[query] = Query(
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
        """EXAM-Label of every passage of the pool that has a grade, from the grades that exist:
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
                run: LazyMapping(rankings, partial(_held_places, rankings))
                for run, rankings in runs.items()
            },
            measures={n: str(_at(m, tau)) for n, m in wanted.items() if n not in alphas},
            g_max=float(self.options.top),
            answered=answered,
            subtopics=LazyMapping(self._queries, lambda query: self._queries[query].by_question()),
            subtopic_measures={name: str(_at(wanted[name], tau)) for name in alphas},
        )

    def judged(self, least: int | None = None) -> Iterator[tuple[str, str, int]]:
        """The lines of :meth:`qrels`: query, passage, label. With ``least``, the label is 1 if it
        is at least that, else 0."""
        for query, found in self.qrels().items():
            for passage, label in found.items():
                yield query, passage, label if least is None else int(label >= least)

    def unsure(self, query: str) -> int:
        """The number of pairs of the query's pool and bank without a grade."""
        return self._queries[query].missing

    def _lists(self, runs: Iterable[Run]) -> Iterator[ShownLists]:
        every = list(runs)
        for number, (query, one) in enumerate(self._queries.items()):
            lists = [run.get(query, SILENT) for run in every]
            places = [each.places() for each in lists]
            yield ShownLists(
                number,
                one,
                one.shown([each.first(self.options.k) for each in lists]),
                one.shown(places),
                np.array(list(map(len, places))),
            )

    def by_run(
        self, runs: Mapping[str, Run], tau: int
    ) -> Iterator[tuple[str, Bools, Bools, Bools]]:
        """For each query, which questions (columns) each run (rows) answers among the passages that
        count for cover, certainly and possibly; and which each pooled passage certainly answers."""
        for query, shown in zip(self.queries, self._lists(runs.values()), strict=True):
            surely = shown.query.matrix >= tau
            possibly = filled(shown.query.matrix, self.options.top) >= tau
            answered = (np.any(one[shown.first], axis=1) for one in (surely, possibly))
            yield query, *answered, surely

    def asked(self, query: str) -> Bools:
        """Which of a query's questions are in the denominator."""
        return self._queries[query].asked

    def at(self, runs: Mapping[str, Run], taus: Iterable[int]) -> Mapping[int, dict[str, Values]]:
        """Every measure for every query of each run, at each τ, made on look-up; 0 without
        passages."""
        names = (COVER, WEIGHTED, NORMALISED, *self.measures)
        parts, by_tau = Parts(Scratch()), tuple(taus)
        for some in portions(self._lists(runs.values())):
            tables = self._tables(some, names, len(runs), by_tau)
            for tau, values in tables.items():
                # Queries are the first axis, so that those of the next portion can follow.
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

        return LazyMapping(by_tau, found)

    def _tables(
        self, some: Sequence[ShownLists], names: Sequence[str], runs: int, taus: Sequence[int]
    ) -> dict[int, Floats]:
        """By τ, for some queries: measures × floors and ceilings × runs × queries."""
        found = {tau: np.zeros((len(names), 2, runs, len(some))) for tau in taus}
        tables = {tau: dict(zip(names, values, strict=True)) for tau, values in found.items()}
        first = some[0].number
        alphas = {n: one for n, one in self.measures.items() if isinstance(one, AlphaNDCG)}
        plain = {n: one for n, one in self.measures.items() if n not in alphas}
        every = dict.fromkeys(_at(one, tau) for tau in taus for one in plain.values())
        for is_open in (False, True):
            own = [one for one in some if (one.query.missing > 0) == is_open]
            values = _scored(own, list(every), float(self.options.top)) if own else {}
            numbers = np.array([one.number - first for one in own], np.int64)
            for tau, table in tables.items() if own else ():
                for name, one in plain.items():
                    table[name][:, :, numbers] = values[_at(one, tau)]
        for group in map(Group, by_shape(some)):
            for tau, table in tables.items():
                ranges = dict(group.covers(tau))
                ranges |= {name: group.alpha(one, tau) for name, one in alphas.items()}
                for name, (floors, ceilings) in ranges.items():
                    table[name][0][:, group.numbers - first] = floors.T
                    table[name][1][:, group.numbers - first] = ceilings.T
        return found

    def unjudged(self, run: Run) -> int:
        """How many of the run's first k passages have no grade at all."""
        return sum(
            int((one.query.labels[one.first] == NO_GRADE).sum()) for one in self._lists([run])
        )


def _scored(
    some: Sequence[ShownLists], measures: Sequence[Measure], top: float
) -> Mapping[Measure, Floats | Ends]:
    """Lists of queries scored by EXAM-Labels: ranges if grades are missing, as they then are in all
    of these queries, else certain values."""
    known = known_grades(some)
    if some[0].query.missing:
        return score_ranges(measures, known, [top])
    return score_hits(known.hits(known.best, top), known.ideals(known.ideal_best, top), measures)


def _at(measure: Measure, tau: int) -> Measure:
    """A binary measure with τ as its least label, unless its name sets another."""
    rel = getattr(measure, "rel", None)
    return measure(rel=float(tau)) if rel == RELEVANT else measure
