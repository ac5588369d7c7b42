"""From labels to what counts for each answer and nugget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, groupby, islice
from math import isnan
from typing import Protocol

import numpy as np

from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Passage, PassageKey, Question
from assay.protocols.answers.acts import act_of, correctness_of, is_asked
from assay.protocols.answers.columns import AnswerLabels, JudgedRun
from assay.protocols.answers.requests import (
    Content,
    GivenAnswer,
    acts_asked,
    answer_content,
    answer_task,
    entailment_content,
    is_entailed,
    nuggets_asked,
)
from assay.protocols.answers.results import NOTHING, AnswerResult, LabelState, NuggetResult
from assay.protocols.carried import carried
from assay.protocols.counted import LabelRow
from assay.protocols.labels import LabelBook, LookedUp
from assay.protocols.places import Place
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, EVERY_ANSWER, Act

Helped = Mapping[int, tuple[bool, str | None]]
"""By the nugget's place in its answer, from 0: whether it helped, and why."""

_AT_ONCE = 1000  # answers that are judged at once
_REMEMBERED = 500  # questions whose passages are held for results that are looked at


class AskedAnswers(Protocol):
    """What is judged: every question of every run, question by question."""

    @property
    def questions(self) -> tuple[Question, ...]: ...
    def every_answer(self) -> Iterator[tuple[str, Question, GivenAnswer | None]]: ...
    def answers(self) -> Iterator[GivenAnswer]: ...
    def passages(self, question: str) -> Mapping[PassageKey, Passage]: ...


def judge_answers(
    asked: AskedAnswers,
    runs: Mapping[str, Mapping[str, Answer]],
    book: LabelBook,
    also: Callable[[AnswerResult], None],
) -> dict[str, JudgedRun]:
    """What the labels of a book say of every run's answer to every question, each label noted where
    it is used. ``also`` is told of each answer, question by question: none is held."""
    nuggets = book.label_row(ENTAILMENT, nuggets_asked(asked.answers()))
    acts = book.label_row(DIALOGUE_ACT, acts_asked(asked.answers()))
    passages = lru_cache(_REMEMBERED)(asked.passages)

    def given(run: str, question: Question) -> GivenAnswer:
        return GivenAnswer(run, question, passages(question.id), runs[run][question.id])

    rows = AnswerLabels(asked.questions, given, nuggets, acts, ())
    judged = {name: JudgedRun(name, rows, book.used.scratch, whole=book.is_whole) for name in runs}
    answers = _AnswerJudge(book)
    numbers = count()
    every = asked.every_answer()
    while some := list(islice(every, _AT_ONCE)):
        results = (
            result
            for task, same_task in groupby(
                (one for _, _, one in some if one is not None),
                lambda one: answer_task(one.question),
            )
            for result in answers.judge(task, list(same_task), nuggets, acts)
        )
        for run, question, one in some:
            if one is None:
                found = AnswerResult(run, question, None, LabelState.LEFT_OUT, False, NOTHING)
                judged[run].add(found)
            else:
                found = next(results)
                judged[run].add(found, next(numbers))
            also(found)
    rows.answers = answers.noted()
    return judged


