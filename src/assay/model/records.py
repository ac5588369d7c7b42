"""What a RAG application answered: a question, an answer, the passages that it had, references."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

UNKNOWN = -1
"""The place of a passage that is cited and is not there."""

HISTORY_VERSION = 1
"""Changes whenever earlier turns are put before a question in another way."""


class Retrieved(NamedTuple):
    """A passage as it was retrieved; ``text`` None: known to exist, its text is not there. A
    ``truncated`` one may hold more than is seen."""

    id: str
    text: str | None
    score: float | None = None
    truncated: bool = False


class CitedSentence(NamedTuple):
    """A sentence of an answer and the places of the passages that it cites (:data:`UNKNOWN` where
    there is no such passage)."""

    text: str
    citations: tuple[int, ...] = ()


class Turn(NamedTuple):
    """An earlier turn of a conversation; ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str


@dataclass(frozen=True)
class Record:
    """One run's answer to one question.

    ``answer`` is without citation marks, empty where there is none (``error`` then says why, if
    that is known). ``sentences`` are the same with their citations. ``ranked`` is false where
    passages of several retrievers were put together. ``truncated``: the answer is cut.
    ``metadata`` is flat, ``session`` the conversation that the question is a turn of.
    """

    run: str
    id: str
    question: str
    answer: str
    sentences: tuple[CitedSentence, ...]
    passages: tuple[Retrieved, ...]
    references: tuple[str, ...] = ()
    answerable: bool = True
    ranked: bool = True
    truncated: bool = False
    history: tuple[Turn, ...] = ()
    retrieval_query: str | None = None
    reference_passages: tuple[str, ...] = ()
    error: str | None = None
    session: str | None = None
    metadata: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    file: str = ""
    line: int = 0

    @property
    def asked(self) -> str:
        """The question with the turns before it, in one fixed layout."""
        return asked(self.question, self.history)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as a file of questions has it."""

    id: str
    question: str
    references: tuple[str, ...] = ()
    answerable: bool = True
    category: str | None = None


def asked(question: str, history: Sequence[Turn]) -> str:
    """A question with the turns before it: lines ``user: …`` and ``assistant: …``."""
    if not history:
        return question
    return "\n".join([*(f"{one.role}: {one.text}" for one in history), f"user: {question}"])


def text_id(text: str) -> str:
    """The id of a passage that has none: ``t:`` and the first 16 digits of its SHA-256."""
    return f"t:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def folded_text(text: str) -> str:
    """What texts that count as equal have in common: NFC, case folded, white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
