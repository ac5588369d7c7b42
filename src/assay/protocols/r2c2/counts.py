"""What the labels of some answers come to: derived grades, counts, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay.model.rag import Mark, PassageKey, PassageRun, Question
from assay.protocols.r2c2.results import AnswerResult, RunNotes, State

Answers = Mapping[str, Mapping[str, AnswerResult]]
"""run → question → what was found of the answer."""


def derive_grades(
    questions: Iterable[Question],
    pr_runs: Mapping[str, PassageRun],
    answers: Answers,
) -> dict[str, dict[PassageKey, int]]:
    """Step 6: the grade of (question, PassageKey) is the number of relevant nuggets that cite it
    across all AC runs; every passage of every PR run has one."""
    grades: dict[str, dict[PassageKey, int]] = {}
    for question in questions:
        found = {
            passage.key: 0
            for run in pr_runs.values()
            for passage in run.passages.get(question.id, ())
        }
        for by_question in answers.values():
            for nugget in by_question[question.id].nuggets:
                if nugget.mark is Mark.RELEVANT:
                    found[nugget.nugget.key] += 1
        grades[question.id] = found
    return grades


def open_grades(
    questions: Iterable[Question], answers: Answers
) -> dict[str, dict[PassageKey, int]]:
    """How much the grades of step 6 may rise: for each question, the passages that are cited by
    nuggets whose mark is missing and may be relevant, with their number."""
    found: dict[str, dict[PassageKey, int]] = {}
    for question in questions:
        rising: Counter[PassageKey] = Counter()
        for by_question in answers.values():
            result = by_question[question.id]
            if not result.complete and result.correct is not False:
                rising.update(one.nugget.key for one in result.nuggets if one.mark is None)
        if rising:
            found[question.id] = dict(rising)
    return found


def notes_of(run: str, results: Sequence[AnswerResult], *, people: bool = True) -> RunNotes:
    """Counts of a run's answers that a reader must know beside its scores. Without ``people``
    none of the labels is a person's."""
    nuggets = [nugget for result in results for nugget in result.nuggets]
    marks = [nugget.mark for nugget in nuggets]
    by_people = 0
    if people:
        labels = [result.label for result in results]
        labels += [nugget.entailment for nugget in nuggets]
        by_people = sum(one is not None and one.labeller.is_human for one in labels)
    return RunNotes(
        run=run,
        questions=len(results),
        answered=sum(result.answer is not None for result in results),
        left_out=tuple(r.question.id for r in results if r.answer is None),
        refusals=dict(Counter(str(r.act) for r in results if r.refused)),
        missing_answers=sum(r.state is State.MISSING for r in results),
        failed_answers=sum(r.state is State.FAILED for r in results),
        carried_answers=sum(r.state is State.CARRIED for r in results),
        unmarked_nuggets=marks.count(None),
        marks={mark.value: marks.count(mark) for mark in Mark},
        by_people=by_people,
    )


def some_missing(answers: Answers) -> bool:
    """Whether any label is missing."""
    return any(
        result.state is State.MISSING or any(n.state is State.MISSING for n in result.nuggets)
        for by_question in answers.values()
        for result in by_question.values()
        if not result.complete
    )
