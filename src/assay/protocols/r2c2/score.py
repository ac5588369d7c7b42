"""Scores of an R2C2 evaluation: steps 5 and 6. Reads labels, asks nobody."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat

import numpy as np

from assay.ledger import Ledger
from assay.ledger.lines import BriefBlock
from assay.ledger.policy import Policy
from assay.measures.bootstrap import Interval, confidence_intervals, mean_interval
from assay.measures.confidence import confidence_measures
from assay.measures.evaluation import evaluate
from assay.measures.names import parse_measure
from assay.model.errors import SettingsError
from assay.model.rag import Answer, PassageKey, PassageRun, Question
from assay.protocols.folder import Folder
from assay.protocols.members import juries
from assay.protocols.r2c2.counts import (
    derive_grades,
    notes_of,
    some_missing,
    without_all_marks,
)
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.judge import labellers_for_scoring
from assay.protocols.r2c2.kept import Kept
from assay.protocols.r2c2.labels import LabelBook, left_out, passages_by_key, read_ahead, resolve
from assay.protocols.r2c2.relevance import check_relevance
from assay.protocols.r2c2.results import AnswerResult, R2C2Result
from assay.protocols.r2c2.step3 import keeps_to_yes_no
from assay.protocols.scores import Score

PRECISION = "NuggetPrecision"
AC_MEASURES = (
    "HMR", "R_O", "R_U", "Accuracy", PRECISION, "ECE", "MCE", "Brier", "KS", "AUROC",
)  # fmt: skip
GROUP = 20_000
"""Nuggets and answers that a large evaluation goes through at a time."""


def score(
    folder: Folder,
    inputs: Inputs,
    ledger: Ledger,
    policy: Policy,
    settings: R2C2Settings,
    *,
    brief: bool = False,
    large: bool = False,
    blocks: Iterable[BriefBlock] | None = None,
) -> R2C2Result:
    """Everything that the labels in the ledger say under ``policy``; with ``brief``, without the
    reasons and times that only a report shows; with ``large``, going through the ledger group by
    group, keeping of answers only what files and tables need (``kept``) and taking them out of
    ``inputs``; ``blocks`` are brief labels that were read already. Raises SettingsError for a
    measure that does not exist."""
    labellers, warnings = labellers_for_scoring(folder)
    strict = keeps_to_yes_no(folder)
    book = LabelBook(
        ledger, policy, labellers, brief=brief, window=large, strict=strict, blocks=blocks
    )
    kept = Kept(book.configured.values()) if large else None
    answers: dict[str, dict[str, AnswerResult]] = {name: {} for name in inputs.ac_files}
    for group in _groups(inputs, GROUP if large else 0):
        passages = {one.id: passages_by_key(inputs.pr_runs, one.id) for one in group}
        if large:
            read_ahead(book, _answers_to(inputs, group), passages)
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
        unsure = without_all_marks(inputs.questions, answers)
        notes = {name: notes_of(name, list(found.values())) for name, found in answers.items()}
    else:
        grades, unsure, notes = kept.grades, frozenset(kept.unsure), kept.notes
    missing = some_missing(answers) if kept is None else kept.missing
    remarks = book.remarks(missing=missing)
    pr_values = score_passage_runs(inputs.questions, inputs.pr_runs, grades, settings)
    pr_scores = {
        name: score_means(name, by_measure, len(unsure), settings)
        for name, by_measure in pr_values.items()
    }
    # Nothing else runs beside these: numpy lets go of Python's lock often, and only for moments.
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as workers:
        results = [list(found.values()) for found in answers.values()]
        found_scores = workers.map(score_answers, answers, results, repeat(settings))
        scores = dict(zip(answers, found_scores, strict=True))

    per_topic: dict[str, dict[str, dict[str, float | None]]] = {}
    attempted: dict[str, dict[str, Score]] = {}
    for name, by_question in answers.items():
        found = list(by_question.values())
        tried = [r for r in found if r.answer is not None and not r.refused]
        whole = len(tried) == len(found)
        attempted[name] = scores[name] if whole else score_answers(name, tried, settings)
        per_topic[name] = {
            "Accuracy": {r.question.id: _number(r.correct) for r in found},
            PRECISION: {r.question.id: r.precision for r in found},
            "Confidence": {r.question.id: r.confidence for r in found},
        }
    for name, by_measure in pr_values.items():
        per_topic[name] = {measure: dict(values) for measure, values in by_measure.items()}

    result = R2C2Result(
        title=folder.config.evaluation.title or folder.path.resolve().name,
        policy=policy.name,
        questions=inputs.questions,
        pr_runs=inputs.pr_runs,
        answers=answers,
        notes=notes,
        grades=grades,
        scores=scores,
        pr_scores=pr_scores,
        attempted=attempted,
        by_category=_by_category(
            inputs.questions, answers, pr_values, unsure, settings, {**scores, **pr_scores}
        ),
        per_topic=per_topic,
        no_relevant=tuple(
            question.id for question in inputs.questions if not any(grades[question.id].values())
        ),
        labellers={task: who for task, who in book.configured.items() if task in labellers},
        settings=settings.model_dump(mode="json"),
        relevance=(
            check_relevance(book, inputs, grades, settings.relevance_check)
            if settings.relevance_check
            else None
        ),
        warnings=(*inputs.warnings, *warnings, *remarks),
        kept=kept,
    )
    if any(who is not None and who.kind == "ensemble" for who in result.labellers.values()):
        labels = result.labels() if kept is None else kept.labels
        result = replace(result, juries=juries(labels))
    return result


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


def score_answers(
    run: str, results: Sequence[AnswerResult], settings: R2C2Settings
) -> dict[str, Score]:
    """Accuracy, mean nugget precision, HMR with R_O and R_U, and the calibration measures of one
    run over the given questions, with bootstrap intervals over questions."""
    labelled = [result for result in results if result.correct is not None]
    missing = len(results) - len(labelled)
    values: dict[str, float | None] = dict.fromkeys(AC_MEASURES)
    intervals: dict[str, Interval] = {}
    if labelled:
        p = np.array([result.confidence for result in labelled])
        c = np.array([bool(result.correct) for result in labelled])
        bins, closed = settings.bins, settings.bins_closed
        values.update(confidence_measures(p, c, bins=bins, closed=closed))
        intervals.update(
            confidence_intervals(
                p,
                c,
                bins=bins,
                closed=closed,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            )
        )
    precisions = [result.precision for result in results if result.precision is not None]
    if precisions:
        values[PRECISION] = float(np.mean(precisions))
        intervals[PRECISION] = _mean_interval(precisions, settings)
    scores = {}
    for measure, value in values.items():
        interval = intervals.get(measure)
        counted, without = len(labelled), missing
        if measure == PRECISION:
            counted, without = len(precisions), len(results) - len(precisions)
        scores[measure] = Score(
            run,
            measure,
            value,
            interval.low if interval and value is not None else None,
            interval.high if interval and value is not None else None,
            counted,
            without,
        )
    return scores


def score_passage_runs(
    questions: Sequence[Question],
    pr_runs: Mapping[str, PassageRun],
    grades: Mapping[str, Mapping[PassageKey, int]],
    settings: R2C2Settings,
) -> dict[str, dict[str, dict[str, float]]]:
    """PR run -> measure -> question -> value. A question that a run has no passages for is 0."""
    try:
        measures = [parse_measure(name) for name in settings.measures]
    except ValueError as error:
        raise SettingsError(f"[settings] measures: {error}") from error
    qrels: dict[str, dict[str, float]] = {}
    units: dict[str, dict[PassageKey, str]] = {}
    for question in questions:
        names = _relevance_units(question.id, pr_runs, merge=settings.merge_identical)
        units[question.id] = names
        judged: dict[str, float] = {}
        for key, grade in grades[question.id].items():
            judged[names[key]] = judged.get(names[key], 0.0) + grade
        qrels[question.id] = judged
    highest = max((g for judged in qrels.values() for g in judged.values()), default=0.0)
    g_max = max(settings.g_max or 0.0, highest) or 1.0
    values: dict[str, dict[str, dict[str, float]]] = {}
    for name, run in pr_runs.items():
        ranking = {
            question.id: _ranking(run, question.id, units[question.id]) for question in questions
        }
        ideal = None
        if settings.ideal == "own":
            ideal = {
                topic: [qrels[topic].get(unit, 0.0) for unit in ranked]
                for topic, ranked in ranking.items()
            }
        found = evaluate(ranking, qrels, measures, g_max=g_max, ideal=ideal)
        values[name] = {str(measure): dict(by_topic) for measure, by_topic in found.scores.items()}
    return values


def score_means(
    run: str,
    by_measure: Mapping[str, Mapping[str, float]],
    missing: int,
    settings: R2C2Settings,
    topics: Iterable[str] | None = None,
) -> dict[str, Score]:
    """Means over questions with bootstrap intervals; ``missing`` questions lack some mark."""
    scores = {}
    for measure, by_topic in by_measure.items():
        values = list(by_topic.values()) if topics is None else [by_topic[t] for t in topics]
        if not values:
            continue
        interval = _mean_interval(values, settings)
        mean = float(np.mean(values))
        scores[measure] = Score(
            run, measure, mean, interval.low, interval.high, len(values), missing
        )
    return scores


def _mean_interval(values: Sequence[float], settings: R2C2Settings) -> Interval:
    return mean_interval(
        values, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )


def _relevance_units(
    question: str, pr_runs: Mapping[str, PassageRun], *, merge: bool
) -> dict[PassageKey, str]:
    """Name of the relevance unit of each passage: its own PassageKey, or with ``merge`` that of
    the first passage with the same document and text."""
    first: dict[tuple[str, str], str] = {}
    units: dict[PassageKey, str] = {}
    for run in pr_runs.values():
        for passage in run.passages.get(question, ()):
            own = str(passage.key)
            same = (passage.doc, passage.text)
            units[passage.key] = first.setdefault(same, own) if merge else own
    return units


def _ranking(run: PassageRun, question: str, units: Mapping[PassageKey, str]) -> list[str]:
    """A run's list of relevance units; a unit that it repeats counts where it stands first, and
    the repetition keeps its rank as a passage without a grade."""
    seen: set[str] = set()
    ranked = []
    for passage in run.passages.get(question, ()):
        unit = units[passage.key]
        ranked.append(unit if unit not in seen else f"{passage.key} (repeated)")
        seen.add(unit)
    return ranked


def _by_category(
    questions: Sequence[Question],
    answers: Mapping[str, Mapping[str, AnswerResult]],
    pr_values: Mapping[str, Mapping[str, Mapping[str, float]]],
    unsure: frozenset[str],
    settings: R2C2Settings,
    overall: Mapping[str, dict[str, Score]],
) -> dict[str, dict[str, dict[str, Score]]]:
    categories: dict[str, list[str]] = {}
    for question in questions:
        if question.category:
            categories.setdefault(question.category, []).append(question.id)
    table: dict[str, dict[str, dict[str, Score]]] = {}
    for category, ids in categories.items():
        if len(ids) == len(questions):  # a single category: nothing new to compute
            table[category] = dict(overall)
            continue
        row = {
            name: score_answers(name, [found[one] for one in ids], settings)
            for name, found in answers.items()
        }
        for name, by_measure in pr_values.items():
            missing = sum(one in unsure for one in ids)
            row[name] = score_means(name, by_measure, missing, settings, ids)
        table[category] = row
    return table


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)
