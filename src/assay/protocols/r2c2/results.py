"""What an R2C2 evaluation came to: plain frozen values that files and reports are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assay.model.labels import Label, LabellerId
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, PassageRun, Question
from assay.protocols.scores import Score

if TYPE_CHECKING:  # judging needs none of it
    import numpy as np
    import numpy.typing as npt

    from assay.protocols.members import Jury


class State(StrEnum):
    """Whether there is a label to score with. ``carried``: the label was given to the same
    question and answer beside other entailed nuggets, before a person changed some mark."""

    COUNTED = "counted"
    CARRIED = "carried"
    MISSING = "missing"
    FAILED = "failed"
    LEFT_OUT = "left out"


class NuggetResult(NamedTuple):
    """A nugget of an answer with what was found about it. (A named tuple: there are many.)

    ``mark`` is None where a label is missing or failed. ``entailment`` is the label that counted
    (or the failed one), ``overruled`` the machine's label that a person's took the place of.
    ``help_reason`` is the labeller's reason for relevant or nonrelevant.
    """

    nugget: Nugget
    passage: Passage | None
    mark: Mark | None
    state: State
    entailment: Label | None = None
    overruled: Label | None = None
    helped: bool | None = None
    help_reason: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """One run's answer to one question.

    ``answer`` is None where the run leaves the question out: then ``correct`` is False,
    ``confidence`` 0 and ``precision`` 0 (spec, step 5). ``correct`` and ``precision`` are None
    where a label is missing or failed; such a question leaves the means and is counted.
    ``act`` is the dialogue act (``answer``, ``dont_know`` …), None where unlabelled.
    """

    run: str
    question: Question
    answer: Answer | None
    state: State
    correct: bool | None
    precision: float | None
    nuggets: tuple[NuggetResult, ...] = ()
    label: Label | None = None
    overruled: Label | None = None
    act: str | None = None
    act_label: Label | None = None

    @property
    def confidence(self) -> float:
        """p(i) in [0, 1]."""
        return 0.0 if self.answer is None else self.answer.confidence / 100

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


@dataclass(frozen=True, slots=True)
class RelevanceCheck:
    """Passages judged on their own beside their derived grades (paper, section 4.1).

    ``judged[question][PassageKey]`` is None where a label is missing or failed. ``both``,
    ``derived_only``, ``judged_only`` and ``neither`` count passages by derived grade >= 1 and
    judged relevant; ``kappa`` is Cohen's, None where undefined; ``missed`` lists the passages that
    are judged relevant and have grade 0.
    """

    judged: Mapping[str, Mapping[PassageKey, bool | None]]
    labels: Mapping[str, Mapping[PassageKey, Label]]
    both: int
    derived_only: int
    judged_only: int
    neither: int
    missing: int
    kappa: float | None
    missed: tuple[Passage, ...]


class KeptOfAnswers(Protocol):
    """What files need of the nuggets and labels of a large evaluation's answers, which do not keep
    them themselves."""

    def marks(self, run: str) -> dict[tuple[str, int], Mark]:
        """The marks of a run's nuggets by question and NuggetNum."""

    def models(self) -> dict[str, Counter[str]]:
        """By task, how many labels are by which model, as the servers named them."""

    def rowids(self) -> npt.NDArray[np.int64]:
        """The numbers of the labels that are used anywhere, rising."""

    def places(self) -> Iterator[tuple[int, bytes]]:
        """Each label's number, rising, with where it is used: JSON strings and commas."""


@dataclass(frozen=True)
class R2C2Result:
    """Everything that an R2C2 evaluation found, in the order of the question file.

    ``answers[run][question]``; ``grades[question][PassageKey]`` are the derived grades of every
    passage of every PR run; ``scores[run][measure]`` for AC runs and ``pr_scores`` for PR runs;
    ``attempted`` the same measures over the questions that a run did not decline;
    ``by_category[category][run][measure]`` holds AC and PR runs. ``per_topic[run][measure]
    [question]`` is None where a label is missing. ``no_relevant`` lists questions without any
    relevant passage. With ``kept`` the answers have neither nuggets nor labels: the evaluation was
    too large.
    """

    title: str
    policy: str
    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    answers: Mapping[str, Mapping[str, AnswerResult]]
    notes: Mapping[str, RunNotes]
    grades: Mapping[str, Mapping[PassageKey, int]]
    scores: Mapping[str, Mapping[str, Score]]
    pr_scores: Mapping[str, Mapping[str, Score]]
    attempted: Mapping[str, Mapping[str, Score]]
    by_category: Mapping[str, Mapping[str, Mapping[str, Score]]]
    per_topic: Mapping[str, Mapping[str, Mapping[str, float | None]]]
    no_relevant: tuple[str, ...]
    labellers: Mapping[str, LabellerId | None]
    settings: Mapping[str, object]
    warnings: tuple[str, ...] = field(default=())
    relevance: RelevanceCheck | None = None
    juries: tuple[Jury, ...] = ()
    kept: KeptOfAnswers | None = None

    def labels(self) -> Iterator[Label]:
        """Every label that the answers' results rest on, once for each place it is used at."""
        for by_question in self.answers.values():
            for answer in by_question.values():
                yield from (n.entailment for n in answer.nuggets if n.entailment is not None)
                yield from (x for x in (answer.label, answer.act_label) if x is not None)
