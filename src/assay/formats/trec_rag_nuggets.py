"""Nugget lists and nugget assignments in the formats of nuggetizer.

Nuggets: ``{query, qid, nuggets: [{text, importance, mapped_sub_narrative?, source?}]}``.
Assignments: ``{query, qid, answer_text, response_length, run_id, nuggets: [{text, importance,
assignment}]}``. What else nuggetizer writes (reasoning, traces) is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import Any

import orjson

from assay.formats.jsonl import dump_line, first_object, one_id, one_text, read_objects
from assay.formats.naming import run_name
from assay.formats.parsed import FaultList, Spot
from assay.formats.reasons import rationale_of
from assay.formats.text import SourceText, reads_file
from assay.formats.trec_rag_topics import parse_importance
from assay.model.trec_rag import (
    Assigned,
    AssignedAnswer,
    AssignedNugget,
    NuggetList,
    RagAnswer,
    RagNugget,
    sub_narrative_name,
)
from assay.model.wording import joined, quoted

_TOPIC_KEYS = ("qid", "topic_id", "narrative_id", "query_id", "id")
_FAILED = ("failed", "fail")
"""What nuggetizer writes for a label after its last attempt failed."""

_Failed = dict[str, list[int]]
"""For each kind of label, a line number for every label that failed."""

_ASSIGNED = {one.value: one for one in Assigned} | {
    "full_support": Assigned.SUPPORT,
    "partial": Assigned.PARTIAL,
    "no_support": Assigned.NONE,
    "none": Assigned.NONE,
}


@reads_file
def read_nuggets(source: SourceText, faults: FaultList) -> Mapping[str, NuggetList]:
    """Read nugget lists by topic. A nugget without an importance is kept, with None."""
    found: dict[str, NuggetList] = {}
    failed: _Failed = {}
    for number, record in read_objects(source, faults):
        topic = _topic(record, number, faults)
        if topic is None:
            continue
        at = faults.at(number, topic)
        nuggets = [nugget for nugget, _ in _nuggets(record, at, failed)]
        nugget_list = NuggetList(topic, one_text(record, "query") or "", tuple(nuggets), number)
        first = found.setdefault(topic, nugget_list)
        if first is not nugget_list:
            at.error(
                f"The topic already has a list on line {first.line}.",
                "Keep one of the two; the first was read.",
            )
    _warn_of_failed(failed, faults)
    if not found:
        faults.error(0, "The file holds no nugget list.", "Write one JSON object per topic.")
    return found


def write_nuggets(lists: Iterable[NuggetList]) -> bytes:
    """Write nugget lists as nuggetizer reads them."""
    return b"".join(
        dump_line(
            {
                "query": one.query,
                "qid": one.topic,
                "nuggets": [nugget_record(nugget) for nugget in one.nuggets],
            }
        )
        for one in lists
    )


def nugget_record(nugget: RagNugget) -> dict[str, Any]:
    """A nugget as a JSON object, without what is not known."""
    record: dict[str, Any] = {"text": nugget.text}
    if nugget.importance is not None:
        record["importance"] = nugget.importance.value
    if nugget.sub_narrative is not None:
        record["mapped_sub_narrative"] = nugget.sub_narrative
    if nugget.sources:
        record["source"] = list(nugget.sources)
    return record


@reads_file
def read_assignments(source: SourceText, faults: FaultList) -> tuple[AssignedAnswer, ...] | None:
    """Read assignments, one record per answer. A run without a name is named after its file.

    A nugget whose ``assignment`` is null or ``failed`` has no label; a missing key is a fault.
    """
    found: dict[tuple[str, str], AssignedAnswer] = {}
    failed: _Failed = {}
    example = first_object(source) or {}
    if example.get("nuggets") and b'"assignment"' not in source.data:
        faults.error(
            0,
            f"No nugget has an assignment: these are nuggets alone (keys {joined(example, 8)}).",
            "Give assignments: a record an answer, with run_id, its nuggets with assignment.",
        )
        return None
    if "docid" in example and "run_id" not in example:
        faults.error(
            0,
            "These are assignments to retrieved documents (docid), not to answers.",
            "Give those of answers, as nuggetizer writes them with --input-kind answers.",
        )
        return None
    for number, record in read_objects(source, faults):
        topic = _topic(record, number, faults)
        if topic is None:
            continue
        run = (one_text(record, "run_id") or "").strip() or run_name(source.path)
        nuggets, at = [], faults.at(number, topic)
        for nugget, item in _nuggets(record, at, failed):
            if nugget.importance is None and item.get("importance") is None:
                cure = "Write vital or okay."
                at.error(f"{quoted(nugget.text)} has no importance.", cure)
            assigned = _assigned(item, nugget, at, failed)
            nuggets.append(AssignedNugget(nugget, assigned, rationale_of(item)))
        answer = AssignedAnswer(run, topic, tuple(nuggets), number)
        first = found.setdefault((run, topic), answer)
        if first is not answer:
            at.twice(run, first.line)
    _warn_of_failed(failed, faults)
    if not found:
        faults.error(0, "The file holds no assignment.", "Write one JSON object per answer.")
    return tuple(found.values())


def write_assignments(
    answers: Iterable[tuple[RagAnswer, str, Sequence[RagNugget], Iterable[Assigned | None]]],
) -> Iterator[bytes]:
    """Lines of assignments as nuggetizer writes them, from answers with their narrative, nuggets
    and assignments. A missing label is null."""
    ends = {one: orjson.dumps(one) + b"}" for one in (*Assigned, None)}
    last: dict[str, tuple[Sequence[RagNugget], list[bytes]]] = {}
    for answer, narrative, nuggets, assigned in answers:
        spelled, begun = last.get(answer.topic, ((), []))
        if spelled is not nuggets:  # answers to the same topic share their nuggets
            begun = [orjson.dumps(nugget_record(one))[:-1] + b',"assignment":' for one in nuggets]
            last[answer.topic] = nuggets, begun
        objects = map(add, begun, map(ends.__getitem__, assigned))
        yield dump_line(
            {
                "query": narrative,
                "qid": answer.topic,
                "answer_text": answer.text,
                "response_length": answer.length,
                "run_id": answer.run,
                "nuggets": orjson.Fragment(b"[" + b",".join(objects) + b"]"),
            }
        )


def _topic(record: Mapping[str, Any], number: int, faults: FaultList) -> str | None:
    query = record.get("query")
    topic = one_id(record, *_TOPIC_KEYS)
    if topic is None and isinstance(query, dict):
        topic = one_id(query, *_TOPIC_KEYS)
    if topic is None:
        faults.error(number, "The record has no topic id.", 'Give "qid".')
    return topic


def _nuggets(
    record: Mapping[str, Any], at: Spot, failed: _Failed
) -> list[tuple[RagNugget, Mapping[str, Any]]]:
    given = record.get("nuggets")
    if not isinstance(given, list):
        cure = "Write a list, [] for none."
        if "sentences" in record:
            cure = "Is it a file of support labels? 'assay support' scores these."
        at.error("'nuggets' is not a list.", cure)
        return []
    found: list[tuple[RagNugget, Mapping[str, Any]]] = []
    seen: set[str] = set()
    for place, item in enumerate(given, 1):
        item = {"text": item} if isinstance(item, str) else item
        text = one_text(item, "text") if isinstance(item, dict) else None
        if text is None or not text.strip():
            at.error(f"Nugget {place} has no text.", 'Write {"text": …}.')
            continue
        if text in seen:
            at.warning(f"Nugget {place} is listed twice.", "Both are counted.")
        seen.add(text)
        importance = parse_importance(item.get("importance"))
        if _has_failed(item, "importance"):
            failed.setdefault("importance", []).append(at.line)
        elif importance is None and item.get("importance") is not None:
            at.error(
                f"The importance {quoted(str(item['importance']))} is unknown.",
                "Write vital or okay.",
            )
        mapped = one_text(item, "mapped_sub_narrative", "sub_narrative")
        source = item.get("source", item.get("sources", item.get("supporting_docids", [])))
        sources = [source] if isinstance(source, str) else source
        docs = tuple(map(str, sources)) if isinstance(sources, list) else ()
        aspect = sub_narrative_name(mapped or "") or None
        found.append((RagNugget(text, importance, aspect, docs), item))
    return found


def _has_failed(item: Mapping[str, Any], name: str) -> bool:
    value = item.get(name)
    return isinstance(value, str) and value.strip().casefold() in _FAILED


def _warn_of_failed(failed: _Failed, faults: FaultList) -> None:
    for name, lines in failed.items():
        which = joined(map(str, dict.fromkeys(lines)), 10)
        faults.warning(
            lines[0],
            f"The {name} of {len(lines)} nugget{'s' if len(lines) > 1 else ''} failed "
            f"(line{'s' if len(set(lines)) > 1 else ''} {which}).",
            "These have no label: they count as missing.",
        )


def _assigned(
    item: Mapping[str, Any], nugget: RagNugget, at: Spot, failed: _Failed
) -> Assigned | None:
    if "assignment" not in item:
        cure = "Write support, partial_support or not_support, or null if there is no label."
        at.error(f"{quoted(nugget.text)} has no assignment.", cure)
        return None
    value = item["assignment"]
    if _has_failed(item, "assignment"):
        failed.setdefault("assignment", []).append(at.line)
        return None
    if value is None:
        return None
    folded = re.sub(r"[\s-]+", "_", value.strip().casefold()) if isinstance(value, str) else ""
    found = _ASSIGNED.get(folded)
    if found is None:
        at.error(
            f"The assignment {quoted(str(value))} is unknown.",
            "Write support, partial_support or not_support.",
        )
    return found
