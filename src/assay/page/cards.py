"""A matrix of outcomes, topics by runs, in which each row opens as a card with all details.

A ``kind`` determines the appearance: of an outcome ``right``, ``wrong``, ``declined``, ``out``,
``missing`` or ``failed``; of a quotation's badge ``good``, ``neutral``, ``bad`` or ``open``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Badge:
    """A sign and a word in a colour, as some readers cannot tell colours apart."""

    kind: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A run's outcome on a topic, in compact form; ``run`` numbers the runs from 1."""

    run: int
    badge: Badge
    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A ``verdict`` by ``who`` (empty: nobody in particular), after the words ``before``. If
    ``struck``, a person overruled it."""

    verdict: str
    reason: str = ""
    who: str = ""
    person: bool = False
    detail: str = ""
    struck: bool = False
    before: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A claim and the passage that it cites (None if not available); ``key`` names the citation,
    ``doc`` the document."""

    badge: Badge
    claim: str
    passage: str | None
    key: str
    doc: str
    remarks: tuple[Remark | str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A run's answer; ``text`` is None if it has none. ``share`` (0 to 1) is drawn beside
    its description ``shared``."""

    run: str
    badge: Badge
    text: str | None
    share: float = 0.0
    shared: str = ""
    note: str = ""
    remarks: tuple[Remark | str, ...] = ()
    quotations: tuple[Quotation, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage in a ranking with its grade, and who gave it."""

    rank: int
    grade: int
    text: str
    doc: str
    why: str


@dataclass(frozen=True, slots=True)
class Body:
    """A card's content: a note, the runs' entries, and rankings by run under ``title``."""

    note: str
    bold: tuple[str, ...]
    entries: tuple[Entry, ...]
    title: str = ""
    rankings: tuple[tuple[str, tuple[RankedPassage, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A topic: a row of the matrix, and a function that makes its ``body`` (None if only the row is
    shown). ``tags`` are those of ``Cards.outcomes`` that apply to it."""

    topic: str
    text: str
    category: str
    tags: tuple[str, ...]
    chips: tuple[Chip, ...]
    body: Callable[[], Body] | None


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards under the runs' names, filtered by ``outcomes`` (tag, words), category and run.
    ``whole`` says where everything is if some cards are shown without their bodies."""

    runs: tuple[str, ...]
    cards: tuple[Card, ...]
    outcomes: tuple[tuple[str, str], ...]
    what: str = "topic"
    whole: str = ""
