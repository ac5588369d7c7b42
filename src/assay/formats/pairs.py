"""Pairs for ``assay label``: a claim and a passage, a question and a passage, an answer and its
gold answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Any

import orjson

from assay.formats.cells import is_table, one_column, read_cells
from assay.formats.jsonl import read_objects
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import SourceText, reads_file
from assay.model.wording import quoted

Id = str | int
_LARGEST = 1 << 63


class PairTask(StrEnum):
    """The question about a pair: does the passage support the claim, does it answer the question,
    or is the answer correct according to the gold answers?"""

    SUPPORT = "support"
    ANSWERS = "answers"
    CORRECT = "correct"


FIELDS: Mapping[PairTask, tuple[str, ...]] = {
    PairTask.SUPPORT: ("claim", "passage"),
    PairTask.ANSWERS: ("question", "passage"),
    PairTask.CORRECT: ("question", "answer", "gold"),
}
"""The fields of a pair, apart from its id."""

GOLD = "gold"
"""The only field that holds several texts."""

_QUOTES = tuple("\"'‘’“”„«")


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair: its id as given, its texts by field, and its gold answers."""

    id: Id
    texts: Mapping[str, str]
    gold: tuple[str, ...] = ()


@reads_file
def read_pairs(source: SourceText, faults: FaultList, task: PairTask) -> list[Pair]:
    """The pairs of a file of JSON Lines, or of a table (CSV, TSV) with a header. Further fields
    are ignored."""
    rows = _rows(source, task, faults) if is_table(source.path) else read_objects(source, faults)
    pairs = _pairs(rows, task, faults)
    if not pairs and not faults.faulty:
        shape = "Write a row for each pair." if is_table(source.path) else _shape(task)
        faults.error(0, "The file holds no record.", shape)
    return pairs


def _rows(
    source: SourceText, task: PairTask, faults: FaultList
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a table as records, numbered from 1 if there is no id column. Several gold
    answers are written as a JSON list."""
    cells = read_cells(source.lines, faults, texts=True)
    if cells is None:
        return
    columns = ("id", *FIELDS[task])
    wanted = columns if "id" in cells.names else columns[1:]
    cure = f"Begin with the line {','.join(columns)}."
    if None in [one_column(cells, (name,), name, faults, cure) for name in wanted]:
        return
    for number, (line, row) in enumerate(cells.records(), 1):
        record: dict[str, Any] = {"id": str(number), **row}
        if record.get(GOLD, "").startswith("["):
            with suppress(orjson.JSONDecodeError):
                record[GOLD] = orjson.loads(record[GOLD])
        yield line, record


def pairs_of(records: Iterable[object], task: PairTask) -> Parsed[list[Pair]]:
    """The pairs of records in memory. Faults number records from 1; ids count from 0 if no record
    has one."""
    faults = FaultList("records")
    given = list(records)
    named = any(isinstance(one, Mapping) and "id" in one for one in given)
    numbered: list[tuple[int, Mapping[str, Any]]] = []
    for number, one in enumerate(given, 1):
        if isinstance(one, Mapping):
            numbered.append((number, one if named else {"id": number - 1, **one}))
        else:
            faults.error(number, f"The record is a {type(one).__name__}.", _shape(task))
    return Parsed(_pairs(numbered, task, faults), faults.done())


def _pairs(
    records: Iterable[tuple[int, Mapping[str, Any]]], task: PairTask, faults: FaultList
) -> list[Pair]:
    pairs: list[Pair] = []
    seen: dict[str, int] = {}
    for number, record in records:
        own = _id(record.get("id"))
        at = faults.at(number, None if own is None else str(own))
        if own is None:
            at.error("The record has no id.", "Give a text or a whole number as 'id'.")
        elif str(own) in seen:
            why = f"The id {quoted(str(own))} is already in record {seen[str(own)]}."
            at.error(why, "Give each record its own id.")
        else:
            seen[str(own)] = number
        texts: dict[str, str] = {}
        gold: tuple[str, ...] = ()
        for name in FIELDS[task]:
            value = record.get(name)
            if name not in record:
                at.error(f"The record has no '{name}'.", _shape(task))
            elif name == GOLD and (several := _texts(value)) is not None:
                gold = several
                if isinstance(value, str) and _like_a_list(value):
                    why = "'gold' looks like a list, but is one text, and counts as one answer."
                    cure = 'If several are meant, write a list in JSON: ["…", "…"].'
                    at.warning(why, cure)
            elif name != GOLD and isinstance(value, str) and _is_text(value):
                texts[name] = value
            else:
                what = "a list of texts" if name == GOLD else "a text"
                at.error(f"'{name}' is not {what}.", _shape(task))
        if own is not None:
            pairs.append(Pair(own, texts, gold))
    return pairs


def _id(value: object) -> Id | None:
    if isinstance(value, str):
        return value if value.strip() and _is_text(value) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas makes a column of integers float if one is missing
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value) if -_LARGEST <= int(value) < _LARGEST else None
    return None


def _texts(value: Any) -> tuple[str, ...] | None:
    """Gold answers: a list of texts, or one text."""
    if isinstance(value, str):
        value = [value]
    elif hasattr(value, "tolist"):  # a NumPy array
        value = value.tolist()
    if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
        return None
    return tuple(one for one in value if one.strip())


def _like_a_list(text: str) -> bool:
    """Whether a text was probably meant as a list; "[sic] Paris" was not."""
    text = text.strip()
    if not text.startswith("["):
        return False
    closed = text.endswith("]") or "]" not in text
    return closed or text[1:].lstrip().startswith(_QUOTES)


def _is_text(value: object) -> bool:
    """Whether a value is a string that UTF-8 can encode (a lone surrogate cannot be)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shape(task: PairTask) -> str:
    texts = ", ".join(f'"{name}": {"[…]" if name == GOLD else "…"}' for name in FIELDS[task])
    return f'Write {{"id": …, {texts}}}.'
