"""From labels to the verdict on each answer and nugget, in blocks of answers, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice, pairwise
from typing import NamedTuple, Protocol

import numpy as np

from assay.measures.arrays import Bools, Floats, Integers
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, Question
from assay.protocols.answers.acts import (
    act_of_verdict,
    correctness_of,
    effective_act,
    is_asked,
    is_to_refuse,
)
from assay.protocols.answers.columns import (
    ACTS,
    ANSWER_ROW,
    MARKS,
    NUGGET_ROW,
    STATES,
    AnswerLabels,
    JudgedAnswers,
    JudgedRun,
    rows,
)
from assay.protocols.answers.helps import Helps, helps_in_answer, helps_of_verdict
from assay.protocols.answers.requests import (
    GivenAnswer,
    acts_asked,
    answer_content,
    answer_task,
    entailment_content,
    is_entailed,
    nuggets_asked,
)
from assay.protocols.answers.results import LabelState
from assay.protocols.carried import carried, may_have_several
from assay.protocols.counted_labels import CountedLabels, LabelRow
from assay.protocols.labels import Asked, LabelBook
from assay.protocols.places import Place
from assay.tasks.base import AnyTask, UnitContent
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT, EVERY_ANSWER, Act

_BLOCK = 1000  # answers that are judged at once
_REMEMBERED = 500  # questions whose passages are cached for results that are accessed

_COUNTED, _CARRIED, _MISSING, _WAITING, _FAILED, _ = map(STATES.index, LabelState)
_UNMARKED, _BOGUS, _RELEVANT, _NONRELEVANT = map(
    MARKS.index, (None, Mark.BOGUS, Mark.RELEVANT, Mark.NONRELEVANT)
)


class AskedAnswers(Protocol):
    """The answers to judge: every question of every run, question by question."""

    @property
    def questions(self) -> tuple[Question, ...]: ...
    def every_answer(self) -> Iterator[tuple[str, Question, GivenAnswer | None]]: ...
    def passages(self, question: str) -> Mapping[PassageKey, Passage]: ...


def judge_answers(
    asked: AskedAnswers,
    runs: Mapping[str, Mapping[str, Answer]],
    book: LabelBook,
    also: Callable[[JudgedAnswers], None],
) -> dict[str, JudgedRun]:
    """Judge every run's answer to every question by the labels in ``book``, and record where each
    label is used. ``also`` is called with each block of answers, question by question."""
    passages = lru_cache(_REMEMBERED)(asked.passages)

    def given(run: str, question: Question) -> GivenAnswer:
        return GivenAnswer(run, question, passages(question.id), runs[run][question.id])

    judge = _Judge(book)
    labels = AnswerLabels(asked.questions, given, *judge.labels)
    judged = {name: JudgedRun(name, labels, book.used.scratch) for name in runs}
    places = {name: place for place, name in enumerate(judged)}
    for task, same in groupby(asked.every_answer(), lambda one: answer_task(one[1])):
        while some := list(islice(same, _BLOCK)):
            found = judge.judge(task, [one for _, one, _ in some], [one for _, _, one in some])
            by_run = np.array([places[run] for run, _, _ in some])
            labels.share(found, list(judged.values()), by_run)
            also(found)
    judge.note()
    return judged


class _Row:
    """The labels of a task for all answers, in the order of look-up, and where they are used."""

    def __init__(self, book: LabelBook) -> None:
        self._book = book
        self.labels, self.places = book.row(), book.places()

    def look_up(self, task: AnyTask, asked: Asked) -> tuple[CountedLabels, Bools]:
        """Look up and count the labels of the next units. Also returns which units may have
        several."""
        pairs = list(asked)
        found = self._book.look_up(task, [content for content, _ in pairs])
        self._book.count_all(task, found)
        self.labels.extend(found.labels)
        self.places.add(place for _, place in pairs)
        return found.labels, may_have_several(self._book, task, found)


class _Cited(NamedTuple):
    """The nuggets of some answers, one after the other: ``of`` has the index of each one's answer,
    and ``ends`` where each answer's nuggets end. Then what their labels say, whether they are a
    person's, and whether there are several, so that another may have counted before."""

    nuggets: Sequence[Nugget]
    of: Integers
    ends: Integers
    entailed: Floats
    states: Integers
    by_person: Bools
    relabelled: Bools

    @property
    def sizes(self) -> Integers:
        """The number of nuggets of each answer."""
        return np.diff(self.ends, prepend=0)

    def counts(self, which: Bools) -> Integers:
        """The number of nuggets of each answer among those marked."""
        return np.bincount(self.of[which], minlength=len(self.ends))

    def has(self, which: Bools) -> Bools:
        """Which answers have a nugget among those marked."""
        return self.counts(which) > 0

    def beside(self) -> list[list[int]]:
        """The indexes of each answer's entailed nuggets."""
        entailed = np.flatnonzero(self.entailed == 1)
        places = (entailed - (self.ends - self.sizes)[self.of[entailed]]).tolist()
        ends = np.searchsorted(entailed, self.ends).tolist()
        return [places[begin:end] for begin, end in pairwise((0, *ends))]


