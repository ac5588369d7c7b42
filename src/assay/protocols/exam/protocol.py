"""The protocol ``exam``: EXAM++, from a question bank and runs to scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.measures.scores import Score
from assay.model.exam import Bank, Run
from assay.model.wording import counted, named
from assay.page.page import Board, Gap
from assay.protocols.base import Protocol, Step
from assay.protocols.contents import Content
from assay.protocols.definitions import glossary
from assay.protocols.exam.files import PACKED, own_files
from assay.protocols.exam.grading import (
    GradedPool,
    asked,
    grade,
    questions,
    sheets,
    tasks,
    verifications,
)
from assay.protocols.exam.inputs import ExamInputs, ExamSettings, load
from assay.protocols.exam.items import items_part
from assay.protocols.exam.meta import (
    Sweeps,
    agreement,
    agreement_part,
    leaderboard_part,
    sweep_part,
    sweeps,
)
from assay.protocols.exam.scoring import (
    COVER,
    NORMALISED,
    NOTHING,
    WEIGHTED,
    ExamOptions,
    ExamScorer,
    Values,
)
from assay.protocols.exam.supervision import supervision_parts
from assay.protocols.labels import LabelBook
from assay.protocols.means import score_table
from assay.protocols.results import Findings
from assay.tasks.r2c2 import ANSWER


class Exam(Protocol[ExamSettings, ExamInputs]):
    """EXAM++ (and RUBRIC's question-based grading). Source: Farzi & Dietz."""

    name = "exam"
    title = "EXAM++ · which exam questions do the passages answer?"
    settings = ExamSettings
    entries = (
        "bank",
        "graded",
        "official",
        "passages",
        "qrels",
        "queries",
        "responses",
        "runs",
    )
    tasks = staticmethod(tasks)
    load = staticmethod(load)

    def steps(self, inputs: ExamInputs, settings: ExamSettings) -> Iterator[Step]:
        first, pairs = tasks(settings)[0], partial(sheets, inputs, settings)
        yield Step.about("grades", first, lambda _: asked(inputs, first, pairs()))
        if settings.grading == "qa-verified":
            verified = partial(verifications, inputs, settings)
            yield Step.about("answer verification", ANSWER, verified, waits=True)

    def score(self, inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> Findings:
        direct = settings.grading.startswith("direct:")
        found = scored(inputs, settings, book, sweep=not direct)
        pool, bank, scorer = found.pool, found.bank, found.scorer
        values, scores = found.values, found.scores
        measures = _measures(scorer, settings)
        agreed = agreement(inputs, scorer, settings)
        return Findings(
            topics=scorer.queries,
            scores=scores,
            per_topic=values,
            boards=(_board(inputs, scorer, measures, settings),),
            definitions=glossary("exam"),
            facts=_facts(inputs, scorer, bank, pool, settings),
            gaps=tuple(_gaps(inputs, scorer, values, settings)),
            files=own_files(inputs, settings, pool, scorer, scores, values, found.swept),
            packed={} if direct else PACKED,
            ranked=scorer.ranked(inputs.runs, measures, answered=settings.silent != "zero"),
            parts=lambda: (
                *leaderboard_part(inputs, scores, values, settings),
                *sweep_part(inputs, found.swept, settings),
                *agreement_part(agreed),
                *(() if direct else (items_part(inputs, bank, scorer, settings.least),)),
                *supervision_parts(inputs, pool, scorer, settings),
            ),
            document=lambda: {
                "tau": settings.least,
                "k": settings.k,
                "grading": settings.grading,
                "agreement": None if agreed is None else agreed.document(),
            },
            warnings=tuple(_strangers(inputs)),
            detail=found,
            topic_texts=inputs.queries,
        )

    def contents(self, inputs: ExamInputs, run: str) -> Mapping[str, Content]:
        shown = inputs.runs.get(run, {})
        return {
            query: Content(
                inputs.queries.get(query, ""),
                [text for one in inputs.bank.questions(query) for text in (one.text, *one.gold)],
                passages=[
                    [doc, inputs.texts.get(doc)]
                    for doc in (shown[query].passages if query in shown else ())
                ],
            )
            for query in inputs.bank.queries
        }

    def inputs_in_words(self, inputs: ExamInputs) -> str:
        count = sum(len(inputs.bank.questions(query)) for query in inputs.bank.queries)
        return (
            f"{counted(len(inputs.bank.queries), 'query', 'queries')}, "
            f"{counted(count, 'exam question')}, {counted(len(inputs.runs), 'run')}, "
            f"{counted(sum(map(len, inputs.pool.values())), 'passage')} to grade"
        )


EXAM = Exam()


@dataclass(frozen=True)
class GradedRuns:
    """Grades, and the scores of every run: ``values`` by query, ``scores`` over them, and what
    they are at every τ."""

    pool: GradedPool
    bank: Bank
    scorer: ExamScorer
    values: Mapping[str, Values]
    scores: Mapping[str, Mapping[str, Score]]
    swept: Sweeps


def scored(
    inputs: ExamInputs, settings: ExamSettings, book: LabelBook, *, sweep: bool = False
) -> GradedRuns:
    """Score all runs by the labels in ``book``; with ``sweep`` at every τ up to the best grade."""
    pool = grade(inputs, settings, book)
    bank = questions(inputs, settings)
    options = ExamOptions(
        settings.least, settings.k, settings.denominator, settings.measures, settings.top
    )
    scorer = ExamScorer(bank, pool.grades, options)
    measures = _measures(scorer, settings)
    taus = range(1, settings.top + 1) if sweep else ()
    by_tau = scorer.at(inputs.runs, dict.fromkeys((*taus, settings.least)))
    own = by_tau[settings.least]
    per_topic = {
        run: _averaged(own[run], measures, ranking, settings)
        for run, ranking in inputs.runs.items()
    }
    scores = score_table(per_topic, settings)
    return GradedRuns(pool, bank, scorer, per_topic, scores, sweeps(by_tau) if sweep else {})


def _measures(scorer: ExamScorer, settings: ExamSettings) -> tuple[str, ...]:
    if settings.grading.startswith("direct:"):
        return tuple(name for name in settings.measures if not name.startswith("α"))
    return (COVER, *([WEIGHTED] if scorer.weighted else []), NORMALISED, *settings.measures)


def _averaged(values: Values, measures: Sequence[str], run: Run, settings: ExamSettings) -> Values:
    """The measures that are shown, of the queries that are averaged."""
    if settings.silent == "zero":
        return {name: values[name] for name in measures}
    answered = {query for query, ranking in run.items() if ranking}
    return {name: values[name].of(answered) for name in measures}


def _board(
    inputs: ExamInputs, scorer: ExamScorer, measures: tuple[str, ...], settings: ExamSettings
) -> Board:
    shown = {
        run: sum(len(ranking.get(query, NOTHING).first(settings.k)) for query in scorer.queries)
        for run, ranking in inputs.runs.items()
    }
    silent = _silent(inputs, scorer)
    note = f"τ = {settings.least}: a question counts as answered from this grade on."
    if any(silent.values()):
        counted = "count 0" if settings.silent == "zero" else "are left out of its means"
        note += f" Queries that a run leaves out {counted}."
    return Board("Runs", measures, note, columns={"passages": shown, "left out": silent})


def _facts(
    inputs: ExamInputs, scorer: ExamScorer, bank: Bank, pool: GradedPool, settings: ExamSettings
) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Queries", f"{len(scorer.queries):,}"),
        ("Runs", f"{len(inputs.runs):,}"),
        ("Passages in the pool", f"{sum(map(len, inputs.pool.values())):,}"),
    ]
    if not settings.grading.startswith("direct:"):
        count = sum(len(bank.questions(query)) for query in scorer.queries)
        facts.insert(1, ("Exam questions", f"{count:,}"))
        facts.append(("Grades", f"{pool.graded:,} of {pool.asked:,}"))
    if pool.from_file:
        facts.append(("Grades from the file", f"{pool.from_file:,}"))
    return tuple(facts)


def _silent(inputs: ExamInputs, scorer: ExamScorer) -> dict[str, int]:
    """How many queries each run leaves out."""
    return {
        run: sum(not ranking.get(query) for query in scorer.queries)
        for run, ranking in inputs.runs.items()
    }


def _gaps(
    inputs: ExamInputs,
    scorer: ExamScorer,
    values: Mapping[str, Values],
    settings: ExamSettings,
) -> Iterator[Gap]:
    """What is missing; nothing is where the count is 0."""
    silent = {run: count for run, count in _silent(inputs, scorer).items() if count}
    count = sum(silent.values())
    names = ", ".join(f"{run}: {each}" for run, each in silent.items())
    what = f"{named(count, 'query', 'queries')} left out by runs ({names})"
    so = "Counted as 0." if settings.silent == "zero" else "Left out of the run's means."
    yield Gap(count, what, so, grave=False)
    what = f"{named(inputs.untold, 'judged passage')} without a text, and not graded"
    yield Gap(inputs.untold, what, "Add their texts to [inputs] passages.", grave=False)
    every = (by_query for found in values.values() for by_query in found.values())
    count = len({query for by_query in every for query in by_query.uncertain})
    what = f"{named(count, 'query', 'queries')} with scores that hang on missing grades"
    yield Gap(count, what, "Such a score is shown from the worst that it can be to the best.")
    count = sum(
        ranking.unheld(settings.k)
        for run in (() if inputs.runs_given else inputs.runs.values())
        for query, ranking in run.items()
        if query in inputs.bank.queries
    )
    what = f"{named(count, 'rank')} of runs with passages that the graded file does not hold"
    yield Gap(count, what, "They cover nothing.", grave=False)
    count = len(inputs.bank.queries.keys() - set(scorer.queries))
    what = f"{named(count, 'query', 'queries')} without active questions"
    yield Gap(count, what, "They are not scored.", grave=False)


def _strangers(inputs: ExamInputs) -> Iterator[str]:
    for run, ranking in inputs.runs.items():
        others = [query for query in ranking if query not in inputs.bank.queries]
        if others:
            yield (
                f"{run}: {len(others)} queries are not in the bank and are not scored "
                f"(the first is {others[0]})."
            )
