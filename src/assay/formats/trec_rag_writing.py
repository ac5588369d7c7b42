"""Writing of AG and RAG runs in the format of any year."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.formats.jsonl import dump_line
from assay.formats.trec_rag_rules import RULES
from assay.model.errors import SettingsError
from assay.model.trec_rag import RagAnswer


def answer_record(answer: RagAnswer, year: str = "2025") -> dict[str, Any]:
    """An answer as a record of ``year``. Citations are positions in the references (for ``other``,
    document ids); documents that are cited but not listed are added to the references."""
    if year not in RULES:
        raise SettingsError(f"There is no format {year}; there are {', '.join(RULES)}.")
    docs = [doc for sentence in answer.sentences for doc in sentence.citations]
    references = list(dict.fromkeys([*answer.references, *docs]))
    place = {doc: number for number, doc in enumerate(references)}
    by_id = year == "other"
    sentences = [
        {
            "text": sentence.text,
            "citations": list(sentence.citations)
            if by_id
            else [place[doc] for doc in sentence.citations],
        }
        for sentence in answer.sentences
    ]
    if year == "2024":
        return {
            "run_id": answer.run,
            "topic_id": answer.topic,
            "topic": answer.narrative,
            "references": references,
            "response_length": answer.length,
            "answer": sentences,
        }
    metadata: dict[str, Any] = {"team_id": answer.team, "run_id": answer.run}
    if year == "2025":
        metadata["type"] = answer.kind or "automatic"
    if by_id:
        metadata["topic_id"] = answer.topic
    else:
        metadata |= {"narrative_id": answer.topic, "narrative": answer.narrative}
    if answer.prompt is not None and year == "2025":
        metadata["prompt"] = answer.prompt
    if year == "2026":
        metadata["run_desc"] = answer.description or ""
    key = "responses" if by_id else "answer"
    return {"metadata": metadata, "references": references, key: sentences}


def write_answers(answers: Iterable[RagAnswer], year: str = "2025") -> bytes:
    """A run file of ``year``: ``2024``, ``2025``, ``2026`` or ``other``. Raises SettingsError for
    any other year."""
    return b"".join(dump_line(answer_record(answer, year)) for answer in answers)
