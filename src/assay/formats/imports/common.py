"""What all imports share: rows of any file, texts inside values, records, and what was counted."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from assay.formats.text import read_text
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.records import text_id

Row = dict[str, Any]
QUESTION_KEYS = ("question", "query", "input")
ANSWER_KEYS = ("answer", "output", "result", "response", "content", "text")
REDACTED = "__REDACTED__"
_CUT = ("…", "...", "[truncated]", "<truncated>")
_LEAST_CUT = 100
"""Characters that a text has at least which an attribute limit cut."""


@dataclass(frozen=True)
class Choices:
    """What the options of ``assay import`` say."""

    run: str | None = None
    id_from: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    retrievers: str = "answer"
    retriever: str | None = None
    tool: str | None = None
    question_path: str | None = None
    answer_path: str | None = None
    turns: str = "all"
    drop_unretrieved: bool = False
    not_truncated: bool = False
    keep_users: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    redact: Sequence[re.Pattern[str]] = ()


@dataclass
class Imported:
    """Records (as JSON has them) in the order of the file, ``questions`` where a file has no
    answers, what was left out and why, and what was counted; ``notes`` say how it was read."""

    records: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


# -- files ----------------------------------------------------------------------------------------


def rows_of(path: Path) -> list[Any]:
    """The rows of a Parquet, CSV, JSON or JSON Lines file; a JSON object is one row. Raises
    FormatError."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"PAR1":
            return pl.read_parquet(path).to_dicts()
        if path.suffix.lower() == ".csv":
            frame = pl.read_csv(path, infer_schema=False)
            return [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unreadable(path, 0, str(error).partition("\n")[0]) from error
    source = read_text(path)
    text = "\n".join(source.lines)
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError:
        return list(_lines(path, source.numbered()))
    return whole if isinstance(whole, list) else [whole]


def _lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Any]:
    for number, line in lines:
        if line.strip():
            try:
                yield json.loads(line)  # which reads NaN, as other tools write it
            except json.JSONDecodeError as error:
                raise _unreadable(path, number, f"this is no JSON ({error.msg})") from error


def _unreadable(path: Path, line: int, why: str) -> FormatError:
    cure = "Give JSON, JSON Lines, Parquet or CSV as the tool exports it."
    return FormatError([Fault(str(path), line, None, f"It cannot be read: {why}.", cure)])


# -- values ---------------------------------------------------------------------------------------


