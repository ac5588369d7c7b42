"""Conversion of traces to records. Spans in the conventions of OpenInference and OpenTelemetry's
GenAI, and Langfuse's observations, are given as :class:`TraceStep`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.formats.imports.common import (
    ANSWER_KEYS,
    ASSISTANT,
    QUESTION_KEYS,
    USER,
    Choices,
    Imported,
    Row,
    text_in,
)
from assay.formats.imports.finishing import by_session

RETRIEVER, RERANKER, MODEL = "retriever", "reranker", "model"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class TraceStep:
    """A span of a trace, independent of the tool. ``start`` and ``end`` are nanoseconds (0 if
    unknown); ``input`` and ``output`` are unparsed."""

    trace: str
    id: str
    parent: str | None
    name: str
    kind: str = ""
    start: int = 0
    end: int = 0
    input: Any = None
    output: Any = None
    query: str | None = None
    passages: list[Row] | None = None
    session: str | None = None
    error: str | None = None
    cut: bool = False
    metadata: Row = field(default_factory=dict)


def moment(value: Any) -> int:
    """A time in nanoseconds, from an integer or ISO 8601 (UTC if without a zone); otherwise 0."""
    text = str(value)
    if text.isdecimal() and len(text) < 30:
        return int(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return 0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (when - _EPOCH) // timedelta(microseconds=1) * 1000


def records_of(steps: Iterable[TraceStep], choices: Choices, found: Imported) -> None:
    """Add one record per trace, ordered by start (traces of unknown start come first, in file
    order); the turns of a session follow its first one."""
    traces: dict[str, list[TraceStep]] = {}
    for step in steps:
        traces.setdefault(step.trace, []).append(step)
    rows: list[tuple[int, Row]] = []
    for name, of in traces.items():
        row = _record(name, of, choices, found)
        if row is not None:
            rows.append((min(step.start for step in of), row))
    rows.sort(key=lambda one: one[0])
    found.records += by_session([row for _, row in rows], choices)


def _record(name: str, steps: list[TraceStep], choices: Choices, found: Imported) -> Row | None:
    ids = {step.id for step in steps}
    root = next((step for step in steps if step.parent is None or step.parent not in ids), steps[0])
    ordered = sorted(steps, key=lambda step: step.start)
    models = [step for step in ordered if step.kind == MODEL]
    last = models[-1] if models else None
    question = text_in(root.input, QUESTION_KEYS, USER, choices.question_path)
    answer = text_in(root.output, ANSWER_KEYS, ASSISTANT, choices.answer_path)
    if not question and last is not None:
        question = text_in(last.input, QUESTION_KEYS, USER)
    if not answer and last is not None:
        answer = text_in(last.output, ANSWER_KEYS, ASSISTANT)
    if not isinstance(question, str) or not question.strip():
        found.dropped["no question"] += 1
        return None
    chosen = _chosen(ordered, last or root, choices)
    if len([s for s in ordered if s.kind == RETRIEVER]) > 1:
        found.counts["traces with several retrievers"] += 1
    row: Row = {"id": name, "question": question, "answer": answer or "", "passages": []}
    seen: set[str | None] = set()
    for step in chosen:
        for passage in step.passages or ():
            key = passage.get("text") or passage.get("id")
            if key not in seen:
                seen.add(key)
                row["passages"].append(dict(passage))
    if len(chosen) > 1:
        row["ranked"] = False  # scores of different retrievers are never compared
        for passage in row["passages"]:
            passage.pop("score", None)
    error = next((step.error for step in (root, *ordered) if step.error), None)
    if not answer:
        row["error"] = error or "no output"
    if last is not None and last.cut:
        row["truncated"] = True
    query = next((step.query for step in chosen if step.query), None)
    metadata: Row = {}
    # The root comes last: its own values take precedence.
    for step in (*ordered, root):
        metadata |= step.metadata
    session = next((step.session for step in (root, *ordered) if step.session), None)
    more = {"retrieval_query": query, "session": session, "metadata": metadata}
    return row | {key: value for key, value in more.items() if value}


def _chosen(steps: Sequence[TraceStep], answering: TraceStep, choices: Choices) -> list[TraceStep]:
    """The retrievals whose passages the answer had."""
    found = [step for step in steps if step.passages is not None]
    ways = choices.retrievers
    if ways in ("first", "last"):
        return found[:1] if ways == "first" else found[-1:]
    if ways != "answer":
        return [step for step in found if step.name == ways]
    before = [
        step for step in found
        if answering.kind != MODEL or not step.end or not answering.start
        or step.end <= answering.start
    ]  # fmt: skip
    reranked = [step for step in before if step.kind == RERANKER]
    return reranked[-1:] or before
