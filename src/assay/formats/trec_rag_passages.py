"""Segments, reference ranked lists (candidates) and relevance judgment (RJ) runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

from assay.formats.cells import finite_number
from assay.formats.jsonl import first_object, one_id, one_text, read_objects
from assay.formats.naming import parse_integer, run_name
from assay.formats.parsed import FaultList, Parsed, Spot
from assay.formats.text import SourceText, read_text, reads_file
from assay.formats.trec_rag_topics import TOPIC_KEYS
from assay.model.errors import AssayError
from assay.model.trec_rag import JudgmentRun, RelevanceGuess, Segment
from assay.model.wording import joined, printable, quoted

LABELS = range(5)
"""The relevance scale of the track in 2025."""

_DOC_KEYS = ("docid", "doc_id", "segment_id", "id", "docno")
_TEXT_KEYS = ("segment", "text", "contents", "body", "passage")
_COLUMNS = 6

CandidateLists = Mapping[str, tuple[Segment, ...]]
"""The candidates of each topic, best first."""


def segment_of(record: Mapping[str, Any], docid: str | None = None) -> Segment | None:
    """The segment in a JSON object; None without an id or a text. ``docid`` is the id given by an
    enclosing object, if any."""
    doc = docid or one_id(record, *_DOC_KEYS)
    text = one_text(record, *_TEXT_KEYS)
    if doc is None or text is None:
        return None
    return Segment(doc, text, one_text(record, "title") or "")


@reads_file
def read_segments(source: SourceText, faults: FaultList) -> Mapping[str, Segment]:
    """Read segments by document id: ``docid, title, segment``."""
    found: dict[str, Segment] = {}
    for number, record in read_objects(source, faults):
        segment = segment_of(record)
        if segment is None:
            faults.error(
                number, "The record is not a segment.", 'Give "docid" and "segment" (the text).'
            )
        elif found.setdefault(segment.docid, segment).text != segment.text:
            faults.error(
                number,
                f"The segment {quoted(segment.docid)} was given before with another text.",
                "Keep one of the two; the first was read.",
            )
    if not found:
        faults.error(0, "The file holds no segment.", "Write one JSON object per segment.")
    return found


@reads_file
def read_candidates(source: SourceText, faults: FaultList) -> CandidateLists:
    """Read reference ranked lists: ``{query: {qid, text}, candidates: [{docid, score, doc}]}``.

    ``doc`` is an object with the text, or the text itself; candidates keep the file's order.
    """
    found: dict[str, tuple[Segment, ...]] = {}
    for number, record in read_objects(source, faults):
        query = record.get("query")
        topic = one_id(query, "qid", *TOPIC_KEYS) if isinstance(query, dict) else None
        topic = topic or one_id(record, "qid")
        if topic is None:
            faults.error(number, "There is no query.qid.", 'Write {"query": {"qid": …}, …}.')
            continue
        at = faults.at(number, topic)
        given = record.get("candidates")
        if not isinstance(given, list):
            at.error("'candidates' is not a list.", "Write a list.")
            continue
        if topic in found:
            at.error("The topic already has a list.", "Keep one of the two.")
            continue
        found[topic] = tuple(_candidates(given, at))
    if not found:
        faults.error(0, "The file holds no ranked list.", "Write one JSON object per topic.")
    return found


def _candidates(given: list[Any], at: Spot) -> Iterator[Segment]:
    seen: set[str] = set()
    for place, item in enumerate(given, 1):
        record = item if isinstance(item, dict) else {}
        doc = one_id(record, *_DOC_KEYS)
        inner = record.get("doc", record)
        inner = {"text": inner} if isinstance(inner, str) else inner
        segment = segment_of(inner, doc) if isinstance(inner, dict) else None
        score = record.get("score", 0.0)
        if segment is None or isinstance(score, bool) or not isinstance(score, (int, float)):
            cure = 'Write {"docid": …, "score": 1.5, "doc": {"segment": …}}.'
            at.error(f"Candidate {place} is not a segment with a score.", cure)
        elif segment.docid in seen:
            at.warning(f"Candidate {place} is listed twice.", "The first is read.")
        else:
            seen.add(segment.docid)
            yield segment


def read_texts(path: str | PathLike[str]) -> Parsed[Mapping[str, Segment]]:
    """Read segments, or the segments of reference ranked lists."""
    source = read_text(path)
    if "candidates" not in (first_object(source) or {}):
        return read_segments(source)
    parsed = read_candidates(source)
    faults = FaultList(source.file, parsed.faults)
    found: dict[str, Segment] = {}
    for topic, listed_there in (parsed.value or {}).items():
        for one in listed_there:
            if found.setdefault(one.docid, one).text != one.text:
                why = f"The segment {quoted(one.docid)} has a different text in another topic."
                faults.error(0, why, "Give each text its own id.", topic)
    return Parsed(found, faults.done())


@reads_file
def read_judgment_run(source: SourceText, faults: FaultList) -> JudgmentRun:
    """Read an RJ run: ``qid Q0 docid label confidence run_id``.

    A label outside 0-4 is a warning: it can be used for agreement, but not for kappa on the scale.
    """
    found: dict[str, dict[str, RelevanceGuess]] = {}
    names: dict[str, int] = {}
    outside: dict[int, int] = {}
    for number, line in source.numbered():
        cells = line.split()
        if not cells:
            continue
        if len(cells) != _COLUMNS:
            faults.error(
                number,
                f"The line has {len(cells)} columns, not {_COLUMNS}.",
                "Write topic, Q0, document id, label, confidence, run name.",
            )
            continue
        topic, _, doc, raw, sure, name = cells
        names.setdefault(name, number)
        at, label = faults.at(number, topic), parse_integer(raw)
        if label is None:
            at.error(f"The label {quoted(raw)} is not an integer.", "Write 0, 1, 2, 3 or 4.")
            continue
        confidence = finite_number(sure)
        if confidence is None:
            at.error(
                f"The confidence {quoted(sure)} is not a number.", "Write a number such as 0.8."
            )
            continue
        if label not in LABELS:
            outside.setdefault(label, number)
        judged = found.setdefault(topic, {})
        if doc in judged:
            at.error(
                f"The document {quoted(doc)} is labelled twice.",
                "Keep one of the two; the first was read.",
            )
            continue
        judged[doc] = RelevanceGuess(doc, label, confidence)
    if outside:
        faults.warning(
            min(outside.values()),
            f"Labels outside 0-4: {joined(map(str, sorted(outside)), 10)}.",
            "Cohen's kappa on the scale needs 0 to 4.",
        )
    if len(names) > 1:
        faults.error(
            sorted(names.values())[1],
            f"The file holds {len(names)} runs: {joined(names, 10)}.",
            "Write one file per run, with one name in the last column.",
        )
    if not found:
        faults.error(0, "The file holds no label.", "Write topic Q0 docid label confidence run.")
    name = printable(next(iter(names), "")) or run_name(source.path)
    return JudgmentRun(name, found)


def write_judgment_run(run: JudgmentRun) -> bytes:
    """An RJ run as the track reads it. Raises AssayError for an id or name with white space."""
    lines = []
    for topic, judged in run.guesses.items():
        for guess in judged.values():
            cells = (topic, "Q0", guess.doc, str(guess.label), repr(guess.confidence), run.name)
            line = " ".join(cells)
            if line.split() != [*cells]:
                raise AssayError(f"{quoted(line)} cannot stand in an RJ run.")
            lines.append(f"{line}\n")
    return "".join(lines).encode()
