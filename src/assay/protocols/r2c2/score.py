"""Scores of an R2C2 evaluation: steps 5 and 6. Reads labels, asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.measures.names import parse_measure
from assay.model.labels import Label
from assay.model.rag import Answer, PassageKey, PassageRun, Question
from assay.protocols.aside import Aside
from assay.protocols.folder import Folder
from assay.protocols.r2c2.acts import is_to_refuse
from assay.protocols.r2c2.counts import (
    Answers,
    derive_grades,
    notes_of,
    open_grades,
    some_missing,
)
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.labels import LabelBook, left_out, resolve
from assay.protocols.r2c2.protocol import R2C2
from assay.protocols.r2c2.relevance import check_relevance
from assay.protocols.r2c2.results import AnswerResult, R2C2Result
from assay.protocols.r2c2.work import Resampling, Verdicts, Work
from assay.protocols.ranked import Ranked
from assay.protocols.record import models_of, renamed
from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import SUPPORT

if TYPE_CHECKING:
    from assay.protocols.r2c2.kept import Kept

NUMBERS = "assay.protocols.r2c2.numbers"
"""The module that computes scores, which another process may load."""

GROUP = 20_000
"""Nuggets and answers that a large evaluation goes through at a time."""


def score(
    folder: Folder,
    inputs: Inputs,
    ledger: Ledger,
    policy: Policy,
    settings: R2C2Settings,
    *,
    whole: bool = False,
    large: bool = False,
    aside: Aside,
) -> R2C2Result:
    """Everything that the labels in the ledger say under ``policy``; with ``whole``, with the
    reasons and times that only a report shows; with ``large``, keeping of answers only what files
    and tables need (``kept``) and taking them out of ``inputs``; ``aside`` computes the numbers."""
    tasks = scored_tasks(inputs, settings)
    labellers, warnings = folder.labellers_for_scoring(tasks, partial(R2C2.labeller_spec, folder))
    book = LabelBook(ledger, policy, labellers, whole=whole, strict=inputs.strict)
    kept: Kept | None = None
    if large:
        late = import_module("assay.protocols.r2c2.kept")  # it needs numpy
        kept = late.Kept(book.configured.values())
    answers: dict[str, dict[str, AnswerResult]] = {name: {} for name in inputs.ac_files}
    for group in _groups(inputs, GROUP if large else 0):
        passages = {one.id: inputs.passages(one.id) for one in group}
        for question in group:
            for name, file in inputs.ac_files.items():
                answer = file.run.answers.get(question.id)
                answers[name][question.id] = (
                    left_out(name, question)
                    if answer is None
                    else resolve(book, name, question, answer, passages[question.id])
                )
        if kept is not None:
            kept.take(group, inputs.pr_runs, answers)
            _give_up(inputs, group)
    if kept is None:
        grades = derive_grades(inputs.questions, inputs.pr_runs, answers)
        rising = open_grades(inputs.questions, answers)
        people = any(one.is_human for one in ledger.labellers().values())
        notes = {
            name: notes_of(name, list(found.values()), people=people)
            for name, found in answers.items()
        }
    else:
        grades, rising, notes = kept.grades, kept.rising, kept.notes
    missing = some_missing(answers) if kept is None else kept.missing
    models = models_of(_labels(answers)) if kept is None else kept.models()
    remarks = [*book.remarks(missing=missing), *renamed(models)]
    work = _work(inputs, answers, grades, rising, settings)
    computed = aside.call(NUMBERS, "compute", work)
    result = R2C2Result(
        title=folder.config.evaluation.title or folder.path.resolve().name,
        policy=policy.name,
        questions=inputs.questions,
        pr_runs=inputs.pr_runs,
        answers=answers,
        notes=notes,
        grades=grades,
        ranked=work.ranked,
        computed=computed,
        no_relevant=tuple(
            question.id
            for question in inputs.questions
            if question.id not in rising and not any(grades[question.id].values())
        ),
        labellers={task: who for task, who in book.configured.items() if task in labellers},
        settings=settings.model_dump(mode="json"),
        relevance=(
            check_relevance(book, inputs, grades, settings.relevance_check)
            if settings.relevance_check
            else None
        ),
        warnings=(*inputs.warnings, *warnings, *remarks),
        out=folder.out_in_words,
        kept=kept,
    )
    if any(who is not None and who.kind == "ensemble" for who in result.labellers.values()):
        labels = (one.label for one in result.used) if kept is None else kept.labels
        members = import_module("assay.protocols.members")  # late: few evaluations have any
        result = replace(result, juries=members.juries(labels))
    return result


def scored_tasks(inputs: Inputs, settings: R2C2Settings) -> list[AnyTask]:
    """The tasks that the settings ask for, with the one that step 3 is asked under."""
    return [*R2C2.tasks(settings), *([SUPPORT] if inputs.as_support else [])]


def _labels(answers: Mapping[str, Mapping[str, AnswerResult]]) -> Iterator[Label | None]:
    """The labels that answers rest on."""
    for by_question in answers.values():
        for answer in by_question.values():
            yield from (nugget.entailment for nugget in answer.nuggets)
            yield answer.label
            yield answer.act_label


def _groups(inputs: Inputs, size: int) -> Iterator[Sequence[Question]]:
    """The questions in groups of about so many nuggets and answers, at least one question each;
    all at once where ``size`` is 0."""
    group: list[Question] = []
    count = 0
    for question in inputs.questions:
        group.append(question)
        if size:
            count += sum(len(answer.nuggets) + 1 for _, answer in _answers_to(inputs, [question]))
            if count >= size:
                yield group
                group, count = [], 0
    if group:
        yield group


def _give_up(inputs: Inputs, questions: Iterable[Question]) -> None:
    """Let go of the answers to these questions: they are most of what a large evaluation reads."""
    for file in inputs.ac_files.values():
        if isinstance(file.run.answers, dict):
            for question in questions:
                file.run.answers.pop(question.id, None)


def _answers_to(inputs: Inputs, questions: Iterable[Question]) -> list[tuple[Question, Answer]]:
    return [
        (question, answer)
        for question in questions
        for file in inputs.ac_files.values()
        if (answer := file.run.answers.get(question.id)) is not None
    ]


def _relevance_units(
    question: str, pr_runs: Mapping[str, PassageRun], *, merge: bool
) -> dict[PassageKey, str]:
    """Name of the relevance unit of each passage: its own PassageKey, or with ``merge`` that of
    the first passage with the same document and text."""
    first: dict[tuple[str, str], str] = {}
    units: dict[PassageKey, str] = {}
    for run in pr_runs.values():
        for passage in run.passages.get(question, ()):
            name, rank = key = passage.key
            own = f"{name};{rank}"  # as the text of a key, but faster
            units[key] = first.setdefault((passage.doc, passage.text), own) if merge else own
    return units


def _ranking(run: PassageRun, question: str, units: Mapping[PassageKey, str]) -> list[str]:
    """A run's list of relevance units; a unit that it repeats counts where it stands first, and
    the repetition keeps its rank under its own key, which has no grade: its unit's is another."""
    seen: set[str] = set()
    ranked = []
    for passage in run.passages.get(question, ()):
        unit = units[passage.key]
        ranked.append(unit if unit not in seen else str(passage.key))
        seen.add(unit)
    return ranked


