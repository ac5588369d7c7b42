"""From the ledger's labels to what counts for each nugget and answer, under a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy, choose
from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import (
    Answer,
    Mark,
    Nugget,
    Passage,
    PassageKey,
    Question,
)
from assay.protocols.book import Book
from assay.protocols.r2c2.acts import act_of, correctness, is_asked
from assay.protocols.r2c2.results import AnswerResult, NuggetResult, State
from assay.tasks.base import AnyTask, unit_hash
from assay.tasks.r2c2 import (
    ANSWER,
    DIALOGUE_ACT,
    ENTAILMENT,
    TASKS,
    Act,
)
from assay.tasks.trec_rag import RELEVANCE as GRADED_RELEVANCE
from assay.tasks.trec_rag import RELEVANCE_YES_NO, SUPPORT

SHARED: tuple[AnyTask, ...] = (SUPPORT, RELEVANCE_YES_NO, GRADED_RELEVANCE)
"""Tasks of other protocols that R2C2's settings may ask for."""

Beside = tuple[str, ...]
"""The nuggets that an answer is judged beside."""


class LabelBook(Book):
    """The labels of an R2C2 evaluation; see :class:`assay.protocols.book.Book`."""

    def __init__(
        self,
        ledger: Ledger,
        policy: Policy,
        labellers: Mapping[str, Labeller | None],
        *,
        whole: bool = False,
        strict: bool = False,
    ) -> None:
        """With ``whole`` labels are had with all that a report shows of them."""
        tasks = (*TASKS, *(task for task in SHARED if task.name in labellers))
        asked = frozenset({ENTAILMENT.name} if SUPPORT.name in labellers else ())
        own = frozenset({ENTAILMENT.name} if strict else ())
        super().__init__(ledger, policy, labellers, tasks, asked, own)
        self._whole = whole

    def of(self, unit: str) -> list[Label]:
        found = super().of(unit)
        return list(self.ledger.whole(found)) if self._whole else found

    @cached_property
    def people_judged_answers(self) -> bool:
        """Whether any person ever labelled an answer (else a machine's own label is the last
        word)."""
        return ANSWER.name in self.ledger.judged_by_people()

    @cached_property
    def acts_expected(self) -> bool:
        """Whether the policy counts labels of somebody who is asked for dialogue acts: with
        ``only:`` perhaps nobody, and what that labeller says of an answer is all that there is."""
        own = self.configured[DIALOGUE_ACT.name]
        return self.policy.only is None or (own is not None and own.name == self.policy.only)


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


def _entailment(nugget: Nugget, passage: Passage) -> dict[str, Any]:
    return {"passage": passage.text, "nugget": nugget.text}


def _texts(step3: Entailed) -> tuple[str, ...]:
    """The entailed nuggets."""
    return tuple(step3.nuggets[index][0].text for index in step3.entailed)


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
    own = book.configured[ENTAILMENT.name]
    for index, nugget in enumerate(answer.nuggets):
        passage = passages[nugget.key]
        content = {"passage": passage.text, "nugget": nugget.text}
        unit = unit_hash(name, content)
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
    texts = _texts(step3)
    content = _answer_content(question, answer, texts)
    unit = unit_hash(ANSWER.name, content)
    label, beside = book.choose(ANSWER, unit, content), texts
    state = State.COUNTED
    if label is None or (book.people_judged_answers and not label.labeller.is_human):
        carried = _carried(book, question, answer, passages, unit)
        if carried is not None and (label is None or carried[0].labeller.is_human):
            label, beside = carried
            state = State.CARRIED
    open_nuggets = {known for *_, known, _, _ in step3.nuggets} - {State.COUNTED}
    if open_nuggets and label is not None and not label.labeller.is_human:
        label = None  # it is of other nuggets than the answer may turn out to have
    overruled = None
    helps: dict[int, tuple[bool, str | None]] = {}
    if label is not None and label.labeller.is_human:
        # A person may judge the answer alone; the machine's word on the nuggets then stands.
        for place, judged in {label.unit: beside, unit: texts}.items():
            overruled = book.machine(ANSWER, place) or overruled
            helps.update(_helps(book.machine(ANSWER, place), judged, texts))
    act, act_label = act_given(book, question, answer)
    correct = correctness(act, act_label, label, question, expected=book.acts_expected)
    if label is not None and not is_asked(act, question, len(texts)):
        # An answer that was judged before its act was known: a person's word alone still counts.
        label = label if label.labeller.is_human else None
    if correct is None:
        failed = any(one is not None and one.verdict is None for one in (label, act_label))
        failed = failed or (State.FAILED in open_nuggets and State.MISSING not in open_nuggets)
        state = State.FAILED if failed else State.MISSING
    elif label is None:
        state = State.COUNTED
    helps.update(_helps(label, beside, texts))
    silent = None if label is None or label.verdict is None or act in (None, Act.ANSWER) else False
    nuggets: list[NuggetResult] = []
    new = tuple.__new__  # what NuggetResult(...) comes to, without a call in between
    position = 0
    for nugget, passage, mark, known, entailment, other in step3.nuggets:
        helped = why = None
        if correct is not None and mark is None and known is State.COUNTED:  # it is entailed
            helped, why = helps.get(position, (silent, None))
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
        run, question, answer, state, correct, _precision(nuggets, correct), tuple(nuggets), label,
        overruled, act, act_label,
    )  # fmt: skip


