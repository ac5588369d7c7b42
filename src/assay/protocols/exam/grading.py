"""What is asked about passages, and the grades that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from assay.measures.answers import ill_formed, is_correct, unanswerable
from assay.measures.arrays import Bools, Floats
from assay.model.exam import Bank, BankQuestion, QueryBank
from assay.model.exam_grades import NO_GRADE, NO_GRADES, GradeMatrix, Grades
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.exam.inputs import DIRECT_TASKS, ExamInputs, ExamSettings
from assay.protocols.labels import Asked, LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask
from assay.tasks.exam import EXTRACT, SELF_RATING
from assay.tasks.r2c2 import ANSWER

DIRECT_QUESTION = "(direct)"
"""Id that stands for the query itself if a direct grader labels passages."""

_TO_VERIFY = -1.0
"""Stands for a grade until somebody has said whether the answer is right."""


def tasks(settings: ExamSettings) -> tuple[AnyTask, ...]:
    """The tasks of a way of grading."""
    if settings.grading == "self-rating":
        return (SELF_RATING,)
    if settings.grading == "qa":
        return (EXTRACT,)
    if settings.grading == "qa-verified":
        return (EXTRACT, ANSWER)
    return (DIRECT_TASKS[settings.grading.removeprefix("direct:")][0],)


def questions(inputs: ExamInputs, settings: ExamSettings) -> Bank:
    """The bank as it is scored: a direct grader asks one question per query."""
    if not settings.is_direct:
        return inputs.bank
    return Bank(
        {
            name: QueryBank(name, inputs.queries[name], (BankQuestion(DIRECT_QUESTION, ""),))
            for name in inputs.bank.queries
        }
    )


@dataclass(eq=False)
class GradeSheet:
    """A query's passages (rows) and questions (columns). ``given`` are the grades of the graded
    file, whose ``answers`` are by passage and question. ``words`` marks pairs whose texts are known
    (a graded file need not have them), ``asked`` those of which labels are wanted. ``labels`` are
    those of the asked pairs in order, and ``grades`` follow from both."""

    query: str
    passages: tuple[str, ...]
    questions: tuple[BankQuestion, ...]
    given: GradeMatrix
    answers: Mapping[tuple[str, str], str]
    words: Bools
    asked: Bools = field(init=False)
    grades: Grades = field(default=NO_GRADES, init=False)
    labels: CountedLabels | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.asked = self.words & (self.given == NO_GRADE)

    def pairs(self, which: Bools) -> Iterator[tuple[str, BankQuestion]]:
        """The marked pairs of passage and question, row by row."""
        for row, column in np.argwhere(which).tolist():
            yield self.passages[row], self.questions[column]

    def at(self, passage: str, question: BankQuestion) -> Place:
        """Where the label of a pair is used."""
        return Place("", self.query, f"{passage} {question.id}")

    @property
    def from_file(self) -> Bools:
        """The pairs whose grades come from the graded file."""
        return np.asarray((self.given != NO_GRADE) & ~self.asked)

    @cached_property
    def said(self) -> list[list[str]]:
        """The text for every pair: the extracted answer, or the labeller's reason."""
        texts_found = np.full(self.given.shape, "", object)
        if self.answers:
            for row, column in np.argwhere(self.from_file).tolist():
                key = self.passages[row], self.questions[column].id
                texts_found[row, column] = self.answers.get(key, "")
        if self.labels is not None:
            texts_found[self.asked] = [one or "" for one in self.labels.each(_said)]
        texts: list[list[str]] = texts_found.tolist()
        return texts


def _said(verdict: Mapping[str, Any]) -> str:
    return str(verdict["answer"] if "answer" in verdict else verdict.get("reason") or "")


def sheets(inputs: ExamInputs, settings: ExamSettings) -> Iterator[GradeSheet]:
    """The pool by query. What no graded file answers is asked."""
    bank = questions(inputs, settings)
    graded_queries = inputs.given.queries if inputs.given is not None else {}
    for query, passages in inputs.pool.items():
        columns = bank.questions(query)
        own = graded_queries.get(query)
        grades = NO_GRADES if own is None else own.grades
        # The last row stands for passages without grades, which do not occur here.
        given = grades.of(passages).columns([one.id for one in columns])[:-1]
        words = [bool(one.text) or one.id == DIRECT_QUESTION for one in columns]
        texts = np.array([one in inputs.texts for one in passages], np.bool_)
        known = texts[:, None] & np.array(words, np.bool_)
        yield GradeSheet(query, passages, columns, given, {} if own is None else own.answers, known)


def unit(
    inputs: ExamInputs, task: AnyTask, query: str, passage: str, question: BankQuestion
) -> dict[str, Any]:
    """What is asked about a pair, as plain JSON."""
    text = inputs.texts[passage]
    if task is SELF_RATING:
        return {"passage": text, "question": question.prompt_text}
    if task is EXTRACT:
        choices = list(question.choices.values())
        return {"passage": text, "question": question.prompt_text, "choices": choices}
    return {"question": inputs.queries[query], "passage": text}


