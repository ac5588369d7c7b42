"""Import from OpenTelemetry: OTLP JSON, plain spans one per line, or a saved data frame, in the
conventions of OpenInference or of GenAI (all experimental; content is opt-in there)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.formats.imports.common import (
    Choices,
    Imported,
    Row,
    first_of,
    flat,
    name_in,
    objects_in,
    parsed,
    passage_of,
    passages_of,
)
from assay.formats.imports.spans import MODEL, RERANKER, RETRIEVER, TraceStep, moment, records_of

_KINDS = {"RETRIEVER": RETRIEVER, "RERANKER": RERANKER, "LLM": MODEL}
_OPERATIONS = {
    "retrieval": RETRIEVER, "chat": MODEL, "text_completion": MODEL, "generate_content": MODEL,
}  # fmt: skip
_DETAILS = "gen_ai.client.inference.operation.details"
_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue")


def read_otel(files: Sequence[tuple[Path, list[Any]]], choices: Choices) -> Imported:
    """Read traces of spans, one record each."""
    found = Imported(traces=True)
    steps = [_step(span, choices) for _, rows in files for row in rows for span in _spans(row)]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        found.dropped["spans without a trace id"] += len(steps) - len(known)
    records_of(known, choices, found)
    return found


def _spans(row: Any) -> Iterator[Mapping[str, Any]]:
    """The spans of a row of any shape."""
    if not isinstance(row, dict):
        yield {}
        return
    batches = row.get("resourceSpans", row.get("resource_spans"))
    if batches is None:
        yield row
    for batch in objects_in(batches):
        for scope in objects_in(batch.get("scopeSpans", batch.get("scope_spans"))):
            yield from objects_in(scope.get("spans"))


def _step(span: Mapping[str, Any], choices: Choices) -> TraceStep | None:
    context = parsed(span.get("context"))
    context = context if isinstance(context, dict) else {}
    trace = name_in(context.get("trace_id")) or name_in(
        first_of(span, ("traceId", "trace_id", "context.trace_id", "context_trace_id"))
    )
    if trace is None:
        return None
    own = context.get("span_id") or first_of(span, ("spanId", "span_id", "context.span_id")) or ""
    parent = first_of(span, ("parent_id", "parentSpanId", "parent_span_id", "parentId"))
    values = _attributes(span)
    events = [
        (str(one.get("name")), _plain(one.get("attributes")))
        for one in objects_in(span.get("events"))
    ]
    kind = _KINDS.get(str(values.get("openinference.span.kind", "")).upper(), "")
    kind = kind or _OPERATIONS.get(str(values.get("gen_ai.operation.name", "")), "")
    name = str(span.get("name", ""))
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else span.get("status_code")
    message = status.get("message") if isinstance(status, dict) else span.get("status_message")
    failed = str(code).upper() in ("2", "ERROR", "STATUS_CODE_ERROR")
    step = TraceStep(
        trace, str(own), None if parent is None else str(parent), name, kind,
        start=moment(first_of(span, ("start_time", "startTimeUnixNano", "start_time_unix_nano"))),
        end=moment(first_of(span, ("end_time", "endTimeUnixNano", "end_time_unix_nano"))),
        input=_messages(values, events, "input") or values.get("input.value"),
        output=_messages(values, events, "output") or values.get("output.value"),
        query=name_in(values.get("gen_ai.retrieval.query.text")) if kind == RETRIEVER else None,
        session=name_in(first_of(values, ("session.id", "gen_ai.conversation.id"))),
        error=str(message or "error") if failed else None,
        # Finish reasons are a list, or one written as JSON or Python text.
        cut='"length"' in str(values.get("gen_ai.response.finish_reasons", "")).replace("'", '"'),
        metadata=_metadata(values, choices),
    )  # fmt: skip
    if kind == RETRIEVER and step.query is None and isinstance(values.get("input.value"), str):
        step.query = values["input.value"]
    step.passages = _passages(values, events, kind)
    step.cut |= any(one.get("finish_reason") == "length" for one in objects_in(step.output))
    if choices.tool is not None and step.passages is None:
        step.passages = _of_tool(step.input, choices.tool)
    return step


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    given = parsed(span.get("attributes"))
    values = _plain(given)
    for key, value in span.items():  # of a data frame
        if key.startswith("attributes.") and value is not None:
            values[key.removeprefix("attributes.")] = value
    return _flattened(values)


def _plain(attributes: Any) -> dict[str, Any]:
    if isinstance(attributes, list):
        return {str(one.get("key")): _value(one.get("value")) for one in objects_in(attributes)}
    return dict(attributes) if isinstance(attributes, dict) else {}


def _value(value: Any) -> Any:
    """A value of OTLP JSON."""
    if not isinstance(value, dict):
        return value
    # OTLP writes integers as text, since JSON numbers may not hold 64 bits.
    number = value.get("intValue")
    if isinstance(number, str) and number.removeprefix("-").isdecimal():
        return int(number)
    for name in _VALUES:
        if name in value:
            return value[name]
    inner = value.get("arrayValue", value.get("kvlistValue"))
    given = inner.get("values") if isinstance(inner, dict) else None
    if "arrayValue" in value:
        return [_value(one) for one in given] if isinstance(given, list) else []
    return _plain(given) if "kvlistValue" in value else value


def _flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables flattened to dotted names; lists are kept."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= _flattened(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _numbered(values: Mapping[str, Any], prefix: str) -> list[Row]:
    """``PREFIX.N.key`` as a list of tables, or ``PREFIX`` itself if it is a list."""
    whole = parsed(values.get(prefix))
    if isinstance(whole, list):
        return [_flattened(one) if isinstance(one, dict) else {"content": one} for one in whole]
    rows: dict[int, Row] = {}
    pattern = re.compile(rf"{re.escape(prefix)}\.(\d+)\.(.+)")
    for key, value in values.items():
        match = pattern.fullmatch(key)
        if match:
            rows.setdefault(int(match[1]), {})[match[2]] = value
    return [rows[n] for n in sorted(rows)]


def _messages(
    values: Mapping[str, Any], events: Sequence[tuple[str, Row]], side: str
) -> list[Row] | None:
    """The messages of a model call, in any of the conventions."""
    details = next((of for name, of in events if name == _DETAILS), {})
    given = values.get(f"gen_ai.{side}.messages", details.get(f"gen_ai.{side}.messages"))
    if given is not None:
        found = parsed(given)
        return found if isinstance(found, list) else None
    numbered = _numbered(values, f"llm.{side}_messages")
    if numbered:
        return [
            {"role": one.get("message.role"), "content": one.get("message.content")}
            for one in numbered
        ]
    old = "gen_ai.prompt" if side == "input" else "gen_ai.completion"
    if rows := _numbered(values, old):
        default = "user" if side == "input" else "assistant"
        return [{"role": one.get("role", default), "content": one.get("content")} for one in rows]
    if side == "input":
        contents = [of.get("content") for name, of in events if name == "gen_ai.user.message"]
        return [{"role": "user", "content": one} for one in contents] or None
    contents = [parsed(of.get("message")) for name, of in events if name == "gen_ai.choice"]
    return [{"role": "assistant", "content": one.get("content")}
            for one in contents if isinstance(one, dict)] or None  # fmt: skip


def _passages(
    values: Mapping[str, Any], events: Sequence[tuple[str, Row]], kind: str
) -> list[Row] | None:
    prefix = "reranker.output_documents" if kind == RERANKER else "retrieval.documents"
    rows = _numbered(values, prefix) or _numbered(values, "gen_ai.retrieval.documents")
    if not rows:
        rows = [
            {key.removeprefix("db.query.result."): value for key, value in of.items()}
            for name, of in events
            if name == "db.query.result"
        ]
        rows = [{"text": row.get("document"), **row} for row in rows]
    if not rows:
        return [] if kind == RETRIEVER else None
    plain = [{key.removeprefix("document."): value for key, value in row.items()} for row in rows]
    for row in plain:
        row.pop("document", None)
    found = (passage_of(row, rank) for rank, row in enumerate(plain, 1))
    return [one for one in found if one is not None]


def _of_tool(messages: Any, tool: str) -> list[Row] | None:
    """The results of the tool of that name."""
    names: dict[str, str] = {}
    found: list[Row] = []
    for one in objects_in(messages):
        for part in objects_in(one.get("parts")):
            if part.get("type") == "tool_call":
                names[str(part.get("id"))] = str(part.get("name"))
                continue
            if part.get("type") != "tool_call_response":
                continue
            if names.get(str(part.get("id")), part.get("name")) == tool:
                found += passages_of(part.get("response", part.get("result")))
    return found or None


def _metadata(values: Mapping[str, Any], choices: Choices) -> Row:
    found = flat(values.get("metadata"))
    found |= {
        key.removeprefix("metadata."): value
        for key, value in values.items()
        if key.startswith("metadata.") and isinstance(value, str | int | float)
    }
    if tags := values.get("tag.tags"):
        found["tags"] = ", ".join(tags) if isinstance(tags, list) else str(tags)
    if choices.keep_users and values.get("user.id") is not None:
        found["user_id"] = str(values["user.id"])
    return found
