"""What labels say of answers and their nuggets: plain frozen values that files and reports are
made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.measures.ranges import Range
from assay.model.labels import Label
from assay.model.rag import Answer, Mark, Nugget, Passage, PassageKey, PassageRun, Question
from assay.model.wording import and_list, counted, noun
from assay.page.page import Gap
from assay.protocols.answers.acts import IN_WORDS
from assay.protocols.relevance import RelevanceCheck
from assay.protocols.results import RETRY


class LabelState(StrEnum):
    """Whether there is a label to score with. ``carried``: the label counted for this answer
    beside other entailed nuggets, before some mark was changed. ``waiting``: there can be none of a
    machine until it is known of nuggets whose labels failed whether they are entailed."""

    COUNTED = "counted"
    CARRIED = "carried"
    MISSING = "missing"
    WAITING = "waiting"
    FAILED = "failed"
    LEFT_OUT = "left out"


class NuggetResult(NamedTuple):
    """A nugget of an answer with what was found about it. (A named tuple: there are many.)

    ``mark`` is None where a label is missing or failed. ``entailment`` is the label that counted,
    or the failed one, ``overruled`` the machine's label that a person's took the place of.
    ``help_reason`` is the labeller's reason for relevant or nonrelevant.
    """

    nugget: Nugget
    passage: Passage | None
    mark: Mark | None
    state: LabelState
    entailment: Label | None = None
    overruled: Label | None = None
    helped: bool | None = None
    help_reason: str | None = None

    @property
    def entailed(self) -> bool | None:
        """Whether the passage entails the nugget; None where nothing usable says so."""
        label = self.entailment
        return None if label is None or label.verdict is None else bool(label.verdict["entailed"])


NOTHING = Range.certain(0.0)
"""The value of an answer that is not there."""


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """One run's answer to one question.

    ``answer`` is None where the run leaves the question out: then ``correct`` is False, the
    confidence unknown and ``precision`` 0. ``correct`` is None where a label is missing or failed;
    ``precision`` is R / (R + N + B), from all marks that are missing being no R to all that may be
    one; ``recall`` is the share of the required answers that it gives. ``act`` is the dialogue act
    (``answer``, ``dont_know`` …), None where unlabelled. A refusal's correctness follows from it
    (:mod:`assay.protocols.answers.acts`): it has no ``label``, unless a person gave one, or its
    nuggets were asked about.
    """

    run: str
    question: Question
    answer: Answer | None
    state: LabelState
    correct: bool | None
    precision: Range
    nuggets: tuple[NuggetResult, ...] = ()
    label: Label | None = None
    overruled: Label | None = None
    act: str | None = None
    act_label: Label | None = None
    recall: Range = NOTHING

    @property
    def confidence(self) -> float | None:
        """p(i) in [0, 1]; None where the question is left out."""
        return None if self.answer is None else self.answer.confidence / 100

    @property
    def marks(self) -> dict[int, Mark]:
        """The marks of its nuggets by NuggetNum; unlabelled ones are absent."""
        return {one.nugget.num: one.mark for one in self.nuggets if one.mark is not None}

    @property
    def helps_open(self) -> bool:
        """Whether a person called right what a machine called wrong, every nugget is known to be
        entailed or not, and of some it is open whether it helped: of a wrong answer no machine is
        asked that."""
        machine = None if self.overruled is None else self.overruled.verdict
        if not self.correct or machine is None or machine["correct"]:
            return False
        known = all(one.entailed is not None for one in self.nuggets)
        return known and any(one.mark is None for one in self.nuggets)

    @property
    def refused(self) -> bool:
        """Whether the answer declines to answer."""
        return self.act is not None and declines(self.act)


def declines(act: str) -> bool:
    """Whether an answer of this act declines to answer."""
    return act != "answer"


PRECISION = "NuggetPrecision"
RECALL = "AnswerRecall"


Judged = Mapping[str, Mapping[str, AnswerResult]]
"""run → question → what was found of the answer."""


@dataclass(frozen=True)
class AnswerFindings:
    """What was found of answers and of the passages that they cite, in the order of the questions.

    ``grades[question][PassageKey]`` are the grades of every passage of every run of passages;
    ``no_relevant`` lists questions that surely have no relevant passage; ``failed_nuggets`` labels
    of nuggets failed, each counted once; of ``helps_open`` answers it alone is open which nuggets
    helped.
    """

    questions: tuple[Question, ...]
    pr_runs: Mapping[str, PassageRun]
    answers: Judged
    notes: Mapping[str, RunNotes]
    grades: Mapping[str, Mapping[PassageKey, int]]
    no_relevant: tuple[str, ...]
    failed_nuggets: int = 0
    helps_open: int = 0
    relevance: RelevanceCheck | None = None

    @property
    def unlabelled(self) -> int:
        """How many answers, nuggets and passages that were checked have no usable label."""
        checked = 0 if self.relevance is None else self.relevance.missing
        return sum(one.unlabelled for one in self.notes.values()) + checked


# -- what must be known of a run ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunNotes:
    """Counts for one run that a reader must know beside its scores."""

    run: str
    questions: int
    answered: int
    left_out: tuple[str, ...]
    refusals: Mapping[str, int]
    missing_answers: int
    waiting_answers: int
    failed_answers: int
    carried_answers: int
    unmarked_nuggets: int
    marks: Mapping[str, int]
    by_people: int

    @property
    def declined(self) -> int:
        """How many answers decline."""
        return sum(self.refusals.values())

    @property
    def unlabelled(self) -> int:
        """How many answers and nuggets have no usable label."""
        open_answers = self.missing_answers + self.waiting_answers + self.failed_answers
        return open_answers + self.unmarked_nuggets

    def counts(self) -> tuple[str, ...]:
        """What must be known beside the run's scores, only what is not zero."""
        parts = (
            (len(self.left_out), "left out"),
            (self.declined, "declined"),
            (self.missing_answers, f"{noun(self.missing_answers, 'label')} missing"),
            (self.waiting_answers, "waiting for nuggets"),
            (self.failed_answers, "failed"),
            (self.carried_answers, "carried"),
            (self.unmarked_nuggets, f"{noun(self.unmarked_nuggets, 'nugget')} unmarked"),
        )
        return tuple(f"{n:,} {words}" for n, words in parts if n)

    def in_words(self) -> str:
        """The same with what its refusals say."""
        acts = "; ".join(
            f"{n} × {IN_WORDS.get(act, act)}" for act, n in sorted(self.refusals.items()) if n
        )
        return "; ".join(self.counts()) + (f" ({acts})" if acts else "")