class _Counting(NamedTuple):
    """The labels that count for some answers: which are ``carried`` over, the nuggets ``beside``
    which each was given, and those beside which it would be given ``now``. For answers that a
    person labelled, by index: what machines say about nuggets, and the label that the person's
    overrules."""

    labels: CountedLabels
    carried: Bools
    now: Sequence[Sequence[int]]
    beside: Sequence[Sequence[int]]
    by_machines: Mapping[int, Helps]
    overruled: Mapping[int, Label]


class _Marked(NamedTuple):
    """The nuggets' marks, states, whether they helped (NaN if unknown), and why. ``relevant`` and
    ``possible`` are the numbers of each answer's nuggets that are, and may be, relevant."""

    marks: Integers
    states: Integers
    helped: Floats
    reasons: Mapping[int, str]
    relevant: Integers
    possible: Integers


class _Judge:
    """Judges blocks of answers by their labels."""

    def __init__(self, book: LabelBook) -> None:
        self._book = book
        self._nuggets, self._acts, self._answers = _Row(book), _Row(book), _Row(book)
        # If no person ever labelled an answer, nothing can override a machine's own label.
        self._by_people = {task: book.people_labelled(task) for task in (ANSWER, EVERY_ANSWER)}
        # Under ``only:`` there may be no labels of dialogue acts, only of answers.
        self._acts_expected = book.expects(DIALOGUE_ACT)

    @property
    def labels(self) -> tuple[LabelRow, LabelRow, LabelRow]:
        """The labels of nuggets, acts and answers, in the order in which they were judged."""
        return self._nuggets.labels, self._acts.labels, self._answers.labels

    def note(self) -> None:
        """Record the labels as used, once all answers are judged."""
        for row in (self._nuggets, self._acts, self._answers):
            self._book.used.note_all(row.labels, row.places)

    def judge(
        self, task: AnyTask, questions: Sequence[Question], every: Sequence[GivenAnswer | None]
    ) -> JudgedAnswers:
        """Judge the next answers, which are all asked under one task; None stands for a missing
        answer."""
        given = [one for one in every if one is not None]
        cited, overruled = self._step3(given)
        act_labels, _ = self._acts.look_up(DIALOGUE_ACT, acts_asked(given))
        acts = [
            effective_act(act_named, one.question, one.answer.text)
            for act_named, one in zip(act_labels.each(act_of_verdict), given, strict=True)
        ]
        beside = cited.beside()
        units = [_content(one, places) for one, places in zip(given, beside, strict=True)]
        found = self._book.look_up(task, units)
        counting = self._counting(task, given, units, found.labels, cited, beside)
        labels, to_refuse = counting.labels, [is_to_refuse(one.question) for one in given]
        correct, recall = correctness_of(
            acts, act_labels, labels, np.array(to_refuse, np.bool_), expected=self._acts_expected
        )
        # Labels of answers that need none by their act: only a person's counts.
        unasked = [
            not is_asked(act, one.question, len(places))
            for act, one, places in zip(acts, given, beside, strict=True)
        ]
        labels = labels.without(np.array(unasked, np.bool_) & ~labels.human)

        marked = self._marked(given, cited, counting, labels, acts, correct)
        unsure = np.isnan(correct) | (recall[0] != recall[1])
        failed = labels.failed | act_labels.failed
        waiting = cited.has(cited.states == _FAILED)  # no machine is asked
        missing = cited.has(cited.states == _MISSING) | ~act_labels.present & self._acts_expected
        states = np.where(counting.carried & labels.present, _CARRIED, _COUNTED)
        open_ = np.select([failed, waiting & ~missing], [_FAILED, _WAITING], _MISSING)
        states = np.where(unsure, open_, states)
        # A label is missing if it could still change a score. Answers that wait are not asked.
        lacks = (states == _MISSING) | cited.has(marked.states == _MISSING)
        lacks &= (unsure | (marked.relevant != marked.possible)) & ~waiting

        wanted = found._replace(labels=labels.without(lacks))
        self._book.count_all(task, wanted, of=lacks | labels.present)
        self._answers.labels.extend(labels)
        carried_on = (states == _CARRIED).tolist()
        self._answers.places.add(
            Place(one.run, one.question.id, "answer, carried" if on else "answer")
            for one, on in zip(given, carried_on, strict=True)
        )
        most = np.maximum(cited.sizes, 1)
        return JudgedAnswers(
            questions=questions,
            given=np.array([one is not None for one in every], np.bool_),
            first=len(self._answers.labels) - len(given),
            first_nugget=len(self._nuggets.labels) - len(cited.nuggets),
            answers=rows(
                ANSWER_ROW,
                len(given),
                state=states,
                correct=correct,
                act=[ACTS.index(one) for one in acts],
                by_person=labels.human,
                confidence=[one.answer.confidence for one in given],
                precision_floor=marked.relevant / most,
                precision_ceiling=marked.possible / most,
                recall_floor=recall[0],
                recall_ceiling=recall[1],
            ),
            nuggets=cited.nuggets,
            of=cited.of,
            marks=rows(
                NUGGET_ROW,
                len(cited.nuggets),
                mark=marked.marks,
                state=marked.states,
                helped=marked.helped,
                by_person=cited.by_person,
                num=[one.num for one in cited.nuggets],
            ),
            overruled=counting.overruled,
            overruled_nuggets=overruled,
            reasons=marked.reasons,
        )

    def _step3(self, given: Sequence[GivenAnswer]) -> tuple[_Cited, dict[int, Label]]:
        """The nuggets of answers, and the machines' labels that persons' labels overrule."""
        nuggets = list(chain.from_iterable(one.answer.nuggets for one in given))
        sizes = [len(one.answer.nuggets) for one in given]
        labels, several = self._nuggets.look_up(ENTAILMENT, nuggets_asked(given))
        entailed = labels.map(lambda verdict: float(verdict["entailed"]))
        unknown = np.where(labels.present, _FAILED, _MISSING)
        cited = _Cited(
            nuggets=nuggets,
            of=np.repeat(np.arange(len(given)), sizes),
            ends=np.cumsum(np.array(sizes, np.int64)),
            entailed=entailed,
            states=np.where(np.isnan(entailed), unknown, _COUNTED),
            by_person=labels.human,
            relabelled=several,
        )
        overruled = {}
        for at in np.flatnonzero(cited.by_person & ~np.isnan(entailed)).tolist():
            passage = given[cited.of[at]].passages[nuggets[at].key]
            machine = self._book.machine_label(ENTAILMENT, entailment_content(nuggets[at], passage))
            if machine is not None:
                overruled[at] = machine
        return cited, overruled

    def _counting(
        self,
        task: AnyTask,
        given: Sequence[GivenAnswer],
        units: Sequence[UnitContent],
        labels: CountedLabels,
        cited: _Cited,
        now: Sequence[Sequence[int]],
    ) -> _Counting:
        """Which of the labels that were found for units count."""
        book, beside = self._book, list(now)
        former_labels: dict[int, Label] = {}
        wanted = ~labels.present | (self._by_people[task] & ~labels.human)
        for at in np.flatnonzero(wanted & cited.has(cited.relabelled)).tolist():
            former = self._carried(given[at], units[at])
            if former is not None and (not labels.present[at] or former[0].labeller.is_human):
                former_labels[at], beside[at] = former
        labels = labels.replaced(former_labels)
        # A machine's label may be about other nuggets than will turn out to be entailed.
        labels = labels.without(cited.has(cited.states != _COUNTED) & ~labels.human)
        by_machines: dict[int, Helps] = {}
        overruled: dict[int, Label] = {}
        for at in np.flatnonzero(labels.human).tolist():
            # A person may judge the answer alone; then the machine's labels of nuggets stand.
            helps: dict[int, tuple[bool, str | None]] = {}
            # The label beside the present nuggets comes last and takes precedence.
            for which in (now[at],) if now[at] == beside[at] else (beside[at], now[at]):
                machine = book.machine_label(task, _content(given[at], which))
                if machine is None:
                    continue
                overruled[at] = machine
                if book.counts_machine(task) and machine.verdict is not None:
                    helps_said = helps_of_verdict(machine.verdict)
                    helps.update(helps_in_answer(helps_said, given[at].answer, which, now[at]))
            by_machines[at] = helps
        carried_on = np.zeros(len(given), np.bool_)
        carried_on[list(former_labels)] = True
        return _Counting(labels, carried_on, now, beside, by_machines, overruled)

    def _carried(self, given: GivenAnswer, unit: UnitContent) -> tuple[Label, list[int]] | None:
        """The label that counted for this answer before new labels changed which of its nuggets are
        entailed, with the indexes of the nuggets beside which it was given."""
        parts = [
            (ENTAILMENT, entailment_content(one, given.passages[one.key]))
            for one in given.answer.nuggets
        ]

        def beside(labels: Sequence[Label]) -> list[int]:
            return [at for at, one in enumerate(labels) if is_entailed(one)]

        found = carried(
            self._book, answer_task(given.question), unit, parts,
            lambda labels: _content(given, beside(labels)),
        )  # fmt: skip
        return None if found is None else (found[0], beside(found[1]))

    def _marked(
        self,
        given: Sequence[GivenAnswer],
        cited: _Cited,
        counting: _Counting,
        labels: CountedLabels,
        acts: Sequence[Act | None],
        correct: Floats,
    ) -> _Marked:
        """Mark the nuggets: an entailed one is relevant if it helped to find a correct answer."""
        # Nuggets that a label on a refusal does not mention did not help.
        refuses = np.array([one not in (None, Act.ANSWER) for one in acts], np.bool_)
        silent = np.where(refuses & labels.present & ~labels.failed, 0.0, np.nan)
        helped, reasons = silent[cited.of].tolist(), {}
        firsts = (cited.ends - cited.sizes).tolist()
        for at, helps_said in enumerate(labels.each(helps_of_verdict)):
            helps = dict(counting.by_machines.get(at, {}))
            if helps_said is not None:
                beside, now = counting.beside[at], counting.now[at]
                helps.update(helps_in_answer(helps_said, given[at].answer, beside, now))
            for place, (helpful, why) in helps.items():
                helped[firsts[at] + place] = helpful
                if why is not None and self._book.is_whole:
                    reasons[firsts[at] + place] = why
        known, wrong = (~np.isnan(correct))[cited.of], (correct == 0)[cited.of]
        open_ = (cited.entailed == 1) & known
        of_help = np.where(open_, np.where(wrong, 0.0, np.array(helped, np.float64)), np.nan)
        if self._book.is_whole:
            why_not = dict.fromkeys(np.flatnonzero(wrong).tolist(), "The answer is not correct.")
            every = {**why_not, **reasons}
            reasons = {at: every[at] for at in np.flatnonzero(open_).tolist() if at in every}
        marks = np.where(cited.entailed == 0, _BOGUS, _UNMARKED)
        marks[of_help == 1], marks[of_help == 0] = _RELEVANT, _NONRELEVANT
        relevant = cited.counts(marks == _RELEVANT)
        return _Marked(
            marks=marks,
            states=np.where(open_ & np.isnan(of_help), _MISSING, cited.states),
            helped=of_help,
            reasons=reasons,
            relevant=relevant,
            possible=relevant + np.where(correct == 0, 0, cited.counts(marks == _UNMARKED)),
        )


def _content(given: GivenAnswer, beside: Iterable[int]) -> UnitContent:
    """What is asked about an answer beside the nuggets at these indexes."""
    nuggets = given.answer.nuggets
    return answer_content(given.question, given.answer, (nuggets[at].text for at in beside))
