"""From labels to what counts for each answer and nugget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import isnan

from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Question
from assay.protocols.answers.acts import act_of, correctness, is_asked
from assay.protocols.answers.requests import (
    Content,
    GivenAnswer,
    act_content,
    answer_content,
    entailment_content,
    is_entailed,
)
from assay.protocols.answers.results import AnswerResult, LabelState, NuggetResult
from assay.protocols.carried import carried
from assay.protocols.counted import CountedLabels
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, Act

Helped = Mapping[int, tuple[bool, str | None]]
"""By the nugget's place in its answer, from 0: whether it helped, and why."""


def judge_answers(
    every: Iterable[tuple[str, Question, GivenAnswer | None]], book: LabelBook
) -> Iterator[AnswerResult]:
    """What the labels of a book say of every run's answer to every question (None: left out), each
    label noted where it is used."""
    every = list(every)
    given = [(one, Place(one.run, one.question.id)) for _, _, one in every if one is not None]
    nuggets = book.labels(
        ENTAILMENT,
        (
            entailment_content(nugget, one.passages[nugget.key])
            for one, _ in given
            for nugget in one.answer.nuggets
        ),
        (
            at._replace(position=f"nugget {nugget.num}")
            for one, at in given
            for nugget in one.answer.nuggets
        ),
    )
    acts = book.labels(
        DIALOGUE_ACT,
        (act_content(one.question, one.answer) for one, _ in given),
        (at._replace(position="dialogue act") for _, at in given),
    )
    answers = _AnswerJudge(book)
    labels = zip(_nuggets(book, nuggets, (one for one, _ in given)), acts, strict=True)
    for run, question, one in every:
        if one is None:
            nothing = Range.certain(0.0)
            yield AnswerResult(run, question, None, LabelState.LEFT_OUT, False, nothing)
        else:
            yield answers.judged(one, *next(labels))


def _nuggets(
    book: LabelBook, labels: CountedLabels, given: Iterable[GivenAnswer]
) -> Iterator[list[NuggetResult]]:
    """The nuggets of each answer, whose labels stand in the same order; one that its passage does
    not entail is bogus."""
    entailed = labels.map(lambda verdict: float(verdict["entailed"])).tolist()
    there, human = labels.there.tolist(), labels.human.tolist()
    numbers = count()
    for one in given:
        found = []
        for nugget in one.answer.nuggets:
            at, passage, overruled = next(numbers), one.passages[nugget.key], None
            state = LabelState.COUNTED
            if isnan(entailed[at]):
                state = LabelState.FAILED if there[at] else LabelState.MISSING
            elif human[at]:
                overruled = book.machine(ENTAILMENT, entailment_content(nugget, passage))
            mark = Mark.BOGUS if entailed[at] == 0 else None
            result = NuggetResult(nugget, passage, mark, state, labels, at, human[at], overruled)
            found.append(result)
        yield found


class _AnswerJudge:
    """What labels say of one answer after the other."""

    def __init__(self, book: LabelBook) -> None:
        self._book = book
        # While no person ever labelled an answer, a machine's own label is the last word.
        self._by_people = book.people_labelled(ANSWER)
        # With ``only:`` perhaps nobody is asked for dialogue acts, and what that labeller says of
        # an answer is all that there is.
        self._acts_expected = book.expects(DIALOGUE_ACT)

    def judged(
        self, given: GivenAnswer, step3: list[NuggetResult], act_label: Label | None
    ) -> AnswerResult:
        """Verdict and marks of one answer, and what is missing."""
        run, question, _, answer = given
        book, at = self._book, Place(run, question.id)
        unmarked = {one.state for one in step3} - {LabelState.COUNTED}
        beside = [at for at, one in enumerate(step3) if _is_open(one)]
        unit = _content(question, answer, beside)
        label, given_beside = book.find(ANSWER, unit), beside
        state = LabelState.COUNTED
        if label is None or (self._by_people and not label.labeller.is_human):
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
            failed = failed or unmarked == {LabelState.FAILED}
            state = LabelState.FAILED if failed else LabelState.MISSING
        elif label is None:
            state = LabelState.COUNTED
        helps.update(_helps(label, answer, given_beside))
        usable = label is not None and label.verdict is not None
        silent = False if usable and act not in (None, Act.ANSWER) else None
        nuggets = step3 if correct is None else _marked(step3, helps, silent, correct=correct)
        found = AnswerResult(
            run, question, answer, state, correct, _precision(nuggets, correct), tuple(nuggets),
            label, overruled, act, act_label,
        )  # fmt: skip
        if label is not None:
            carried_on = "answer, carried" if state is LabelState.CARRIED else "answer"
            book.note(label, at._replace(position=carried_on))
        if found.lacks or label is not None:
            book.count(ANSWER, unit, None if found.lacks else label)
        return found

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
            self._book, ANSWER, unit, parts,
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
