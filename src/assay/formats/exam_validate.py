"""The formats of EXAM++ for ``assay validate``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assay.formats.exam_bank_reading import LISTS, query_of, read_bank
from assay.formats.exam_graded import GradedFile, read_graded
from assay.formats.jsonl import first_object
from assay.formats.validate import Format, counted_by
from assay.model.exam import Bank

_GRADED = re.compile(r'\s*\["[^"]+"\s*,\s*\[\s*\{\s*"paragraph')


def _in_bank(bank: Bank) -> dict[str, int]:
    queries = bank.queries.values()
    return {"queries": len(queries), "questions": sum(len(one.questions) for one in queries)}


def _graded(found: GradedFile) -> dict[str, int]:
    queries = found.queries.values()
    passages = sum(len(query.passages) for query in queries)
    grades = sum(int((query.grades.values >= 0).sum()) for query in queries)
    return {"queries": len(queries), "passages": passages, "grades": grades}


def _is_bank(row: Mapping[str, Any]) -> bool:
    return query_of(row) is not None and (
        any(isinstance(row.get(name), list) for name in LISTS) or {"qid", "question"} <= set(row)
    )


FORMATS = (
    Format(
        "question-bank",
        "EXAM++ question bank: JSON Lines {query_id, query_text, items} or {qid, question}, a "
        "table, or TQA's JSON",
        counted_by(read_bank, _in_bank),
        lambda source: source.first_line.startswith("{") and _is_bank(first_object(source) or {}),
    ),
    Format(
        "graded",
        "Graded passages (Autograder): JSON Lines [query_id, [passage, …]]",
        counted_by(read_graded, _graded),
        lambda source: _GRADED.match(source.first_line) is not None,
    ),
)
