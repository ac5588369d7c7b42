"""Who is asked what about a passage, and the grade that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay.labellers.base import Request
from assay.measures.answers import ill_formed, is_correct, unanswerable
from assay.model.exam import Bank, BankQuestion, QueryBank
from assay.model.exam_grades import NO_GRADE, Grades
from assay.protocols.exam.inputs import DIRECT_TASKS, ExamInputs, ExamSettings
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask
from assay.tasks.exam import EXTRACT, SELF_RATING
from assay.tasks.r2c2 import ANSWER

DIRECT_QUESTION = "(direct)"
"""Stands for the query itself where a direct grader labels passages."""


class Graded(NamedTuple):
    """A grade with what was said: the extracted answer, or the labeller's reason."""

    grade: int
    said: str


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
    """The bank as it is scored: a direct grader asks one thing of each query."""
    if not settings.grading.startswith("direct:"):
        return inputs.bank
    return Bank(
        {
            name: QueryBank(name, inputs.queries[name], (BankQuestion(DIRECT_QUESTION, ""),))
            for name in inputs.bank.queries
        }
    )


def _pairs(inputs: ExamInputs, settings: ExamSettings) -> Iterator[tuple[str, str, BankQuestion]]:
    """Every (query, passage, question) of the pool."""
    bank = questions(inputs, settings)
    for query, passages in inputs.pool.items():
        for passage in passages:
            for question in bank.questions(query):
                yield query, passage, question


def given_grades(inputs: ExamInputs) -> dict[tuple[str, str, str], Graded]:
    """The grades of the graded file by query, passage and question."""
    found: dict[tuple[str, str, str], Graded] = {}
    for query in inputs.given.queries.values() if inputs.given is not None else ():
        names = query.grades.questions
        for passage, row in zip(query.grades.passages, query.grades.values.tolist(), strict=True):
            for name, grade in zip(names, row, strict=True):
                if grade != NO_GRADE:
                    said = query.answers.get((passage, name), "")
                    found[query.query, passage, name] = Graded(grade, said)
    return found


def unit(
    inputs: ExamInputs, task: AnyTask, query: str, passage: str, question: BankQuestion
) -> dict[str, Any]:
    """What is asked about a pair, as plain JSON."""
    text = inputs.texts[passage]
    if task is SELF_RATING:
        return {"passage": text, "question": question.asked}
    if task is EXTRACT:
        choices = list(question.choices.values())
        return {"passage": text, "question": question.asked, "choices": choices}
    return {"question": inputs.queries[query], "passage": text}


def verification(question: BankQuestion, answer: str) -> dict[str, Any]:
    """What is asked to verify an extracted answer: is it right, going by the key?"""
    return {
        "question": question.asked,
        "answer": answer,
        "gold": list(question.gold),
        "nuggets": [],
    }


def requests(inputs: ExamInputs, settings: ExamSettings) -> Iterator[Request]:
    """One request a pair of passage and question that no graded file answers (equal ones are
    asked once)."""
    task = tasks(settings)[0]
    known = given_grades(inputs)
    for query, passage, question in _pairs(inputs, settings):
        if (query, passage, question.id) not in known and _can_ask(inputs, passage, question):
            content = unit(inputs, task, query, passage, question)
            yield Request(task, task.unit.model_validate(content), topic=query)


def _can_ask(inputs: ExamInputs, passage: str, question: BankQuestion) -> bool:
    """Whether the words are known; a graded file alone need not have them."""
    return passage in inputs.texts and bool(question.text or question.id == DIRECT_QUESTION)


def verifications(inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> Iterator[Request]:
    """One request an extracted answer that could be right."""
    known = given_grades(inputs)
    for query, passage, question in _pairs(inputs, settings):
        if (query, passage, question.id) in known or not _can_ask(inputs, passage, question):
            continue
        label = book.find(EXTRACT, unit(inputs, EXTRACT, query, passage, question))
        if label is not None and label.verdict is not None:
            answer = str(label.verdict["answer"])
            if not (unanswerable(answer) or ill_formed(answer)):
                asked = ANSWER.unit.model_validate(verification(question, answer))
                yield Request(ANSWER, asked, topic=query)


@dataclass
class Pool:
    """The graded pool: a matrix for each query, and what was said of every pair. ``by`` names the
    labellers whose labels the grades are, but for those that are ``from_file``."""

    grades: dict[str, Grades] = field(default_factory=dict)
    said: dict[tuple[str, str, str], Graded] = field(default_factory=dict)
    asked: int = 0
    from_file: int = 0
    by: tuple[str, ...] = ()


def grade(inputs: ExamInputs, settings: ExamSettings, book: LabelBook) -> Pool:
    """Grades from labels, and from the graded file where nobody was asked."""
    pool = Pool()
    known = given_grades(inputs)
    task = tasks(settings)[0]
    bank = questions(inputs, settings)
    for query, passages in inputs.pool.items():
        asked = bank.questions(query)
        values = np.full((len(passages), len(asked)), NO_GRADE, dtype=np.int8)
        for row, passage in enumerate(passages):
            for column, question in enumerate(asked):
                key = (query, passage, question.id)
                found = _of_pair(inputs, settings, book, task, key, question, known)
                pool.asked += 1
                if found is not None:
                    pool.from_file += key in known
                    values[row, column] = found.grade
                    pool.said[key] = found
        pool.grades[query] = Grades(passages, tuple(one.id for one in asked), values)
    names = book.used.count(lambda label: (label.task, label.labeller.name))
    pool.by = tuple(sorted(name for of, name in names if of == task.name))
    return pool


def _of_pair(
    inputs: ExamInputs,
    settings: ExamSettings,
    book: LabelBook,
    task: AnyTask,
    key: tuple[str, str, str],
    question: BankQuestion,
    known: Mapping[tuple[str, str, str], Graded],
) -> Graded | None:
    query, passage, _ = key
    asked = _can_ask(inputs, passage, question)
    content = unit(inputs, task, query, passage, question) if asked else None
    place = Place("", query, f"{passage} {question.id}")
    if key in known:
        # A person's label in the ledger overrules the file; a machine's is not asked for.
        label = book.find(task, content) if content is not None else None
        if label is None or label.verdict is None or not label.labeller.is_human:
            return known[key]
    if content is None:
        return None
    verdict = book.verdict(task, content, place)
    if verdict is None:
        return None
    if task is SELF_RATING:
        return Graded(int(verdict["rating"]), str(verdict.get("reason") or ""))
    if task is EXTRACT:
        answer = str(verdict["answer"])
        if settings.grading == "qa":
            return Graded(int(is_correct(answer, question.gold)), answer)
        if unanswerable(answer) or ill_formed(answer):
            return Graded(0, answer)
        checked = book.verdict(ANSWER, verification(question, answer), place)
        return None if checked is None else Graded(int(bool(checked["correct"])), answer)
    value = verdict.get("grade", verdict.get("relevant"))
    return Graded(int(value), str(verdict.get("reason") or ""))
