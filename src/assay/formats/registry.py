"""Every file format that ``assay validate`` knows, those of all protocols."""

from __future__ import annotations

from collections.abc import Sequence

from assay.formats import exam_validate, r2c2_validate, trec_rag_validate
from assay.formats.records import ASKED_KEYS, read_asked, read_records
from assay.formats.summaries import read_preferences, read_summaries
from assay.formats.validate import (
    FORMATS,
    FileReport,
    Format,
    ValidationReport,
    counted_by,
    first_has,
    guess_format,
    register,
    validate,
)
from assay.model.records import Record
from assay.model.summaries import Summary

__all__ = ["FORMATS", "FileReport", "ValidationReport", "guess_format", "validate"]


def _of_summaries(found: Sequence[Summary]) -> dict[str, int]:
    return {
        "queries": len({one.query for one in found}),
        "summaries": len(found),
        "lines": sum(len(list(one.lines())) for one in found),
    }


def _of_records(found: Sequence[Record]) -> dict[str, int]:
    return {
        "answers": len(found),
        "passages": sum(len(one.passages) for one in found),
        "without an answer": sum(not one.answer for one in found),
        "with references": sum(bool(one.references) for one in found),
    }


_SGSS = (
    Format(
        "summaries",
        "SGSS structured summaries: JSON Lines {query_id, query, summariser, overview, …}",
        counted_by(read_summaries, _of_summaries),
        lambda source: '"summariser"' in source.first_line and '"overview"' in source.first_line,
    ),
    Format(
        "preferences",
        "SGSS preferences: query_id,left,right,labeller,preference[,split]",
        counted_by(read_preferences, lambda found: {"preferences": len(found)}),
        lambda source: source.first_line.casefold().startswith(
            ("query_id,left,", "query_id\tleft\t")
        ),
    ),
)
_RAG = (
    Format(
        "rag-questions",
        "Questions of a RAG application: JSON Lines {id, question, references, answerable}",
        counted_by(read_asked, lambda found: {"questions": len(found)}),
        first_has(lambda first: {"id", "question"} <= first.keys() <= {*ASKED_KEYS}),
    ),
    Format(
        "rag",
        "Answers of a RAG application: JSON Lines {id, question, answer, passages, …}",
        counted_by(read_records, _of_records),
        first_has(lambda first: {"id", "question", "answer", "passages"} <= first.keys()),
    ),
)

for _one in (
    *r2c2_validate.FORMATS,
    *trec_rag_validate.FORMATS,
    *exam_validate.FORMATS,
    *_SGSS,
    *_RAG,
):
    register(_one)
