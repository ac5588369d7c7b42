"""What labels say of an answer and its nuggets, rule by rule and one answer at a time: what the
arrays of :mod:`assay.protocols.answers.judged` must come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.measures.ranges import OPEN, Range
from assay.model.labels import Label
from assay.model.rag import Mark
from assay.protocols.answers.acts import act_of, is_asked, is_to_refuse
from assay.protocols.answers.requests import (
    GivenAnswer,
    act_content,
    answer_content,
    answer_task,
    entailment_content,
    is_entailed,
)
from assay.protocols.answers.results import AnswerResult, LabelState, NuggetResult
from assay.protocols.carried import carried
from assay.protocols.labels import LabelBook
from assay.protocols.r2c2.inputs import R2c2Inputs
from assay.tasks.base import unit_hash
from assay.tasks.r2c2 import DIALOGUE_ACT, ENTAILMENT, Act


def results(inputs: R2c2Inputs, book: LabelBook) -> dict[tuple[str, str], AnswerResult]:
    """Every run's answer to every question."""
    return {
        (run, question.id): AnswerResult(
            run, question, None, LabelState.LEFT_OUT, False, Range.certain(0.0)
        )
        if given is None
        else _OneAnswer(given, book).result()
        for run, question, given in inputs.every_answer()
    }


def counted(inputs: R2c2Inputs, book: LabelBook) -> tuple[int, int, int]:
    """How many different units of answers labels were wanted of, for how many there is none, and
    how many failed: wanted is a label that is there, or that is missing and something hangs on,
    unless it waits for labels of nuggets that failed."""
    units: dict[str, Label | None] = {}
    found = results(inputs, book)
    for run, question, given in inputs.every_answer():
        if given is not None:
            one, (floor, ceiling) = found[run, question.id], found[run, question.id].recall
            unsure = one.correct is None or floor != ceiling or len(set(one.precision)) > 1
            states = {one.state, *(each.state for each in one.nuggets)}
            waits = any(each.state is LabelState.FAILED for each in one.nuggets)
            lacks = unsure and LabelState.MISSING in states and not waits
            if lacks or one.label is not None:
                units.setdefault(_OneAnswer(given, book).unit, None if lacks else one.label)
    failed = [one for one in units.values() if one is not None and one.verdict is None]
    return len(units), list(units.values()).count(None), len(failed)


