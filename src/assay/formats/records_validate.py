"""The formats of the protocol rag for ``assay validate``."""

from __future__ import annotations

from collections.abc import Sequence

from assay.formats.records import ASKED_KEYS, read_asked, read_records
from assay.formats.validate import Format, counted_by, first_has
from assay.model.records import Record


def _counts(found: Sequence[Record]) -> dict[str, int]:
    return {
        "answers": len(found),
        "passages": sum(len(one.passages) for one in found),
        "without an answer": sum(not one.answer for one in found),
        "with references": sum(bool(one.references) for one in found),
    }


FORMATS = (
    Format(
        "rag-questions",
        "Questions of a RAG application: JSON Lines {id, question, references, answerable}",
        counted_by(read_asked, lambda found: {"questions": len(found)}),
        first_has(lambda first: {"id", "question"} <= first.keys() <= {*ASKED_KEYS}),
    ),
    Format(
        "rag",
        "Answers of a RAG application: JSON Lines {id, question, answer, passages, …}",
        counted_by(read_records, _counts),
        first_has(lambda first: {"id", "question", "answer", "passages"} <= first.keys()),
    ),
)