class _AnswerJudge:
    """What labels say of one answer after the other."""

    def __init__(self, book: LabelBook) -> None:
        self._book = book
        self._labels = book.row()
        self._places = book.places()
        self._nuggets = 0  # so many were judged
        # While no person ever labelled an answer, a machine's own label is the last word.
        self._by_people = {task: book.people_labelled(task) for task in (ANSWER, EVERY_ANSWER)}
        # With ``only:`` perhaps nobody is asked for dialogue acts, and what that labeller says of
        # an answer is all that there is.
        self._acts_expected = book.expects(DIALOGUE_ACT)

    def judge(
        self,
        task: AnyTask,
        given: Sequence[GivenAnswer],
        nuggets: LabelRow,
        acts: LabelRow,
    ) -> Iterator[AnswerResult]:
        """The next answers, of which all are asked the same, and whose labels stand in ``nuggets``
        and ``acts`` behind those of the ones before."""
        step3 = list(self._step3(given, nuggets))
        beside = [[at for at, one in enumerate(every) if _is_open(one)] for every in step3]
        asked = [
            _content(one.question, one.answer, some)
            for one, some in zip(given, beside, strict=True)
        ]
        for looked_up in self._book.look_up(task, asked):  # they are one block, or none
            results = [
                self._judged(*each)
                for each in zip(
                    given, step3, beside, asked, looked_up.labels,
                    acts[len(self._labels) : len(self._labels) + len(given)], strict=True,
                )
            ]  # fmt: skip
            self._note(task, results, looked_up)
            yield from results

    def _step3(
        self, given: Sequence[GivenAnswer], labels: LabelRow
    ) -> Iterator[list[NuggetResult]]:
        """The nuggets of each answer; one that its passage does not entail is bogus."""
        begin = self._nuggets
        self._nuggets += sum(len(one.answer.nuggets) for one in given)
        some = labels[begin : self._nuggets]
        entailed = some.map(lambda verdict: float(verdict["entailed"])).tolist()
        there, human = some.there.tolist(), some.human.tolist()
        numbers = count()
        for one in given:
            found = []
            for nugget in one.answer.nuggets:
                at, passage, overruled = next(numbers), one.passages[nugget.key], None
                state = LabelState.COUNTED
                if isnan(entailed[at]):
                    state = LabelState.FAILED if there[at] else LabelState.MISSING
                elif human[at]:
                    overruled = self._book.machine(ENTAILMENT, entailment_content(nugget, passage))
                mark = Mark.BOGUS if entailed[at] == 0 else None
                found.append(
                    NuggetResult(
                        nugget, passage, mark, state, labels, begin + at, human[at], overruled
                    )
                )
            yield found

    def _note(self, task: AnyTask, results: Sequence[AnswerResult], found: LookedUp) -> None:
        """Remember which labels counted, and count what was wanted of answers."""
        begin = len(self._labels)
        for one in results:
            self._labels.add(one.label)
            carried_on = "answer, carried" if one.state is LabelState.CARRIED else "answer"
            self._places.add((Place(one.run, one.question.id, carried_on),))
        labels = self._labels[begin:]
        lacks = np.array([one.lacks for one in results], np.bool_)
        counted = LookedUp(found.units, found.first, labels.without(lacks))
        self._book.count_all(task, counted, of=lacks | labels.there)

    def noted(self) -> LabelRow:
        """The labels of all answers, which are used."""
        self._book.used.note_all(self._labels, self._places)
        return self._labels

    def _judged(
        self,
        given: GivenAnswer,
        step3: list[NuggetResult],
        beside: list[int],
        unit: Content,
        label: Label | None,
        act_label: Label | None,
    ) -> AnswerResult:
        """Verdict and marks of one answer, and what is missing."""
        run, question, _, answer = given
        book, task = self._book, answer_task(question)
        unmarked = {one.state for one in step3} - {LabelState.COUNTED}
        given_beside = beside
        state = LabelState.COUNTED
        if label is None or (self._by_people[task] and not label.labeller.is_human):
            former = self._carried(question, answer, step3, unit)
            if former is not None and (label is None or former[0].labeller.is_human):
                label, given_beside = former
                state = LabelState.CARRIED
        if unmarked and label is not None and not label.labeller.is_human:
            label = None  # it is of other nuggets than the answer may turn out to have
        overruled = None
        helps: dict[int, tuple[bool, str | None]] = {}
        if label is not None and label.labeller.is_human:
            # A person may judge the answer alone; the machine's word on the nuggets then stands.
            for which in (beside,) if given_beside == beside else (given_beside, beside):
                machine = book.machine(task, _content(question, answer, which))
                overruled = machine or overruled
                if book.counts_machine(task):
                    helps.update(_helps(machine, answer, which))
        act = act_of(act_label, question, answer.text)
        correct, recall = correctness_of(
            act, act_label, label, question, expected=self._acts_expected
        )
        if label is not None and not is_asked(act, question, len(beside)):
            # It was judged before its act was known: a person's word alone still counts.
            label = label if label.labeller.is_human else None
        if correct is None or recall.value is None:
            failed = any(one is not None and one.verdict is None for one in (label, act_label))
            failed = failed or unmarked == {LabelState.FAILED}
            state = LabelState.FAILED if failed else LabelState.MISSING
        elif label is None:
            state = LabelState.COUNTED
        helps.update(_helps(label, answer, given_beside))
        usable = label is not None and label.verdict is not None
        silent = False if usable and act not in (None, Act.ANSWER) else None
        nuggets = step3 if correct is None else _marked(step3, helps, silent, correct=correct)
        return AnswerResult(
            run, question, answer, state, correct, _precision(nuggets, correct), tuple(nuggets),
            label, overruled, act, act_label, recall,
        )  # fmt: skip

    def _carried(
        self, question: Question, answer: Answer, step3: Sequence[NuggetResult], unit: Content
    ) -> tuple[Label, list[int]] | None:
        """The label that counted for this very answer before labels changed which of its nuggets
        are entailed, with the places of those that it was given beside."""
        parts = [
            (ENTAILMENT, entailment_content(one.nugget, one.passage))
            for one in step3
            if one.passage is not None
        ]

        def beside(said: Sequence[Label]) -> list[int]:
            return [at for at, one in enumerate(said) if is_entailed(one)]

        found = carried(
            self._book, answer_task(question), unit, parts,
            lambda said: _content(question, answer, beside(said)),
        )  # fmt: skip
        return None if found is None else (found[0], beside(found[1]))


