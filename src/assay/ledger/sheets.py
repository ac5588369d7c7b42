"""Labels by people from a spreadsheet: a table with a row for each unit, in which verdicts are
filled in."""

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
"""What the names of columns begin with that hold a verdict, before the name of its field."""
UNIT = "unit."
"""The same of columns that show a field of the unit."""

_UNITS = ("uid", "unit_hash")
_READ = (*_UNITS, "task", "labeller", "reason")


def sheet_rows(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet with their lines, as an export of labels has them. A row whose verdict is
    empty is still to be labelled, and left out; so are columns of places, which are there for
    people, as those of texts are, but see :func:`shown_unit`."""
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
    """The content that a row of a sheet shows, where it is that of its ``unit_hash`` to the letter:
    a text that a spreadsheet changed on its way is none."""
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
    """What a cell says: lists are written as JSON, all else as it is."""
    return _json(cell) if cell[0] in "[{" else cell


def _json(cell: str) -> Any:
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError:
        return cell
