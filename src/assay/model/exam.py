"""Question banks and graded passages of EXAM++ (and RUBRIC).

Source: Farzi & Dietz, EXAM++ (section 4): a bank of exam questions for each query; every passage
of a system response is graded by how well it answers each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class BankQuestion:
    """An exam question. ``gold`` is its answer key (several accepted wordings), ``choices`` the
    options of a multiple-choice question by letter; ``facet`` is the subtopic that it belongs to.
    ``weight`` counts in weighted cover; one that is not ``active`` is neither asked nor scored.
    ``origin`` says who wrote it: a labeller or a person."""

    id: str
    text: str
    gold: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    facet: str | None = None
    facet_text: str | None = None
    weight: float = 1.0
    active: bool = True
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class QueryBank:
    """The questions of one query. ``text`` is the query as it was put, None where unknown."""

    query: str
    text: str | None
    questions: tuple[BankQuestion, ...]

    @property
    def active(self) -> tuple[BankQuestion, ...]:
        """The questions that are asked and scored."""
        return tuple(question for question in self.questions if question.active)


@dataclass(frozen=True)
class Bank:
    """A question bank: the questions of every query, in the order of its file. ``collection``
    names the test collection, ``None`` where the file does not."""

    queries: Mapping[str, QueryBank]
    collection: str | None = None

    def questions(self, query: str) -> tuple[BankQuestion, ...]:
        """The active questions of a query; none for one that the bank does not know."""
        found = self.queries.get(query)
        return () if found is None else found.active


class Judgment(NamedTuple):
    """A manual relevance judgment of a passage. ``query`` may name a subtopic of the query."""

    query: str
    relevance: int
    title: str = ""


class Ranked(NamedTuple):
    """A place of a passage in a run. ``query`` may name a subtopic of the query."""

    run: str
    query: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class GradedPassage:
    """A passage of the pool with what is known about it but its grades. ``direct`` are relevance
    labels by direct graders: name of the grader (its prompt class) → label."""

    id: str
    text: str
    judgments: tuple[Judgment, ...] = ()
    rankings: tuple[Ranked, ...] = ()
    direct: Mapping[str, int] = field(default_factory=dict)
