"""Labels by people from a spreadsheet: a table with a row for each unit, in which verdicts are
filled in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from assay.formats.cells import read_cells
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText

VERDICT = "verdict."
"""What the names of columns begin with that hold a verdict, before the name of its field."""

_UNITS = ("uid", "unit_hash")
_READ = (*_UNITS, "task", "labeller", "reason")


def is_sheet(path: Path) -> bool:
    return path.name.lower().endswith((".csv", ".tsv"))


def sheet_rows(source: SourceText, faults: FaultList) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet with their lines, as an export of labels has them. A row whose verdict is
    empty is still to be labelled, and left out; so are columns of texts and places, which are there
    for people."""
    cells = read_cells(source.lines, faults)
    said = [] if cells is None else [name for name in cells.names if name.startswith(VERDICT)]
    if cells is None or not said or not set(_UNITS) & set(cells.names):
        faults.error(
            0 if cells is None else cells.line,
            "The table has no column uid or unit_hash, or none whose name begins with "
            f"{VERDICT!r}.",
            "Keep the columns as 'assay labels export FOLDER --task T --sheet' writes them.",
        )
        return
    twice = {name for name in (*_READ, *said) if cells.names.count(name) > 1}
    if twice:
        faults.error(
            cells.line, f"Columns are there twice: {', '.join(sorted(twice))}.", "Keep one."
        )
        return
    for line, record in cells.records():
        verdict = {
            name.removeprefix(VERDICT): _value(record[name]) for name in said if record[name]
        }
        if verdict:
            yield line, {"verdict": verdict} | {n: record[n] for n in _READ if record.get(n)}


def _value(cell: str) -> Any:
    """What a cell says: lists are written as JSON, all else as it is."""
    if cell[0] not in "[{":
        return cell
    try:
        return orjson.loads(cell)
    except orjson.JSONDecodeError:
        return cell
