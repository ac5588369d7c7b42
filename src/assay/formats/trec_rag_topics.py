"""Topics of the TREC RAG track, and the sub-narratives of narratives.

2024: ``topic_id<TAB>text``. 2025: JSON Lines ``{id, title}``, and with sub-narratives one JSON list
of ``{id, narrative, sub_narratives}``. 2026: ``rag2026-N<TAB>narrative``.
BEIR's queries: ``{_id, text}``.
RAGTIME: ``{topic_id, title, problem_statement, background}``, whose text is all three.
A cluster of related queries, from which to write a narrative, is a JSON line with ``queries``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.formats.jsonl import (
    dump_line,
    first_character,
    first_object,
    one_id,
    one_text,
    read_objects,
)
from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList
from assay.formats.text import Given, SourceText, reads_file, text_of
from assay.model.trec_rag import (
    Importance,
    Narrative,
    SubNarrative,
    sub_narrative_key,
    sub_narrative_name,
)
from assay.model.wording import quoted

TOPIC_KEYS = ("id", "narrative_id", "topic_id", "request_id", "qid", "query_id", "_id")
TEXT_KEYS = ("narrative", "title", "topic", "text", "query", "question")
"""Possible keys of a topic's text. Early files of 2026 have both a narrative and a short title."""

SubNarratives = Mapping[str, tuple[SubNarrative, ...]]
"""Sub-narratives by the id of their narrative."""


@reads_file
def read_topics(source: SourceText, faults: FaultList) -> tuple[Narrative, ...]:
    """Read topics of any year."""
    found: dict[str, Narrative] = {}
    rows = _json_rows if first_character(source) in ("{", "[") else _tab_rows
    for narrative in rows(source, faults):
        first = found.setdefault(narrative.id, narrative)
        if first is not narrative:
            faults.error(
                narrative.line,
                f"The topic is already on line {first.line}.",
                "Keep one of the two; the first was read.",
                narrative.id,
            )
    if not found:
        faults.error(0, "The file holds no topic.", "Write id<TAB>text, or JSON with id and title.")
    return tuple(found.values())


def _json_rows(source: SourceText, faults: FaultList) -> Iterable[Narrative]:
    for number, record in read_objects(source, faults, lists=True):
        topic = one_id(record, *TOPIC_KEYS)
        text = (one_text(record, *TEXT_KEYS) or "").strip()
        parts = (one_text(record, name) for name in ("problem_statement", "background"))
        text = " ".join((text, *(part.strip() for part in parts if part))).strip()
        queries = record.get("queries", [])
        at = faults.at(number, topic)
        if topic is None:
            at.error("The record has no id.", 'Give "id", a string or whole number.')
            continue
        if not isinstance(queries, list) or not all(isinstance(one, str) for one in queries):
            at.error("'queries' is not a list of texts.", "Write a list.")
            continue
        stripped = tuple(one.strip() for one in queries if one.strip())
        if not text and not stripped:
            at.error("There is neither a text nor a query.", 'Give "title" or "queries".')
            continue
        yield Narrative(topic, text, stripped, number)


def _tab_rows(source: SourceText, faults: FaultList) -> Iterable[Narrative]:
    for number, line in source.numbered():
        if not line.strip():
            continue
        cells = line.split("\t", 1)  # a narrative may hold tabs
        if len(cells) != 2:
            faults.error(
                number,
                f"The line has {len(cells)} field{'s' if len(cells) != 1 else ''}, not 2.",
                "Write the id, one tab and the text.",
            )
            continue
        topic, text = normal_id(cells[0]), cells[1].strip()
        if not topic or not text:
            faults.error(number, "The id or the text is empty.", "Give both.", topic or None)
            continue
        yield Narrative(topic, text, (), number)


