"""Texts of passages, and generated responses split into passages.

Passages: JSON Lines ``{"id": …, "text": …}`` (``docid``, ``passage_id``, ``paragraph_id`` or
``segment_id`` for ``id``, ``segment``, ``contents`` or ``passage`` for ``text``), lines
``id<TAB>text``, or graded passages. Responses: JSON Lines ``{"run", "query_id", "text",
"response_id"?}``. Queries: lines ``id<TAB>text[<TAB>subtopic id<TAB>subtopic]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.formats.jsonl import first_character, read_values
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file
from assay.model.summaries import normalised_text
from assay.model.wording import counted, quoted
from assay.model.words import word_spans

_IDS = ("id", "docid", "passage_id", "paragraph_id", "segment_id")
_TEXTS = ("text", "segment", "contents", "passage")
_SENTENCE = re.compile(
    r"(?<=[.!?؟۔])[\"')\]”’»]*\s+(?=([\"'(\[“‘«]|[^\W_]))"
    r"|(?<=[。！？।॥])(?![。！？।॥\"')\]”’»」』）】])\s*(?=\S)"
)
"""The gap between two sentences, provided that no lower-case letter follows."""
_END = re.compile(r"[.!?؟۔]+(?:\s|$)|[。！？।॥]+")
"""The end of a sentence in text of any case; that abbreviations match too does no harm here."""


@reads_file
def read_passages(source: SourceText, faults: FaultList) -> Mapping[str, str]:
    """Read the texts of passages by id."""
    texts: dict[str, str] = {}
    for number, row in _rows(source, faults):
        for identity, text in _passages(number, row, faults):
            if texts.setdefault(identity, text) != text:
                faults.error(
                    number,
                    f"The passage {quoted(identity)} had a different text before.",
                    "Give each text its own id.",
                )
    return texts


def _rows(source: SourceText, faults: FaultList) -> Iterator[tuple[int, Any]]:
    """The JSON values of the lines, or tab-separated columns as JSON objects."""
    if first_character(source) in ("{", "["):
        yield from read_values(source, faults)
        return
    for number, line in source.numbered():
        identity, tab, text = line.partition("\t")
        if tab and identity.strip() and text.strip():
            yield number, {"id": identity.strip(), "text": text.strip()}
        elif line.strip():
            faults.error(number, "This is neither JSON nor id<TAB>text.", "Write {id, text}.")


def _passages(number: int, row: Any, faults: FaultList) -> Iterator[tuple[str, str]]:
    # A line of graded passages is a list: the query's id and its passages.
    rows = row[1] if isinstance(row, list) and len(row) == 2 else [row]
    for one in rows if isinstance(rows, list) else [rows]:
        name, words = _first(one, _IDS), _first(one, _TEXTS)
        if name is None or words is None:
            faults.error(number, "An id or a text is missing.", "Write {id, text}.")
        else:
            yield name, words


def _first(row: Any, names: tuple[str, ...]) -> str | None:
    if not isinstance(row, dict):
        return None
    found = next((row[name] for name in names if name in row), None)
    return str(found).strip() or None if isinstance(found, str | int) else None


@dataclass(frozen=True, slots=True)
class Response:
    """A generated response: its passages by their ids ``ID/1``, ``ID/2`` …, without those that say
    nothing new."""

    run: str
    query: str
    passages: tuple[tuple[str, str], ...]


@reads_file
def read_responses(
    source: SourceText, faults: FaultList, *, most_words: int = 200
) -> list[Response]:
    """Read generated responses and split them into passages of at most ``most_words`` words. A
    passage that only repeats earlier ones of its response is left out, with a warning."""
    found: list[Response] = []
    seen: dict[tuple[str, str], int] = {}
    for number, row in read_values(source, faults):
        names = ("run", "query_id", "text")
        if not isinstance(row, dict) or not all(isinstance(row.get(n), str) for n in names):
            faults.error(
                number, f"One of {', '.join(names)} is missing.", "Write {run, query_id, text}."
            )
            continue
        run, query = row["run"].strip(), row["query_id"].strip()
        first = seen.setdefault((run, query), number)
        if first != number:
            faults.error(
                number, f"{quoted(run)} has a response on line {first}.", "Keep one.", query
            )
            continue
        identity = str(row.get("response_id") or f"{run}/{query}")
        parts = cut(row["text"], most_words)
        new = [(f"{identity}/{n}", text) for n, text in _without_repeats(parts)]
        if len(new) < len(parts):
            repeated = counted(len(parts) - len(new), "passage")
            why = f"{repeated} of {quoted(run)} repeated within a response, and not counted again."
            faults.warning(number, why, "", query)
        found.append(Response(run, query, tuple(new)))
    return found


def _without_repeats(passages: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The passages, with their numbers, that have a sentence which is in no earlier one."""
    before: set[str] = set()
    for number, text in enumerate(passages, 1):
        sentences = set(filter(None, _END.split(normalised_text(text))))
        if not sentences or not sentences <= before:
            before |= sentences
            yield number, text


def sentences(text: str) -> list[str]:
    """Split a text into sentences, at full stops and line breaks; white space is normalised."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [one for line in lines for one in _split(line) if one.strip()]


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE.finditer(line):
        if not (end[1] or "").islower():
            yield line[start : end.start()]
            start = end.end()
    yield line[start:]


def cut(text: str, most_words: int = 200) -> list[str]:
    """Split a text into paragraph-sized passages: at blank lines, and at the ends of sentences in
    paragraphs of more than ``most_words`` words. No word is lost; a longer sentence stays whole."""
    passages: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        whole = " ".join(paragraph.split())
        if not whole:
            continue
        part: list[str] = []
        for sentence in _split(whole):
            if part and sum(len(word_spans(one)) for one in (*part, sentence)) > most_words:
                passages.append(" ".join(part))
                part = []
            part.append(sentence)
        passages.append(" ".join(part))
    return passages


class Query(NamedTuple):
    """A query, with one of its subtopics if the line names one."""

    id: str
    text: str
    facet: str | None = None
    facet_text: str | None = None


@reads_file
def read_queries(source: SourceText, faults: FaultList) -> tuple[Query, ...]:
    """Read queries with their subtopics, one per line; a query with several has several lines."""
    found: dict[tuple[str, str | None], Query] = {}
    texts: dict[str, str] = {}
    for number, line in source.numbered():
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) not in (2, 4) or not all(cells):
            faults.error(
                number,
                f"{len(cells)} columns.",
                "Write id<TAB>text, or id<TAB>text<TAB>subtopic id<TAB>subtopic.",
            )
            continue
        query = Query(*cells)
        if texts.setdefault(query.id, query.text) != query.text:
            faults.error(
                number, "The query had a different text before.", "Use the same text.", query.id
            )
        if (query.id, query.facet) in found:
            faults.error(number, "The query is listed twice.", "Keep one line.", query.id)
        found[query.id, query.facet] = query
    if not found and not faults.done():
        faults.error(0, "There are no queries.", "Is this the right file?")
    return tuple(found.values())
