"""From the ledger's labels to what counts for each nugget and answer, under a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from assay.judging.again import PROMPT, SETTINGS
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.ledger.policy import Policy, choose
from assay.model.labels import Label, LabellerId, Status
from assay.model.rag import (
    Answer,
    Mark,
    Nugget,
    Passage,
    PassageKey,
    PassageRun,
    Question,
)
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
    RelevanceUnit,
)

Subject = tuple[str, str, tuple[str, ...]]


@dataclass
class LabelBook:
    """The labels of an evaluation, looked up by unit.

    ``labellers`` are the evaluation's own by task name; None where one could not be made (its
    labels are then taken as missing).
    """

    ledger: Ledger
    policy: Policy
    labellers: Mapping[str, Labeller | None]
    _only: dict[str, Label] = field(default_factory=dict, init=False)  # units with one label
    _several: dict[str, list[Label]] = field(default_factory=dict, init=False)
    other_versions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        versions = {task.name: task.version for task in TASKS}
        for label in self.ledger.labels(versions):
            unit = label.unit
            if label.version != versions[label.task]:
                self.other_versions += 1
            elif unit in self._several:
                self._several[unit].append(label)
            elif unit in self._only:
                self._several[unit] = [self._only.pop(unit), label]
            else:
                self._only[unit] = label

    @cached_property
    def configured(self) -> dict[str, LabellerId | None]:
        """Identity of the evaluation's own labeller of each task."""
        # The ledger's own objects where it has them: comparing those costs next to nothing.
        known = list(self.ledger.labellers().values())
        found: dict[str, LabellerId | None] = {}
        for task in TASKS:
            labeller = self.labellers.get(task.name)
            who = None if labeller is None else labeller.id
            found[task.name] = next((one for one in known if one == who), who)
        return found

    @cached_property
    def _own(self) -> dict[str, LabellerId | None]:
        """``configured`` where the policy lets a machine's label count."""
        return self.configured if self.policy.machine else dict.fromkeys(self.configured)

    def of(self, unit: str) -> list[Label]:
        """All labels of a unit, oldest first."""
        only = self._only.get(unit)
        return self._several.get(unit, []) if only is None else [only]

    def choose(self, task: AnyTask, unit: str, content: Mapping[str, Any]) -> Label | None:
        """The label of a unit that counts, which may be a failed one."""
        only = self._only.get(unit)
        if only is not None and only.labeller is self._own[task.name]:
            return only  # nearly always
        labels = self.of(unit)
        if not labels:
            return None
        labeller = self.labellers.get(task.name)

        def exact_key() -> str:
            if labeller is None:
                return ""
            request = Request(task, task.unit.model_validate(content))
            return request_key(labeller, request)

        return choose(labels, self.policy, self.configured[task.name], exact_key)

    def superseded(self) -> Counter[tuple[str, str]]:
        """How many units the evaluation's own labeller was asked about again, by task and why."""
        found: Counter[tuple[str, str]] = Counter()
        for labels in self._several.values():
            own = self.configured[labels[0].task]
            if own is None:
                continue
            asked = [one for one in labels if one.labeller.name == own.name and not one.sample]
            if len({one.key for one in asked}) < 2:
                continue
            same = {one.key for one in asked if one.labeller == own}
            why = PROMPT if len(same) > 1 else SETTINGS
            found[labels[0].task, why] += 1
        return found

    @cached_property
    def _answers_of(self) -> dict[Subject, list[Label]]:
        """Usable answer labels by question, answer and gold answers, whatever the nuggets."""
        subjects: dict[Subject, list[Label]] = {}
        for unit, content in self.answer_units.items():
            subject = (content["question"], content["answer"], tuple(content["gold"]))
            usable = (label for label in self.of(unit) if label.status is Status.OK)
            subjects.setdefault(subject, []).extend(usable)
        for labels in subjects.values():
            labels.sort(key=lambda label: label.rowid)
        return subjects

    @cached_property
    def answer_units(self) -> dict[str, Mapping[str, Any]]:
        """Content of every answer unit that was ever labelled."""
        return self.ledger.units([ANSWER.name])

    @cached_property
    def people_judged_answers(self) -> bool:
        """Whether any person ever labelled an answer (else no need to look for carried ones)."""
        return any(
            label.labeller.is_human and label.task == ANSWER.name
            for label in chain(self._only.values(), *self._several.values())
        )

    def carried(self, subject: Subject) -> Label | None:
        """The label that counts among those given to the same question and answer beside other
        nuggets: a person's before a machine's, the newest of each."""
        return choose(self._answers_of.get(subject, []), self.policy, self.configured[ANSWER.name])

    def machine(self, task: AnyTask, unit: str) -> Label | None:
        """The newest usable label of the evaluation's own machine for a unit."""
        configured = self.configured[task.name]
        found = [
            label
            for label in self.of(unit)
            if label.status is Status.OK and label.labeller == configured
        ]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Entailed:
    """Step 3 for the nuggets of one answer: each with its label, and which are entailed.

    ``pending`` is True where a nugget has neither a usable nor a failed label: the answer's unit
    is not known before it has.
    """

    nuggets: tuple[NuggetResult, ...]
    entailed: tuple[int, ...]
    pending: bool


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


def relevance_unit(question: Question, passage: Passage) -> RelevanceUnit:
    """What the check of derived grades asks about."""
    return RelevanceUnit(question=question.text, passage=passage.text, gold=question.gold)


