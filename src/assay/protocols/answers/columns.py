"""The judged answers of a run as columns; an :class:`AnswerResult` is made on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from math import isnan
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from assay.measures.abstention import Answers
from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.ranges import Range, Ranges
from assay.model.labels import Label
from assay.model.lazy import LazyMapping
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
_REFUSES = np.array([np.nan if act is None else declines(act) for act in ACTS])
_WHETHER = {1: True, 0: False, -1: None}
_NOWHERE = -1  # number and confidence of an answer that was not given

_PRECISION, _RECALL = ("precision_floor", "precision_ceiling"), ("recall_floor", "recall_ceiling")
ANSWER_ROW = np.dtype(
    [("state", "B"), ("correct", "b"), ("act", "B"), ("by_person", "B"), ("confidence", "b")]
    + [(name, "d") for name in (*_PRECISION, *_RECALL)]
    + [("number", "q"), ("first", "q"), ("start", "I")]
)
"""Columns of an answer: its state and act as indexes of :data:`STATES` and :data:`ACTS`, whether it
is right (1 or 0, −1 if unknown) and labelled by a person, its confidence (0 to 100), the ends of
nugget precision and recall, its number and that of its first nugget over all runs, and the index of
its first nugget within its run."""
NUGGET_ROW = np.dtype(
    [("mark", "B"), ("state", "B"), ("helped", "b"), ("by_person", "B"), ("num", "I")]
)
"""Columns of a nugget; its mark is an index of :data:`MARKS`."""


def rows(kind: np.dtype[Any], count: int, **columns: npt.ArrayLike) -> npt.NDArray[Any]:
    """Rows of answers or nuggets from columns. Floats that are NaN are unknown."""
    found = np.zeros(count, kind)
    for name, values in columns.items():
        found[name] = np.nan_to_num(values, nan=-1)
    return found


@dataclass(frozen=True)
class JudgedAnswers:
    """The verdict on runs' answers to some ``questions``.

    Only those that were ``given`` have a row in ``answers``. Their ``nuggets`` and ``marks`` follow
    one another; ``of`` has the index of each nugget's answer. ``first`` and ``first_nugget`` are
    the numbers of the first answer and nugget over all runs. ``overruled`` and
    ``overruled_nuggets`` are, by index, the machine's labels that a person's replace; ``reasons``
    say why a nugget helped or not, if that is shown.
    """

    questions: Sequence[Question]
    given: Bools
    first: int
    first_nugget: int
    answers: npt.NDArray[Any]
    nuggets: Sequence[Nugget]
    of: Integers
    marks: npt.NDArray[Any]
    overruled: Mapping[int, Label] = field(default_factory=dict)
    overruled_nuggets: Mapping[int, Label] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)

    def cited(self, mark: Mark | None) -> Iterator[tuple[str, PassageKey]]:
        """The question and the passage of each nugget with a mark. If None, of those that may still
        be relevant, because the answer is not known to be wrong."""
        may_be_right = self.answers["correct"] != 0
        which = (self.marks["mark"] == MARKS.index(mark)) & may_be_right[self.of]
        questions = np.flatnonzero(self.given)[self.of[which]].tolist()
        for at, question in zip(np.flatnonzero(which).tolist(), questions, strict=True):
            yield self.questions[question].id, self.nuggets[at].key

    def every(self) -> npt.NDArray[Any]:
        """Rows of all questions, including those without an answer."""
        count, sizes = len(self.answers), np.bincount(self.of, minlength=len(self.answers))
        self.answers["number"] = np.arange(self.first, self.first + count)
        self.answers["first"] = self.first_nugget + np.cumsum(sizes) - sizes
        # The sizes for now; JudgedRun.extend turns them into indexes within the run.
        self.answers["start"] = sizes
        found = rows(
            ANSWER_ROW, len(self.given), state=STATES.index(LabelState.LEFT_OUT),
            confidence=_NOWHERE, number=_NOWHERE,
        )  # fmt: skip
        found[self.given] = self.answers
        return found


@dataclass
class AnswerLabels:
    """What all runs share: the questions in order, a function for the answer of a run, and the
    labels of all nuggets, acts and answers in the order in which they were judged. The dictionaries
    hold what few answers or nuggets have, by number."""

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
        """Distribute answers to their runs, in the order of the questions; ``by_run`` has run
        indexes."""
        for number, label in found.overruled.items():
            self.overruled[found.first + number] = label
        for number, label in found.overruled_nuggets.items():
            self.overruled_nuggets[found.first_nugget + number] = label
        for number, why in found.reasons.items():
            self.reasons[found.first_nugget + number] = why
        every, by_nugget = found.every(), by_run[found.given][found.of]
        for place, run in enumerate(runs):
            run.extend(every[by_run == place], found.marks[by_nugget == place])


class JudgedRun(Mapping[str, AnswerResult]):
    """The judged answers of a run by question, in the order of the questions. They are columns in
    ``scratch``: an answer takes about sixty bytes and a nugget eight, where result objects would
    take a thousand. Reasons why nuggets helped are kept only if labels are read whole."""

    def __init__(self, name: str, labels: AnswerLabels, scratch: Scratch) -> None:
        self.name = name
        self._labels = labels
        self._answers, self._nuggets = (
            {of: Numbers(scratch, kind[of].char) for of in kind.names or ()}
            for kind in (ANSWER_ROW, NUGGET_ROW)
        )

    def extend(self, answers: npt.NDArray[Any], nuggets: npt.NDArray[Any]) -> None:
        """Append answers to the next questions, with their nuggets."""
        sizes = answers["start"]
        answers["start"] = len(self._nuggets["num"]) + np.cumsum(sizes) - sizes
        for columns, new in ((self._answers, answers), (self._nuggets, nuggets)):
            for name, column in columns.items():
                column.extend(new[name].tobytes())

    def __len__(self) -> int:
        return len(self._answers["number"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels.places)

    def __contains__(self, question: object) -> bool:
        return question in self._labels.places

    def __getitem__(self, question: str) -> AnswerResult:
        labels, at = self._labels, self._labels.places[question]
        asked = labels.questions[at]
        own = {name: column[at] for name, column in self._answers.items()}
        state, correct = STATES[own["state"]], _WHETHER[own["correct"]]
        precision, recall = (Range(*map(own.__getitem__, ends)) for ends in (_PRECISION, _RECALL))
        if own["number"] == _NOWHERE:
            return AnswerResult(self.name, asked, None, state, correct, precision)
        _, _, passages, answer = labels.given(self.name, asked)
        ends = own["start"], own["start"] + len(answer.nuggets)
        columns = (self._nuggets[name].slice(*ends) for name in NUGGET_ROW.names or ())
        every = enumerate(zip(answer.nuggets, *columns, strict=True), own["first"])
        nuggets = tuple(
            NuggetResult(
                nugget, passages.get(nugget.key), MARKS[mark], STATES[of], labels.nuggets[which],
                labels.overruled_nuggets.get(which), _WHETHER[helped], labels.reasons.get(which),
            )
            for which, (nugget, mark, of, helped, *_) in every
        )  # fmt: skip
        number = own["number"]
        return AnswerResult(
            self.name, asked, answer, state, correct, precision, nuggets,
            labels.answers[number], labels.overruled.get(number), ACTS[own["act"]],
            labels.acts[number], recall,
        )  # fmt: skip

    # -- all at once -----------------------------------------------------------------------------

    @property
    def acts_unknown(self) -> bool:
        """Whether no answer has a label of its dialogue act."""
        return not _whole(self._answers["act"]).any()

    def marks(self) -> Iterator[tuple[str, dict[int, Mark]]]:
        """The marks of each question's nuggets by NuggetNum, without unlabelled nuggets."""
        nums, marks = self._nuggets["num"], self._nuggets["mark"]
        starts = chain(self._answers["start"], (len(nums),))
        for question, ends in zip(self, pairwise(starts), strict=True):
            pairs = zip(nums.slice(*ends), map(MARKS.__getitem__, marks.slice(*ends)), strict=True)
            yield question, {num: mark for num, mark in pairs if mark is not None}

    def confidences(self) -> Iterator[tuple[object, ...]]:
        """Each answer's confidence and correctness (None if a label is missing), as ``assay
        confidence`` and ``assay recalibrate`` read them. A question left out is wrong."""
        columns = (self._answers[name] for name in ("confidence", "correct"))
        for question, stated, correct in zip(self, *columns, strict=True):
            yield (
                self.name, question, None if stated == _NOWHERE else stated,
                None if correct < 0 else correct,
            )  # fmt: skip

    def stated(self) -> Verdicts:
        """The answers as they are scored (NaN for unknown), with their nugget precision."""
        answers = Answers(
            p=self._stated,
            correct=self._correct,
            refused=_REFUSES[_whole(self._answers["act"])],
            present=self._given,
            to_refuse=self._labels.to_refuse,
        )
        return Verdicts(answers, {**self._recall, PRECISION: self._precision})

    def per_topic(self) -> Mapping[str, Mapping[str, Range | None]]:
        """The values of each question, measure → question."""
        stated, places = self._stated, self._labels.places

        def confidence(question: str) -> Range | None:
            value = float(stated[places[question]])
            return None if isnan(value) else Range.certain(value)

        accuracy = (np.nan_to_num(self._correct, nan=worst) for worst in (0.0, 1.0))
        return {
            "Accuracy": Ranges(places, *accuracy),
            **{name: Ranges(places, *ends) for name, ends in self._recall.items()},
            PRECISION: Ranges(places, *self._precision),
            "Confidence": LazyMapping(places, confidence),
        }

    def notes(self) -> RunNotes:
        """What readers must know beside the run's scores."""
        states = _counts(self._answers["state"], STATES)
        acts = _counts(self._answers["act"], ACTS).items()
        marks = _counts(self._nuggets["mark"], MARKS)
        left_out = np.flatnonzero(~self._given).tolist()
        return RunNotes(
            run=self.name,
            questions=len(self),
            answered=len(self) - len(left_out),
            left_out=tuple(self._labels.questions[at].id for at in left_out),
            refusals=dict(sorted((str(act), n) for act, n in acts if n and act and declines(act))),
            missing_answers=states[LabelState.MISSING],
            waiting_answers=states[LabelState.WAITING],
            failed_answers=states[LabelState.FAILED],
            carried_answers=states[LabelState.CARRIED],
            unmarked_nuggets=marks[None],
            marks={mark.value: n for mark, n in marks.items() if mark is not None},
            by_people=sum(
                int(_whole(of["by_person"]).sum()) for of in (self._answers, self._nuggets)
            ),
        )

    def helps_open(self) -> int:
        """The number of answers of which only the nuggets that helped are unknown."""
        floors, ceilings = self._precision
        by_person = _whole(self._answers["by_person"]) == 1
        places = np.flatnonzero(by_person & (self._correct == 1) & (floors != ceilings)).tolist()
        return sum(self[self._labels.questions[at].id].helps_open for at in places)

    @property
    def _correct(self) -> Floats:
        correct = _whole(self._answers["correct"])
        return np.where(correct < 0, np.nan, correct)

    @cached_property
    def _stated(self) -> Floats:
        stated = _whole(self._answers["confidence"])
        return np.where(stated == _NOWHERE, np.nan, stated / 100)

    @property
    def _given(self) -> Bools:
        return ~np.isnan(self._stated)

    @cached_property
    def _recall(self) -> dict[str, tuple[Floats, Floats]]:
        """Empty if every question requires one answer: recall is accuracy then."""
        if not several(self._labels.questions):
            return {}
        floors, ceilings = (_whole(self._answers[name]) for name in _RECALL)
        return {RECALL: (floors, ceilings)}

    @cached_property
    def _precision(self) -> tuple[Floats, Floats]:
        floors, ceilings = (_whole(self._answers[name]) for name in _PRECISION)
        return floors, ceilings


def _whole(column: Numbers) -> npt.NDArray[Any]:
    found = column.slice(0, len(column))
    return np.frombuffer(found, found.typecode)


def _counts(column: Numbers, kinds: Sequence[K]) -> dict[K, int]:
    """How often each of ``kinds`` occurs in a column of their indexes."""
    counts = np.bincount(_whole(column), minlength=len(kinds)).tolist()
    return dict(zip(kinds, counts, strict=True))