def _work(
    inputs: Inputs,
    answers: Answers,
    grades: Mapping[str, Mapping[PassageKey, int]],
    rising: Mapping[str, Mapping[PassageKey, int]],
    settings: R2C2Settings,
) -> Work:
    """What scores are computed from."""
    categories: dict[str, list[int]] = {}
    for place, question in enumerate(inputs.questions):
        if question.category:
            categories.setdefault(question.category, []).append(place)
    rankings: dict[str, dict[str, list[str]]] = {name: {} for name in inputs.pr_runs}
    qrels: dict[str, dict[str, float]] = {}
    more: dict[str, dict[str, float]] = {}
    for question in inputs.questions:
        units = _relevance_units(question.id, inputs.pr_runs, merge=settings.merge_identical)
        judged: dict[str, float] = {}
        for key, grade in grades[question.id].items():
            judged[units[key]] = judged.get(units[key], 0.0) + grade
        qrels[question.id] = judged
        for key, count in rising.get(question.id, {}).items():
            above = more.setdefault(question.id, {})
            above[units[key]] = above.get(units[key], 0.0) + count
        for name, run in inputs.pr_runs.items():
            rankings[name][question.id] = _ranking(run, question.id, units)
    highest = max((g for judged in qrels.values() for g in judged.values()), default=0.0)
    questions = [question.id for question in inputs.questions]
    return Work(
        questions=questions,
        categories=categories,
        runs={name: _verdicts(found.values()) for name, found in answers.items()},
        rising=more,
        ranked=Ranked(
            topics=questions,
            qrels=qrels,
            runs=rankings,
            measures={str(parse_measure(name)): name for name in settings.measures},
            g_max=max(settings.g_max or 0.0, highest) or 1.0,
            own_ideal=settings.ideal == "own",
        ),
        resampling=Resampling(
            settings.level, settings.resamples, settings.seed, settings.bins, settings.bins_closed
        ),
    )


def _verdicts(results: Iterable[AnswerResult]) -> Verdicts:
    found = [
        (
            one.confidence,
            one.correct,
            one.precision,
            one.answer is not None,
            None if one.act is None else one.refused,
            is_to_refuse(one.question),
        )
        for one in results
    ]
    return Verdicts(*(map(list, zip(*found, strict=True)) if found else ([],) * 6))
