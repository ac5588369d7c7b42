"""The labelling tasks of the TREC RAG track that judge passages and answers.

Source: the track's overview papers (2024, 2025). The scales are the track's, the wording of the
prompts is ours. In a unit, what many questions share comes first (the question, then the nuggets)
and what varies comes last, so that consecutive prompts have a long common prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from assay.model.trec_rag import Assigned as Assigned
from assay.model.trec_rag import Support
from assay.tasks.base import AnyTask, AskYesNo, Task, Unit, Verdict
from assay.tasks.fields import YesNoField, each_folded, folded, whole_grade
from assay.tasks.lists import one_for_each

WINDOW = 20
"""Most nuggets that are assigned in one call."""

# --- relevance -----------------------------------------------------------------------------------


class RelevanceUnit(Unit):
    """A question and the text of a passage that was retrieved for it."""

    question: str
    passage: str


class RelevanceGrade(Verdict):
    """How far a passage answers the question: 0 unrelated, 1 related, 2 an answer in part or in
    passing, 3 devoted to the answer."""

    reason: str = ""
    grade: whole_grade(3)  # type: ignore[valid-type]


RELEVANCE = Task(
    name="trec_rag.relevance",
    title="Relevance of a passage to a question, 0 to 3 (TREC RAG 2024)",
    unit=RelevanceUnit,
    verdict=RelevanceGrade,
    max_tokens=150,
)


class YesNoRelevance(Verdict):
    """Whether a passage answers the question, in whole or in part."""

    reason: str = ""
    relevant: YesNoField


def _decide_relevant(unit: RelevanceUnit, ask: AskYesNo) -> YesNoRelevance:
    answer = ask("relevant")
    return YesNoRelevance(reason=answer.reason, relevant=answer.yes)


RELEVANCE_YES_NO = Task(
    name="trec_rag.relevance_yes_no",
    title="Relevance of a passage, yes or no",
    unit=RelevanceUnit,
    verdict=YesNoRelevance,
    decide=_decide_relevant,
    max_tokens=150,
)


class AspectsUnit(Unit):
    """A narrative, its sub-narratives and the text of a passage."""

    narrative: str
    sub_narratives: tuple[str, ...]
    passage: str


class RelevanceGrade4(Verdict):
    """The scale of 2025: 0 unrelated, 1 related, 2 answers one sub-narrative in detail, 3 two or
    three, 4 four or more. Much text unrelated to the narrative lowers the grade by 1 or 2."""

    reason: str = ""
    grade: whole_grade(4)  # type: ignore[valid-type]


RELEVANCE_AT_ONCE = Task(
    name="trec_rag.relevance_at_once",
    title="Relevance of a passage to a narrative, 0 to 4, asked for at once (TREC RAG 2025)",
    unit=AspectsUnit,
    verdict=RelevanceGrade4,
    max_tokens=200,
)


class OffTopic(StrEnum):
    """How much of a passage has nothing to do with the narrative."""

    LITTLE = "little"
    SOME = "some"
    MUCH = "much"


_LOWERED = {OffTopic.LITTLE: 0, OffTopic.SOME: 1, OffTopic.MUCH: 2}


class AspectsAnswered(Verdict):
    """Which sub-narratives a passage answers in detail, in the unit's order; whether it is related
    to the narrative at all; and how much of it is off topic."""

    reason: str = ""
    related: YesNoField
    off_topic: Annotated[OffTopic, BeforeValidator(folded)] = OffTopic.LITTLE
    answered: tuple[YesNoField, ...]

    @property
    def grade(self) -> int:
        """The grade from 0 to 4 that follows from the number of answered sub-narratives."""
        return counted_grade(
            sum(self.answered), related=self.related, lowered=_LOWERED[self.off_topic]
        )


def counted_grade(answered: int, *, related: bool, lowered: int = 0) -> int:
    """The track's grade (2025, section 3.1) of a passage, given how many sub-narratives it answers
    in detail: 2 for one, 3 for two or three, 4 for four or more. Without any it is 1 if the passage
    is related, else 0. It is reduced by ``lowered``, but not below 0."""
    if not answered:
        found = 1 if related else 0
    else:
        found = 2 if answered == 1 else 3 if answered <= 3 else 4
    return max(0, found - lowered)


def _decide_answered(unit: AspectsUnit, ask: AskYesNo) -> AspectsAnswered:
    answers = [ask("answered", aspect=one, reason=False) for one in unit.sub_narratives]
    related = any(answer.yes for answer in answers) or ask("related", reason=False).yes
    return AspectsAnswered(related=related, answered=tuple(answer.yes for answer in answers))


SUB_NARRATIVES_ANSWERED = Task(
    name="trec_rag.relevance_counted",
    title="Which sub-narratives does the passage answer in detail? (grade 0 to 4 by counting)",
    unit=AspectsUnit,
    verdict=AspectsAnswered,
    **one_for_each("sub_narratives", "answered"),
    decide=_decide_answered,
    max_tokens=300,
    orders={"off_topic": ("much", "some", "little")},
    compared="grade",
)

# --- nugget assignment ---------------------------------------------------------------------------


class AssignmentUnit(Unit):
    """A question, a window of its nuggets (at most 20) and an answer to it."""

    question: str
    nuggets: tuple[str, ...]
    answer: str


class Assignment(Verdict):
    """One label for each nugget of the unit, in the unit's order."""

    labels: Annotated[tuple[Assigned, ...], BeforeValidator(each_folded)]