def passages_by_key(pr_runs: Mapping[str, PassageRun], question: str) -> dict[PassageKey, Passage]:
    """Passages of a question by PassageKey."""
    return {
        passage.key: passage
        for run in pr_runs.values()
        for passage in run.passages.get(question, ())
    }


def entail(book: LabelBook, answer: Answer, passages: Mapping[PassageKey, Passage]) -> Entailed:
    """Step 3: which nuggets of ``answer`` their passages entail."""
    results: list[NuggetResult] = []
    entailed: list[int] = []
    pending = False
    name, counted, bogus = ENTAILMENT.name, State.COUNTED, Mark.BOGUS  # a hot loop
    for index, nugget in enumerate(answer.nuggets):
        passage = passages[nugget.key]
        content = {"passage": passage.text, "nugget": nugget.text}
        unit = unit_hash(name, content)
        label = book.choose(ENTAILMENT, unit, content)
        if label is None:
            pending = True
            results.append(NuggetResult(nugget, passage, None, State.MISSING))
        elif label.verdict is None:
            results.append(NuggetResult(nugget, passage, None, State.FAILED, label))
        else:
            overruled = book.machine(ENTAILMENT, unit) if label.labeller.is_human else None
            if label.verdict["entailed"]:
                entailed.append(index)
                results.append(NuggetResult(nugget, passage, None, counted, label, overruled))
            else:
                results.append(NuggetResult(nugget, passage, bogus, counted, label, overruled))
    return Entailed(tuple(results), tuple(entailed), pending)


def resolve(
    book: LabelBook,
    run: str,
    question: Question,
    answer: Answer,
    passages: Mapping[PassageKey, Passage],
) -> AnswerResult:
    """Steps 3 and 4 for one answer: verdict, marks and what is missing."""
    step3 = entail(book, answer, passages)
    texts = tuple(answer.nuggets[index].text for index in step3.entailed)
    content = {
        "question": question.text,
        "answer": answer.text,
        "gold": list(question.gold),
        "nuggets": list(texts),
    }
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

    def result(
        state: State, correct: bool | None, nuggets: tuple[NuggetResult, ...]
    ) -> AnswerResult:
        precision = _precision(nuggets)
        return AnswerResult(
            run, question, answer, state, correct, precision, nuggets, label, overruled, act,
            act_label,
        )  # fmt: skip

    if label is None:
        return result(State.MISSING, None, step3.nuggets)
    if label.verdict is None:
        return result(State.FAILED, None, step3.nuggets)
    correct = bool(label.verdict["correct"])
    helps = _helps(book, label, texts)
    if label.labeller.is_human and overruled is not None:
        # A person may judge the answer alone; the machine's word on the nuggets then stands.
        helps = {**_helps(book, overruled, texts), **helps}
    nuggets = list(step3.nuggets)
    for position, index in enumerate(step3.entailed):
        helped, why = helps.get(position, (None, None))
        if not correct:
            helped, mark = False, Mark.NONRELEVANT
            why = why or "The answer is not correct."
        elif helped is None:
            nuggets[index] = nuggets[index]._replace(state=State.MISSING)
            continue
        else:
            mark = Mark.RELEVANT if helped else Mark.NONRELEVANT
        nugget, passage, _, known, entailment, other, *_ = nuggets[index]
        nuggets[index] = NuggetResult(nugget, passage, mark, known, entailment, other, helped, why)
    return result(state, correct, tuple(nuggets))


def _helps(
    book: LabelBook, label: Label, texts: tuple[str, ...]
) -> dict[int, tuple[bool, str | None]]:
    """What ``label`` says of the nuggets ``texts``, by position from 0.

    A label given beside other nuggets is matched by the nuggets' text.
    """
    if label.verdict is None:
        return {}
    judged = tuple(book.answer_units[label.unit]["nuggets"])
    said: dict[str, tuple[bool, str | None]] = {}
    by_position: dict[int, tuple[bool, str | None]] = {}
    for item in label.verdict.get("nuggets", ()):
        position = int(item["nugget"]) - 1
        if 0 <= position < len(judged):
            by_position[position] = said[judged[position]] = (
                bool(item["helped"]),
                item.get("reason") or None,
            )
    if judged == texts:
        return by_position
    return {position: said[text] for position, text in enumerate(texts) if text in said}


def _precision(nuggets: tuple[NuggetResult, ...]) -> float | None:
    """Nugget precision R / (R + N + B), 0 without nuggets, None where a mark is missing."""
    if not nuggets:
        return 0.0
    marks = [nugget.mark for nugget in nuggets]
    return None if None in marks else marks.count(Mark.RELEVANT) / len(marks)


def _act(book: LabelBook, question: Question, answer: Answer) -> tuple[str | None, Label | None]:
    content = {"question": question.text, "answer": answer.text}
    label = book.choose(DIALOGUE_ACT, unit_hash(DIALOGUE_ACT.name, content), content)
    if label is None or label.verdict is None:
        return None, label
    return str(label.verdict["act"]), label


def left_out(run: str, question: Question) -> AnswerResult:
    """A question that a run has no answer to: incorrect, confidence 0, precision 0."""
    return AnswerResult(run, question, None, State.LEFT_OUT, correct=False, precision=0.0)
