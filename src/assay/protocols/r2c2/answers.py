"""From labels to what counts for each answer and nugget: steps 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, Question
from assay.protocols.carried import carried
from assay.protocols.counted import CountedLabels
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.protocols.r2c2.acts import act_of, correctness, is_asked
from assay.protocols.r2c2.inputs import Inputs
from assay.protocols.r2c2.requests import (
    Content,
    act_content,
    answer_content,
    entailment_content,
)
from assay.protocols.r2c2.results import AnswerResult, NuggetResult, State
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, Act

Helped = Mapping[int, tuple[bool, str | None]]
"""By the nugget's place in its answer, from 0: whether it helped, and why."""


def judge_answers(inputs: Inputs, book: LabelBook) -> Iterator[tuple[str, AnswerResult]]:
    """Every run's answer to every question with what the labels of a book say of it, each label
    noted where it is used."""
    every = list(inputs.every_answer())
    given = [(Place(run, question.id), question, passages, answer)
             for run, question, passages, answer in every if answer is not None]  # fmt: skip
    nuggets = book.labels(
        ENTAILMENT,
        (
            entailment_content(one, passages[one.key])
            for _, _, passages, answer in given
            for one in answer.nuggets
        ),
        (
            at._replace(position=f"nugget {one.num}")
            for at, _, _, answer in given
            for one in answer.nuggets
        ),
    )
    acts = book.labels(
        DIALOGUE_ACT,
        (act_content(question, answer) for _, question, _, answer in given),
        (at._replace(position="dialogue act") for at, *_ in given),
    )
    answers = _Answers(book, nuggets)
    act_labels = iter(acts)
    for run, question, passages, answer in every:
        if answer is None:
            nothing = Range.certain(0.0)
            yield run, AnswerResult(run, question, None, State.LEFT_OUT, False, nothing)
        else:
            yield run, answers.judged(run, question, answer, passages, next(act_labels))


