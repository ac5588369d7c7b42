"""Nuggets as questions with gold answers, as RAGTIME and Auto-Judge have them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Aggregator(StrEnum):
    """How a report's gold answers count for a question: one suffices, all are needed, none may be
    given, or they add up."""

    OR = "OR"
    AND = "AND"
    NOT = "NOT"
    SUM = "SUM"


class GoldAnswer(NamedTuple):
    """A correct answer and the documents that contain it."""

    text: str
    references: tuple[str, ...] = ()


class GoldQuestion(NamedTuple):
    """A question; one without gold answers is not scored."""

    text: str
    kind: Aggregator
    answers: tuple[GoldAnswer, ...]
    importance: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionBank:
    """The questions of a topic; ``claims`` are nuggets that are not questions."""

    topic: str
    title: str
    questions: tuple[GoldQuestion, ...]
    claims: tuple[str, ...] = ()
    line: int = 0
