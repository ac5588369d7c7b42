"""Question banks and graded passages of EXAM++ (and RUBRIC).

Source: Farzi & Dietz, EXAM++ (section 4). Each query has a bank of exam questions; every passage of
a system's response is graded by how well it answers each question.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self


@dataclass(frozen=True, slots=True)
class BankQuestion:
    """An exam question.

    ``gold`` is its answer key (the accepted wordings), ``choices`` are the options of a
    multiple-choice question by letter, ``facet`` is the subtopic that it belongs to. ``weight``
    counts in weighted cover. A question that is not ``active`` is neither asked nor scored.
    ``origin`` says who wrote it, a labeller or a person. If ``nugget``, ``text`` is a key fact or a
    topic rather than a question.
    """

    id: str
    text: str
    gold: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    facet: str | None = None
    facet_text: str | None = None
    weight: float = 1.0
    active: bool = True
    origin: str | None = None
    nugget: bool = False

    @property
    def title(self) -> str:
        """What people see: the text, or the id if there is none."""
        return self.text or self.id

    @property
    def prompt_text(self) -> str:
        """What labellers are asked."""
        return f"What is said about this: {self.text}?" if self.nugget else self.text


@dataclass(frozen=True, slots=True)
class QueryBank:
    """The questions of one query; ``text`` is the query's wording, or None if unknown."""

    query: str
    text: str | None
    questions: tuple[BankQuestion, ...]

    @property
    def active(self) -> tuple[BankQuestion, ...]:
        """The questions that are asked and scored."""
        return tuple(question for question in self.questions if question.active)


BankForm = Literal["lines", "table", "tqa"]
"""File form of a bank: JSON Lines, a tab-separated table, or TQA's own JSON."""


@dataclass(frozen=True)
class Bank:
    """A question bank: the questions of every query, in file order. ``collection`` names the test
    collection, or is None if the file does not. ``rows`` are the original records; writing starts
    from them, so that fields unknown to Assay are kept."""

    queries: Mapping[str, QueryBank]
    collection: str | None = None
    form: BankForm = "lines"
    rows: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, repr=False)

    def questions(self, query: str) -> tuple[BankQuestion, ...]:
        """The active questions of a query; none if the bank does not have the query."""
        query_bank = self.queries.get(query)
        return () if query_bank is None else query_bank.active


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages that a run retrieved for a query, best first. ``ranks`` count from 1. ``scores``
    are the run's, one per passage, or empty. A rank may be vacant if not all retrieved passages are
    known; several passages share a rank if the run ranks by subtopic."""

    passages: tuple[str, ...] = ()
    ranks: Sequence[int] = ()
    scores: Sequence[float] = ()

    def __len__(self) -> int:
        return len(self.passages)

    @classmethod
    def of(cls, passages: Iterable[str], scores: Sequence[float] = ()) -> Self:
        """A ranking without vacant ranks."""
        names = tuple(passages)
        return cls(names, range(1, len(names) + 1), scores)

    @classmethod
    def at_ranks(cls, places: Iterable[tuple[str, int]]) -> Self:
        """A ranking of (passage, rank) pairs, best first."""
        every = tuple(places)
        return cls(tuple(passage for passage, _ in every), tuple(rank for _, rank in every))

    def first(self, k: int) -> tuple[str, ...]:
        """The passages of rank ``k`` and better."""
        return self.passages[: bisect_right(self.ranks, k)]

    def places(self) -> Sequence[str | None]:
        """The passages in order of rank, those that share a rank one after another, and None for
        each vacant rank."""
        if isinstance(self.ranks, range):
            return self.passages
        placed: list[str | None] = []
        for passage, rank in zip(self.passages, self.ranks, strict=True):
            placed.extend([None] * (rank - 1 - len(placed)))
            placed.append(passage)
        return placed

    def vacant(self, k: int) -> int:
        """Number of vacant ranks up to rank ``k`` that are above the last known passage."""
        return sum(passage is None for passage in self.places()[:k])


Run = Mapping[str, Ranking]
"""Maps each query to its ranking."""


class Judgment(NamedTuple):
    """A manual relevance judgment of a passage; ``query`` may name a subtopic of the query."""

    query: str
    relevance: int
    title: str = ""


class RunPlace(NamedTuple):
    """Rank (as written, or None) and score of a passage in a run; ``query`` may name a subtopic."""

    run: str
    query: str
    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class GradedPassage:
    """A passage of the pool, without its grades. ``record`` is the original record including
    grades, or empty if the passage does not come from a file of graded passages."""

    id: str
    text: str
    judgments: Sequence[Judgment] = ()
    rankings: Sequence[RunPlace] = ()
    record: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
