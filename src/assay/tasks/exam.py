"""The labelling tasks of EXAM++: bank generation, self-rated answerability, answer extraction, and
the direct graders that the paper compares with (appendix A).

Source: Farzi & Dietz, EXAM++, sections 4.1 and 4.2. The scales are the paper's, the wording of the
prompts is ours; a file of the same name in the folder's ``prompts/`` replaces it. Answers are
verified by the task ``r2c2.answer``, which asks the same: is this answer right according to the
key?
"""

from __future__ import annotations

import re

from pydantic import Field

from assay.measures.answers import unanswerable
from assay.tasks.base import AnyTask, Task, Unit, Verdict
from assay.tasks.fields import whole_grade, yes_no
from assay.tasks.lists import list_of_texts
from assay.tasks.trec_rag import RelevanceUnit, YesNoRelevance

_NUMBER = re.compile(r"(?<![\w.,/-])-?\d+(?:[.,]\d+)?(?![\w/-]|[.,]\d)")


def _only_number(text: str, highest: int) -> int | None:
    """The grade in a reply in prose, if it names exactly one number and that is a grade."""
    found = {match.group() for match in _NUMBER.finditer(text)}
    if len(found) != 1:
        return None
    (number,) = found
    return int(number) if re.fullmatch(r"[0-9]{1,9}", number) and int(number) <= highest else None


# -- self-rating ------------------------------------------------------------------------------


class RatingUnit(Unit):
    """A passage and an exam question. (The passage comes first, as several questions share it.)"""

    passage: str
    question: str


class Rating(Verdict):
    """How well the passage answers the question: 5 fully and correctly, 0 not at all."""

    reason: str = ""
    rating: whole_grade(5)  # type: ignore[valid-type]


def rating_from_prose(unit: RatingUnit, reply: str) -> Rating | None:
    """A rating from a reply without JSON (paper, section 4.2.2): the number that it names; without
    any number, 0 if it says that the question cannot be answered, else 1. None if it names several
    numbers, or one that is no grade."""
    text = reply.strip()
    if not text:
        return None
    number = _only_number(text, 5)
    if number is None and not re.search(r"\d", text):
        number = 0 if unanswerable(text) else 1
    return None if number is None else Rating(reason=text[:300], rating=number)


SELF_RATING = Task(
    name="exam.self_rating",
    title="Self-rated answerability: how well does the passage answer the exam question, 0 to 5",
    unit=RatingUnit,
    verdict=Rating,
    judged=("passage",),
    plain=rating_from_prose,
    max_tokens=150,
)


# -- question answering -----------------------------------------------------------------------


class ExtractUnit(Unit):
    """A passage and an exam question, with its options if it has any."""

    passage: str
    question: str
    choices: tuple[str, ...] = ()


class Extracted(Verdict):
    """The answer that the passage gives; "unanswerable" if it gives none."""

    reason: str = ""
    answer: str


def _answer_from_prose(unit: ExtractUnit, reply: str) -> Extracted | None:
    """Read a reply without JSON as the answer itself."""
    text = reply.strip()
    return Extracted(answer=text) if text else None


EXTRACT = Task(
    name="exam.answer",
    title="Question answering: the answer that the passage gives to the exam question",
    unit=ExtractUnit,
    verdict=Extracted,
    judged=("passage",),
    plain=_answer_from_prose,
    max_tokens=200,
)


# -- direct grading ---------------------------------------------------------------------------


class DirectGrade(Verdict):
    """Relevance from 0 (should not be shown) to 2 (highly relevant)."""

    reason: str = ""
    grade: whole_grade(2)  # type: ignore[valid-type]


def _grade_from_prose(unit: RelevanceUnit, reply: str) -> DirectGrade | None:
    number = _only_number(reply, 2)
    return None if number is None else DirectGrade(reason=reply[:300], grade=number)


def _yes_no_from_prose(unit: RelevanceUnit, reply: str) -> YesNoRelevance | None:
    """Read a reply that is, or begins with, a bare Yes or No."""
    found = re.match(r"\W*(yes|no)\b(?!\s+(?:and|or)\b)", reply, re.IGNORECASE)
    if found is None:
        return None
    return YesNoRelevance(reason=reply.strip()[:300], relevant=bool(yes_no(found.group(1))))


def _direct(name: str, title: str) -> AnyTask:
    return Task(
        name=f"exam.{name}",
        title=f"Direct grading: {title}",
        unit=RelevanceUnit,
        verdict=YesNoRelevance,
        plain=_yes_no_from_prose,
        max_tokens=120,
    )


THOMAS = Task(
    name="exam.thomas",
    title="Direct grading: relevance from 0 to 2, as a search quality rater",
    unit=RelevanceUnit,
    verdict=DirectGrade,
    plain=_grade_from_prose,
    max_tokens=120,
)
FAGGIOLI = _direct("faggioli", "is the passage relevant for the question?")

DIRECT: dict[str, AnyTask] = {
    "thomas": THOMAS,
    "faggioli": FAGGIOLI,
    "faggioli_few": _direct("faggioli_few", "is the passage relevant? with examples"),
    "helm": _direct("helm", "does the passage answer the query?"),
    "sun": _direct("sun", "does the passage include an answer to the query?"),
    "sun_few": _direct("sun_few", "does the passage include an answer? with examples"),
}
"""The direct graders by their short names."""


# -- banks ------------------------------------------------------------------------------------


class GenerateUnit(Unit):
    """A query, a subtopic of it if there is one, and the number of questions wanted."""

    query: str
    subtopic: str = ""
    count: int = Field(10, ge=1, le=100)


class Generated(Verdict):
    """Exam questions. Repeated ones do not count again."""

    questions: tuple[str, ...]


GENERATE = Task(
    name="exam.questions",
    title="Bank generation: exam questions for a query",
    unit=GenerateUnit,
    verdict=Generated,
    judged=("query",),
    **list_of_texts("questions", lambda unit: (unit.count, unit.count)),
    max_tokens=1500,
)

TASKS: tuple[AnyTask, ...] = (SELF_RATING, EXTRACT, *DIRECT.values(), GENERATE)
