"""Tables with a header: separators, quoting, rows of the wrong width."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.formats.naming import clean
from assay.formats.parsed import FaultList
from assay.model.csv_cells import from_csv_cell
from assay.model.wording import joined

TOPIC = ("topic", "topic_id", "qid", "query", "query_id", "question", "narrative", "narrative_id")
RUN = ("run", "run_id", "runid")

_LONG = 1 << 17  # characters of a cell
_LONGEST = (1 << 31) - 1  # the highest limit that csv accepts on every system
LARGEST = 1e100  # beyond it, squares and sums in the statistics would overflow


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a table.

    ``line``: the line number of the header. ``header``: the column names as written, stripped.
    ``rows``: the rows with their line numbers, all as wide as the header.
    """

    line: int
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in lower case, with spaces as underscores (``run_id``)."""
        return tuple("_".join(name.casefold().split()) for name in self.header)

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows as dictionaries by column name, with their line numbers."""
        names = self.names
        return ((line, dict(zip(names, row, strict=True))) for line, row in self.rows)

    def places(self, among: Sequence[str]) -> list[int]:
        """The indices of the columns whose name is one of ``among``."""
        return [place for place, name in enumerate(self.names) if name in among]


def is_table(path: Path) -> bool:
    """Whether a file has the name of a table: .csv or .tsv, perhaps compressed."""
    return path.name.lower().removesuffix(".gz").removesuffix(".bz2").endswith((".csv", ".tsv"))


def read_cells(
    lines: Sequence[str], faults: FaultList, *, tabs: bool = True, texts: bool = False
) -> Cells | None:
    """Split the lines of a CSV or TSV file into cells; None if no row could be read.

    The header decides the separator: commas, tabs (with a warning unless ``tabs``) or, with a
    warning, semicolons. Rows of another width than the header are reported and left out. Tables of
    ``texts``, which come from spreadsheets, may have any of the three, and cells of any length; in
    other tables a very long cell is a fault, most likely lines between two stray quotes.
    """
    header = next((line for line in lines if line.strip()), "")
    mark = separator(header)
    odd = {";": "semicolons"} if tabs else {";": "semicolons", "\t": "tabs"}
    if mark in odd and not texts:
        why = f"The columns are separated by {odd[mark]}."
        faults.warning(1, why, "It was read all the same, but write commas.")
    text = "\n".join(lines)
    csv.field_size_limit(_LONGEST if texts else _LONG)  # a setting of the whole process
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    found: list[tuple[int, tuple[str, ...]]] = []
    line = 0
    while True:
        start = line + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            line = max(reader.line_num, start)
            faults.error(
                start,
                f"The line is not valid CSV ({error}).",
                'Put cells with commas into quotes, and write "" for a quote inside.',
            )
            continue
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if found and len(cells) != len(found[0][1]):
            faults.error(
                start,
                f"The line has {len(cells)} cells, the header {len(found[0][1])}.",
                "Put cells that hold the separator into quotes; leave unknown cells empty.",
            )
            continue
        found.append((start, tuple(clean(from_csv_cell(cell)) for cell in cells)))
    if not found:
        return None
    return Cells(found[0][0], found[0][1], tuple(found[1:]))


def read_columns(
    lines: Sequence[str], names: Sequence[str], faults: FaultList, *, tabs: bool = True
) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table as dictionaries by column name, with their line numbers. It is a fault if
    one of ``names`` is missing, which gives no rows, or occurs twice."""
    cells = read_cells(lines, faults, tabs=tabs)
    begin = f"Begin the file with the line {','.join(names)}."
    if cells is None:
        if not faults.faulty:
            faults.error(0, "The file is empty.", begin)
        return []
    missing = [name for name in names if name not in cells.names]
    double = [name for name in names if cells.names.count(name) > 1]
    if missing:
        why = f"The header lacks {joined(missing)}; it has {joined(cells.names)}."
        faults.error(cells.line, why, begin)
    if double:
        why = f"The header has {joined(double)} twice."
        faults.error(cells.line, why, "Rename one of the columns.")
    return [] if missing else list(cells.records())


def one_column(
    cells: Cells, among: Sequence[str], what: str, faults: FaultList, cure: str
) -> int | None:
    """The index of the only column named as one of ``among``; None, with a fault, if there is not
    exactly one. Messages call it ``what``."""
    places = cells.places(among)
    if not places:
        faults.error(
            cells.line, f"The header lacks {what}; it has {joined(cells.header, 12)}.", cure
        )
        return None
    if len(places) > 1:
        twice = joined(cells.header[place] for place in places)
        faults.error(
            cells.line,
            f"The header has more than one {what} column: {twice}.",
            "Rename all but one of them.",
        )
        return None
    return places[0]


def finite_number(text: str) -> float | None:
    """The number in a cell; None if it is not one, or is beyond ±``LARGEST``."""
    if not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= LARGEST else None


def number_fault(text: str) -> str:
    """What is wrong with a cell for which :func:`finite_number` returns None."""
    if "," in text and finite_number(text.replace(",", ".", 1)) is not None:
        return "has a decimal comma instead of a point"
    try:
        size = abs(float(text))
    except ValueError:
        size = math.nan
    if size <= LARGEST and not text.isascii():
        return "has other digits than 0 to 9 (full-width ones, say)"
    return f"is beyond {LARGEST:g}" if LARGEST < size < math.inf else "is not a finite number"


def separator(header: str) -> str:
    """The separator of a header's cells: the first of comma, tab and semicolon that it contains."""
    return next((mark for mark in (",", "\t", ";") if mark in header), ",")
