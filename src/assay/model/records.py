"""Records of a RAG application: a question, the answer, the retrieved passages, references."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

UNKNOWN = -1
"""Index of a cited passage that does not exist."""

HISTORY_VERSION = 1
"""Version of the layout of :func:`with_history`; raise it when the layout changes."""


class Retrieved(NamedTuple):
    """A retrieved passage. ``text`` is None if it is not known; if ``truncated``, the passage may
    be longer than ``text``."""

    id: str
    text: str | None
    score: float | None = None
    truncated: bool = False


class CitedSentence(NamedTuple):
    """A sentence of an answer and the indexes of the passages that it cites, :data:`UNKNOWN` for a
    passage that does not exist."""

    text: str
    citations: tuple[int, ...] = ()


class Turn(NamedTuple):
    """An earlier turn of a conversation; ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str


@dataclass(frozen=True)
class Record:
    """One run's answer to one question.

    ``answer`` has no citation marks; it is empty if there is no answer (``error`` then says why, if
    known). ``sentences`` are its sentences with their citations. ``ranked`` is false if the
    passages of several retrievers were combined. ``truncated`` means that the answer is cut off.
    ``session`` is the conversation that the question belongs to. ``metadata`` is flat.
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
    def full_question(self) -> str:
        """The question preceded by the earlier turns."""
        return with_history(self.question, self.history)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of a question file."""

    id: str
    question: str
    references: tuple[str, ...] = ()
    answerable: bool = True
    category: str | None = None


def with_history(question: str, history: Sequence[Turn]) -> str:
    """A question preceded by the earlier turns: lines ``user: …`` and ``assistant: …``."""
    if not history:
        return question
    return "\n".join([*(f"{turn.role}: {turn.text}" for turn in history), f"user: {question}"])


def text_id(text: str) -> str:
    """An id for a passage without one: ``t:`` and the first 16 digits of its text's SHA-256."""
    return f"t:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def folded_text(text: str) -> str:
    """Normalise a text for comparison: NFC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
