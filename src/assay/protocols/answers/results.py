"""What labels say about answers and their nuggets: plain frozen values for files and reports."""

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
    """Whether there is a label to score with. ``carried``: it counted for this answer beside other
    entailed nuggets, before a mark was changed. ``waiting``: no machine can be asked until it is
    known whether nuggets with failed labels are entailed."""

    COUNTED = "counted"
    CARRIED = "carried"
    MISSING = "missing"
    WAITING = "waiting"
    FAILED = "failed"
    LEFT_OUT = "left out"


class NuggetResult(NamedTuple):
    """A judged nugget of an answer. (A named tuple, as there are many.) ``mark`` is None if a label
    is missing or failed. ``entailment`` is the label that counted or failed, ``overruled`` the
    machine's label that a person's overrules, and ``help_reason`` the labeller's reason for
    relevant or nonrelevant."""

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
        """Whether the passage entails the nugget; None without a usable label."""
        label = self.entailment
        return None if label is None or label.verdict is None else bool(label.verdict["entailed"])


NOTHING = Range.certain(0.0)
"""The value of a missing answer."""


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """A run's judged answer to one question.

    ``answer`` is None if the run leaves the question out: then ``correct`` is False, the confidence
    unknown and ``precision`` 0. ``correct`` is None if a label is missing or failed. ``precision``
    is R / (R + N + B); it ranges from no missing mark being R to all that can be. ``recall`` is the
    share of the required answers that it gives. ``act`` is the dialogue act (``answer``,
    ``dont_know`` …), None if unlabelled. The correctness of a refusal follows from its act
    (:mod:`assay.protocols.answers.acts`): it has no ``label`` unless a person gave one, or its
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
        """p(i) in [0, 1]; None if the question is left out."""
        return None if self.answer is None else self.answer.confidence / 100

    @property
    def marks(self) -> dict[int, Mark]:
        """The marks of its nuggets by NuggetNum, without unlabelled ones."""
        return {one.nugget.num: one.mark for one in self.nuggets if one.mark is not None}

    @property
    def helps_open(self) -> bool:
        """Whether only the nuggets that helped are unknown: every nugget is known to be entailed or
        not, and a person called right what a machine called wrong, so that it was not asked which
        helped."""
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
    """Whether an answer with this act declines to answer."""
    return act != "answer"


PRECISION = "NuggetPrecision"
RECALL = "AnswerRecall"


Judged = Mapping[str, Mapping[str, AnswerResult]]
"""run → question → the judged answer."""


@dataclass(frozen=True)
class AnswerFindings:
    """The judged answers and the passages that they cite, in the order of the questions.

    ``grades[question][PassageKey]`` has the grade of every passage of every passage run.
    ``no_relevant`` lists questions that certainly have no relevant passage. ``failed_nuggets``
    counts the failed labels of nuggets once each, ``helps_open`` the answers of which only the
    nuggets that helped are unknown.
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
        """The number of answers, nuggets and checked passages without a usable label."""
        checked = 0 if self.relevance is None else self.relevance.missing
        return sum(one.unlabelled for one in self.notes.values()) + checked


# -- what must be known of a run ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunNotes:
    """Counts that readers must know beside a run's scores."""

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
        """The number of answers that decline."""
        return sum(self.refusals.values())

    @property
    def unlabelled(self) -> int:
        """The number of answers and nuggets without a usable label."""
        open_answers = self.missing_answers + self.waiting_answers + self.failed_answers
        return open_answers + self.unmarked_nuggets

    def counts(self) -> tuple[str, ...]:
        """The counts in words, without those that are zero."""
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
        """All counts in one text, with what the refusals say."""
        acts = "; ".join(
            f"{n} × {IN_WORDS.get(act, act)}" for act, n in sorted(self.refusals.items()) if n
        )
        return "; ".join(self.counts()) + (f" ({acts})" if acts else "")


_RANGE = "Scores that depend on them are ranges, from the worst to the best possible."


def _helps(answers: int) -> str:
    """A sentence on answers of which only the nuggets that helped are unknown."""
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
    """What is missing from the runs' answers, gravest first. ``failed_nuggets`` is the number of
    failed labels of nuggets, for which answers may wait; ``helps_open`` is the number of answers of
    which only the nuggets that helped are unknown."""
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
