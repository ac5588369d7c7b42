"""What is asked of labellers: dialogue acts and step 3, then step 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from assay.labellers.base import Request
from assay.model.rag import Answer, Nugget, Passage, Question
from assay.protocols.labels import LabelBook
from assay.protocols.r2c2.acts import act_of, is_asked
from assay.protocols.r2c2.inputs import Inputs
from assay.tasks.base import AnyTask, Unit
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    ENTAILMENT,
    RELEVANCE,
    AnswerUnit,
    DialogueActUnit,
    EntailmentUnit,
    RelevanceUnit,
)
from assay.tasks.trec_rag import RELEVANCE as GRADED
from assay.tasks.trec_rag import RELEVANCE_YES_NO
from assay.tasks.trec_rag import RelevanceUnit as SharedUnit

T = TypeVar("T")

CHECKS: Mapping[bool | str, AnyTask] = {
    True: RELEVANCE,
    "yes-no": RELEVANCE_YES_NO,
    "0-3": GRADED,
}
"""``relevance_check`` → the task: R2C2's own (is it a step to the answer? reference answers are
shown), or one that TREC RAG and EXAM++'s direct grading ask too (question and passage alone)."""

ENTAILED_SHARE = 0.75
"""Share of nuggets taken as entailed where nothing is known yet, for estimates."""


Content = dict[str, Any]
"""What a unit holds. Looking labels up needs no more, and units take a while to make."""


def entailment_content(nugget: Nugget, passage: Passage) -> Content:
    """What step 3 asks about: the text that the cited PR run holds, and the nugget."""
    return {"passage": passage.text, "nugget": nugget.text}


def answer_content(question: Question, answer: Answer, entailed: Sequence[str]) -> Content:
    """What step 4 asks about."""
    return {
        "question": question.text,
        "answer": answer.text,
        "gold": list(question.gold),
        "nuggets": list(entailed),
    }


def act_content(question: Question, answer: Answer) -> Content:
    """What the dialogue act is asked about."""
    return {"question": question.text, "answer": answer.text}


def entailment_unit(nugget: Nugget, passage: Passage) -> EntailmentUnit:
    """:func:`entailment_content` as a unit."""
    return EntailmentUnit(**entailment_content(nugget, passage))


def answer_unit(question: Question, answer: Answer, entailed: Sequence[str]) -> AnswerUnit:
    """:func:`answer_content` as a unit."""
    return AnswerUnit(**answer_content(question, answer, entailed))


def relevance_unit(task: AnyTask, question: Question, passage: Passage) -> Unit:
    """What the check of derived grades asks about."""
    if task is RELEVANCE:
        return RelevanceUnit(question=question.text, passage=passage.text, gold=question.gold)
    return SharedUnit(question=question.text, passage=passage.text)


def act_requests(inputs: Inputs) -> Iterator[Request]:
    """One dialogue act an answer."""
    for question, _, answer in inputs.answers():
        unit = DialogueActUnit(**act_content(question, answer))
        yield Request(DIALOGUE_ACT, unit, topic=question.id)


def entailment_requests(inputs: Inputs) -> Iterator[Request]:
    """Step 3: one request a nugget of every AC run (equal ones are asked once)."""
    for question, passages, answer in inputs.answers():
        for nugget in answer.nuggets:
            unit = entailment_unit(nugget, passages[nugget.key])
            yield Request(ENTAILMENT, unit, topic=question.id)


def relevance_requests(inputs: Inputs, task: AnyTask) -> Iterator[Request]:
    """One request a passage of every PR run (equal ones are asked once)."""
    for question in inputs.questions:
        for passage in inputs.passages(question.id).values():
            yield Request(task, relevance_unit(task, question, passage), topic=question.id)


def answer_requests(inputs: Inputs, book: LabelBook, *, assume: bool = False) -> Iterator[Request]:
    """Step 4: one request an answer whose nuggets have all been through step 3, and that does not
    decline (:func:`assay.protocols.r2c2.acts.is_asked`).

    A nugget whose label failed is left out of what the answer rests on, and stays unmarked. With
    ``assume``, a share of the unlabelled nuggets is taken as entailed (for estimates only).
    """
    likely = Likely()
    for question, passages, answer in inputs.answers():
        labels = [
            book.find(ENTAILMENT, entailment_content(nugget, passages[nugget.key]))
            for nugget in answer.nuggets
        ]
        unlabelled = [place for place, label in enumerate(labels) if label is None]
        if unlabelled and not assume:
            continue
        taken = set(likely.of(unlabelled))
        texts = tuple(
            nugget.text
            for place, (nugget, label) in enumerate(zip(answer.nuggets, labels, strict=True))
            if place in taken or (label and label.verdict and label.verdict["entailed"])
        )
        act = act_of(book.find(DIALOGUE_ACT, act_content(question, answer)), question, answer.text)
        if is_asked(act, question, len(texts)):
            yield Request(ANSWER, answer_unit(question, answer, texts), topic=question.id)


class Likely:
    """As many nuggets as are likely to be entailed: ``ENTAILED_SHARE`` of all those shown so far.
    What one answer's share is short of a whole nugget goes to the answers after it, so that
    answers of one or two nuggets do not make the estimate too high."""

    def __init__(self) -> None:
        self._owed = 0.0

    def of(self, nuggets: Sequence[T]) -> Sequence[T]:
        self._owed += len(nuggets) * ENTAILED_SHARE
        taken = min(len(nuggets), round(self._owed))
        self._owed -= taken
        return nuggets[:taken]
