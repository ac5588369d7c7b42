"""Reading passages from records, whatever their corpus calls the fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from assay.formats.text import read_text
from assay.model.errors import Fault, FormatError
from assay.model.wording import printable
from assay.model.words import word_spans
from assay.systems.corpus.passages import CutPassage

_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "passage_id", "pid", "passageId", "chunk_id"),
    "doc": ("doc", "doc_id", "docid", "document_id", "source_document_id", "source_id", "source"),
    "title": ("title", "document_title", "source_title", "source_document_title"),
    "text": ("text", "passage", "passage_text", "contents", "content", "chunk", "segment"),
    "words": ("words", "word_count", "num_words", "n_words"),
    "overlap": ("overlap", "overlap_words"),
    "overlap_ratio": ("overlap_ratio",),
    "number": ("number", "passage_number", "chunk_index", "index"),
    "start": ("start", "start_char"),
}
_LISTS = ("passages", "chunks", "contents")


def file_passages(path: Path) -> Iterator[CutPassage]:
    """The passages in a document's file: a list, or an object that contains one."""
    try:
        found = orjson.loads(read_text(path).data)
    except orjson.JSONDecodeError as error:
        raise unreadable(path, 0, f"It cannot be read: {error}.") from error
    about: dict[str, Any] = {}
    if isinstance(found, dict):
        about = {key: value for key, value in found.items() if key not in _LISTS}
        listed = next((found[key] for key in _LISTS if isinstance(found.get(key), list)), None)
        found = [about] if listed is None else listed
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    for number, row in enumerate(found if isinstance(found, list) else ()):
        if not isinstance(row, dict):
            raise unreadable(path, 0, f"Passage {number} is not a JSON object.")
        yield passage_of({"doc": stem, "number": number, **about, **row}, path, 0)


def passage_of(row: object, path: Path, number: int) -> CutPassage:
    """The passage in a record from line ``number`` of a file (0: the whole file). Raises
    FormatError if it is not one."""
    if not isinstance(row, Mapping):
        raise unreadable(path, number, "A passage must be a JSON object.")
    value = {
        field: next((row[name] for name in names if row.get(name) is not None), None)
        for field, names in _NAMES.items()
    }
    text, doc = value["text"], value["doc"]
    if not isinstance(text, str) or doc is None:
        raise unreadable(path, number, "A passage needs a text and the id of its document.")
    try:
        words = int(value["words"] or 0) or len(word_spans(text))
        overlap = int(value["overlap"] or 0)
        if value["overlap"] is None and value["overlap_ratio"] is not None:
            overlap = round(float(value["overlap_ratio"]) * words)
        place, start = int(value["number"] or 0), int(value["start"] or 0)
    except (OverflowError, TypeError, ValueError) as error:
        raise unreadable(
            path, number, f"Its positions and counts must be whole numbers: {error}."
        ) from None
    one = str(value["id"]) if value["id"] is not None else f"{doc}#{place}"
    title = str(value["title"] or "")
    return CutPassage(one, str(doc), title, place, text, words, overlap, start)


def unreadable(path: Path, line: int, why: str) -> FormatError:
    """The error for an unreadable line of a corpus (0: the whole file)."""
    fault = Fault(printable(str(path)), line, None, printable(why), "Build the corpus again.")
    return FormatError([fault])