def parsed(value: Any) -> Any:
    """A text that is JSON as what it says; all else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def first_of(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of some keys that a row has a value under."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def text_in(value: Any, keys: Sequence[str], roles: Sequence[str], path: str | None = None) -> Any:
    """The question or answer inside an input or output: a text, the value of the first of ``keys``,
    or the last message of one of ``roles``; ``path`` is a JSON pointer that says where it is."""
    value = parsed(value)
    if path is not None:
        return _at(value, path)
    if isinstance(value, str) or value is None:
        return None if value == REDACTED else value
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list):
            return text_in(value["messages"], keys, roles)
        found = first_of(value, keys)
        return text_in(found, keys, roles) if isinstance(found, dict | list) else found
    if isinstance(value, list):
        return next((text for one in reversed(value) if (text := message(one, roles))), None)
    return str(value)


def message(one: Any, roles: Sequence[str]) -> str | None:
    """The text of a message of one of some roles, in any of the shapes that there are."""
    if not isinstance(one, dict):
        return None
    inner = one.get("message")
    one = inner if isinstance(inner, dict) else one
    role = one.get("role") or one.get("type")
    if role not in roles:
        return None
    content = one.get("content")
    if content is None:
        content = one.get("parts")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [p.get("content") or p.get("text") for p in parts if isinstance(p, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


USER = ("user", "human")
ASSISTANT = ("assistant", "ai", "model")


def _at(value: Any, pointer: str) -> Any:
    for part in pointer.strip("/").split("/"):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value if isinstance(value, str) else None


def passage_of(one: Any, rank: int) -> Row | None:
    """A passage as a record has it, of a text or a document in any of the usual shapes."""
    one = parsed(one)
    if isinstance(one, str):
        return {"text": one}
    if not isinstance(one, dict):
        return None
    inner = one.get("document")
    one = inner if isinstance(inner, dict) else one
    meta = parsed(one.get("metadata"))
    meta = meta if isinstance(meta, dict) else {}
    text = first_of(one, ("page_content", "pageContent", "content", "text", "contents"))
    text = None if text is None or text == REDACTED else str(text)
    name = first_of(one, ("id", "doc_id"))
    if name is None:
        name = meta.get("id")
    if name is None and meta.get("source") is not None:
        name = f"{meta['source']}#{rank}"
    if name is None and text is None:
        return None
    found: Row = {} if name is None else {"id": str(name)}
    found["text"] = text
    score = one.get("score")
    if isinstance(score, int | float) and math.isfinite(score):
        found["score"] = score
    return found


def passages_of(value: Any) -> list[Row]:
    """The passages of a list, or of ``{documents | results | chunks | nodes: […]}``."""
    value = parsed(value)
    if isinstance(value, dict):
        value = first_of(value, ("documents", "results", "chunks", "nodes"))
    if isinstance(value, str):
        value = [value]
    found = (passage_of(one, rank) for rank, one in enumerate(value or (), 1))
    return [one for one in found if one is not None]


def question_id(question: str) -> str:
    """The id of a question that has none: of its text in NFC."""
    text = unicodedata.normalize("NFC", question).strip()
    return f"q:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def flat(value: Any) -> dict[str, Any]:
    """What of a table of metadata is flat; lists of texts are joined."""
    value = parsed(value)
    found: dict[str, Any] = {}
    for key, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, str | int | float | bool) and not is_nan(one):
            found[str(key)] = one
        elif isinstance(one, list) and all(isinstance(each, str) for each in one) and one:
            found[str(key)] = ", ".join(one)
    return found


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -- records --------------------------------------------------------------------------------------


def finished(found: Imported, choices: Choices) -> Imported:
    """The records with ids, texts by id, what is redacted and what is cut; of several of one id the
    last in time. Their order is that of the file."""
    kept: dict[str, Row] = {}
    for row in found.records:
        if choices.id_from is not None:
            value = row.get("metadata", {}).get(choices.id_from)
            if value is None:
                found.dropped[f"no {choices.id_from} in its metadata"] += 1
                continue
            row["id"] = str(value)
        if not row.get("passages") and choices.drop_unretrieved:
            found.dropped["nothing was retrieved"] += 1
            continue
        _complete(row, choices, found)
        if choices.run is not None:
            row["run"] = choices.run
        key = f"{row.get('run', '')}\t{row['id']}"
        if key in kept:
            found.counts["retried (the last in time is kept)"] += 1
            del kept[key]
        kept[key] = {name: row[name] for name in _ORDER if name in row}
    found.records = list(kept.values())
    if not choices.not_truncated:
        _mark_cut(found)
    return found


_ORDER = (
    "id", "run", "question", "answer", "passages", "references", "answerable", "ranked", "history",
    "session", "retrieval_query", "reference_passages", "error", "truncated", "metadata",
)  # fmt: skip


def _complete(row: Row, choices: Choices, found: Imported) -> None:
    passages: dict[str, Row] = {}
    for one in row["passages"]:
        if one.get("text") is None and one.get("id") in choices.texts:
            one = {**one, "text": choices.texts[one["id"]]}
        if "id" not in one:
            found.counts["passages without id"] += 1
            one = {"id": text_id(one["text"]), **one}
        if one.get("text") is None:
            found.counts["passages without text"] += 1
        if one["id"] in passages and passages[one["id"]]["text"] != one["text"]:
            one = {**one, "id": f"{one['id']}@{text_id(one['text'] or '')}"}  # another chunk of it
        passages.setdefault(one["id"], one)
    row["passages"] = list(passages.values())
    if not choices.redact:
        return

    def hidden(text: str) -> str:
        for pattern in choices.redact:
            text = pattern.sub("[redacted]", text)
        return text

    for holder, name in [
        (row, "question"),
        (row, "answer"),
        *((p, "text") for p in passages.values()),
    ]:
        text = holder.get(name)
        if isinstance(text, str) and (left := hidden(text)) != text:
            found.counts["texts redacted"] += 1
            empty = left.replace("[redacted]", "").strip() == ""
            holder[name] = None if empty and name == "text" else left


def _mark_cut(found: Imported) -> None:
    """Mark texts that an attribute limit cut: those that end so, or three and more of exactly the
    greatest length that end in no sentence."""
    texts = [
        (holder, name)
        for row in found.records
        for holder, name in [(row, "answer"), *((p, "text") for p in row["passages"])]
        if isinstance(holder.get(name), str) and holder[name]
    ]
    lengths = Counter(len(holder[name]) for holder, name in texts)
    longest = max(lengths, default=0)
    limit = longest if lengths[longest] >= 3 and longest >= _LEAST_CUT else -1
    for holder, name in texts:
        text = holder[name].rstrip()
        at_limit = len(holder[name]) == limit and not text.endswith((".", "!", "?", '"', "”"))
        if text.endswith(_CUT) or at_limit:
            holder["truncated"] = True
            found.counts["answers cut" if name == "answer" else "passages cut"] += 1


def by_session(rows: list[Row], choices: Choices) -> list[Row]:
    """Turns of one session, which stand in order of time: id ``SESSION/N`` and the earlier ones as
    history."""
    sessions: dict[str, list[Row]] = {}
    for row in rows:
        sessions.setdefault(row.get("session") or f"\0{row['id']}", []).append(row)
    found = []
    for name, turns in sessions.items():
        if len(turns) > 1:
            history: list[Row] = []
            for n, row in enumerate(turns, 1):
                row["id"] = f"{name}/{n}"
                if history:
                    row["history"] = list(history)
                history += [{"role": "user", "text": row["question"]},
                            {"role": "assistant", "text": row["answer"]}]  # fmt: skip
        some = {"first": slice(0, 1), "last": slice(-1, None)}.get(choices.turns, slice(None))
        found += turns[some]
    return found


Reader = Callable[[Sequence[tuple[Path, list[Any]]], Choices], Imported]


def pick(name: str, known: Mapping[str, Reader]) -> Reader:
    """The reader of a kind. Raises SettingsError."""
    if name not in known:
        raise SettingsError(f"There is no import of '{name}'; there are {', '.join(known)}.")
    return known[name]
