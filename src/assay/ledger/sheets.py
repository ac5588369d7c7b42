"""People's labels from a sheet: a table with a row for each unit, where they fill in verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from assay.formats.cells import read_cells
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText
from assay.model.wording import joined, noun, quoted
from assay.tasks.base import unit_hash
from assay.tasks.registry import REGISTRY

VERDICT = "verdict."
"""Prefix of the columns that hold a field of the verdict."""
UNIT = "unit."
"""Prefix of the columns that show a field of the unit."""

_UNITS = ("uid", "unit_hash")
_READ = (*_UNITS, "task", "labeller", "reason")


def sheet_rows(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet with their line numbers, in the form of exported labels. Rows with an
    empty verdict are still to be labelled, and are left out. So are columns that only inform
    people; the unit's text is kept for :func:`shown_unit`."""
    cells = read_cells(source.lines, faults, texts=True)
    said = [] if cells is None else [name for name in cells.names if name.startswith(VERDICT)]
    shown = [] if cells is None else [name for name in cells.names if name.startswith(UNIT)]
    if cells is None or not said or not set(_UNITS) & set(cells.names):
        faults.error(
            0 if cells is None else cells.line,
            "The table has no column uid or unit_hash, or no column whose name begins with "
            f"{VERDICT!r}.",
            "Keep the columns as 'assay labels export FOLDER --task T --sheet' writes them.",
        )
        return
    twice = {name for name in (*_READ, *said) if cells.names.count(name) > 1}
    if twice:
        faults.error(
            cells.line, f"Columns are duplicated: {', '.join(sorted(twice))}.", "Keep one."
        )
        return
    empty = True
    for line, record in cells.records():
        verdict = {
            name.removeprefix(VERDICT): _value(record[name]) for name in said if record[name]
        }
        empty &= not verdict
        who = record.get("labeller", "").strip()
        if verdict and who and not who.startswith("human:"):
            why = f"A sheet is filled in by people, and {quoted(who)} is not a person's name."
            cure = "Write human:NAME, or remove the column and give --by human:NAME."
            faults.error(line, why, f"{cure} Import labels by machines as JSON Lines.")
        elif verdict:
            row = {"verdict": verdict} | {n: record[n] for n in _READ if record.get(n)}
            yield line, row | {name: record[name] for name in shown}
    if empty:
        why = f"No row has a verdict: {joined(said)} {noun(len(said), 'is', 'are')} empty."
        faults.error(cells.line, why, "Fill in these columns; others are ignored.")


def shown_unit(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The unit's content that a row of a sheet shows, or None if it does not match ``unit_hash``,
    for example because a spreadsheet program changed the text."""
    task = REGISTRY.get(str(row.get("task")))
    if task is None:
        return None
    given = {
        name: cell if field.annotation is str else _json(cell)
        for name, field in task.unit.model_fields.items()
        if (cell := row.get(UNIT + name)) is not None
    }
    try:
        content = task.unit.model_validate(given).model_dump(mode="json")
    except ValidationError:
        return None
    return content if unit_hash(task.name, content) == row.get("unit_hash") else None


def _value(cell: str) -> Any:
    """A cell's value: lists and objects are JSON, everything else is plain text."""
    return _json(cell) if cell[0] in "[{" else cell


def _json(cell: str) -> Any:
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError:
        return cell
