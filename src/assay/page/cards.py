"""Topics by runs: a matrix of outcomes, each row of which opens as a card with all that was said.

A ``kind`` sets how something looks: of an outcome ``right``, ``wrong``, ``declined``, ``out``,
``missing`` or ``failed``; of a quotation's badge ``good``, ``neutral``, ``bad`` or ``open``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Badge:
    """A sign and a word in a colour: colour alone says nothing to some readers."""

    kind: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A run's outcome on a topic, in small; ``run`` numbers the runs from 1."""

    run: int
    badge: Badge
    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody (nobody in particular where ``who`` is empty) says: ``verdict`` after the words
    ``before`` it. A ``struck`` one was overruled by a person."""

    verdict: str
    reason: str = ""
    who: str = ""
    person: bool = False
    detail: str = ""
    struck: bool = False
    before: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A claim and the passage that it cites (None where that is not at hand): ``key`` names the
    citation, ``doc`` the document."""

    badge: Badge
    claim: str
    passage: str | None
    key: str
    doc: str
    remarks: tuple[Remark | str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a run has for a topic. ``text`` is None where it has nothing; ``share`` (0 to 1) is
    drawn beside ``shared``, its words."""

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
    """A passage of a ranking with its grade, and what gave it."""

    rank: int
    grade: int
    text: str
    doc: str
    why: str


@dataclass(frozen=True, slots=True)
class Body:
    """A card's inside: a note, the runs' entries, and rankings by run under ``title``."""

    note: str
    bold: tuple[str, ...]
    entries: tuple[Entry, ...]
    title: str = ""
    rankings: tuple[tuple[str, tuple[RankedPassage, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A topic: a row of the matrix, and what makes its ``body`` (None where only the row is shown).
    ``tags`` are those of ``Cards.outcomes`` that are true of it."""

    topic: str
    text: str
    category: str
    tags: tuple[str, ...]
    chips: tuple[Chip, ...]
    body: Callable[[], Body] | None


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards under the runs' names, to be filtered by ``outcomes`` (tag, words), category and run.
    ``whole`` says where all of it stands if some cards are shown without their bodies."""

    runs: tuple[str, ...]
    cards: tuple[Card, ...]
    outcomes: tuple[tuple[str, str], ...]
    what: str = "topic"
    whole: str = ""
