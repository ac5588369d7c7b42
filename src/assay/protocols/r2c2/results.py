"""What an R2C2 evaluation came to: plain frozen values that files and reports are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from assay.measures.ranges import Range
from assay.model.labels import Label, LabellerId
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, PassageRun, Question
from assay.protocols.places import Place, Used, WhereUsed
from assay.protocols.ranked import Ranked
from assay.protocols.scores import PerTopic, Score

if TYPE_CHECKING:  # judging needs none of it
    from pathlib import Path

    from assay.protocols.members import Jury
    from assay.protocols.r2c2.work import Abstention, Numbers
    from assay.protocols.record import Counted, Places


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
    def complete(self) -> bool:
        """Whether the verdict and every mark that a score hangs on are known."""
        return self.correct is not None and self.precision.value is not None

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

    def marks(self, run: str) -> Mapping[str, Mapping[int, Mark]]:
        """The marks of a run's nuggets by question and NuggetNum."""

    def models(self) -> dict[str, Counter[str]]:
        """By task, how many labels are by which model, as the servers named them."""

    def write_labels(self, path: Path, ledger: Path, more: Places) -> tuple[str, Counted]:
        """Write ``labels.jsonl``: the labels that are used anywhere, and those in ``more``;
        returns its digest and which labels it holds."""


@dataclass(frozen=True)
class R2C2Result:
    """Everything that an R2C2 evaluation found, in the order of the question file.

    ``answers[run][question]``; ``grades[question][PassageKey]`` are the derived grades of every
    passage of every PR run, ``ranked`` the PR runs as they are scored by them; ``computed`` gives
    the scores, waiting for them where it must. ``no_relevant`` lists questions without any relevant
    passage. With ``kept`` the answers have neither nuggets nor labels: the evaluation was too
    large. ``out`` is where the report says that its files are.
    """

    title: str
    policy: str
    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    answers: Mapping[str, Mapping[str, AnswerResult]]
    notes: Mapping[str, RunNotes]
    grades: Mapping[str, Mapping[PassageKey, int]]
    ranked: Ranked
    computed: Callable[[], Numbers]
    no_relevant: tuple[str, ...]
    labellers: Mapping[str, LabellerId | None]
    settings: Mapping[str, object]
    warnings: tuple[str, ...] = field(default=())
    relevance: RelevanceCheck | None = None
    juries: tuple[Jury, ...] = ()
    out: str = "out/"
    kept: KeptOfAnswers | None = None

    @property
    def scores(self) -> Mapping[str, Mapping[str, Score]]:
        """The scores of AC runs: run → measure → score."""
        return self.computed().scores

    @property
    def pr_scores(self) -> Mapping[str, Mapping[str, Score]]:
        """The scores of PR runs."""
        return self.computed().pr_scores

    @property
    def attempted(self) -> Mapping[str, Mapping[str, Score]]:
        """The scores of AC runs over the questions that they did not decline."""
        return self.computed().attempted

    @property
    def abstention(self) -> Mapping[str, Abstention]:
        """How AC runs decline, and what they would come to if they did so more often."""
        return self.computed().abstention

    @property
    def by_category(self) -> Mapping[str, Mapping[str, Mapping[str, Score]]]:
        """The scores of AC and PR runs by category of question."""
        return self.computed().by_category

    @cached_property
    def per_topic(self) -> PerTopic:
        """The values of each question, run → measure → question."""
        table: dict[str, Mapping[str, Mapping[str, Range | None]]] = {}
        for name, by_question in self.answers.items():
            found = [(one.question.id, one) for one in by_question.values()]
            table[name] = {
                "Accuracy": {key: one.accuracy for key, one in found},
                "NuggetPrecision": {key: one.precision for key, one in found},
                "Confidence": {
                    key: None if one.confidence is None else Range.certain(one.confidence)
                    for key, one in found
                },
            }
        table.update(self.computed().pr_values)
        return table

    @property
    def used(self) -> Iterator[Used]:
        """Every label that the answers' results and the check of relevance rest on, with each place
        it is used at."""
        for run, by_question in self.answers.items():
            for question, answer in by_question.items():
                at = Place(run, question)
                for one in answer.nuggets:
                    if one.entailment is not None:
                        place = at._replace(position=f"nugget {one.nugget.num}")
                        yield Used(one.entailment, place)
                if answer.label is not None:
                    here = "answer, carried" if answer.state is State.CARRIED else "answer"
                    yield Used(answer.label, at._replace(position=here))
                if answer.act_label is not None:
                    yield Used(answer.act_label, at._replace(position="dialogue act"))
        for topic, labels in (self.relevance.labels if self.relevance else {}).items():
            for key, label in labels.items():
                yield Used(label, Place(key.run, topic, f"passage {key.rank}"))

    @cached_property
    def where_used(self) -> WhereUsed:
        """Where each label is used."""
        return WhereUsed(self.used)
