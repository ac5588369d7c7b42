"""Export of a task's units to a spreadsheet for people to fill in."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from assay.api.correcting import open_units
from assay.api.labels import tasks_named
from assay.api.opened import Opened
from assay.formats.cells import is_table, read_cells
from assay.formats.parsed import FaultList
from assay.formats.text import read_text
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.sheets import UNIT, VERDICT
from assay.model.errors import FormatError, SettingsError
from assay.model.labels import Status
from assay.model.wording import and_list, counted
from assay.protocols.output import csv_bytes, csv_lines
from assay.protocols.places import Place, WhereUsed
from assay.tasks.registry import REGISTRY


class Which(StrEnum):
    """Which units a sheet contains."""

    ALL = "all"
    OPEN = "open"
    DRAWN = "drawn"


def export_sheet(
    opened: Opened, ledger: Ledger, task: str | None, which: Which, where: WhereUsed
) -> tuple[list[str], list[tuple[str, ...]]]:
    """The header and rows of a table for people to fill in: one row per unit of one task, by topic
    and run, without existing labels. Raises SettingsError if no task is named, or none was
    drawn."""
    by_hand = (one for part in opened.parts.values() for one in part.tasks if one.by_people)
    asked = {one.name for one in (*opened.tasks(), *by_hand)}
    named = [one for one in tasks_named(task) or () if one in asked]
    if len(named) != 1:
        which_ones = f" --task {task} means {and_list(named)}." if named else ""
        raise SettingsError(
            f"A sheet holds the units of one task: name it with --task.{which_ones} Tasks asked "
            f"of people here: {and_list(sorted(asked))}."
        )
    (about,) = (REGISTRY[name] for name in named)
    units = [name for name in about.unit.model_fields if name != "reason"]
    said = [f"{VERDICT}{name}" for name in about.verdict.model_fields if name != "reason"]
    rows = []
    for request in _wanted(opened, ledger, about.name, which):
        unit = request.unit_hash
        place = next(iter(where.of(unit)), Place(topic=request.topic))
        texts = (_cell(request.content.get(name)) for name in units)
        rows.append((about.name, unit, *place, *texts, *("" for _ in said), ""))
    header = ["task", "unit_hash", *Place._fields, *(f"{UNIT}{name}" for name in units)]
    by_place = sorted(rows, key=lambda row: (row[3], row[2], *row[4:]))
    return [*header, *said, "reason"], by_place


def require_place(path: Path, *, sheet: bool) -> None:
    """Check that a file may be written. Raises SettingsError if labels that are not a ``sheet``
    would be written to a table, or if a sheet in which verdicts were or may have been filled in
    would be overwritten."""
    if not sheet and is_table(path):
        raise SettingsError(
            f"{path}: labels are written as JSON Lines, so name the file .jsonl. For a table that "
            "people fill in, use --sheet with --task."
        )
    if not sheet or not path.is_file():  # reading a pipe would block
        return
    cure = "Choose another file name, or import this file and delete it."
    try:
        source = read_text(path)
    except FormatError:
        raise SettingsError(f"{path} exists and cannot be read as a sheet. {cure}") from None
    faults = FaultList(source.file)
    cells = read_cells(source.lines, faults, texts=True)
    said = [] if cells is None else [name for name in cells.names if name.startswith(VERDICT)]
    rows = [] if cells is None else [one for _, one in cells.records() if any(map(one.get, said))]
    if rows or (said and faults.faulty):
        what = f"{counted(len(rows), 'row')} filled in" if rows else "rows that cannot be read"
        raise SettingsError(f"{path} is a sheet with {what}, which would be lost. {cure}")


def sheet_bytes(
    header: list[str], rows: Iterable[tuple[str, ...]], path: Path, *, semicolons: bool
) -> bytes:
    """The bytes of a sheet with a UTF-8 byte order mark, without which Excel garbles non-ASCII
    letters."""
    text = b"".join(csv_lines(header, rows, ";")) if semicolons else csv_bytes(header, rows, path)
    return codecs.BOM_UTF8 + text


def _wanted(opened: Opened, ledger: Ledger, task: str, which: Which) -> Iterator[Request]:
    if which is Which.DRAWN:
        draws = [one for one in ledger.draws() if task in one.tasks]
        if not draws:
            raise SettingsError(f"Nothing was drawn of {task}: draw with 'assay draw'.")
        for request, labelled in open_units(opened.parts, ledger, draws[-1]):
            if request.task.name == task and not labelled:
                yield request
        return
    asked = (one for one in opened.people_requests(ledger) if one.task.name == task)
    yield from asked if which is Which.ALL else _unlabelled(opened, ledger, asked)


def _unlabelled(opened: Opened, ledger: Ledger, asked: Iterable[Request]) -> Iterator[Request]:
    """Units without a usable label that counts."""
    books = [one.book(ledger) for one in opened.parts.values()]
    for request in asked:
        found = (one.find(request.task, request.content) for one in books)
        if not any(one is not None and one.status is Status.OK for one in found):
            yield request


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
