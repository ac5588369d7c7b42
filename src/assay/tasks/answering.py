"""What the baseline system asks of a language model to answer from passages.

Only what an answer cannot do without is checked here; what else is wrong with a reply (a nugget
without a passage, a citation of nothing) is left out by whoever reads it, and counted.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.tasks.base import AnyTask, Task, Unit, Verdict

_LONGEST_ANSWER = 500


class AnswerUnit(Unit):
    """A question and the passages to answer it from, best first."""

    question: str
    passages: tuple[str, ...]


class DrawnNugget(Verdict):
    """A factual claim in one sentence, and the number of the passage (from 1) that it is from."""

    passage: int
    nugget: str


class DrawnAnswer(Verdict):
    """Nuggets that lead to the answer, the answer itself, and how sure the model says it is.

    The schema asks for at least one nugget: small models else take the short way and write none.
    """

    nuggets: Annotated[
        tuple[DrawnNugget, ...], Field(json_schema_extra={"minItems": 1, "maxItems": 10})
    ]
    answer: str
    confidence: int


def _check_answer(_unit: AnswerUnit, verdict: DrawnAnswer) -> str | None:
    if not verdict.answer.strip():
        return "'answer' must not be empty"
    if len(verdict.answer) > _LONGEST_ANSWER:
        return f"'answer' must be a short answer, at most {_LONGEST_ANSWER} characters"
    if not 0 <= verdict.confidence <= 100:
        return "'confidence' must be an integer from 0 to 100"
    return None


ANSWER = Task(
    name="answering.r2c2",
    version="1",
    title="A short answer from passages, with confidence and nuggets",
    unit=AnswerUnit,
    verdict=DrawnAnswer,
    template="answering_r2c2",
    check=_check_answer,
    max_tokens=900,
)


class CertaintyUnit(Unit):
    """A question, the passages that it was answered from, and the answer."""

    question: str
    passages: tuple[str, ...]
    answer: str


class Certainty(Verdict):
    """P(yes) / (P(yes) + P(no)) of the model's next token after the question whether the answer is
    correct. (Kadavath et al., *Language models (mostly) know what they know*, 2022: P(True).)"""

    probability: float


CERTAINTY = Task(
    name="answering.certainty",
    version="1",
    title="Is the answer correct? (the probability of yes)",
    unit=CertaintyUnit,
    verdict=Certainty,
    template="answering_certainty",
    max_tokens=1,
)


class ReportUnit(Unit):
    """A narrative and the passages to write from, best first; ``words`` is the most allowed."""

    narrative: str
    passages: tuple[str, ...]
    words: int


class CitedSentence(Verdict):
    """A sentence and the numbers of the passages (from 1) that support it, strongest first."""

    text: str
    citations: tuple[int, ...] = ()


class Report(Verdict):
    """An answer, sentence by sentence."""

    sentences: tuple[CitedSentence, ...]


def _check_report(_unit: ReportUnit, verdict: Report) -> str | None:
    if not any(sentence.text.strip() for sentence in verdict.sentences):
        return "'sentences' must hold at least one sentence"
    return None


REPORT = Task(
    name="answering.report",
    version="1",
    title="An answer to a narrative, sentence by sentence, with citations",
    unit=ReportUnit,
    verdict=Report,
    template="answering_report",
    check=_check_report,
    max_tokens=1600,
)

TASKS: tuple[AnyTask, ...] = (ANSWER, CERTAINTY, REPORT)
