"""The formats of the protocol rag for ``assay validate``."""

from __future__ import annotations

from pathlib import Path

from assay.formats.jsonl import first_object
from assay.formats.records import ASKED_KEYS, read_asked, read_records
from assay.formats.text import SourceText
from assay.formats.validate import Checked, Format, Given


def _check_records(path: Path, given: Given) -> Checked:
    parsed = read_records(path)
    found = parsed.value or ()
    counts = {
        "answers": len(found),
        "passages": sum(len(one.passages) for one in found),
        "without an answer": sum(not one.answer for one in found),
        "with references": sum(bool(one.references) for one in found),
    }
    return Checked(parsed.faults, counts)


def _check_asked(path: Path, given: Given) -> Checked:
    parsed = read_asked(path)
    return Checked(parsed.faults, {"questions": len(parsed.value or ())})


def _is_record(source: SourceText) -> bool:
    first = first_object(source)
    return first is not None and {"id", "question", "answer", "passages"} <= first.keys()


def _is_asked(source: SourceText) -> bool:
    first = first_object(source)
    return first is not None and {"id", "question"} <= first.keys() <= {*ASKED_KEYS}


FORMATS = (
    Format(
        "rag-questions",
        "Questions of a RAG application: JSON Lines {id, question, references, answerable}",
        _check_asked,
        _is_asked,
    ),
    Format(
        "rag",
        "Answers of a RAG application: JSON Lines {id, question, answer, passages, …}",
        _check_records,
        _is_record,
    ),
)
