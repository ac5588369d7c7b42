"""What an R2C2 evaluation came to: plain frozen values that files and reports are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, PassageRun, Question
from assay.protocols.relevance import RelevanceCheck


class State(StrEnum):
    """Whether there is a label to score with. ``carried``: the label counted for this answer
    beside other entailed nuggets, before some mark was changed."""

    COUNTED = "counted"
    CARRIED = "carried"
    MISSING = "missing"
    FAILED = "failed"
    LEFT_OUT = "left out"


class NuggetResult(NamedTuple):
    """A nugget of an answer with what was found about it. (A named tuple: there are many.)

    ``mark`` is None where a label is missing or failed. Its label is the one at ``at`` among
    ``labels``, by a person where it is ``by_person``; ``overruled`` is the machine's label that a
    person's took the place of. ``help_reason`` is the labeller's reason for relevant or
    nonrelevant.
    """

    nugget: Nugget
    passage: Passage | None
    mark: Mark | None
    state: State
    labels: Sequence[Label | None] = (None,)
    at: int = 0
    by_person: bool = False
    overruled: Label | None = None
    helped: bool | None = None
    help_reason: str | None = None

    @property
    def entailment(self) -> Label | None:
        """The label that counted, or the failed one."""
        return self.labels[self.at]


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """One run's answer to one question.

    ``answer`` is None where the run leaves the question out: then ``correct`` is False, the
    confidence unknown and ``precision`` 0 (spec, step 5). ``correct`` is None where a label is
    missing or failed; ``precision`` is R / (R + N + B), from all marks that are missing being no R
    to all that may be one. ``act`` is the dialogue act (``answer``, ``dont_know`` …), None where
    unlabelled. A refusal's correctness follows from it (:mod:`assay.protocols.r2c2.acts`): it has
    no ``label``, unless a person gave one, or its nuggets were asked about.
    """

    run: str
    question: Question
    answer: Answer | None
    state: State
    correct: bool | None
    precision: Range
    nuggets: tuple[NuggetResult, ...] = ()
    label: Label | None = None
    overruled: Label | None = None
    act: str | None = None
    act_label: Label | None = None

    @property
    def confidence(self) -> float | None:
        """p(i) in [0, 1]; None where the question is left out."""
        return None if self.answer is None else self.answer.confidence / 100

    @property
    def accuracy(self) -> Range:
        """1 where the answer is correct, 0 where it is not."""
        return Range(0.0, 1.0) if self.correct is None else Range.certain(float(self.correct))

    @property
    def marks(self) -> dict[int, Mark]:
        """The marks of its nuggets by NuggetNum; unlabelled ones are absent."""
        return {one.nugget.num: one.mark for one in self.nuggets if one.mark is not None}

    @property
    def complete(self) -> bool:
        """Whether the verdict and every mark that a score hangs on are known."""
        return self.correct is not None and self.precision.value is not None

    @property
    def lacks(self) -> bool:
        """Whether a label is missing that a score hangs on."""
        states = (self.state, *(one.state for one in self.nuggets))
        return not self.complete and State.MISSING in states

    @property
    def refused(self) -> bool:
        """Whether the answer declines to answer."""
        return self.act is not None and self.act != "answer"


@dataclass(frozen=True, slots=True)
class RunNotes:
    """Counts for one AC run that a reader must know beside its scores."""

    run: str
    questions: int
    answered: int
    left_out: tuple[str, ...]
    refusals: Mapping[str, int]
    missing_answers: int
    failed_answers: int
    carried_answers: int
    unmarked_nuggets: int
    marks: Mapping[str, int]
    by_people: int

    @classmethod
    def of(cls, run: str, results: Sequence[AnswerResult]) -> RunNotes:
        """The counts of a run's answers."""
        nuggets = [nugget for result in results for nugget in result.nuggets]
        marks = [nugget.mark for nugget in nuggets]
        answers = [result.label for result in results]
        return cls(
            run=run,
            questions=len(results),
            answered=sum(result.answer is not None for result in results),
            left_out=tuple(r.question.id for r in results if r.answer is None),
            refusals=dict(Counter(str(r.act) for r in results if r.refused)),
            missing_answers=sum(r.state is State.MISSING for r in results),
            failed_answers=sum(r.state is State.FAILED for r in results),
            carried_answers=sum(r.state is State.CARRIED for r in results),
            unmarked_nuggets=marks.count(None),
            marks={mark.value: marks.count(mark) for mark in Mark},
            by_people=sum(one is not None and one.labeller.is_human for one in answers)
            + sum(nugget.by_person for nugget in nuggets),
        )

    @property
    def declined(self) -> int:
        """How many answers decline."""
        return sum(self.refusals.values())

    @property
    def unlabelled(self) -> int:
        """How many answers and nuggets have no usable label."""
        return self.missing_answers + self.failed_answers + self.unmarked_nuggets


@dataclass(frozen=True)
class Found:
    """What an R2C2 evaluation found of answers and passages, in the order of the question file.

    ``answers[run][question]``; ``grades[question][PassageKey]`` are the derived grades of every
    passage of every PR run; ``no_relevant`` lists questions that surely have no relevant passage.
    """

    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    answers: Mapping[str, Mapping[str, AnswerResult]]
    notes: Mapping[str, RunNotes]
    grades: Mapping[str, Mapping[PassageKey, int]]
    no_relevant: tuple[str, ...]
    relevance: RelevanceCheck[PassageKey] | None = None
