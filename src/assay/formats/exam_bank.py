"""Writing of question banks: records that were read keep all but what has changed."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from assay.formats.exam_bank_reading import (
    COLUMNS,
    LISTS,
    TABLE,
    TEXTS,
    has_text,
    items_of,
    query_of,
    read_bank,
    read_question,
    row_of_cells,
)
from assay.model.errors import SettingsError
from assay.model.exam import Bank, BankQuestion
from assay.model.wording import quoted

_BLANK = frozenset("\t\n\r")


def write_bank(bank: Bank) -> bytes:
    """The bank as JSON Lines. Records that were read keep all fields in their order; questions
    without a record get a new one, with the keys that the workbench expects."""
    rows, new = _patched(bank.rows if bank.form == "lines" else (), bank)
    rows += [_record(bank, query, questions) for query, questions in new.items()]
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def workbench_bank(bank: Bank) -> bytes:
    """The same for the workbench, which reads neither tables nor flat files."""
    return write_bank(bank if all(map(_list_of, bank.rows)) else replace(bank, rows=()))


def open_bank(path: Path) -> Bank:
    """Read the bank at ``path``, or make an empty one of the form that the name implies."""
    if path.exists():
        return read_bank(path).require()
    names = path.name.removesuffix(".gz")
    return Bank({}, form="table" if names.endswith(".tsv") else "lines")


def bank_file(path: Path, bank: Bank) -> bytes:
    """The contents of ``path`` with ``bank`` in it: in the form that the bank was read in, and
    compressed like the file. Raises SettingsError if that form cannot hold the bank."""
    if bank.form == "tqa":
        raise SettingsError(
            f"{path}: this is TQA's own JSON, which is not changed. Put the questions into a bank "
            "of JSON Lines (out/bank.jsonl of an evaluation is one), and edit that."
        )
    data = _table(path, bank) if bank.form == "table" else write_bank(bank)
    magic = path.read_bytes()[:3] if path.exists() else b""
    if magic == b"BZh":
        return bz2.compress(data)
    packs = magic.startswith(b"\x1f\x8b") if magic else path.suffix == ".gz"
    return packed(data) if packs else data


def packed(data: bytes) -> bytes:
    """``data`` compressed with gzip, without a time stamp, so that equal data give equal bytes."""
    return gzip.compress(data, compresslevel=6, mtime=0)  # 9 takes four times as long to save 1 %


def _patched(
    rows: Sequence[Mapping[str, Any]], bank: Bank
) -> tuple[list[dict[str, Any]], dict[str, list[BankQuestion]]]:
    """The records updated with the bank's questions, and by query the questions of queries without
    a record. A new question is appended to the last list of its query (and subtopic)."""
    asked = {
        (query, one.id): one for query, found in bank.queries.items() for one in found.questions
    }
    seen: set[tuple[str, str]] = set()
    written: list[dict[str, Any]] = []
    for row in rows:
        query = query_of(row) or ""
        put: list[Any] = []
        for item in items_of(row) or ():
            if not has_text(item):
                put.append(item)  # blank questions stay in place
                continue
            before = read_question(row, item)
            seen.add((query, before.id))
            after = asked.get((query, before.id))
            if after is not None:
                put.append({**item, **_changes(item, before, after)})
        name = _list_of(row)
        if name is None:
            written.extend(put)
        else:
            written.append({**row, name: put})
    new: dict[str, list[BankQuestion]] = {}
    for query, found in bank.queries.items():
        own = [(row, name) for row in written if query_of(row) == query and (name := _list_of(row))]
        left = [one for one in found.questions if (query, one.id) not in seen]
        for one in left if own else ():
            fitting = [each for each in own if each[0].get("facet_id") == one.facet]
            row, name = (fitting or own)[-1]
            row[name] = [*row[name], _item(query, one)]
        if not own and (left or not found.questions):
            new[query] = left
    return written, new


def _list_of(row: Mapping[str, Any]) -> str | None:
    return next((name for name in LISTS if isinstance(row.get(name), list)), None)


def _changes(item: Mapping[str, Any], before: BankQuestion, after: BankQuestion) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if after.text != before.text:
        name = next(name for name in TEXTS if isinstance(item.get(name), str))
        changes[name] = after.text
        if not any(item.get(name) for name in ("question_id", "nugget_id")):
            # An id derived from the text would change with it, so it is written down.
            changes["nugget_id" if after.nugget else "question_id"] = after.id
    if after.gold != before.gold:
        changes["gold_answers"] = list(after.gold)
    for name in ("weight", "active", "origin"):
        if getattr(after, name) != getattr(before, name):
            changes[name] = getattr(after, name)
    return changes


def _item(query: str, one: BankQuestion) -> dict[str, Any]:
    kind = "nugget" if one.nugget else "question"
    item: dict[str, Any] = {
        "query_id": query,
        "facet_id": one.facet,
        "facet_text": one.facet_text,
        "info": None,
        f"{kind}_id": one.id,
        f"{kind}_text": one.text,
        "gold_answers": list(one.gold) or None,
    }
    if one.choices:
        item["choices"] = dict(one.choices)
    if one.weight != 1.0:
        item["weight"] = one.weight
    if not one.active:
        item["active"] = False
    if one.origin is not None:
        item["origin"] = one.origin
    return item


def _record(bank: Bank, query: str, questions: Sequence[BankQuestion]) -> dict[str, Any]:
    return {
        "query_id": query,
        "facet_id": None,
        "facet_text": None,
        "test_collection": bank.collection or "",
        "query_text": bank.queries[query].text or "",
        "info": None,
        "items": [_item(query, one) for one in questions],
    }


def _table(path: Path, bank: Bank) -> bytes:
    rows = [row_of_cells(row) for row in bank.rows]
    patched, new = _patched(rows, bank)
    lines = [_cells(row) for row in patched]
    for query, questions in new.items():
        for one in questions:
            text = bank.queries[query].text
            lines.append(_cells({**_item(query, one), "query_text": text}))
    used = [name for name in COLUMNS if name in TABLE or any(line.get(name) for line in lines)]
    given = list(bank.rows[0]) if bank.rows else []
    header = [*given, *(name for name in used if name not in given)]
    return "".join("\t".join(cells) + "\n" for cells in _rows(path, header, lines)).encode()


def _rows(path: Path, header: list[str], lines: Sequence[Mapping[str, str]]) -> Iterator[list[str]]:
    yield header
    for line in lines:
        cells = [line.get(name, "") for name in header]
        wrong = next((cell for cell in cells if _BLANK & set(cell)), None)
        if wrong is not None:
            raise SettingsError(
                f"{path}: a table cannot hold {quoted(wrong)}, which has a tab or a line break. "
                "Leave these out, or keep the bank as JSON Lines."
            )
        yield cells


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """A record as the cells of a table."""
    if row.get("choices"):
        raise SettingsError("A table cannot hold options. Keep the bank as JSON Lines.")
    cells = {name: str(row[name]) for name in COLUMNS if row.get(name) is not None}
    gold = [one.strip() for one in row.get("gold_answers") or ()]
    if any("|" in one for one in gold):
        raise SettingsError(
            "A table separates gold answers by '|', which one of them holds. Leave it out, or keep "
            "the bank as JSON Lines."
        )
    cells["gold_answers"] = " | ".join(gold)
    cells["weight"] = repr(row["weight"]).removesuffix(".0") if "weight" in row else ""
    cells["active"] = "" if row.get("active", True) else "no"
    return cells
