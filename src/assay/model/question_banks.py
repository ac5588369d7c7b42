"""Nuggets as questions with gold answers, of which one is needed or all: RAGTIME, Auto-Judge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Aggregator(StrEnum):
    """How gold answers that a report gives make up a question: one is enough, all are needed, none
    may be there, or they add up."""

    OR = "OR"
    AND = "AND"
    NOT = "NOT"
    SUM = "SUM"


class GoldAnswer(NamedTuple):
    """A right answer and the documents that it is in."""

    text: str
    references: tuple[str, ...] = ()


class GoldQuestion(NamedTuple):
    """A question; without answers there is no gold, and it is not scored."""

    text: str
    kind: Aggregator
    answers: tuple[GoldAnswer, ...]
    importance: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionBank:
    """The questions of a topic; ``claims`` are nuggets that are no questions."""

    topic: str
    title: str
    questions: tuple[GoldQuestion, ...]
    claims: tuple[str, ...] = ()
    line: int = 0
