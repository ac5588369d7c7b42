"""Reading topics of any kind: R2C2 questions (tab-separated), TREC RAG topics of any year, and JSON
Lines with ``id`` and ``question`` (the protocol rag)."""

from __future__ import annotations

from pathlib import Path

from assay.formats.jsonl import first_object
from assay.formats.r2c2_questions import read_questions
from assay.formats.text import read_text
from assay.formats.trec_rag_topics import read_topics


def load_topics(path: Path) -> dict[str, str]:
    """Topic id → text, in the file's order. A cluster without a narrative becomes its queries,
    joined. Raises FormatError with all faults of the file."""
    if first_object(read_text(path)) is None:
        return {question.id: question.text for question in read_questions(path).require()}
    return {
        topic.id: topic.text or " ".join(topic.queries) for topic in read_topics(path).require()
    }
