"""Batch files: OpenAI's format, which ``vllm run-batch`` reads too, and Anthropic's Message
Batches.

A line's ``custom_id`` is the label's key, so replies may come in any order, in parts and
repeatedly.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from assay.labellers.anthropic import chat_completion
from assay.labellers.base import Outcome, Request
from assay.labellers.openai import OpenAILabeller
from assay.model.errors import Fault, FormatError
from assay.model.secrets import excerpt

# Statuses after which asking again is pointless, as in live judging.
_REFUSALS = frozenset({400, 413, 422})


@dataclass(frozen=True)
class BatchLine:
    """The fields of a line of a batch file; the body is JSON."""

    fields: Mapping[str, Any]

    @cached_property
    def json(self) -> bytes:
        """The line in JSON Lines."""
        return orjson.dumps(self.fields, option=orjson.OPT_APPEND_NEWLINE)

    def cells(self) -> dict[str, str]:
        """The line as a row of a table; fields that are not str become JSON."""
        return {
            name: value if isinstance(value, str) else orjson.dumps(value).decode()
            for name, value in self.fields.items()
        }


def batch_lines(
    labeller: OpenAILabeller, todo: Iterable[tuple[str, Request]]
) -> Iterator[BatchLine]:
    """One line per question."""
    for key, request in todo:
        yield BatchLine(labeller.batch_line(key, labeller.body(request)))


@dataclass(frozen=True, slots=True)
class BatchReply:
    """One line of a result file: the reply's JSON object, or the error. ``final`` means that the
    server refuses this question, so that asking again is pointless."""

    key: str
    reply: Mapping[str, Any] | None
    error: str | None
    final: bool = False


def read_replies(path: Path) -> list[BatchReply]:
    """All replies of a result file, in JSON Lines or Parquet with the same fields. Raises
    FormatError with all lines that are not replies."""
    rows: list[bytes | dict[str, Any]]
    try:
        if path.suffix == ".parquet":
            rows = [*_cells(path)]
        else:
            rows = [*path.read_bytes().removeprefix(BOM_UTF8).splitlines()]
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    replies: list[BatchReply] = []
    faults: list[Fault] = []
    for number, line in enumerate(rows, start=1):
        if isinstance(line, bytes) and not line.strip():
            continue
        found = _reply(line)
        if isinstance(found, str):
            cure = "Use the result file as the server wrote it, not the file of questions."
            if number == len(rows) > 1 and "not JSON" in found and not faults:
                cure = "The file seems to be cut off: fetch it again, or remove its last line."
            faults.append(Fault(str(path), number, None, found, cure))
        else:
            replies.append(found)
    if faults:
        raise FormatError(faults)
    return replies


def _unreadable(path: Path, why: str) -> FormatError:
    cure = "Use the name of a batch result file."
    return FormatError([Fault(str(path), 0, None, f"{why}.", cure)])


def _cells(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file, in which objects may be given as JSON."""
    import polars as pl  # noqa: PLC0415 (slow to load, and most results are JSON Lines)

    try:
        rows = pl.read_parquet(path.read_bytes()).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, str(error)) from error
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and value.startswith(("{", "null")):
                with suppress(orjson.JSONDecodeError):
                    row[name] = orjson.loads(value)
    return rows


def _reply(line: bytes | dict[str, Any]) -> BatchReply | str:
    try:
        row = line if isinstance(line, dict) else orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"This is not JSON ({error})."
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return "There is no 'custom_id'."
    if isinstance(row.get("result"), dict):
        return _of_message(row["custom_id"], row["result"])
    if "response" not in row and "error" not in row:
        return "There is no 'response' and no 'error'."
    response = row.get("response") or {}
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code", 200) if isinstance(response, dict) else None
    if row.get("error") or status != 200 or not isinstance(body, dict):
        why = f"{row['error']}" if row.get("error") else f"HTTP {status}: {_error_text(body)}"
        return BatchReply(row["custom_id"], None, excerpt(why), status in _REFUSALS)
    return BatchReply(row["custom_id"], body, None)


def _of_message(key: str, result: Mapping[str, Any]) -> BatchReply:
    """The reply in a result of a Message Batch."""
    message, kind = result.get("message"), str(result.get("type"))
    if kind == "succeeded" and isinstance(message, dict):
        return BatchReply(key, chat_completion(message), None)
    error = result.get("error")
    inner = error.get("error", error) if isinstance(error, dict) else {}
    final = inner.get("type") in ("invalid_request_error", "request_too_large")
    return BatchReply(key, None, excerpt(f"{kind}: {_error_text(error)}"), final)


def reply_outcome(labeller: OpenAILabeller, request: Request, reply: BatchReply) -> Outcome | None:
    """The outcome of a batch reply: failed if the server refused the question, as in live judging.
    None if the server did not reach it (an overload, an expired batch): the label stays missing and
    can be asked again."""
    if reply.reply is not None:
        return labeller.read(request, reply.reply)
    return labeller.refused(f"batch: {reply.error}") if reply.final else None


def _error_text(body: object) -> str:
    """The message in the body of an error."""
    error = body.get("error", body) if isinstance(body, dict) else body
    return str(error.get("message") or error) if isinstance(error, dict) else str(error or "")
