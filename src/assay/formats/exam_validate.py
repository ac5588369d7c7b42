"""The formats of EXAM++ for ``assay validate``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.formats.exam_bank_reading import LISTS, query_of, read_bank
from assay.formats.exam_graded import read_graded
from assay.formats.jsonl import first_object
from assay.formats.text import SourceText
from assay.formats.validate import Checked, Format, Given

_GRADED = re.compile(r'\s*\["[^"]+"\s*,\s*\[\s*\{\s*"paragraph')


def _check_bank(path: Path, given: Given) -> Checked:
    parsed = read_bank(path)
    found = parsed.value.queries.values() if parsed.value else ()
    questions = sum(len(query.questions) for query in found)
    return Checked(parsed.faults, {"queries": len(found), "questions": questions})


def _check_graded(path: Path, given: Given) -> Checked:
    parsed = read_graded(path)
    if parsed.value is None:
        return Checked(parsed.faults)
    queries = parsed.value.queries.values()
    passages = sum(len(query.passages) for query in queries)
    grades = sum(int((query.grades.values >= 0).sum()) for query in queries)
    return Checked(parsed.faults, {"queries": len(queries), "passages": passages, "grades": grades})


def _first(source: SourceText) -> str:
    return next((line for line in source.lines if line.strip()), "")


def _is_bank(row: Mapping[str, Any]) -> bool:
    return query_of(row) is not None and (
        any(isinstance(row.get(name), list) for name in LISTS) or {"qid", "question"} <= set(row)
    )


FORMATS = (
    Format(
        "question-bank",
        "EXAM++ question bank: JSON Lines {query_id, query_text, items} or {qid, question}, a "
        "table, or TQA's JSON",
        _check_bank,
        lambda source: _first(source).startswith("{") and _is_bank(first_object(source) or {}),
    ),
    Format(
        "graded",
        "Graded passages (Autograder): JSON Lines [query_id, [passage, …]]",
        _check_graded,
        lambda source: _GRADED.match(_first(source)) is not None,
    ),
)
