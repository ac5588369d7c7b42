"""The file formats of all protocols that ``assay validate`` knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.formats import r2c2_validate, trec_rag_validate
from assay.formats.checking import Format, count_of, counted_by, first_has
from assay.formats.exam_bank_reading import LISTS, query_of, read_bank
from assay.formats.exam_graded import GradedFile, read_graded
from assay.formats.jsonl import first_object
from assay.formats.records import ASKED_KEYS, read_asked, read_records
from assay.formats.summaries import read_preferences, read_summaries
from assay.model.records import Record
from assay.model.summaries import Summary


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


_GRADED = re.compile(r'\s*\["[^"]+"\s*,\s*\[\s*\{\s*"paragraph')
_PREFERENCES = re.compile(r"query_id\s*[,;\t]\s*left\b", re.IGNORECASE)


def _graded(found: GradedFile) -> dict[str, int]:
    queries = found.queries.values()
    passages = sum(len(query.passages) for query in queries)
    grades = sum(int((query.grades.values >= 0).sum()) for query in queries)
    return {"queries": len(queries), "passages": passages, "grades": grades}


def _is_bank(row: Mapping[str, Any]) -> bool:
    return query_of(row) is not None and (
        any(isinstance(row.get(name), list) for name in LISTS) or {"qid", "question"} <= set(row)
    )


_EXAM = (
    Format(
        "question-bank",
        "EXAM++ question bank: JSON Lines {query_id, query_text, items} or {qid, question}, a "
        "table, or TQA's JSON",
        counted_by(
            read_bank,
            lambda bank: count_of("queries", "questions", lambda one: one.questions)(bank.queries),
        ),
        lambda source: source.first_line.startswith("{") and _is_bank(first_object(source) or {}),
    ),
    Format(
        "graded",
        "Graded passages (Autograder): JSON Lines [query_id, [passage, …]]",
        counted_by(read_graded, _graded),
        lambda source: _GRADED.match(source.first_line) is not None,
    ),
)
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
        counted_by(read_preferences, count_of("preferences")),
        lambda source: _PREFERENCES.match(source.first_line) is not None,
    ),
)
_RAG = (
    Format(
        "rag-questions",
        "Questions of a RAG application: JSON Lines {id, question, references, answerable}",
        counted_by(read_asked, count_of("questions")),
        first_has(lambda first: {"id", "question"} <= first.keys() <= {*ASKED_KEYS}),
    ),
    Format(
        "rag",
        "Answers of a RAG application: JSON Lines {id, question, answer, passages, …}",
        counted_by(read_records, _of_records),
        first_has(lambda first: {"id", "question", "answer", "passages"} <= first.keys()),
    ),
)

_ALL = (*r2c2_validate.FORMATS, *trec_rag_validate.FORMATS, *_EXAM, *_SGSS, *_RAG)
FORMATS = {one.name: one for one in _ALL}
"""Formats by name; guessing tries the last one first."""