class _OneAnswer:
    def __init__(self, given: GivenAnswer, book: LabelBook) -> None:
        self.run, self.question, self.passages, self.answer = given
        self.book, self.task = book, answer_task(self.question)
        self.nuggets = [self._nugget(one) for one in self.answer.nuggets]

    def _nugget(self, nugget: Any) -> NuggetResult:
        content = entailment_content(nugget, self.passages[nugget.key])
        label = self.book.find(ENTAILMENT, content)
        state, mark, overruled = LabelState.COUNTED, None, None
        if label is None or label.verdict is None:
            state = LabelState.MISSING if label is None else LabelState.FAILED
        else:
            mark = None if label.verdict["entailed"] else Mark.BOGUS
            if label.labeller.is_human:
                overruled = self.book.machine_label(ENTAILMENT, content)
        return NuggetResult(nugget, self.passages[nugget.key], mark, state, label, overruled)

    def _content(self, beside: Sequence[int]) -> dict[str, Any]:
        texts = [self.answer.nuggets[at].text for at in beside]
        return answer_content(self.question, self.answer, texts)

    @property
    def now(self) -> list[int]:
        """The entailed nuggets."""
        return [at for at, one in enumerate(self.nuggets)
                if one.state is LabelState.COUNTED and one.mark is None]  # fmt: skip

    @property
    def unit(self) -> str:
        """What is asked of the answer."""
        return unit_hash(self.task.name, self._content(self.now))

    def result(self) -> AnswerResult:
        book, states, now = self.book, {one.state for one in self.nuggets}, self.now
        label, state, beside = book.find(self.task, self._content(now)), LabelState.COUNTED, now
        people = book.people_labelled(self.task)
        if label is None or (people and not label.labeller.is_human):
            former = self._carried(now)
            if former is not None and (label is None or former[0].labeller.is_human):
                (label, beside), state = former, LabelState.CARRIED
        if states - {LabelState.COUNTED} and label is not None and not label.labeller.is_human:
            label = None
        helps: dict[int, tuple[bool, str | None]] = {}
        overruled = None
        if label is not None and label.labeller.is_human:
            for which in [now] if now == beside else [beside, now]:
                machine = book.machine_label(self.task, self._content(which))
                overruled = machine or overruled
                if machine is not None and book.counts_machine(self.task):
                    helps.update(self._helps(machine, which))
        act_label = book.find(DIALOGUE_ACT, act_content(self.question, self.answer))
        act = act_of(act_label, self.question, self.answer.text)
        correct, recall = self._correct(act, act_label, label)
        if label is not None and not label.labeller.is_human:
            label = label if is_asked(act, self.question, len(now)) else None
        if correct is None or recall.value is None:
            failed = any(one is not None and one.verdict is None for one in (label, act_label))
            open_act = act_label is None and book.expects(DIALOGUE_ACT)
            waits = states - {LabelState.COUNTED} == {LabelState.FAILED} and not open_act
            otherwise = LabelState.WAITING if waits else LabelState.MISSING
            state = LabelState.FAILED if failed else otherwise
        elif label is None:
            state = LabelState.COUNTED
        usable = label is not None and label.verdict is not None
        if usable:
            helps.update(self._helps(label, beside))
        silent = False if usable and act not in (None, Act.ANSWER) else None
        nuggets = list(self.nuggets)
        for at in now if correct is not None else ():
            helped, why = helps.get(at, (silent, None))
            if not correct:
                helped, why = False, why or "The answer is not correct."
            mark = {None: None, True: Mark.RELEVANT, False: Mark.NONRELEVANT}[helped]
            found = LabelState.MISSING if helped is None else LabelState.COUNTED
            nuggets[at] = nuggets[at]._replace(
                mark=mark, state=found, helped=helped, help_reason=why
            )
        marks = [one.mark for one in nuggets]
        relevant = marks.count(Mark.RELEVANT)
        possible = relevant + (0 if correct is False else marks.count(None))
        count = max(len(marks), 1)
        return AnswerResult(
            self.run, self.question, self.answer, state, correct,
            Range(relevant / count, possible / count), tuple(nuggets),
            label, overruled, act, act_label, recall,
        )  # fmt: skip

    def _correct(
        self, act: Act | None, act_label: Label | None, label: Label | None
    ) -> tuple[bool | None, Range]:
        correct, recall, by_person = None, OPEN, False
        if label is not None and label.verdict is not None:
            correct = bool(label.verdict["correct"])
            given = [one["given"] for one in label.verdict.get("required", ())] or [correct]
            recall, by_person = Range.certain(sum(given) / len(given)), label.labeller.is_human
        outranks = by_person and not (act_label is not None and act_label.labeller.is_human)
        unasked = act_label is None and not self.book.expects(DIALOGUE_ACT)
        if act is Act.ANSWER or outranks or unasked:
            return correct, recall
        right = is_to_refuse(self.question)
        if act is not None:
            return right, Range.certain(float(right))
        ends = (*recall, float(right))
        return (right if correct is right else None), Range(min(ends), max(ends))

    def _helps(self, label: Label, beside: Sequence[int]) -> Mapping[int, tuple[bool, str | None]]:
        """By position, and by wording where nothing else is said of that."""
        texts = [one.text for one in self.answer.nuggets]
        said = {
            beside[one["nugget"] - 1]: (one["helped"], one.get("reason") or None)
            for one in (label.verdict or {}).get("nuggets", ())
            if one["nugget"] <= len(beside)
        }
        found = dict(said)
        for at, text in enumerate(texts):
            of_text = [one for place, one in said.items() if texts[place] == text]
            if at not in said and len({helped for helped, _ in of_text}) == 1:
                found[at] = of_text[-1]
        return found

    def _carried(self, now: Sequence[int]) -> tuple[Label, list[int]] | None:
        def beside(said: Sequence[Label]) -> list[int]:
            return [at for at, one in enumerate(said) if is_entailed(one)]

        contents = [entailment_content(one, self.passages[one.key]) for one in self.answer.nuggets]
        found = carried(
            self.book, self.task, self._content(now), [(ENTAILMENT, one) for one in contents],
            lambda said: self._content(beside(said)),
        )  # fmt: skip
        return None if found is None else (found[0], beside(found[1]))
