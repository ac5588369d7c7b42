"""From the ledger's labels to what counts for each nugget and answer, under a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.ahead import LabelsAhead
from assay.ledger.lines import BriefBlock
from assay.ledger.policy import Policy, choose
from assay.model.labels import Label, Status
from assay.model.rag import (
    Answer,
    Mark,
    Nugget,
    Passage,
    PassageKey,
    PassageRun,
    Question,
)
from assay.protocols.book import Book
from assay.protocols.r2c2.results import AnswerResult, NuggetResult, State
from assay.tasks.base import AnyTask, unit_hash
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    ENTAILMENT,
    TASKS,
    AnswerUnit,
    DialogueActUnit,
    EntailmentUnit,
)
from assay.tasks.trec_rag import RELEVANCE as GRADED_RELEVANCE
from assay.tasks.trec_rag import RELEVANCE_YES_NO, SUPPORT

SHARED: tuple[AnyTask, ...] = (SUPPORT, RELEVANCE_YES_NO, GRADED_RELEVANCE)
"""Tasks of other protocols that R2C2's settings may ask for."""

Subject = tuple[str, str, tuple[str, ...]]


def labels_ahead(ledger: Ledger, *, brief: bool) -> LabelsAhead:
    """The labels of all tasks that can count, to be read while other things are done."""
    return LabelsAhead(ledger.path, (task.name for task in (*TASKS, *SHARED)), brief=brief)


class LabelBook(Book):
    """The labels of an R2C2 evaluation; see :class:`assay.protocols.book.Book`."""

    def __init__(
        self,
        ledger: Ledger,
        policy: Policy,
        labellers: Mapping[str, Labeller | None],
        *,
        brief: bool = False,
        window: bool = False,
        strict: bool = False,
        blocks: Iterable[BriefBlock] | None = None,
    ) -> None:
        tasks = (*TASKS, *(task for task in SHARED if task.name in labellers))
        asked = frozenset({ENTAILMENT.name} if SUPPORT.name in labellers else ())
        own = frozenset({ENTAILMENT.name} if strict else ())
        super().__init__(ledger, policy, labellers, tasks, brief, asked, window, own, blocks)

    @cached_property
    def _answers_of(self) -> dict[Subject, list[Label]]:
        """Usable answer labels by question, answer and gold answers, whatever the nuggets."""
        subjects: dict[Subject, list[Label]] = {}
        for unit, content in self._answer_units.items():
            subject = (content["question"], content["answer"], tuple(content["gold"]))
            usable = (label for label in self.of(unit) if label.status is Status.OK)
            subjects.setdefault(subject, []).extend(usable)
        for labels in subjects.values():
            labels.sort(key=lambda label: label.rowid)
        return subjects

    @cached_property
    def _answer_units(self) -> dict[str, Mapping[str, Any]]:
        """Content of every answer unit that was ever labelled."""
        return dict(self.ledger.unit_contents([ANSWER.name]))

    @cached_property
    def _units_of(self) -> dict[bytes, list[str]]:
        """With ``window``: the answer units of each subject, by a hash of it."""
        found: dict[bytes, list[str]] = {}
        for unit, content in self.ledger.unit_contents([ANSWER.name]):
            subject = (content["question"], content["answer"], tuple(content["gold"]))
            found.setdefault(_digest(subject), []).append(unit)
        return found

    def judged_nuggets(self, unit: str) -> tuple[str, ...]:
        """The nuggets that an answer was judged beside."""
        content = self.ledger.unit(unit) if self.window else self._answer_units[unit]
        return tuple(content["nuggets"])

    @cached_property
    def people_judged_answers(self) -> bool:
        """Whether any person ever labelled an answer (else no need to look for carried ones)."""
        return ANSWER.name in self.ledger.judged_by_people()

    def carried(self, subject: Subject) -> Label | None:
        """The label that counts among those given to the same question and answer beside other
        nuggets: a person's before a machine's, the newest of each."""
        if self.window:
            units = self._units_of.get(_digest(subject), [])
            labels = [
                label
                for label in sorted(self.ledger.verdicts_of(units), key=lambda one: one.rowid)
                if label.status is Status.OK and label.version == ANSWER.version
            ]
        else:
            labels = self._answers_of.get(subject, [])
        return choose(labels, self.policy, self.configured[ANSWER.name])


