"""Questions, passages, answers and nuggets, as the R2C2 task defines them.

Source: NTCIR-19 R2C2 task paper, sections 3.2-3.5. A *PassageKey* is the pair of a PR run's name
and a passage rank; within a question it names one passage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Mark(StrEnum):
    """What step 3 and 4 found a nugget to be: the letter of a marked AC run."""

    BOGUS = "B"
    RELEVANT = "R"
    NONRELEVANT = "N"


@dataclass(frozen=True, slots=True)
class Question:
    """A test question. ``gold`` holds the accepted answers, empty where none were given."""

    id: str
    text: str
    category: str | None = None
    gold: tuple[str, ...] = ()
    line: int = 0


class PassageKey(NamedTuple):
    """``PRrunName;PassageRank``: names one passage within a question.

    (Keys, passages and nuggets are named tuples: a shared task makes hundreds of thousands.)
    """

    run: str
    rank: int

    def __str__(self) -> str:
        return f"{self.run};{self.rank}"


class Passage(NamedTuple):
    """One line of a PR run. ``rank`` is 1-20, ``text`` one consecutive part of document ``doc``."""

    question: str
    key: PassageKey
    doc: str
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class PassageRun:
    """A PR run: for each question id its passages in rank order."""

    name: str
    passages: Mapping[str, tuple[Passage, ...]]


class Nugget(NamedTuple):
    """A factual claim in one sentence with the passage that it was drawn from.

    ``mark`` is None in an unmarked AC run, and where a label is missing.
    """

    num: int
    key: PassageKey
    text: str
    mark: Mark | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One block of an AC run. ``confidence`` is an integer 0-100."""

    question: str
    text: str
    confidence: int
    nuggets: tuple[Nugget, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """An AC run: for each question id its answer, in the order of the file."""

    name: str
    answers: Mapping[str, Answer]
    marked: bool = field(default=False)
