"""Import from Langfuse: blob exports (observations, and traces with them), pages of its API, and
downloads of single traces; in snake_case or camelCase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.formats.imports.common import (
    Choices,
    Imported,
    Row,
    flat,
    name_in,
    objects_in,
    parsed,
    passages_of,
    snake,
)
from assay.formats.imports.spans import MODEL, RETRIEVER, TraceStep, moment, records_of
from assay.model.errors import SettingsError

_ABOUT = ("release", "version", "environment", "tags")


def read_langfuse(files: Sequence[tuple[Path, list[Any]]], choices: Choices) -> Imported:
    """Read traces, one record each. Raises SettingsError if nothing has an input or output."""
    found = Imported(traces=True)
    traces: dict[str, Row] = {}
    observations: list[Row] = []
    for _, rows in files:
        for row in _rows(rows):
            if row.get("type") and row.get("trace_id"):
                observations.append(row)
            elif row.get("id"):
                traces[str(row["id"])] = row
            else:
                found.dropped["neither trace nor observation"] += 1
    every = [*traces.values(), *observations]
    if every and not any(row.get("input") or row.get("output") for row in every):
        raise SettingsError(
            "There is no input or output anywhere: the API sends them only if you ask for them "
            "(fields=core,basic,io), an export only with its io fields."
        )
    steps = [_observation(row, choices) for row in observations]
    roots = {name: _trace(name, trace, choices) for name, trace in traces.items()}
    for step in steps:
        if step.parent is None and step.trace in roots:
            step.parent = roots[step.trace].id
    records_of([*roots.values(), *steps], choices, found)
    return found


def _rows(rows: list[Any]) -> Iterator[Row]:
    """Traces and observations from pages, downloads or lines, in snake_case."""
    for row in rows:
        if not isinstance(row, dict):
            continue
        if isinstance(row.get("data"), list):
            yield from _rows(row["data"])
            continue
        plain = {snake(key): value for key, value in row.items()}
        inner = objects_in(plain.pop("observations", None))
        yield plain
        yield from _rows(inner)


def _observation(row: Mapping[str, Any], choices: Choices) -> TraceStep:
    kind = str(row["type"]).upper()
    name = str(row.get("name") or "")
    retrieves = kind == "RETRIEVER" or (choices.retriever is not None and name == choices.retriever)
    failed = str(row.get("level", "")).upper() == "ERROR"
    query = parsed(row.get("input")) if retrieves else None
    return TraceStep(
        str(row["trace_id"]),
        str(row.get("id")),
        str(row.get("parent_observation_id") or "") or None,
        name,
        RETRIEVER if retrieves else MODEL if kind == "GENERATION" else "",
        start=moment(row.get("start_time")),
        end=moment(row.get("end_time")),
        input=row.get("input"),
        output=row.get("output"),
        query=query if isinstance(query, str) else None,
        passages=passages_of(row.get("output")) if retrieves else None,
        session=name_in(row.get("session_id")),
        error=str(row.get("status_message") or "error") if failed else None,
        metadata=_about(row, choices) if not row.get("parent_observation_id") else {},
    )


def _trace(name: str, row: Mapping[str, Any], choices: Choices) -> TraceStep:
    return TraceStep(
        name,
        f"trace {name}",
        None,
        str(row.get("name") or ""),
        start=moment(row.get("timestamp") or row.get("created_at")),
        input=row.get("input"),
        output=row.get("output"),
        session=name_in(row.get("session_id")),
        metadata=_about(row, choices),
    )


def _about(row: Mapping[str, Any], choices: Choices) -> Row:
    users = ("user_id",) if choices.keep_users else ()
    given = {name: parsed(row[name]) for name in (*_ABOUT, *users) if row.get(name)}
    return {**flat(row.get("metadata")), **flat(given)}
