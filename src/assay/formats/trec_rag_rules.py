"""Rules of each year of the TREC RAG track for answers: fields, limits, document ids.

Sources: the public validators and guidelines of 2024 (``check_rag_gen_run``), 2025 and 2026
(``autojudge-base`` 1.0, specs ``rag25`` and ``rag26``), and the common format of the other tracks
with cited answers (RAGTIME, DRAGUN, BioGen).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.model.trec_rag import words

SEGMENT_ID = re.compile(r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
SHARD_ID = re.compile(r"shard_\d+_\d+")
RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,19}")


class CitationForm(StrEnum):
    """The form in which a citation is written."""

    POSITION = "positions"
    ID = "document ids"
    SCORE = "{document id: score}"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one format.

    ``required`` and ``wished`` are metadata fields (2024: fields of the record) whose absence is
    an error or a warning, respectively. A limit of None is no limit. ``doc_id`` is the pattern of
    document ids, and ``strict_ids`` whether any other id is an error. ``exact_topic``: whether the
    topic's text must be the official one. ``max_citations``: how many citations of a sentence the
    track judges; more are a warning. ``by``: the permitted forms of citations, or None for any;
    ``mixed``: whether an answer may have several of them. ``max_depth``: the maximum number of
    documents per topic of a retrieval run. ``nfkc``: whether words are counted after Unicode NFKC.
    """

    year: str
    required: tuple[str, ...]
    wished: tuple[str, ...] = ()
    flat: bool = False
    sentences: str = "answer"
    max_words: int | None = None
    max_references: int | None = None
    max_citations: int | None = None
    doc_id: re.Pattern[str] | None = None
    strict_ids: bool = False
    unique_references: bool = False
    needs_references: bool = True
    exact_topic: bool = False
    run_id: re.Pattern[str] | None = None
    by: frozenset[CitationForm] | None = None
    mixed: bool = False
    max_depth: int | None = 100
    nfkc: bool = True

    def words(self, text: str) -> int:
        """The number of words in a text as the track counts them."""
        return words(text) if self.nfkc else len(text.split())

    @property
    def example(self) -> str:
        """An example of a document id."""
        return "shard_00459_61697" if self.doc_id is SHARD_ID else "msmarco_v2.1_doc_00_12#1_23"


RULES: Mapping[str, Rules] = {
    rules.year: rules
    for rules in (
        Rules(
            "2024",
            ("run_id", "topic_id", "topic", "response_length"),
            flat=True,
            max_words=400,
            max_references=20,
            doc_id=SEGMENT_ID,
            strict_ids=True,
            unique_references=True,
            exact_topic=True,
            by=frozenset({CitationForm.POSITION}),
        ),
        Rules(
            "2025",
            ("team_id", "run_id", "narrative_id"),
            ("type", "narrative", "prompt"),
            max_words=400,
            max_references=100,
            doc_id=SEGMENT_ID,
            exact_topic=True,
            by=frozenset({CitationForm.POSITION, CitationForm.ID}),
        ),
        Rules(
            "2026",
            ("team_id", "narrative_id", "narrative", "run_id", "run_desc"),
            max_words=1024,
            max_citations=3,
            doc_id=SHARD_ID,
            strict_ids=True,
            exact_topic=True,
            run_id=RUN_ID,
            by=frozenset({CitationForm.POSITION, CitationForm.ID}),
            mixed=True,
            max_depth=None,
            nfkc=False,
        ),
        Rules("other", ("team_id", "run_id"), sentences="responses", needs_references=False),
    )
}


def rules_for(record: Mapping[str, Any]) -> Rules:
    """The rules of the year that a record appears to follow."""
    metadata = record.get("metadata")
    if not isinstance(metadata, dict):
        flat = "topic_id" in record or "response_length" in record or "run_id" in record
        return RULES["2024"] if flat else RULES["2025"]
    topic = metadata.get("narrative_id")
    if isinstance(topic, str) and topic.startswith("rag2026"):
        return RULES["2026"]
    if "responses" in record and "answer" not in record:
        return RULES["other"]
    return RULES["2026"] if "run_desc" in metadata else RULES["2025"]


def rules_of_topics(topics: Iterable[str]) -> Rules | None:
    """The rules of the year that topic ids indicate (``2024-…``, ``rag2026-…``); None if they do
    not."""
    every = list(topics)
    for start, year in (("2024-", "2024"), ("rag2026-", "2026")):
        if every and all(topic.startswith(start) for topic in every):
            return RULES[year]
    return None


def sentences_key(record: Mapping[str, Any], rules: Rules) -> str:
    """The key of a record's sentences: that of its year, or else that of another year."""
    keys = (rules.sentences, "answer", "responses")
    return next((key for key in keys if key in record), rules.sentences)