def _decide_assignment(unit: AssignmentUnit, ask: AskYesNo) -> Assignment:
    labels = []
    for number, nugget in enumerate(unit.nuggets, 1):
        context = {"nugget": nugget, "number": number}
        if ask("stated", reason=False, **context).yes:
            labels.append(Assigned.SUPPORT)
        elif ask("touched", reason=False, **context).yes:
            labels.append(Assigned.PARTIAL)
        else:
            labels.append(Assigned.NONE)
    return Assignment(labels=tuple(labels))


ASSIGNMENT = Task(
    name="trec_rag.assignment",
    title="Nugget assignment: which nuggets does the answer support?",
    unit=AssignmentUnit,
    verdict=Assignment,
    judged=("nuggets",),
    **one_for_each("nuggets", "labels"),
    decide=_decide_assignment,
    max_tokens=300,
    orders={"labels": ("not_support", "partial_support", "support")},
)


def windows(texts: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Split ``texts`` into windows of ``size``, in order. Raises ValueError if that is below 1."""
    if size < 1:
        raise ValueError("a window holds at least one item")
    return [tuple(texts[start : start + size]) for start in range(0, len(texts), size)]


def assignment_units(
    question: str, nuggets: Sequence[str], answer: str, *, window: int = WINDOW
) -> Iterator[AssignmentUnit]:
    """Units that ask about every nugget once, at most ``window`` in each, in order. Raises
    ValueError if ``window`` is below 1."""
    for part in windows(nuggets, window):
        yield AssignmentUnit(question=question, nuggets=part, answer=answer)


# --- support -------------------------------------------------------------------------------------


class SupportUnit(Unit):
    """A passage and a sentence that cites it."""

    passage: str
    sentence: str


class SupportVerdict(Verdict):
    """How far the passage supports the sentence: full, partial or none."""

    reason: str = ""
    support: Annotated[Support, BeforeValidator(folded)]


def _decide_support(unit: SupportUnit, ask: AskYesNo) -> SupportVerdict:
    full = ask("full")
    if full.yes:
        return SupportVerdict(reason=full.reason, support=Support.FULL)
    partial = ask("partial", reason=False)
    support = Support.PARTIAL if partial.yes else Support.NONE
    return SupportVerdict(reason=full.reason, support=support)


SUPPORT = Task(
    name="trec_rag.support",
    title="Support: does the cited passage support the sentence?",
    unit=SupportUnit,
    verdict=SupportVerdict,
    decide=_decide_support,
    max_tokens=200,
    orders={"support": ("none", "partial", "full")},
)

BEFORE = 3
"""Most preceding sentences that are shown with a sentence."""


class ContextUnit(SupportUnit):
    """A passage and a sentence with their context: the ``title`` of the passage's document (empty
    if it has none), and the sentences ``before`` in the answer, which explain words such as “it”
    and are not judged themselves."""

    title: str
    before: tuple[str, ...]


SUPPORT_IN_CONTEXT = replace(
    SUPPORT,
    name="trec_rag.support_in_context",
    title="Support in context: does the cited passage support the sentence, read where it stands?",
    unit=ContextUnit,
)

TASKS: tuple[AnyTask, ...] = (
    RELEVANCE,
    RELEVANCE_YES_NO,
    RELEVANCE_AT_ONCE,
    SUB_NARRATIVES_ANSWERED,
    ASSIGNMENT,
    SUPPORT,
    SUPPORT_IN_CONTEXT,
)


class Way(NamedTuple):
    """A way to grade passages: the task, the highest grade of its scale, what its labels are
    called, and whether it needs sub-narratives."""

    task: AnyTask
    highest: int
    words: str
    by_aspects: bool = False


WAYS: Mapping[str, Way] = {
    "counted": Way(
        SUB_NARRATIVES_ANSWERED, 4, "labels 0 to 4, by the sub-narratives that a document answers",
        by_aspects=True,
    ),
    "at-once": Way(RELEVANCE_AT_ONCE, 4, "labels 0 to 4", by_aspects=True),
    "0-3": Way(RELEVANCE, 3, "labels 0 to 3"),
    "yes-no": Way(RELEVANCE_YES_NO, 1, "labels yes or no"),
}  # fmt: skip
"""The ways to grade passages, by the name in the settings."""


def grade_of(way: str, verdict: Mapping[str, Any]) -> int:
    """The grade that follows from a verdict under a way of grading."""
    if way == "counted":
        return AspectsAnswered.model_validate(verdict).grade
    if way == "yes-no":
        return int(bool(verdict["relevant"]))
    return int(verdict["grade"])
