"""Common parts of all imports: rows of any file, texts inside values, records, and counts."""

from __future__ import annotations

import ast
import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
import polars as pl

from assay.formats.cells import is_table, separator
from assay.formats.jsonl import read_json, read_values
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import read_text
from assay.model.errors import Fault, FormatError, SettingsError
from assay.model.options import Option
from assay.model.wording import quoted

Row = dict[str, Any]
_TABLES: Mapping[bytes, Callable[[Path], pl.DataFrame]] = {
    b"PAR1": pl.read_parquet,
    b"ARRO": pl.read_ipc,
    b"\xff\xff\xff\xff": pl.read_ipc_stream,  # what datasets saves to disk
}
"""Readers of binary tables, by the first bytes of the file."""
QUESTION_KEYS = ("question", "query", "input")
ANSWER_KEYS = ("answer", "output", "result", "response", "content", "text")
REDACTED = "__REDACTED__"
_LIST_IN_TEXT = re.compile(r"\[\s*(?:['\"{].*['\"}]|\w+\(.*\))\s*\]", re.DOTALL)
_LISTS = ("documents", "results", "chunks", "nodes")


@dataclass(frozen=True)
class Choices:
    """The options of ``assay import``."""

    run: Annotated[str | None, Option("Name of the run.")] = None
    id_from: Annotated[
        str | None,
        Option(
            "Take ids from this metadata key: a gate needs ids that stay the same from day to day.",
            metavar="KEY",
        ),
    ] = None
    fields: Annotated[Mapping[str, str], Option("hf: which column holds which field.")] = field(
        default_factory=dict
    )
    split: Annotated[str | None, Option("deepeval's CSV: what separates contexts.")] = None
    retrievers: Annotated[
        str,
        Option(
            "Which of several retrievers in a trace to use: those whose results the answer had, "
            "the first, the last, or one by name.",
            metavar="answer|first|last|NAME",
        ),
    ] = "answer"
    retriever: Annotated[
        str | None, Option("langfuse: name of the retriever span.", metavar="NAME")
    ] = None
    tool: Annotated[str | None, Option("otel: use retrieval by this tool.", metavar="NAME")] = None
    question_path: Annotated[
        str | None,
        Option("otel, langfuse: where in a trace's input the question is.", metavar="POINTER"),
    ] = None
    answer_path: Annotated[
        str | None,
        Option("otel, langfuse: where in its output the answer is.", metavar="POINTER"),
    ] = None
    turns: Annotated[
        str, Option("Which turns of a conversation to import.", metavar="all|first|last")
    ] = "all"
    drop_unretrieved: Annotated[bool, Option("Leave out records that retrieved nothing.")] = False
    not_truncated: Annotated[bool, Option("Do not treat any text as truncated.")] = False
    keep_users: Annotated[bool, Option("Keep user ids in the metadata.")] = False
    texts: Mapping[str, str] = field(default_factory=dict)
    redact: Sequence[re.Pattern[str]] = ()


@dataclass
class Imported:
    """The result of an import: records as JSON objects in file order, ``questions`` if a file has
    no answers, what was left out and why, and counts; ``notes`` say how the file was read.
    ``traces``: whether several records of one id are retries, in order of time."""

    records: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    traces: bool = False


# -- files ----------------------------------------------------------------------------------------


def rows_of(path: Path) -> Parsed[list[Any]]:
    """The rows of a Parquet, Arrow, CSV, JSON or JSON Lines file; a JSON object is one row. Raises
    FormatError if the file cannot be read at all."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic in _TABLES:
            return Parsed(_TABLES[magic](path).to_dicts(), ())
        source = read_text(path)
        if is_table(path):
            mark = separator(source.first_line)
            frame = pl.read_csv(source.data, infer_schema=False, separator=mark)
            rows = [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()]
            return Parsed(rows, ())
    except (OSError, pl.exceptions.PolarsError) as error:
        why = f"It cannot be read: {str(error).partition(chr(10))[0]}."
        cure = "Give JSON, JSON Lines, Parquet, Arrow or CSV as the tool exports it, in UTF-8."
        raise FormatError([Fault(str(path), 0, None, why, cure)]) from error
    faults = FaultList(source.file, source.faults)
    try:
        whole, _ = read_json("\n".join(source.lines))
        rows = whole if isinstance(whole, list) else [whole]
    except orjson.JSONDecodeError:
        rows = [one for _, one in read_values(source, faults)]
    return Parsed(rows, faults.done())


# -- values ---------------------------------------------------------------------------------------


def parsed(value: Any) -> Any:
    """Parse a text that is JSON; return anything else unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def listed_in(value: Any) -> list[Any]:
    """A list, perhaps written in a CSV cell as JSON or Python; any other text is a list of itself.
    Raises SettingsError for a list as NumPy prints it, whose items are lost, and for one of objects
    (``[Document(…)]``)."""
    value = parsed(value)
    if isinstance(value, str) and _LIST_IN_TEXT.fullmatch(value):
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found = None
        # NumPy prints no commas, and Python reads 'a' 'b' as 'ab'.
        if repr(found) != value:
            raise SettingsError(
                f"{quoted(value)} is a list written as text that cannot be split. Export the data "
                "set as JSON Lines or Parquet."
            )
        return list(found)
    if isinstance(value, str):
        return [value] if value else []
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[Row]:
    """The objects of a list; empty if it is not a list."""
    found = parsed(value)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def name_in(value: Any) -> str | None:
    """An id: a non-empty text, or a number."""
    is_id = isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


