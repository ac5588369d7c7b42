"""Narratives, answers with citations, nuggets and support labels, as the TREC RAG track has them.

Source: overview of the TREC 2025 RAG track, sections 2 and 3, and the track's public file formats.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from assay.model.labels import NO_REASON, Why


class Importance(StrEnum):
    """``vital``: a good answer must have it. ``okay``: worth having, not essential."""

    VITAL = "vital"
    OKAY = "okay"


class Assigned(StrEnum):
    """How far an answer says what a nugget says."""

    SUPPORT = "support"
    PARTIAL = "partial_support"
    NONE = "not_support"


class Support(StrEnum):
    """How far a cited passage supports a sentence (section 3.3)."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


ASSIGNMENT_VALUE: Mapping[Assigned, float] = {
    Assigned.SUPPORT: 1.0,
    Assigned.PARTIAL: 0.5,
    Assigned.NONE: 0.0,
}
"""What an assignment is worth where partial support counts by half."""

SUPPORT_VALUE: Mapping[Support, float] = {
    Support.FULL: 1.0,
    Support.PARTIAL: 0.5,
    Support.NONE: 0.0,
}
"""The weights of section 3.3."""


class Narrative(NamedTuple):
    """A topic: a narrative of a few sentences (2025, 2026) or a short query (2024).

    ``queries`` is the cluster of related queries that a narrative is written from. ``text`` is
    empty for a cluster whose narrative is still to be written.
    """

    id: str
    text: str
    queries: tuple[str, ...] = ()
    line: int = 0


class SubNarrative(NamedTuple):
    """One aspect of a narrative; ``importance`` is None where the file says nothing."""

    text: str
    importance: Importance | None = None


class Segment(NamedTuple):
    """A passage of the corpus (``msmarco_v2.1_doc_…#…``)."""

    docid: str
    text: str
    title: str = ""


class Sentence(NamedTuple):
    """A sentence of an answer and the documents that it cites, the strongest first."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class RagAnswer:
    """One run's answer to one narrative, whatever format it was handed in in.

    ``kind`` is ``automatic`` or ``manual`` where the file says so; ``line`` counts from 1.
    """

    run: str
    topic: str
    sentences: tuple[Sentence, ...]
    references: tuple[str, ...] = ()
    narrative: str = ""
    team: str = ""
    kind: str | None = None
    prompt: str | None = None
    description: str | None = None
    line: int = 0

    @cached_property
    def text(self) -> str:
        """The sentences, joined by spaces (nuggetizer's ``answer_text``)."""
        return " ".join(sentence.text for sentence in self.sentences)

    @cached_property
    def length(self) -> int:
        """Words of all sentences."""
        return words(self.text)


@dataclass(frozen=True, slots=True)
class RagRun:
    """A run: for each narrative id its answer, in the order of the file."""

    name: str
    answers: Mapping[str, RagAnswer] = field(repr=False)


class RelevanceGuess(NamedTuple):
    """A line of a relevance judgment (RJ) run: a label for a document, with a confidence."""

    doc: str
    label: int
    confidence: float


@dataclass(frozen=True, slots=True)
class JudgmentRun:
    """An RJ run: for each narrative id its labels by document, in the order of the file."""

    name: str
    guesses: Mapping[str, Mapping[str, RelevanceGuess]] = field(repr=False)


class RagNugget(NamedTuple):
    """An information unit that an answer should state.

    ``importance`` is None where nobody has said yet. ``sub_narrative`` is the text of the one it
    is mapped to; ``sources`` are the documents it was drawn from.
    """

    text: str
    importance: Importance | None = None
    sub_narrative: str | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NuggetList:
    """The nuggets of a narrative."""

    topic: str
    query: str
    nuggets: tuple[RagNugget, ...]
    line: int = 0


class AssignedNugget(NamedTuple):
    """A nugget and how far an answer states it; ``assigned`` is None where there is no label."""

    nugget: RagNugget
    assigned: Assigned | None
    why: Why = NO_REASON


@dataclass(frozen=True, slots=True)
class AssignedAnswer:
    """The nuggets of a narrative assigned to one run's answer."""

    run: str
    topic: str
    nuggets: tuple[AssignedNugget, ...]
    line: int = 0


class CitedSupport(NamedTuple):
    """A citation of a sentence and its label. Where this is None, the track left the citation
    ``unjudged`` (``-1``), or the label is missing."""

    reference: str
    support: Support | None
    unjudged: bool = False
    why: Why = NO_REASON


class JudgedSentence(NamedTuple):
    """A sentence with its citations in order; the first is the strongest."""

    text: str
    citations: tuple[CitedSupport, ...]


@dataclass(frozen=True, slots=True)
class SupportAnswer:
    """The support labels of one run's answer to one narrative."""

    run: str
    topic: str
    sentences: tuple[JudgedSentence, ...]
    line: int = 0


@lru_cache(100_000)
def sub_narrative_name(text: str) -> str:
    """A sub-narrative's text as its list has it: assessors' files put it into quotes, and ``New:``
    before one that the list lacked. White space is one space."""
    name = " ".join(text.split())
    for _ in range(2):  # New: "X" or "New: X"
        name = re.sub(r"^new\s*:\s*", "", name, flags=re.IGNORECASE)
        quoted = re.fullmatch("""["“]([^"“”]+)["”']""", name)  # real files end some with '
        name = quoted[1].strip() if quoted else name
    return name


@lru_cache(100_000)
def sub_narrative_key(text: str) -> str:
    """What two texts of one sub-narrative have in common: letters, marks and digits, without case
    and width. Real files differ in commas and blanks."""
    name = sub_narrative_name(text)
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(one for one in folded if unicodedata.category(one)[0] in "LMN") or name


def words(text: str) -> int:
    """The track's count of words: NFKC, stripped, split at white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return len(text.split())