def _digest(subject: Subject) -> bytes:
    return hashlib.blake2b(repr(subject).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def read_ahead(
    book: LabelBook,
    answers: Sequence[tuple[Question, Answer]],
    passages: Mapping[str, Mapping[PassageKey, Passage]],
) -> None:
    """With a window: read the labels of steps 3 and 4 for these answers, and forget all others.
    ``passages`` are those of each question."""
    first: list[tuple[AnyTask, str, Mapping[str, Any]]] = []
    for question, answer in answers:
        for nugget in answer.nuggets:
            content = _entailment(nugget, passages[question.id][nugget.key])
            first.append((ENTAILMENT, unit_hash(ENTAILMENT.name, content), content))
        content = _act_content(question, answer)
        first.append((DIALOGUE_ACT, unit_hash(DIALOGUE_ACT.name, content), content))
    book.read(first)
    second: list[tuple[AnyTask, str, Mapping[str, Any]]] = []
    for question, answer in answers:
        step3 = entail(book, answer, passages[question.id])
        content = _answer_content(question, answer, _texts(answer, step3))
        second.append((ANSWER, unit_hash(ANSWER.name, content), content))
    book.read_more(second)


Entailment = tuple[Nugget, Passage, Mark | None, State, Label | None, Label | None]
"""The beginning of a :class:`NuggetResult`: what is known before the answer's label is."""


@dataclass(frozen=True, slots=True)
class Entailed:
    """Step 3 for the nuggets of one answer: each with its label, and which are entailed.

    ``pending`` is True where a nugget has neither a usable nor a failed label: the answer's unit
    is not known before it has.
    """

    nuggets: Sequence[Entailment]
    entailed: Sequence[int]
    pending: bool

    def unlabelled(self) -> list[int]:
        """Which nuggets have no label at all, by index."""
        return [index for index, (*_, label, _) in enumerate(self.nuggets) if label is None]


def entailment_unit(nugget: Nugget, passage: Passage) -> EntailmentUnit:
    """What step 3 asks about: the text that the cited PR run holds, and the nugget."""
    return EntailmentUnit(passage=passage.text, nugget=nugget.text)


def answer_unit(question: Question, answer: Answer, entailed: tuple[str, ...]) -> AnswerUnit:
    """What step 4 asks about."""
    return AnswerUnit(
        question=question.text, answer=answer.text, gold=question.gold, nuggets=entailed
    )


def act_unit(question: Question, answer: Answer) -> DialogueActUnit:
    """What the dialogue act is asked about."""
    return DialogueActUnit(question=question.text, answer=answer.text)


def passages_by_key(pr_runs: Mapping[str, PassageRun], question: str) -> dict[PassageKey, Passage]:
    """Passages of a question by PassageKey."""
    return {
        passage.key: passage
        for run in pr_runs.values()
        for passage in run.passages.get(question, ())
    }


def _entailment(nugget: Nugget, passage: Passage) -> dict[str, Any]:
    return {"passage": passage.text, "nugget": nugget.text}


def _texts(answer: Answer, step3: Entailed) -> tuple[str, ...]:
    """The entailed nuggets."""
    return tuple(answer.nuggets[index].text for index in step3.entailed)


def _answer_content(question: Question, answer: Answer, nuggets: tuple[str, ...]) -> dict[str, Any]:
    return {
        "question": question.text,
        "answer": answer.text,
        "gold": list(question.gold),
        "nuggets": list(nuggets),
    }


def _act_content(question: Question, answer: Answer) -> dict[str, Any]:
    return {"question": question.text, "answer": answer.text}


def entail(book: LabelBook, answer: Answer, passages: Mapping[PassageKey, Passage]) -> Entailed:
    """Step 3: which nuggets of ``answer`` their passages entail."""
    results: list[Entailment] = []
    entailed: list[int] = []
    pending = False
    # A hot loop: 8 nuggets an answer, and all that is the same for each stands before it.
    name, counted, bogus = ENTAILMENT.name, State.COUNTED, Mark.BOGUS
    only, own = book.plain(ENTAILMENT)
    for index, nugget in enumerate(answer.nuggets):
        passage = passages[nugget.key]
        content = {"passage": passage.text, "nugget": nugget.text}
        unit = unit_hash(name, content)
        label = only.get(unit)
        if label is None or label.labeller is not own:
            label = book.choose(ENTAILMENT, unit, content)
        if label is None:
            pending = True
            results.append((nugget, passage, None, State.MISSING, None, None))
            continue
        verdict = label.verdict
        if verdict is None:
            results.append((nugget, passage, None, State.FAILED, label, None))
            continue
        overruled = None
        if label.labeller is not own and label.labeller.is_human:
            overruled = book.machine(ENTAILMENT, unit, content)
        if verdict["entailed"]:
            entailed.append(index)
            results.append((nugget, passage, None, counted, label, overruled))
        else:
            results.append((nugget, passage, bogus, counted, label, overruled))
    return Entailed(results, entailed, pending)


def resolve(
    book: LabelBook,
    run: str,
    question: Question,
    answer: Answer,
    passages: Mapping[PassageKey, Passage],
) -> AnswerResult:
    """Steps 3 and 4 for one answer: verdict, marks and what is missing."""
    step3 = entail(book, answer, passages)
    texts = _texts(answer, step3)
    content = _answer_content(question, answer, texts)
    unit = unit_hash(ANSWER.name, content)
    label = book.choose(ANSWER, unit, content)
    state = State.COUNTED
    subject = (question.text, answer.text, question.gold)
    if label is None or (book.people_judged_answers and not label.labeller.is_human):
        other = book.carried(subject)
        if other is not None and (label is None or other.labeller.is_human):
            label = other
            state = State.COUNTED if other.unit == unit else State.CARRIED
    overruled = None
    if label is not None and label.labeller.is_human:
        overruled = book.machine(ANSWER, unit)
    act, act_label = _act(book, question, answer)

    correct = None
    helps: dict[int, tuple[bool, str | None]] = {}
    if label is None:
        state = State.MISSING
    elif label.verdict is None:
        state = State.FAILED
    else:
        correct = bool(label.verdict["correct"])
        helps = _helps(book, label, unit, texts)
        if label.labeller.is_human and overruled is not None:
            # A person may judge the answer alone; the machine's word on the nuggets then stands.
            helps = {**_helps(book, overruled, unit, texts), **helps}
    nuggets: list[NuggetResult] = []
    new = tuple.__new__  # what NuggetResult(...) comes to, without a call in between
    position = 0
    for nugget, passage, mark, known, entailment, other in step3.nuggets:
        helped = why = None
        if correct is not None and mark is None and known is State.COUNTED:  # it is entailed
            helped, why = helps.get(position, (None, None))
            position += 1
            if not correct:
                helped, why = False, why or "The answer is not correct."
            if helped is None:
                known = State.MISSING
            else:
                mark = Mark.RELEVANT if helped else Mark.NONRELEVANT
        nuggets.append(new(
            NuggetResult, (nugget, passage, mark, known, entailment, other, helped, why)
        ))  # fmt: skip
    return AnswerResult(
        run, question, answer, state, correct, _precision(nuggets), tuple(nuggets), label,
        overruled, act, act_label,
    )  # fmt: skip


def _helps(
    book: LabelBook, label: Label, unit: str, texts: tuple[str, ...]
) -> dict[int, tuple[bool, str | None]]:
    """What ``label`` says of the nuggets ``texts`` of ``unit``, by position from 0.

    A label given beside other nuggets is matched by the nuggets' text.
    """
    if label.verdict is None:
        return {}
    judged = texts if label.unit == unit else book.judged_nuggets(label.unit)
    said = {
        position: (bool(item["helped"]), item.get("reason") or None)
        for item in label.verdict.get("nuggets", ())
        if 0 <= (position := int(item["nugget"]) - 1) < len(judged)
    }
    if judged == texts:
        return said
    by_text = {judged[position]: found for position, found in said.items()}
    return {position: by_text[text] for position, text in enumerate(texts) if text in by_text}


def _precision(nuggets: Sequence[NuggetResult]) -> float | None:
    """Nugget precision R / (R + N + B), 0 without nuggets, None where a mark is missing."""
    if not nuggets:
        return 0.0
    marks = [nugget.mark for nugget in nuggets]
    return None if None in marks else marks.count(Mark.RELEVANT) / len(marks)


def _act(book: LabelBook, question: Question, answer: Answer) -> tuple[str | None, Label | None]:
    content = _act_content(question, answer)
    label = book.choose(DIALOGUE_ACT, unit_hash(DIALOGUE_ACT.name, content), content)
    if label is None or label.verdict is None:
        return None, label
    return str(label.verdict["act"]), label


def left_out(run: str, question: Question) -> AnswerResult:
    """A question that a run has no answer to: incorrect, confidence 0, precision 0."""
    return AnswerResult(run, question, None, State.LEFT_OUT, correct=False, precision=0.0)
