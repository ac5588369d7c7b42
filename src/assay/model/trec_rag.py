"""TREC RAG: narratives, answers with citations, nuggets and support labels.

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

from assay.model.labels import NO_RATIONALE, Rationale


class Importance(StrEnum):
    """``vital``: essential in a good answer. ``okay``: worth having."""

    VITAL = "vital"
    OKAY = "okay"


class Assigned(StrEnum):
    """How far an answer states a nugget."""

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
"""Weights of assignments, if partial support counts as one half."""

SUPPORT_VALUE: Mapping[Support, float] = {
    Support.FULL: 1.0,
    Support.PARTIAL: 0.5,
    Support.NONE: 0.0,
}
"""The weights of section 3.3."""


class Narrative(NamedTuple):
    """A topic: a narrative of a few sentences (2025, 2026) or a short query (2024). ``queries`` is
    the cluster of related queries from which the narrative is written; ``text`` is empty until it
    is."""

    id: str
    text: str
    queries: tuple[str, ...] = ()
    line: int = 0


class SubNarrative(NamedTuple):
    """One aspect of a narrative; ``importance`` is None if the file does not say."""

    text: str
    importance: Importance | None = None


class Segment(NamedTuple):
    """A passage of the corpus (``msmarco_v2.1_doc_…#…``)."""

    docid: str
    text: str
    title: str = ""


class Sentence(NamedTuple):
    """A sentence of an answer and the documents that it cites, strongest first."""

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class RagAnswer:
    """One run's answer to one narrative, from any file format. ``kind`` is ``automatic``,
    ``manual`` or None if the file does not say; ``line`` counts from 1."""

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
        """Number of words of all sentences."""
        return words(self.text)


@dataclass(frozen=True, slots=True)
class RagRun:
    """A run: the answer to each narrative id, in file order."""

    name: str
    answers: Mapping[str, RagAnswer] = field(repr=False)


class RelevanceGuess(NamedTuple):
    """A line of a relevance judgment (RJ) run: the label of a document, with a confidence."""

    doc: str
    label: int
    confidence: float


@dataclass(frozen=True, slots=True)
class JudgmentRun:
    """An RJ run: the labels of each narrative id by document, in file order."""

    name: str
    guesses: Mapping[str, Mapping[str, RelevanceGuess]] = field(repr=False)


class RagNugget(NamedTuple):
    """An information unit that an answer should state. ``importance`` is None if not yet judged.
    ``sub_narrative`` is the text of the sub-narrative that it belongs to; ``sources`` are the
    documents that it is taken from."""

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
    """A nugget and how far an answer states it; ``assigned`` is None if there is no label."""

    nugget: RagNugget
    assigned: Assigned | None
    rationale: Rationale = NO_RATIONALE


@dataclass(frozen=True, slots=True)
class AssignedAnswer:
    """How far one run's answer states each nugget of a narrative."""

    run: str
    topic: str
    nuggets: tuple[AssignedNugget, ...]
    line: int = 0


class CitedSupport(NamedTuple):
    """A citation of a sentence and its label. If ``support`` is None, the track left the citation
    ``unjudged`` (``-1``) or the label is missing."""

    reference: str
    support: Support | None
    unjudged: bool = False
    rationale: Rationale = NO_RATIONALE


class JudgedSentence(NamedTuple):
    """A sentence with its citations, strongest first."""

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
    """A sub-narrative's text as in the official list, with white space collapsed. Assessors' files
    put it in quotes, and ``New:`` before one that is not in the list."""
    name = " ".join(text.split())
    for _ in range(2):  # New: "X" or "New: X"
        name = re.sub(r"^new\s*:\s*", "", name, flags=re.IGNORECASE)
        quoted = re.fullmatch("""["“]([^"“”]+)["”']""", name)  # real files end some with '
        name = quoted[1].strip() if quoted else name
    return name


@lru_cache(100_000)
def sub_narrative_key(text: str) -> str:
    """Normalise a sub-narrative's text for comparison: letters, marks and digits, regardless of
    case and width. Real files differ in commas and spaces."""
    name = sub_narrative_name(text)
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN") or name


def words(text: str) -> int:
    """Count words as the track does: NFKC, split at white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return len(text.split())
