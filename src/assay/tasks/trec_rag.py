"""The labelling tasks of the TREC RAG track: relevance on the scale of 2024, nugget assignment.

Source: the track's overview papers (2024, 2025). The scales are the track's, the prompts' wording
is ours. What many questions share comes first in a unit (the question, then the nuggets), what
varies comes last, so that prompts asked one after the other have a long prefix in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from assay.model.trec_rag import Assigned as Assigned
from assay.tasks.base import AnyTask, Task, Unit, Verdict

WINDOW = 20
"""How many nuggets one call assigns."""


def _grade(value: object) -> object:
    """Accept 0 to 3 as a whole number or as its digit, and nothing that has to be guessed."""
    if isinstance(value, str) and re.fullmatch(r"\s*[0-3]\s*", value):
        return int(value)
    if isinstance(value, bool) or value not in (0, 1, 2, 3):
        raise ValueError("must be 0, 1, 2 or 3")
    return value


class RelevanceUnit(Unit):
    """A question and the text of a passage that was retrieved for it."""

    question: str
    passage: str


class RelevanceGrade(Verdict):
    """How far a passage answers the question: 0 unrelated, 1 related, 2 an answer in part or in
    passing, 3 devoted to the answer."""

    reason: str = ""
    grade: Annotated[
        int,
        BeforeValidator(_grade),
        WithJsonSchema({"type": "integer", "enum": [0, 1, 2, 3]}),
    ]


RELEVANCE = Task(
    name="trec_rag.relevance",
    version="1",
    title="Relevance of a passage to a question, 0 to 3 (TREC RAG 2024)",
    unit=RelevanceUnit,
    verdict=RelevanceGrade,
    template="trec_rag_relevance",
    max_tokens=150,
)


_ASSIGNED = {member.value: member for member in Assigned}


def _folded(value: object) -> object:
    """Letter case and the way that the words of a label are joined do not matter."""
    if not isinstance(value, list | tuple):
        return value
    return [
        _ASSIGNED.get(item) or _other_spelling(item) if isinstance(item, str) else item
        for item in value
    ]


def _other_spelling(item: str) -> str:
    return re.sub(r"[\s-]+", "_", item.strip().casefold())


class AssignmentUnit(Unit):
    """A question, a window of its nuggets (at most 20) and an answer to it."""

    question: str
    nuggets: tuple[str, ...]
    answer: str


class Assignment(Verdict):
    """One label for each nugget of the unit, in the unit's order."""

    labels: Annotated[tuple[Assigned, ...], BeforeValidator(_folded)]


def _check_assignment(unit: AssignmentUnit, verdict: Assignment) -> str | None:
    wanted, given = len(unit.nuggets), len(verdict.labels)
    if given == wanted:
        return None
    return f"'labels' must hold {wanted} labels, one for each nugget in order; it holds {given}"


ASSIGNMENT = Task(
    name="trec_rag.assignment",
    version="1",
    title="Nugget assignment: which nuggets does the answer support?",
    unit=AssignmentUnit,
    verdict=Assignment,
    template="trec_rag_assignment",
    check=_check_assignment,
    max_tokens=300,
)


def assignment_units(
    question: str, nuggets: Sequence[str], answer: str, *, window: int = WINDOW
) -> Iterator[AssignmentUnit]:
    """Units that ask for every nugget of ``nuggets`` once, at most ``window`` in each, in order.

    Raises ValueError where ``window`` is less than 1.
    """
    if window < 1:
        raise ValueError("a window holds at least one nugget")
    for start in range(0, len(nuggets), window):
        part = tuple(nuggets[start : start + window])
        yield AssignmentUnit(question=question, nuggets=part, answer=answer)


TASKS: tuple[AnyTask, ...] = (RELEVANCE, ASSIGNMENT)