class _Answers:
    """What labels say of one answer after the other. ``nuggets`` are the labels of step 3, in the
    same order."""

    def __init__(self, book: LabelBook, nuggets: CountedLabels) -> None:
        self._book = book
        self._nuggets = nuggets
        self._entailed = nuggets.map(lambda verdict: float(verdict["entailed"])).tolist()
        self._there, self._human = nuggets.there.tolist(), nuggets.human.tolist()
        self._next = 0
        # While no person ever labelled an answer, a machine's own label is the last word.
        self._by_people = book.people_labelled(ANSWER)
        # With ``only:`` perhaps nobody is asked for dialogue acts, and what that labeller says of
        # an answer is all that there is.
        self._acts_expected = book.expects(DIALOGUE_ACT)

    def judged(
        self,
        run: str,
        question: Question,
        answer: Answer,
        passages: Mapping[PassageKey, Passage],
        act_label: Label | None,
    ) -> AnswerResult:
        """Verdict and marks of one answer, and what is missing."""
        book, at = self._book, Place(run, question.id)
        step3 = [self._nugget(one, passages[one.key]) for one in answer.nuggets]
        unmarked = {one.state for one in step3} - {State.COUNTED}
        beside = [at for at, one in enumerate(step3) if _is_entailed(one)]
        unit = _content(question, answer, beside)
        label, given_beside = book.find(ANSWER, unit), beside
        state = State.COUNTED
        if label is None or (self._by_people and not label.labeller.is_human):
            former = self._carried(question, answer, step3, unit)
            if former is not None and (label is None or former[0].labeller.is_human):
                label, given_beside = former
                state = State.CARRIED
        if unmarked and label is not None and not label.labeller.is_human:
            label = None  # it is of other nuggets than the answer may turn out to have
        overruled = None
        helps: dict[int, tuple[bool, str | None]] = {}
        if label is not None and label.labeller.is_human:
            # A person may judge the answer alone; the machine's word on the nuggets then stands.
            for which in (beside,) if given_beside == beside else (given_beside, beside):
                machine = book.machine(ANSWER, _content(question, answer, which))
                overruled = machine or overruled
                if book.counts_machine(ANSWER):
                    helps.update(_helps(machine, answer, which))
        act = act_of(act_label, question, answer.text)
        correct = correctness(act, act_label, label, question, expected=self._acts_expected)
        if label is not None and not is_asked(act, question, len(beside)):
            # It was judged before its act was known: a person's word alone still counts.
            label = label if label.labeller.is_human else None
        if correct is None:
            failed = any(one is not None and one.verdict is None for one in (label, act_label))
            failed = failed or unmarked == {State.FAILED}
            state = State.FAILED if failed else State.MISSING
        elif label is None:
            state = State.COUNTED
        helps.update(_helps(label, answer, given_beside))
        usable = label is not None and label.verdict is not None
        silent = False if usable and act not in (None, Act.ANSWER) else None
        nuggets = step3 if correct is None else _marked(step3, helps, silent, correct=correct)
        found = AnswerResult(
            run, question, answer, state, correct, _precision(nuggets, correct), tuple(nuggets),
            label, overruled, act, act_label,
        )  # fmt: skip
        if label is not None:
            carried_on = "answer, carried" if state is State.CARRIED else "answer"
            book.note(label, at._replace(position=carried_on))
        if found.lacks or label is not None:
            book.count(ANSWER, unit, None if found.lacks else label)
        return found

    def _nugget(self, nugget: Nugget, passage: Passage) -> NuggetResult:
        """Step 3: a nugget that its passage does not entail is bogus."""
        at, self._next = self._next, self._next + 1
        entailed, by_person = self._entailed[at], self._human[at]
        mark = Mark.BOGUS if entailed == 0 else None
        state = State.COUNTED
        if isnan(entailed):
            state = State.FAILED if self._there[at] else State.MISSING
        overruled = None
        if by_person and state is State.COUNTED:
            overruled = self._book.machine(ENTAILMENT, entailment_content(nugget, passage))
        return NuggetResult(nugget, passage, mark, state, self._nuggets, at, by_person, overruled)

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
            return [at for at, one in enumerate(said) if (one.verdict or {}).get("entailed")]

        found = carried(
            self._book, ANSWER, unit, parts,
            lambda said: _content(question, answer, beside(said)),
        )  # fmt: skip
        return None if found is None else (found[0], beside(found[1]))


def _content(question: Question, answer: Answer, beside: Sequence[int]) -> Content:
    """What is asked of an answer beside the nuggets at these places."""
    return answer_content(question, answer, [answer.nuggets[at].text for at in beside])


def _is_entailed(one: NuggetResult) -> bool:
    """Whether step 3 left a nugget for step 4."""
    return one.state is State.COUNTED and one.mark is None


def _marked(
    step3: Sequence[NuggetResult], helps: Helped, silent: bool | None, *, correct: bool
) -> list[NuggetResult]:
    """Step 4: an entailed nugget is relevant where it helped to find a correct answer. ``silent``
    is what a label that says nothing of a nugget means."""
    found = []
    for at, one in enumerate(step3):
        if not _is_entailed(one):
            found.append(one)
            continue
        helped, why = helps.get(at, (silent, None))
        if not correct:
            helped, why = False, why or "The answer is not correct."
        mark = None if helped is None else Mark.RELEVANT if helped else Mark.NONRELEVANT
        state = State.MISSING if helped is None else State.COUNTED
        found.append(one._replace(mark=mark, state=state, helped=helped, help_reason=why))
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
    alike: dict[str, dict[bool, str | None]] = {}
    for at, (helped, why) in said.items():
        alike.setdefault(answer.nuggets[at].text, {})[helped] = why
    others = {
        at: next(iter(alike[one.text].items()))
        for at, one in enumerate(answer.nuggets)
        if len(alike.get(one.text, ())) == 1
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