def verification(question: BankQuestion, answer: str) -> dict[str, Any]:
    """What is asked to verify an extracted answer: is it right according to the key?"""
    return {
        "question": question.prompt_text,
        "answer": answer,
        "gold": list(question.gold),
        "nuggets": [],
    }


def asked(inputs: ExamInputs, task: AnyTask, every: Iterable[GradeSheet]) -> Asked:
    """The pairs that are asked about, sheet by sheet."""
    for sheet in every:
        for passage, question in sheet.pairs(sheet.asked):
            yield unit(inputs, task, sheet.query, passage, question), sheet.at(passage, question)


def verifications(inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> Asked:
    """The extracted answers that may be right."""
    return _to_verify(settings, _labelled(inputs, settings, book)[0])


@dataclass(frozen=True, eq=False)
class GradedPool:
    """The graded pool by query. ``by`` names the labellers of all grades but the graded file's."""

    sheets: Mapping[str, GradeSheet]
    by: tuple[str, ...]

    @property
    def grades(self) -> dict[str, Grades]:
        """The grades of every query."""
        return {query: sheet.grades for query, sheet in self.sheets.items()}

    @property
    def asked(self) -> int:
        """The number of pairs."""
        return sum(sheet.given.size for sheet in self.sheets.values())

    @property
    def graded(self) -> int:
        """The number of pairs with a grade."""
        return sum(int((one.grades.values != NO_GRADE).sum()) for one in self.sheets.values())

    @property
    def from_file(self) -> int:
        """The number of grades from the graded file."""
        return sum(int(sheet.from_file.sum()) for sheet in self.sheets.values())


def grade(inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> GradedPool:
    """Grades from labels, and from the graded file for pairs that were not asked about."""
    every, labels = _labelled(inputs, settings, book)
    of_rule = EXTRACT in tasks(settings)
    values = _extracted(settings, book, every) if of_rule else labels.map(_grade)
    graded = np.where(np.isnan(values), NO_GRADE, values).astype(np.int8)
    end = 0
    for sheet in every:
        begin, end = end, end + int(sheet.asked.sum())
        given = sheet.given.copy()
        given[sheet.asked] = graded[begin:end]
        sheet.grades = Grades(sheet.passages, tuple(one.id for one in sheet.questions), given)
    names = {label.labeller.name for label, _ in labels.by_kind()}
    return GradedPool({sheet.query: sheet for sheet in every}, tuple(sorted(names)))


def _labelled(
    inputs: ExamInputs, settings: ExamSettings, book: LabelBook
) -> tuple[list[GradeSheet], CountedLabels]:
    """The sheets with their labels, and all labels in one row."""
    task = tasks(settings)[0]
    every = list(sheets(inputs, settings))
    if book.people_labelled(task):
        for sheet in every:
            _overrule(inputs, book, task, sheet)
    labels, end = book.labels(task, asked(inputs, task, every)), 0
    for sheet in every:
        begin, end = end, end + int(sheet.asked.sum())
        sheet.labels = labels[begin:end]
    return every, labels


def _overrule(inputs: ExamInputs, book: LabelBook, task: AnyTask, sheet: GradeSheet) -> None:
    """Mark as asked those pairs where a person's label overrules the graded file."""
    for row, column in np.argwhere(sheet.words & ~sheet.asked).tolist():
        content = unit(inputs, task, sheet.query, sheet.passages[row], sheet.questions[column])
        label = book.find(task, content)
        if label is not None and label.verdict is not None and label.labeller.is_human:
            sheet.asked[row, column] = True


def _grade(verdict: Mapping[str, Any]) -> float:
    """The grade in a verdict: a rating, a grade of a scale, or a yes."""
    return float(next(verdict[one] for one in ("rating", "grade", "relevant") if one in verdict))


def _extracted(settings: ExamSettings, book: LabelBook, every: list[GradeSheet]) -> Floats:
    """The grades of extracted answers, NaN if there is none."""
    rules = (_by_rule(settings, question, answer) for question, answer, _ in _answers(every))
    values = np.fromiter(rules, np.float64)
    which: Bools = values == _TO_VERIFY
    if which.any():
        checked = book.labels(ANSWER, _to_verify(settings, every))
        values[which] = checked.map(lambda verdict: float(bool(verdict["correct"])))
    return values


def _answers(every: list[GradeSheet]) -> Iterator[tuple[BankQuestion, str | None, Place]]:
    """The question of each pair that is asked, and the answer that was extracted, if any."""
    for sheet in every:
        if sheet.labels is not None:
            answers = sheet.labels.each(_said)
            for (passage, one), answer in zip(sheet.pairs(sheet.asked), answers, strict=True):
                yield one, answer, sheet.at(passage, one)


def _to_verify(settings: ExamSettings, every: list[GradeSheet]) -> Asked:
    for question, answer, place in _answers(every):
        if answer is not None and _by_rule(settings, question, answer) == _TO_VERIFY:
            yield verification(question, answer), place


def _by_rule(settings: ExamSettings, question: BankQuestion, answer: str | None) -> float:
    if answer is None:
        return np.nan
    if settings.grading == "qa":
        return float(is_correct(answer, question.gold, question.choices))
    return 0.0 if unanswerable(answer) or ill_formed(answer) else _TO_VERIFY
