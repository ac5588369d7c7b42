"""What was found of the answers of a run, as columns: a result is made when it is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from math import isnan
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from assay.measures.abstention import Answers
from assay.measures.confidence import Floats
from assay.measures.ranges import OPEN, Range, RangeColumn, Ranges
from assay.model.computed import Computed
from assay.model.labels import Label
from assay.model.rag import Mark, Question
from assay.model.scratch import Numbers, Scratch
from assay.protocols.answers.acts import is_to_refuse
from assay.protocols.answers.requests import GivenAnswer
from assay.protocols.answers.results import (
    PRECISION,
    RECALL,
    AnswerResult,
    LabelState,
    NuggetResult,
    RunNotes,
    declines,
)
from assay.protocols.confidence_scores import Verdicts

K = TypeVar("K")

_NOWHERE = -1  # the number of an answer that was not given


class _Answer(NamedTuple):
    """What is the same of many answers."""

    state: LabelState
    correct: bool | None
    act: str | None
    by_person: bool


class _Nugget(NamedTuple):
    """What is the same of many nuggets."""

    mark: Mark | None
    state: LabelState
    helped: bool | None
    by_person: bool


class _Kinds(Generic[K]):
    """A column of values of which few differ, two bytes each."""

    def __init__(self, scratch: Scratch) -> None:
        self._codes = Numbers(scratch, "H")
        self._known: dict[K, int] = {}
        self._kinds: list[K] = []

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, at: int) -> K:
        return self._kinds[int(self._codes[at])]

    def append(self, kind: K) -> None:
        code = self._known.setdefault(kind, len(self._kinds))
        if code == len(self._kinds):
            self._kinds.append(kind)
        self._codes.append(code)

    def some(self, begin: int, end: int) -> list[K]:
        """Those from one on to before another."""
        return [self._kinds[code] for code in self._codes.some(begin, end)]

    def __iter__(self) -> Iterator[K]:
        return map(self._kinds.__getitem__, self._codes)

    def counts(self) -> dict[K, int]:
        """How many are of each kind."""
        counts = np.zeros(len(self._kinds), np.int64)
        for block in self._codes.blocks():
            counts += np.bincount(block, minlength=len(self._kinds))
        return dict(zip(self._kinds, counts.tolist(), strict=True))

    def map(self, value: Callable[[K], float | None]) -> Floats:
        """What ``value`` is of each; None becomes NaN."""
        values = np.array([value(one) for one in self._kinds], np.float64)
        return values[self._codes.some(0, len(self))]


@dataclass
class AnswerLabels:
    """What all runs have in common: the questions, in order, what a run was ``given`` for one, and
    labels of all answers in the order in which they were judged: of their nuggets, of their acts,
    and of themselves."""

    questions: Sequence[Question]
    given: Callable[[str, Question], GivenAnswer]
    nuggets: Sequence[Label | None]
    acts: Sequence[Label | None]
    answers: Sequence[Label | None]

    def __post_init__(self) -> None:
        self.places = {question.id: at for at, question in enumerate(self.questions)}


class JudgedRun(Mapping[str, AnswerResult]):
    """What was found of a run's answers, by question, in the order of the questions.

    Columns of them lie in ``scratch``: an answer takes some forty bytes and a nugget six, where
    their results would take a thousand. The reasons why nuggets helped are not held, unless they
    are ``whole``.
    """

    def __init__(self, name: str, rows: AnswerLabels, scratch: Scratch, *, whole: bool) -> None:
        self.name = name
        self._rows, self._whole = rows, whole
        self._kinds, self._nuggets = _Kinds[_Answer](scratch), _Kinds[_Nugget](scratch)
        self._numbers, self._firsts = Numbers(scratch, "q"), Numbers(scratch, "q")
        self._starts, self._nums = Numbers(scratch, "I"), Numbers(scratch, "I")
        self._confidences = Numbers(scratch, "b")
        self._floors, self._ceilings = Numbers(scratch, "d"), Numbers(scratch, "d")
        self._overruled: dict[tuple[int, int | None], Label] = {}  # by question, and by nugget
        self._reasons: dict[tuple[int, int], str] = {}
        self._recalls: dict[int, Range] = {}  # of questions that require several answers

    def add(self, found: AnswerResult, number: int = _NOWHERE) -> None:
        """Add the answer to the next question; ``number`` is its place among the labels."""
        at = len(self._kinds)
        by_person = found.label is not None and found.label.labeller.is_human
        self._kinds.append(_Answer(found.state, found.correct, found.act, by_person))
        self._numbers.append(number)
        self._starts.append(len(self._nuggets))
        self._firsts.append(found.nuggets[0].at if found.nuggets else 0)
        self._confidences.append(_NOWHERE if found.answer is None else found.answer.confidence)
        self._floors.append(found.precision.floor)
        self._ceilings.append(found.precision.ceiling)
        if found.overruled is not None:
            self._overruled[at, None] = found.overruled
        if found.question.required:
            self._recalls[at] = found.recall
        for which, one in enumerate(found.nuggets):
            self._nums.append(one.nugget.num)
            self._nuggets.append(_Nugget(one.mark, one.state, one.helped, one.by_person))
            if one.overruled is not None:
                self._overruled[at, which] = one.overruled
            if self._whole and one.help_reason is not None:
                self._reasons[at, which] = one.help_reason

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.places)

    def __contains__(self, question: object) -> bool:
        return question in self._rows.places

    def __getitem__(self, question: str) -> AnswerResult:
        rows, at = self._rows, self._rows.places[question]
        asked, kind = rows.questions[at], self._kinds[at]
        precision = Range(self._floors[at], self._ceilings[at])
        number = self._numbers[at]
        if number == _NOWHERE:
            return AnswerResult(self.name, asked, None, kind.state, kind.correct, precision)
        _, _, passages, answer = rows.given(self.name, asked)
        start, first = self._starts[at], self._firsts[at]
        found = self._nuggets.some(start, start + len(answer.nuggets))
        nuggets = []
        for which, (nugget, one) in enumerate(zip(answer.nuggets, found, strict=True)):
            nuggets.append(
                NuggetResult(
                    nugget, passages.get(nugget.key), one.mark, one.state, rows.nuggets,
                    first + which, one.by_person, self._overruled.get((at, which)), one.helped,
                    self._reasons.get((at, which)),
                )
            )  # fmt: skip
        alone = OPEN if kind.correct is None else Range.certain(float(kind.correct))
        return AnswerResult(
            self.name, asked, answer, kind.state, kind.correct, precision, tuple(nuggets),
            rows.answers[number], self._overruled.get((at, None)), kind.act, rows.acts[number],
            self._recalls.get(at, alone),
        )  # fmt: skip

    # -- all at once -----------------------------------------------------------------------------

    @property
    def acts_unknown(self) -> bool:
        """Whether nobody labelled what any of the answers does."""
        return all(one.act is None for one in self._kinds.counts())

    def marks(self) -> Iterator[tuple[str, dict[int, Mark]]]:
        """The marks of each question's nuggets, by NuggetNum; unlabelled ones are absent."""
        starts = chain(self._starts, (len(self._nums),))
        for question, (start, end) in zip(self, pairwise(starts), strict=True):
            marks = zip(self._nums.some(start, end), self._nuggets.some(start, end), strict=True)
            yield question, {num: one.mark for num, one in marks if one.mark is not None}

    def confidences(self) -> Iterator[tuple[object, ...]]:
        """Each answer's confidence and correctness (None where a label is missing), as ``assay
        confidence`` and ``assay recalibrate`` read them. What a run leaves out is wrong, without a
        confidence."""
        for question, stated, kind in zip(self, self._confidences, self._kinds, strict=True):
            yield (
                self.name, question, None if stated == _NOWHERE else stated,
                None if kind.correct is None else int(kind.correct),
            )  # fmt: skip

    def stated(self) -> Verdicts:
        """The answers as they are scored (None becomes NaN), with the nugget precision of each."""
        answers = Answers(
            p=self._stated,
            correct=self._correct,
            refused=self._kinds.map(lambda one: None if one.act is None else declines(one.act)),
            given=self._given,
            to_refuse=np.array([is_to_refuse(one) for one in self._rows.questions], dtype=bool),
        )
        more = {name: RangeColumn(*ends) for name, ends in self._recall.items()}
        return Verdicts(answers, {**more, PRECISION: RangeColumn(*self._precision)})

    def per_topic(self) -> Mapping[str, Mapping[str, Range | None]]:
        """The values of each question, measure → question."""
        stated, places = self._stated, self._rows.places

        def confidence(question: str) -> Range | None:
            value = float(stated[places[question]])
            return None if isnan(value) else Range.certain(value)

        return {
            "Accuracy": Ranges(places, *self._accuracy),
            **{name: Ranges(places, *ends) for name, ends in self._recall.items()},
            PRECISION: Ranges(places, *self._precision),
            "Confidence": Computed(places, confidence),
        }

    def notes(self) -> RunNotes:
        """What must be known beside the run's scores."""
        states, refusals = Counter[LabelState](), Counter[str]()
        marks, by_people = Counter[Mark | None](), 0
        for kind, count in self._kinds.counts().items():
            states[kind.state] += count
            by_people += count * kind.by_person
            if kind.act is not None and declines(kind.act):
                refusals[str(kind.act)] += count
        for nugget, count in self._nuggets.counts().items():
            marks[nugget.mark] += count
            by_people += count * nugget.by_person
        given = self._given
        return RunNotes(
            run=self.name,
            questions=len(self),
            answered=int(given.sum()),
            left_out=tuple(self._rows.questions[at].id for at in np.flatnonzero(~given).tolist()),
            refusals=dict(refusals),
            missing_answers=states[LabelState.MISSING],
            failed_answers=states[LabelState.FAILED],
            carried_answers=states[LabelState.CARRIED],
            unmarked_nuggets=marks[None],
            marks={mark.value: marks[mark] for mark in Mark},
            by_people=by_people,
        )

    @cached_property
    def _given(self) -> npt.NDArray[np.bool_]:
        numbers = np.frombuffer(self._numbers.some(0, len(self)), np.int64)
        return np.asarray(numbers != _NOWHERE)

    @cached_property
    def _stated(self) -> Floats:
        stated = np.array(self._confidences.some(0, len(self)), np.float64)
        return np.where(stated == _NOWHERE, np.nan, stated / 100)

    @cached_property
    def _correct(self) -> Floats:
        return self._kinds.map(lambda one: one.correct)

    @property
    def _accuracy(self) -> tuple[Floats, Floats]:
        correct, unknown = self._correct, np.isnan(self._correct)
        return np.where(unknown, 0.0, correct), np.where(unknown, 1.0, correct)

    @property
    def _recall(self) -> dict[str, tuple[Floats, Floats]]:
        """Empty where every question asks for one answer: recall is accuracy then."""
        floors, ceilings = self._accuracy
        for at, (floor, ceiling) in self._recalls.items():
            floors[at], ceilings[at] = floor, ceiling
        return {RECALL: (floors, ceilings)} if self._recalls else {}

    @cached_property
    def _precision(self) -> tuple[Floats, Floats]:
        floors, ceilings = (one.some(0, len(self)) for one in (self._floors, self._ceilings))
        return np.frombuffer(floors, np.float64), np.frombuffer(ceilings, np.float64)
