"""The graded and scored runs of an evaluation, for files, reports and tools for banks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.exam import Bank, Run
from assay.protocols.exam.grading import GradedPool, grade, questions
from assay.protocols.exam.inputs import ExamInputs, ExamSettings
from assay.protocols.exam.pools import COVER, NORMALISED, WEIGHTED
from assay.protocols.exam.scoring import ExamOptions, ExamScorer, Values
from assay.protocols.labels import LabelBook
from assay.protocols.means import score_table

Sweeps = Mapping[str, Mapping[int, Mapping[str, Range]]]
"""run → τ → measure → mean over queries."""


@dataclass(frozen=True)
class ScoredRuns:
    """Grades, and the scores of every run by the ``measures`` that are shown: ``values`` by query,
    ``scores`` over queries, and ``swept``, the means at every τ."""

    inputs: ExamInputs
    settings: ExamSettings
    pool: GradedPool
    bank: Bank
    scorer: ExamScorer
    measures: tuple[str, ...]
    values: Mapping[str, Values]
    scores: Mapping[str, Mapping[str, Score]]
    swept: Sweeps


def scored(
    inputs: ExamInputs, settings: ExamSettings, book: LabelBook, *, sweep: bool = False
) -> ScoredRuns:
    """Score all runs by the labels in ``book``; with ``sweep`` at every τ."""
    pool = grade(inputs, settings, book)
    bank = questions(inputs, settings)
    options = ExamOptions(
        settings.least, settings.k, settings.denominator, settings.measures, settings.top
    )
    scorer = ExamScorer(bank, pool.grades, options)
    own = (COVER, *([WEIGHTED] if scorer.weighted else []), NORMALISED, *settings.measures)
    if settings.is_direct:
        own = tuple(name for name in settings.measures if not name.startswith("α"))
    taus = range(1, settings.top + 1) if sweep else ()
    by_tau = scorer.at(inputs.runs, dict.fromkeys((*taus, settings.least)))
    values = {
        run: _averaged(by_tau[settings.least][run], own, ranking, settings)
        for run, ranking in inputs.runs.items()
    }
    swept = _sweeps(by_tau) if sweep else {}
    scores = score_table(values, settings)
    return ScoredRuns(inputs, settings, pool, bank, scorer, own, values, scores, swept)


def _averaged(values: Values, measures: Sequence[str], run: Run, settings: ExamSettings) -> Values:
    """The measures that are shown, for the queries that are averaged."""
    if settings.silent == "zero":
        return {name: values[name] for name in measures}
    answered = {query for query, ranking in run.items() if ranking}
    return {name: values[name].of(answered) for name in measures}


def _sweeps(by_tau: Mapping[int, Mapping[str, Values]]) -> Sweeps:
    """The means of each run at every τ; empty if there is only one τ, or no query."""
    if len(by_tau) < 2:
        return {}
    found: dict[str, dict[int, dict[str, Range]]] = {}
    for tau, by_run in by_tau.items():
        for run, values in by_run.items():
            means = {name: ends.mean for name, ends in values.items() if ends}
            found.setdefault(run, {})[tau] = means
    return found