_RANGE = "Scores that depend on them are ranges, from the worst to the best possible."


def _helps(answers: int) -> str:
    """What is open of answers no label of which is missing."""
    if not answers:
        return ""
    it = noun(answers, "it", "them")
    return (
        f" But {counted(answers, 'answer')} {noun(answers, 'lacks', 'lack')} no label. A person "
        f"called {it} right without saying which nuggets helped, and the machine, which called "
        f"{it} wrong, was not asked that. People can add it in “assay ui”."
    )


def answer_gaps(
    every: Sequence[RunNotes], failed_nuggets: int, helps_open: int = 0
) -> Iterator[Gap]:
    """What is missing of the runs' answers, gravest first. ``failed_nuggets`` says how many labels
    of nuggets failed: answers may wait for these; ``helps_open`` of how many answers it alone is
    open which nuggets helped."""
    helps = _helps(helps_open)
    by_run: tuple[tuple[list[int], str, str, str, bool], ...] = (
        (
            [one.missing_answers for one in every],
            "answer has no label yet", "answers have no label yet",
            f"{_RANGE} “assay judge” asks for the missing labels.", True,
        ),
        (
            [one.waiting_answers for one in every],
            f"answer waits for labels of nuggets, of which {failed_nuggets:,} failed",
            f"answers wait for labels of nuggets, of which {failed_nuggets:,} failed",
            (
                "No machine judges an answer until it is known which of its nuggets are entailed. "
                f"{_RANGE} In “assay ui”, people can label what failed, and such answers too. "
                f"{RETRY}"
            ),
            True,
        ),
        (
            [one.failed_answers for one in every],
            "answer could not be labelled: the labeller failed",
            "answers could not be labelled: the labeller failed", f"{_RANGE} {RETRY}", True,
        ),
        (
            [one.unmarked_nuggets for one in every],
            "nugget has no mark: its own label or its answer’s is missing or failed",
            "nuggets have no mark: their own labels or their answers’ are missing or failed",
            f"Nugget precision and the scores of passage runs are ranges.{helps}", True,
        ),
        (
            [one.carried_answers for one in every],
            "answer label is carried over", "answer labels are carried over",
            "Given before a person changed the mark of one of the answer’s nuggets.", False,
        ),
        (
            [len(one.left_out) for one in every],
            "question was left out by a run", "questions were left out by runs",
            (
                "Counted as wrong with an unknown confidence, so HMR, R_O, R_U and the calibration "
                "measures are ranges, from the worst possible answer to confidence 0."
            ),
            False,
        ),
    )  # fmt: skip
    for counts, one, many, so, grave in by_run:
        if n := sum(counts):
            where = [f"{note.run}: {n}" for note, n in zip(every, counts, strict=True) if n]
            yield Gap(n, f"{noun(n, one, many)} ({and_list(where)})", so, grave)
