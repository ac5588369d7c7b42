"""What was found of the answers of a run, as columns: a result is made when it is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise, product
from math import isnan
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from assay.measures.abstention import Answers
from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.ranges import Range, RangeColumn, Ranges
from assay.model.computed import Computed
from assay.model.labels import Label
from assay.model.rag import Mark, Nugget, PassageKey, Question
from assay.model.scratch import Numbers, Scratch
from assay.protocols.answers.acts import is_to_refuse
from assay.protocols.answers.requests import GivenAnswer, several
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
from assay.tasks.r2c2 import Act

K = TypeVar("K")

STATES, ACTS, MARKS = tuple(LabelState), (None, *Act), (None, *Mark)
_WHETHER, _PERSON = (False, True, None), (False, True)
_NOWHERE = -1  # in place of the number and the confidence of an answer that was not given


class _Answer(NamedTuple):
    """What is the same of many answers."""

    state: LabelState
    correct: bool | None
    act: Act | None
    by_person: bool


class _Nugget(NamedTuple):
    """What is the same of many nuggets."""

    mark: Mark | None
    state: LabelState
    helped: bool | None
    by_person: bool


class Kinds(Generic[K]):
    """All that can be found of something whose parts have few values: each combination of them has
    a number, which fits into a byte."""

    def __init__(self, kind: Callable[..., K], *parts: Sequence[object]) -> None:
        self.every = [kind(*values) for values in product(*parts)]
        self._sizes = tuple(map(len, parts))

    def codes(self, *parts: Integers) -> npt.NDArray[np.uint8]:
        """The numbers of combinations, of whose parts these are the places among their values."""
        return np.ravel_multi_index(parts, self._sizes).astype(np.uint8)

    def counts(self, codes: Numbers) -> dict[K, int]:
        """How many of each kind there are; of those that there are."""
        counts = np.zeros(len(self.every), np.int64)
        for block in codes.blocks():
            counts += np.bincount(block, minlength=len(counts))
        return {self.every[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()}

    def map(self, codes: Numbers, value: Callable[[K], float | None]) -> Floats:
        """What ``value`` is of each; None becomes NaN."""
        values = np.array([value(one) for one in self.every], np.float64)
        return values[codes.some(0, len(codes))]


ANSWERS = Kinds(_Answer, STATES, _WHETHER, ACTS, _PERSON)
NUGGETS = Kinds(_Nugget, MARKS, STATES, _WHETHER, _PERSON)

_ENDS = ("precision_floor", "precision_ceiling", "recall_floor", "recall_ceiling")
_COLUMNS = np.dtype(
    [("kind", "B"), ("confidence", "b"), ("number", "q"), ("first", "q"), ("start", "I")]
    + [(name, "d") for name in _ENDS]
)
"""Of an answer: its kind, its confidence, its number and that of its first nugget among all, and
where its nuggets begin among those of its run."""
_LEFT_OUT = ANSWERS.every.index(_Answer(LabelState.LEFT_OUT, False, None, False))


def whether(values: Floats) -> Integers:
    """True (1), false (0) or not known (NaN), as part of a kind."""
    return np.nan_to_num(values, nan=_WHETHER.index(None)).astype(np.int64)


@dataclass(frozen=True)
class JudgedAnswers:
    """What was found of runs' answers to some ``questions``, of which not all were ``given``. Of
    those that were: their kinds, confidences (0 to 100), and the ``ends`` of nugget precision and
    of recall, floors and ceilings. And of their ``nuggets``, one behind the other, the kinds and
    whose each is: the place of its answer. ``first`` and ``first_nugget`` are the numbers that the
    first ones have among all.

    By the places of answers and of nuggets: the machine's label that a person's took the place of,
    and why a nugget helped or not, where that is shown.
    """

    questions: Sequence[Question]
    given: Bools
    first: int
    first_nugget: int
    kinds: npt.NDArray[np.uint8]
    confidences: Integers
    ends: tuple[Floats, Floats, Floats, Floats]
    nuggets: Sequence[Nugget]
    of: Integers
    nugget_kinds: npt.NDArray[np.uint8]
    overruled: Mapping[int, Label] = field(default_factory=dict)
    overruled_nuggets: Mapping[int, Label] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)

    def cited(self, mark: Mark | None) -> Iterator[tuple[str, PassageKey]]:
        """The question and the passage of each nugget with a mark; without one, of those that may
        be relevant: the answer is not known to be wrong."""
        marked = np.array([one.mark is mark for one in NUGGETS.every], np.bool_)
        right = np.array([one.correct is not False for one in ANSWERS.every], np.bool_)
        which = marked[self.nugget_kinds] & right[self.kinds][self.of]
        questions = np.flatnonzero(self.given)[self.of[which]].tolist()
        for at, question in zip(np.flatnonzero(which).tolist(), questions, strict=True):
            yield self.questions[question].id, self.nuggets[at].key

    def columns(self) -> npt.NDArray[Any]:
        """Those of all answers, also of such as were not given."""
        some = np.zeros(len(self.kinds), _COLUMNS)
        sizes = np.bincount(self.of, minlength=len(some))
        some["kind"], some["confidence"] = self.kinds, self.confidences
        some["number"] = np.arange(self.first, self.first + len(some))
        some["first"] = self.first_nugget + np.cumsum(sizes) - sizes
        # How many, for now: where they begin in a run is known once runs are apart
        # (JudgedRun.extend).
        some["start"] = sizes
        for name, ends in zip(_ENDS, self.ends, strict=True):
            some[name] = ends
        every = np.zeros(len(self.given), _COLUMNS)
        every["kind"], every["confidence"], every["number"] = _LEFT_OUT, _NOWHERE, _NOWHERE
        every[self.given] = some
        return every


@dataclass
class AnswerLabels:
    """What all runs have in common: the questions, in order, what a run was ``given`` for one, and
    labels of all answers in the order in which they were judged: of their nuggets, of their acts,
    and of themselves. By the numbers of answers and nuggets, what few of them have."""

    questions: Sequence[Question]
    given: Callable[[str, Question], GivenAnswer]
    nuggets: Sequence[Label | None]
    acts: Sequence[Label | None]
    answers: Sequence[Label | None]
    overruled: dict[int, Label] = field(default_factory=dict)
    overruled_nuggets: dict[int, Label] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {question.id: at for at, question in enumerate(self.questions)}
        self.to_refuse = np.array([is_to_refuse(one) for one in self.questions], np.bool_)

    def share(self, found: JudgedAnswers, runs: Sequence[JudgedRun], by_run: Integers) -> None:
        """Give each run its own of some answers, in the order of the questions; ``by_run`` has the
        place of the run of each."""
        for number, label in found.overruled.items():
            self.overruled[found.first + number] = label
        for number, label in found.overruled_nuggets.items():
            self.overruled_nuggets[found.first_nugget + number] = label
        for number, why in found.reasons.items():
            self.reasons[found.first_nugget + number] = why
        columns, by_nugget = found.columns(), by_run[found.given][found.of]
        nums = np.array([one.num for one in found.nuggets], np.uint32)
        for place, run in enumerate(runs):
            own = by_nugget == place
            run.extend(columns[by_run == place], found.nugget_kinds[own], nums[own])


class JudgedRun(Mapping[str, AnswerResult]):
    """What was found of a run's answers, by question, in the order of the questions.

    Columns of them lie in ``scratch``: an answer takes some fifty bytes and a nugget five, where
    their results would take a thousand. The reasons why nuggets helped are not held, unless labels
    are had whole.
    """

    def __init__(self, name: str, rows: AnswerLabels, scratch: Scratch) -> None:
        self.name = name
        self._rows = rows
        self._columns = {of: Numbers(scratch, _COLUMNS[of].char) for of in _COLUMNS.names or ()}
        self._nuggets, self._nums = Numbers(scratch, "B"), Numbers(scratch, "I")

    def extend(
        self, answers: npt.NDArray[Any], kinds: npt.NDArray[np.uint8], nums: npt.NDArray[np.uint32]
    ) -> None:
        """Add answers to the next questions, as rows of columns, with the kinds and numbers of
        their nuggets."""
        sizes = answers["start"]
        answers["start"] = len(self._nums) + np.cumsum(sizes) - sizes
        for name, column in self._columns.items():
            column.extend(answers[name].tobytes())
        self._nuggets.extend(kinds.tobytes())
        self._nums.extend(nums.tobytes())

    def __len__(self) -> int:
        return len(self._columns["kind"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.places)

    def __contains__(self, question: object) -> bool:
        return question in self._rows.places

    def __getitem__(self, question: str) -> AnswerResult:
        rows, at = self._rows, self._rows.places[question]
        asked = rows.questions[at]
        kind, _, number, first, start, *ends = (column[at] for column in self._columns.values())
        found, precision, recall = ANSWERS.every[kind], Range(*ends[:2]), Range(*ends[2:])
        if number == _NOWHERE:
            return AnswerResult(self.name, asked, None, found.state, found.correct, precision)
        _, _, passages, answer = rows.given(self.name, asked)
        kinds = self._nuggets.some(start, start + len(answer.nuggets))
        nuggets = []
        for which, (nugget, code) in enumerate(zip(answer.nuggets, kinds, strict=True), first):
            one = NUGGETS.every[code]
            nuggets.append(
                NuggetResult(
                    nugget, passages.get(nugget.key), one.mark, one.state, rows.nuggets, which,
                    one.by_person, rows.overruled_nuggets.get(which), one.helped,
                    rows.reasons.get(which),
                )
            )  # fmt: skip
        return AnswerResult(
            self.name, asked, answer, found.state, found.correct, precision, tuple(nuggets),
            rows.answers[number], rows.overruled.get(number), found.act, rows.acts[number], recall,
        )  # fmt: skip

    # -- all at once -----------------------------------------------------------------------------

    @property
    def acts_unknown(self) -> bool:
        """Whether nobody labelled what any of the answers does."""
        return all(one.act is None for one in ANSWERS.counts(self._columns["kind"]))

    def marks(self) -> Iterator[tuple[str, dict[int, Mark]]]:
        """The marks of each question's nuggets, by NuggetNum; unlabelled ones are absent."""
        starts = chain(self._columns["start"], (len(self._nums),))
        for question, (start, end) in zip(self, pairwise(starts), strict=True):
            kinds = map(NUGGETS.every.__getitem__, self._nuggets.some(start, end))
            marks = zip(self._nums.some(start, end), kinds, strict=True)
            yield question, {num: one.mark for num, one in marks if one.mark is not None}

    def confidences(self) -> Iterator[tuple[object, ...]]:
        """Each answer's confidence and correctness (None where a label is missing), as ``assay
        confidence`` and ``assay recalibrate`` read them. What a run leaves out is wrong, without a
        confidence."""
        columns = self._columns
        for question, stated, kind in zip(
            self, columns["confidence"], columns["kind"], strict=True
        ):
            correct = ANSWERS.every[kind].correct
            yield (
                self.name, question, None if stated == _NOWHERE else stated,
                None if correct is None else int(correct),
            )  # fmt: skip

    def stated(self) -> Verdicts:
        """The answers as they are scored (None becomes NaN), with the nugget precision of each."""
        answers = Answers(
            p=self._stated,
            correct=self._map(lambda one: one.correct),
            refused=self._map(lambda one: None if one.act is None else declines(one.act)),
            given=self._given,
            to_refuse=self._rows.to_refuse,
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
        for kind, count in ANSWERS.counts(self._columns["kind"]).items():
            states[kind.state] += count
            by_people += count * kind.by_person
            if kind.act is not None and declines(kind.act):
                refusals[str(kind.act)] += count
        for nugget, count in NUGGETS.counts(self._nuggets).items():
            marks[nugget.mark] += count
            by_people += count * nugget.by_person
        given = self._given
        return RunNotes(
            run=self.name,
            questions=len(self),
            answered=int(given.sum()),
            left_out=tuple(self._rows.questions[at].id for at in np.flatnonzero(~given).tolist()),
            refusals=dict(sorted(refusals.items())),
            missing_answers=states[LabelState.MISSING],
            waiting_answers=states[LabelState.WAITING],
            failed_answers=states[LabelState.FAILED],
            carried_answers=states[LabelState.CARRIED],
            unmarked_nuggets=marks[None],
            marks={mark.value: marks[mark] for mark in Mark},
            by_people=by_people,
        )

    def helps_open(self) -> int:
        """Of how many answers it alone is open which nuggets helped."""
        right = self._map(lambda one: float(one.by_person and one.correct is True))
        floors, ceilings = self._precision
        places = np.flatnonzero((right == 1) & (floors != ceilings)).tolist()
        return sum(self[self._rows.questions[at].id].helps_open for at in places)

    def _map(self, value: Callable[[_Answer], float | None]) -> Floats:
        return ANSWERS.map(self._columns["kind"], value)

    def _all(self, *names: str) -> Iterator[npt.NDArray[Any]]:
        for name in names:
            column = self._columns[name]
            yield np.frombuffer(column.some(0, len(self)), _COLUMNS[name])

    @cached_property
    def _stated(self) -> Floats:
        (stated,) = self._all("confidence")
        return np.where(stated == _NOWHERE, np.nan, stated / 100)

    @property
    def _given(self) -> Bools:
        return ~np.isnan(self._stated)

    @cached_property
    def _accuracy(self) -> tuple[Floats, Floats]:
        correct = self._map(lambda one: one.correct)
        return np.nan_to_num(correct, nan=0.0), np.nan_to_num(correct, nan=1.0)

    @cached_property
    def _recall(self) -> dict[str, tuple[Floats, Floats]]:
        """Empty where every question asks for one answer: recall is accuracy then."""
        if not several(self._rows.questions):
            return {}
        floors, ceilings = self._all(*_ENDS[2:])
        return {RECALL: (floors, ceilings)}

    @cached_property
    def _precision(self) -> tuple[Floats, Floats]:
        floors, ceilings = self._all(*_ENDS[:2])
        return floors, ceilings
