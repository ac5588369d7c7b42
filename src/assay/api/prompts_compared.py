"""One prompt compared with several steps: what each asks, costs and answers.

Source of the question: Sakai et al. (R2C2 overview, section 3.1), who divide their own pipeline
into simple subtasks and leave open whether that is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.api.answering import Answered
from assay.model.rag import Answer, AnswerRun
from assay.systems.answer_text import same_answer
from assay.systems.answering import DONT_KNOW

Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Prompting:
    """Results of one prompting style: number of ``answered`` topics, and of those answered "don't
    know"; nuggets per answer and mean confidence (0-100), both None without an answer; unusable
    replies; and usage."""

    answered: int
    unknown: int
    nuggets: float | None
    confidence: float | None
    unusable: int
    asked: int
    tokens_in: int
    tokens_out: int
    cost: float
    cache_saved: float

    @classmethod
    def of(cls, found: Answered) -> Prompting:
        answers = _answers(found)
        count = len(answers)
        taken = ("asked", "tokens_in", "tokens_out", "cost", "cache_saved")
        return cls(
            count,
            sum(same_answer(one.text) == same_answer(DONT_KNOW) for one in answers.values()),
            sum(len(one.nuggets) for one in answers.values()) / count if count else None,
            sum(one.confidence for one in answers.values()) / count if count else None,
            len(found.made.unusable),
            *(getattr(found.tally, name) for name in taken),
        )


@dataclass(frozen=True, slots=True)
class PromptsCompared:
    """Both styles on the same topics and passages. ``same`` is the share of the topics answered by
    both whose answers are equal up to case, articles and punctuation."""

    one: Prompting
    steps: Prompting
    both: int
    same: float | None

    @classmethod
    def of(cls, one: Answered, steps: Answered) -> PromptsCompared:
        first, second = _answers(one), _answers(steps)
        both = [topic for topic in first if topic in second]
        agreeing = sum(same_answer(first[t].text) == same_answer(second[t].text) for t in both)
        return cls(
            Prompting.of(one),
            Prompting.of(steps),
            len(both),
            agreeing / len(both) if both else None,
        )

    def rows(self) -> Iterator[tuple[str, Value, Value]]:
        """Each quantity with its value for one prompt and for steps; dollars have four decimals."""
        names = {
            "answered": "topics answered", "unknown": "answers “I don't know”",
            "nuggets": "nuggets an answer", "confidence": "mean confidence",
            "unusable": "things that could not be used", "asked": "questions asked now",
            "tokens_in": "tokens read now", "tokens_out": "tokens written now",
            "cost": "US dollars now", "cache_saved": "of which a cache saved more",
        }  # fmt: skip
        for name, words in names.items():
            one, steps = getattr(self.one, name), getattr(self.steps, name)
            if name in ("cost", "cache_saved"):
                yield words, f"{one:.4f}", f"{steps:.4f}"
            else:
                yield words, one, steps


def _answers(found: Answered) -> dict[str, Answer]:
    return dict(found.run.answers) if isinstance(found.run, AnswerRun) else {}
