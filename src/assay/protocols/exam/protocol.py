"""The protocol ``exam``: EXAM++, from a question bank and runs to scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from assay.model.wording import counted, noun
from assay.page.page import Board, Gap
from assay.protocols.base import Protocol, Step
from assay.protocols.contents import Content
from assay.protocols.definitions import glossary
from assay.protocols.exam.agreement import agreement, agreement_part, leaderboard_part, sweep_part
from assay.protocols.exam.files import PACKED, command, own_files
from assay.protocols.exam.grading import asked, sheets, tasks, verifications
from assay.protocols.exam.inputs import ExamInputs, ExamSettings, load
from assay.protocols.exam.items import items_part
from assay.protocols.exam.scored import ScoredRuns, scored
from assay.protocols.exam.scoring import SILENT
from assay.protocols.exam.supervision import supervision_parts
from assay.protocols.labels import LabelBook
from assay.protocols.results import Findings
from assay.tasks.r2c2 import ANSWER


class Exam(Protocol[ExamSettings, ExamInputs]):
    """EXAM++ (and RUBRIC's question-based grading). Source: Farzi & Dietz."""

    name = "exam"
    title = "EXAM++ · which exam questions do the passages answer?"
    settings = ExamSettings
    entries = (
        "bank", "graded", "official", "passages", "qrels", "queries", "responses", "runs",
    )  # fmt: skip
    tasks = staticmethod(tasks)
    load = staticmethod(load)

    def steps(self, inputs: ExamInputs, settings: ExamSettings) -> Iterator[Step]:
        first, pairs = tasks(settings)[0], partial(sheets, inputs, settings)
        yield Step.about("grades", first, lambda _: asked(inputs, first, pairs()))
        if settings.grading == "qa-verified":
            verified = partial(verifications, inputs, settings)
            yield Step.about("answer verification", ANSWER, verified, waits=True)

    def score(self, inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> Findings:
        direct = settings.is_direct
        found = scored(inputs, settings, book, sweep=not direct)
        scorer, agreed = found.scorer, agreement(found)
        return Findings(
            topics=scorer.queries,
            scores=found.scores,
            per_topic=found.values,
            boards=(_board(found),),
            definitions=glossary("exam"),
            facts=_facts(found),
            gaps=tuple(_gaps(found)),
            files=own_files(found),
            packed={} if direct else PACKED,
            commands=() if direct else (command(settings),),
            ranked=scorer.ranked(inputs.runs, found.measures, answered=settings.silent != "zero"),
            parts=lambda: (
                *leaderboard_part(found),
                *sweep_part(found),
                *agreement_part(agreed),
                *(() if direct else (items_part(found), *supervision_parts(found))),
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


def _board(found: ScoredRuns) -> Board:
    settings, queries = found.settings, found.scorer.queries
    shown = {
        run: sum(len(ranking.get(query, SILENT).first(settings.k)) for query in queries)
        for run, ranking in found.inputs.runs.items()
    }
    silent = _silent(found)
    note = f"τ = {settings.least}: a question counts as answered from this grade on."
    if any(silent.values()):
        counted = "count as 0" if settings.silent == "zero" else "are left out of its means"
        note += f" Queries that a run leaves out {counted}."
    return Board("Runs", found.measures, note, columns={"passages": shown, "left out": silent})


def _facts(found: ScoredRuns) -> tuple[tuple[str, str], ...]:
    inputs, pool, queries = found.inputs, found.pool, found.scorer.queries
    facts = [
        ("Queries", f"{len(queries):,}"),
        ("Runs", f"{len(inputs.runs):,}"),
        ("Passages in the pool", f"{sum(map(len, inputs.pool.values())):,}"),
    ]
    if not found.settings.is_direct:
        count = sum(len(found.bank.questions(query)) for query in queries)
        facts.insert(1, ("Exam questions", f"{count:,}"))
        facts.append(("Grades", f"{pool.graded:,} of {pool.asked:,}"))
    if pool.from_file:
        facts.append(("Grades from the file", f"{pool.from_file:,}"))
    return tuple(facts)


def _silent(found: ScoredRuns) -> dict[str, int]:
    """How many queries each run leaves out."""
    return {
        run: sum(not ranking.get(query) for query in found.scorer.queries)
        for run, ranking in found.inputs.runs.items()
    }


def _gaps(found: ScoredRuns) -> Iterator[Gap]:
    """What is missing; nothing is where the count is 0."""
    inputs, settings = found.inputs, found.settings
    silent = {run: count for run, count in _silent(found).items() if count}
    count = sum(silent.values())
    names = ", ".join(f"{run}: {each}" for run, each in silent.items())
    what = f"{noun(count, 'query', 'queries')} left out by runs ({names})"
    so = "Counted as 0." if settings.silent == "zero" else "Left out of the run's means."
    yield Gap(count, what, so, grave=False)
    what = f"{noun(inputs.without_text, 'judged passage')} without a text, and not graded"
    yield Gap(inputs.without_text, what, "Add their texts to [inputs] passages.", grave=False)
    every = (by_query for of in found.values.values() for by_query in of.values())
    count = len({query for by_query in every for query in by_query.uncertain})
    what = f"{noun(count, 'query', 'queries')} with scores that depend on missing grades"
    yield Gap(
        count, what, "Such a score is shown as a range from its worst to its best possible value."
    )
    count = sum(
        ranking.vacant(settings.k)
        for run in (() if inputs.runs_given else inputs.runs.values())
        for query, ranking in run.items()
        if query in inputs.bank.queries
    )
    what = f"{noun(count, 'rank')} of runs with passages that the graded file lacks"
    yield Gap(count, what, "They cover nothing.", grave=False)
    count = len(inputs.bank.queries.keys() - set(found.scorer.queries))
    what = f"{noun(count, 'query', 'queries')} without active questions"
    yield Gap(count, what, "They are not scored.", grave=False)


def _strangers(inputs: ExamInputs) -> Iterator[str]:
    for run, ranking in inputs.runs.items():
        others = [query for query in ranking if query not in inputs.bank.queries]
        if others:
            count = counted(len(others), "query", "queries")
            yield f"{run}: {count} not in the bank, and not scored (the first is {others[0]})."
