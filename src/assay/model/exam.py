"""Question banks and graded passages of EXAM++ (and RUBRIC).

Source: Farzi & Dietz, EXAM++ (section 4): a bank of exam questions for each query; every passage
of a system response is graded by how well it answers each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self


@dataclass(frozen=True, slots=True)
class BankQuestion:
    """An exam question. ``gold`` is its answer key (several accepted wordings), ``choices`` the
    options of a multiple-choice question by letter; ``facet`` is the subtopic that it belongs to.
    ``weight`` counts in weighted cover; one that is not ``active`` is neither asked nor scored.
    ``origin`` says who wrote it: a labeller or a person. A ``nugget`` is a key fact or a topic in
    the place of a question."""

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
    def shown(self) -> str:
        """The words that people are shown: its text, or its id where that is not known."""
        return self.text or self.id

    @property
    def asked(self) -> str:
        """The words that a labeller is asked."""
        return f"What is said about this: {self.text}?" if self.nugget else self.text


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


BankForm = Literal["lines", "table", "tqa"]
"""JSON Lines, a table of tab-separated columns, or TQA's own JSON."""


@dataclass(frozen=True)
class Bank:
    """A question bank: the questions of every query, in the order of its file. ``collection``
    names the test collection, ``None`` where the file does not. ``rows`` are the file's own
    records, with all that Assay makes no use of: what is written again starts from them."""

    queries: Mapping[str, QueryBank]
    collection: str | None = None
    form: BankForm = "lines"
    rows: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, repr=False)

    def questions(self, query: str) -> tuple[BankQuestion, ...]:
        """The active questions of a query; none for one that the bank does not know."""
        found = self.queries.get(query)
        return () if found is None else found.active


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages that a run shows for a query, best first, with their ``ranks`` from 1 and the
    run's ``scores``, one for each, where it has any. A rank may be nobody's, where not all that the
    run showed is known; several passages share one where the run ranks by subtopic."""

    passages: tuple[str, ...] = ()
    ranks: Sequence[int] = ()
    scores: Sequence[float] = ()

    def __len__(self) -> int:
        return len(self.passages)

    @classmethod
    def of(cls, passages: Iterable[str], scores: Sequence[float] = ()) -> Self:
        """A list that is known from its first rank on."""
        names = tuple(passages)
        return cls(names, range(1, len(names) + 1), scores)

    @classmethod
    def at(cls, places: Iterable[tuple[str, int]]) -> Self:
        """A list whose ranks are given, best first."""
        every = tuple(places)
        return cls(tuple(one for one, _ in every), tuple(rank for _, rank in every))

    def first(self, k: int) -> tuple[str, ...]:
        """The passages of rank k and better."""
        return self.passages[: bisect_right(self.ranks, k)]

    def places(self) -> Sequence[str | None]:
        """A passage a place: each at its rank, or behind those that share it; None at ranks that
        are nobody's."""
        if isinstance(self.ranks, range):
            return self.passages
        placed: list[str | None] = []
        for passage, rank in zip(self.passages, self.ranks, strict=True):
            placed.extend([None] * (rank - 1 - len(placed)))
            placed.append(passage)
        return placed

    def unheld(self, k: int) -> int:
        """How many ranks above the last known passage, up to rank k, are nobody's."""
        return sum(one is None for one in self.places()[:k])


Run = Mapping[str, Ranking]
"""query → what a run shows for it."""


class Judgment(NamedTuple):
    """A manual relevance judgment of a passage. ``query`` may name a subtopic of the query."""

    query: str
    relevance: int
    title: str = ""


class RunPlace(NamedTuple):
    """A place of a passage in a run, with the rank as written (None where it has none). ``query``
    may name a subtopic of the query."""

    run: str
    query: str
    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class GradedPassage:
    """A passage of the pool with what is known about it but its grades. ``record`` is the file's
    own record of it, grades included; empty where it comes from no file of graded passages."""

    id: str
    text: str
    judgments: Sequence[Judgment] = ()
    rankings: Sequence[RunPlace] = ()
    record: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