@reads_file
def read_sub_narratives(source: SourceText, faults: FaultList) -> SubNarratives:
    """Read sub-narratives by topic.

    JSON Lines have a topic id and ``sub_narratives`` (texts, or objects with ``text`` and
    ``importance``); a record with ``nuggets`` gives those that its nuggets are mapped to
    (``mapped_sub_narrative``), so a nugget file can be used too. Tab-separated lines have a topic
    id and a text. Records of one topic are combined, spellings of one sub-narrative are merged
    (:func:`assay.model.trec_rag.sub_narrative_key`).
    """
    found: dict[str, dict[str, SubNarrative]] = {}
    if first_character(source) not in ("{", "["):
        for narrative in _tab_rows(source, faults):
            _add(found.setdefault(narrative.id, {}), narrative.text)
    else:
        for number, record in read_objects(source, faults, lists=True):
            _sub_narratives_of(record, number, faults, found)
    if not any(found.values()):
        faults.error(
            0,
            "The file holds no sub-narrative.",
            'Write {"id": …, "sub_narratives": [{"text": …, "importance": "vital"}]} on each line.',
        )
    return {topic: tuple(ones.values()) for topic, ones in found.items()}


def _sub_narratives_of(
    record: Mapping[str, Any],
    number: int,
    faults: FaultList,
    found: dict[str, dict[str, SubNarrative]],
) -> None:
    topic = one_id(record, *TOPIC_KEYS)
    if topic is None:
        faults.error(number, "The record has no topic id.", 'Give "id" or "qid".')
        return
    mine = found.setdefault(topic, {})
    listed = record.get("sub_narratives", record.get("subnarratives", []))
    nuggets = record.get("nuggets", [])
    if not isinstance(listed, list) or not isinstance(nuggets, list):
        faults.error(number, "'sub_narratives' is not a list.", "Write a list.", topic)
        return
    for item in listed:
        text = one_text(item, "text") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            faults.error(
                number, f"{quoted(str(item))} is not a sub-narrative.", "Give a text.", topic
            )
            continue
        importance = parse_importance(item.get("importance")) if isinstance(item, dict) else None
        _add(mine, text, importance)
    for item in nuggets:
        mapped = one_text(item, "mapped_sub_narrative") if isinstance(item, dict) else None
        if mapped and mapped.strip():
            _add(mine, mapped)


def _add(mine: dict[str, SubNarrative], text: str, importance: Importance | None = None) -> None:
    """Add a sub-narrative unless it is there already, in any spelling."""
    mine.setdefault(sub_narrative_key(text), SubNarrative(sub_narrative_name(text), importance))


def read_mapping(given: Given) -> dict[tuple[str, str], str]:
    """The sub-narratives of nuggets by (topic, nugget text), from the records with ``nuggets`` in a
    file as for :func:`read_sub_narratives`; empty if there are none."""
    source = text_of(given)
    if first_object(source) is None:
        return {}
    found: dict[tuple[str, str], str] = {}
    for _, record in read_objects(source, FaultList(source.file), lists=True):
        topic = one_id(record, *TOPIC_KEYS)
        given = record.get("nuggets", [])
        for item in given if isinstance(given, list) and topic is not None else ():
            text = one_text(item, "text") if isinstance(item, dict) else None
            mapped = one_text(item, "mapped_sub_narrative") if isinstance(item, dict) else None
            if topic is not None and text is not None and mapped and mapped.strip():
                found[topic, text] = sub_narrative_name(mapped)
    return found


def write_sub_narratives(narratives: Iterable[Narrative], found: SubNarratives) -> bytes:
    """Write sub-narratives as :func:`read_sub_narratives` reads them."""
    return b"".join(
        dump_line(
            {
                "id": one.id,
                "title": one.text,
                "sub_narratives": [
                    {"text": each.text}
                    | ({"importance": each.importance.value} if each.importance else {})
                    for each in found[one.id]
                ],
            }
        )
        for one in narratives
        if one.id in found
    )


def parse_importance(value: object) -> Importance | None:
    """``vital`` or ``okay`` in any case; None for anything else."""
    folded = value.strip().casefold() if isinstance(value, str) else ""
    return Importance(folded) if folded in ("vital", "okay") else None