def _content(question: Question, answer: Answer, beside: Sequence[int]) -> Content:
    """What is asked of an answer beside the nuggets at these places."""
    return answer_content(question, answer, (answer.nuggets[at].text for at in beside))


def _is_open(one: NuggetResult) -> bool:
    """Whether a nugget is entailed, and may have helped."""
    return one.state is LabelState.COUNTED and one.mark is None


def _marked(
    step3: Sequence[NuggetResult], helps: Helped, silent: bool | None, *, correct: bool
) -> list[NuggetResult]:
    """The nuggets, of which an entailed one is relevant where it helped to find a correct answer.
    ``silent`` is what a label that says nothing of a nugget means."""
    found = list(step3)
    for at, one in enumerate(step3):
        if _is_open(one):
            helped, why = helps.get(at, (silent, None))
            if not correct:
                helped, why = False, why or "The answer is not correct."
            mark = None if helped is None else Mark.RELEVANT if helped else Mark.NONRELEVANT
            state = LabelState.MISSING if helped is None else LabelState.COUNTED
            found[at] = one._replace(mark=mark, state=state, helped=helped, help_reason=why)
    return found


def _helps(label: Label | None, answer: Answer, beside: Sequence[int]) -> Helped:
    """What ``label`` says of the nuggets of ``answer``, where it was given beside those at these
    places; and of others of the same wording, unless it says different things of that."""
    if label is None or label.verdict is None:
        return {}
    said = {
        beside[position]: (bool(item["helped"]), item.get("reason") or None)
        for item in label.verdict.get("nuggets", ())
        if 0 <= (position := int(item["nugget"]) - 1) < len(beside)
    }
    by_text: dict[str, dict[bool, str | None]] = {}
    for at, (helped, why) in said.items():
        by_text.setdefault(answer.nuggets[at].text, {})[helped] = why
    others = {
        at: next(iter(by_text[one.text].items()))
        for at, one in enumerate(answer.nuggets)
        if len(by_text.get(one.text, ())) == 1
    }
    return others | said


def _precision(nuggets: Sequence[NuggetResult], correct: bool | None) -> Range:
    """Nugget precision R / (R + N + B), 0 without nuggets. A nugget without a mark may be relevant
    unless the answer is known not to be correct."""
    if not nuggets:
        return Range.certain(0.0)
    marks = [nugget.mark for nugget in nuggets]
    relevant = marks.count(Mark.RELEVANT)
    possible = relevant if correct is False else relevant + marks.count(None)
    return Range(relevant / len(marks), possible / len(marks))