def _carried(
    book: LabelBook,
    question: Question,
    answer: Answer,
    passages: Mapping[PassageKey, Passage],
    unit: str,
) -> tuple[Label, Beside] | None:
    """The label that counted for this very answer before labels changed which of its nuggets are
    entailed, with the nuggets that it was given beside; ``unit`` is the answer's present unit.

    Only what counted here already is carried on: a label that was given to one of this answer's
    former units after that had ceased to be its unit is about another run's answer.
    """
    contents = [_entailment(nugget, passages[nugget.key]) for nugget in answer.nuggets]
    asked = [(unit_hash(ENTAILMENT.name, content), content) for content in contents]
    histories = [book.labels(ENTAILMENT, *each) for each in asked]
    if all(len(labels) < 2 for labels in histories):
        return None
    given: dict[str, tuple[Label, Beside]] = {}
    for end in sorted({label.rowid for labels in histories for label in labels}, reverse=True):
        said = [book.choose(ENTAILMENT, *each, before=end) for each in asked]
        if None in said:
            break
        entailed = zip(answer.nuggets, said, strict=True)
        beside = tuple(n.text for n, one in entailed if one and (one.verdict or {}).get("entailed"))
        content = _answer_content(question, answer, beside)
        former = unit_hash(ANSWER.name, content)
        if former != unit and former not in given:
            counted = book.choose(ANSWER, former, content, before=end)
            if counted is not None and counted.verdict is not None:
                given[former] = counted, beside
    labels = sorted((label for label, _ in given.values()), key=lambda label: label.rowid)
    chosen = choose(labels, book.policy, book.configured[ANSWER.name])
    return None if chosen is None else given[chosen.unit]


def _helps(
    label: Label | None, beside: Beside, texts: Beside
) -> dict[int, tuple[bool, str | None]]:
    """What ``label``, given beside the nuggets ``beside``, says of the nuggets ``texts``, by
    position from 0. Where those differ nuggets are matched by their text."""
    if label is None or label.verdict is None:
        return {}
    said = {
        position: (bool(item["helped"]), item.get("reason") or None)
        for item in label.verdict.get("nuggets", ())
        if 0 <= (position := int(item["nugget"]) - 1) < len(beside)
    }
    if beside == texts:
        return said
    by_text = {beside[position]: helped for position, helped in said.items()}
    return {position: by_text[text] for position, text in enumerate(texts) if text in by_text}


def _precision(nuggets: Sequence[NuggetResult], correct: bool | None) -> Range:
    """Nugget precision R / (R + N + B), 0 without nuggets. A nugget without a mark may be relevant
    unless the answer is known not to be correct."""
    if not nuggets:
        return Range.certain(0.0)
    marks = [nugget.mark for nugget in nuggets]
    relevant = marks.count(Mark.RELEVANT)
    possible = relevant if correct is False else relevant + marks.count(None)
    return Range(relevant / len(marks), possible / len(marks))


def act_given(
    book: LabelBook, question: Question, answer: Answer
) -> tuple[Act | None, Label | None]:
    """The dialogue act of an answer, and the label that it rests on."""
    content = _act_content(question, answer)
    label = book.choose(DIALOGUE_ACT, unit_hash(DIALOGUE_ACT.name, content), content)
    return act_of(label, question, answer.text), label


def left_out(run: str, question: Question) -> AnswerResult:
    """A question that a run has no answer to: incorrect, confidence unknown, precision 0."""
    nothing = Range.certain(0.0)
    return AnswerResult(run, question, None, State.LEFT_OUT, correct=False, precision=nothing)