def number_in(value: Any) -> int | float | None:
    """A finite number, perhaps written as text in a CSV cell."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def first_of(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value under the first of ``names`` that the row has a value for."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def text_in(value: Any, keys: Sequence[str], roles: Sequence[str], path: str | None = None) -> Any:
    """The question or answer in an input or output: a text, the value of the first of ``keys``, or
    the last message of one of ``roles``; ``path`` is a JSON pointer to it, if given."""
    value = parsed(value)
    if path is not None:
        return _at(value, path)
    if isinstance(value, str) or value is None:
        return None if value == REDACTED else value
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list):
            return text_in(value["messages"], keys, roles)
        return text_in(first_of(value, keys), keys, roles)
    if isinstance(value, list):
        return next((text for one in reversed(value) if (text := message(one, roles))), None)
    return str(value)


def message(one: Any, roles: Sequence[str]) -> str | None:
    """The text of a message, in any of the known shapes, if its role is one of ``roles``."""
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
    texts = [first_of(part, ("content", "text")) for part in objects_in(content)]
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
    """A passage of a record, from a text or a document in any of the usual shapes; None if there is
    nothing. A document of another shape gives a passage without text."""
    one = parsed(one)
    if one in (None, "", {}, []):
        return None
    if isinstance(one, str) and one != REDACTED:
        return {"text": one}
    one = one if isinstance(one, dict) else {}
    inner = one.get("document")
    one = inner if isinstance(inner, dict) else one
    meta = parsed(one.get("metadata"))
    meta = meta if isinstance(meta, dict) else {}
    text = first_of(one, ("page_content", "pageContent", "content", "text", "contents"))
    text = None if text == REDACTED else name_in(text)
    name = name_in(first_of(one, ("id", "doc_id"))) or name_in(meta.get("id"))
    if name is None and (source := name_in(meta.get("source"))) is not None:
        name = f"{source}#{rank}"
    if name is None and text is None:
        name = f"#{rank}"
    found: Row = {"text": text} if name is None else {"id": name, "text": text}
    score = one.get("score")
    if isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score):
        found["score"] = score
    return found


def passages_of(value: Any) -> list[Row]:
    """The passages of a list or of ``{documents | results | chunks | nodes: […]}``, or just one."""
    value = parsed(value)
    if isinstance(value, dict):
        inside = (value[name] for name in _LISTS if isinstance(parsed(value.get(name)), list))
        value = next(inside, [value] if value else [])
    found = (passage_of(one, rank) for rank, one in enumerate(listed_in(value), 1))
    return [one for one in found if one is not None]


def question_id(question: str) -> str:
    """An id for a question without one, made from its text in NFC."""
    text = unicodedata.normalize("NFC", question).strip()
    return f"q:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def flat(value: Any) -> dict[str, Any]:
    """The scalar values of metadata, with lists of texts joined."""
    value = parsed(value)
    found: dict[str, Any] = {}
    for key, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, str | int | float | bool) and not is_nan(one):
            found[str(key)] = one
        elif isinstance(one, list) and all(isinstance(each, str) for each in one) and one:
            found[str(key)] = ", ".join(one)
    return found


def snake(name: str) -> str:
    """``camelCase`` as ``camel_case``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


Reader = Callable[[Sequence[tuple[Path, list[Any]]], Choices], Imported]


def pick(name: str, known: Mapping[str, Reader]) -> Reader:
    """The reader called ``name``. Raises SettingsError if there is none."""
    if name not in known:
        raise SettingsError(f"There is no import of '{name}'; there are {', '.join(known)}.")
    return known[name]
