"""Stated confidences with correctness: CSV with the columns run, topic, confidence, correct.

Confidences are percentages (0–100), as in R2C2 runs; a file that holds only values from 0 to 1,
one of them fractional, is taken as probabilities, with a warning.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from os import PathLike

from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import read_text
from assay.model.csv_cells import from_csv_cell
from assay.model.wording import listed, printable, quoted

COLUMNS = ("run", "topic", "confidence", "correct")

_CORRECT = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
_CORRECT |= {"1.0": True, "0.0": False}
_TENTHS = 10
_ENOUGH_FOR_TENTHS = 20


@dataclass(frozen=True, slots=True)
class ConfidenceRow:
    """One answer: its stated probability of being correct (0–1) and whether it was.

    None stands for an empty cell: such a row is counted as missing and not scored.
    """

    run: str
    topic: str
    probability: float | None
    correct: bool | None
    line: int = 0

    @property
    def scored(self) -> bool:
        """True where both confidence and correctness are known."""
        return self.probability is not None and self.correct is not None


@dataclass(frozen=True, slots=True)
class ConfidenceTable:
    """All rows in file order. ``percent`` is False where the file held probabilities."""

    rows: tuple[ConfidenceRow, ...] = field(repr=False)
    percent: bool = True

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs' names in file order."""
        return tuple(dict.fromkeys(row.run for row in self.rows))

    @property
    def missing(self) -> int:
        """How many rows have no confidence or no correctness and are not scored."""
        return sum(not row.scored for row in self.rows)

    def of(self, run: str) -> tuple[ConfidenceRow, ...]:
        """The rows of one run, the missing ones included."""
        return tuple(row for row in self.rows if row.run == run)


def read_confidence(path: str | PathLike[str]) -> Parsed[ConfidenceTable]:
    """Reads a confidence table: header required, any column order, other columns ignored.

    Raises :class:`FormatError` only where the file cannot be read at all.
    """
    source = read_text(path)
    reader = _ConfidenceReader(FaultList(source.file, source.faults))
    reader.read("\n".join(source.lines))
    return reader.done()


class _ConfidenceReader:
    """The state of reading one table."""

    def __init__(self, faults: FaultList) -> None:
        self.faults = faults
        self.found: list[tuple[str, str, float | None, bool | None, int]] = []
        self.seen: dict[tuple[str, str], int] = {}
        self.places: dict[str, int] | None = None
        self.width = 0
        self.empty: dict[str, list[int]] = {"confidence": [], "correct": []}

    def read(self, text: str) -> None:
        header = next((line for line in text.split("\n") if line.strip()), "")
        mark = next((one for one in (",", "\t", ";") if one in header), ",")
        if mark != ",":
            shown = "tabs" if mark == "\t" else "semicolons"
            self.faults.warning(
                1, f"The columns are separated by {shown}.", "Write commas; read all the same."
            )
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
        line = 0
        while True:
            start = line + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                line = max(rows.line_num, start)
                self.faults.error(
                    start,
                    f"The line is not valid CSV ({error}).",
                    'Put cells with commas into quotes, and write "" for a quote inside.',
                )
                continue
            line = rows.line_num
            cells = [from_csv_cell(cell) for cell in cells]
            if not any(cell.strip() for cell in cells):
                continue
            if self.places is None:
                self._header(start, cells)
                if self.places is None:
                    return
            else:
                self._row(start, cells, self.places)

    def _header(self, number: int, cells: list[str]) -> None:
        names = [normal_id(cell).casefold() for cell in cells]
        missing = [name for name in COLUMNS if name not in names]
        double = [name for name in COLUMNS if names.count(name) > 1]
        if missing:
            self.faults.error(
                number,
                f"The header lacks {listed(missing)}; it has {listed(names)}.",
                f"Begin the file with the line {','.join(COLUMNS)}.",
            )
        if double:
            self.faults.error(
                number, f"The header has {listed(double)} twice.", "Rename one of the columns."
            )
        if not missing:
            self.places = {name: names.index(name) for name in COLUMNS}
            self.width = len(cells)

    def _row(self, number: int, cells: list[str], places: dict[str, int]) -> None:
        if len(cells) != self.width:
            self.faults.error(
                number,
                f"The line has {len(cells)} cells, the header {self.width}.",
                "Put cells with commas into quotes.",
            )
            return
        run = cells[places["run"]].strip()
        topic = normal_id(cells[places["topic"]])
        if not run or not topic:
            empty = "run" if not run else "topic"
            self.faults.error(number, f"The {empty} is empty.", f"Write the {empty}.", topic)
            return
        confidence = self._confidence(number, cells[places["confidence"]].strip(), topic)
        correct = self._correct(number, cells[places["correct"]].strip(), topic)
        first = self.seen.setdefault((run, topic), number)
        if first != number:
            self.faults.error(
                number,
                f"Run {printable(run)} has the topic on line {first} already.",
                "Keep one of the lines; the first was read.",
                topic,
            )
            return
        for what, lines in self.empty.items():
            if not cells[places[what]].strip():
                lines.append(number)
        self.found.append((run, topic, confidence, correct, number))

    def _confidence(self, number: int, raw: str, topic: str) -> float | None:
        if not raw:
            return None
        try:
            value = float(raw) if raw.isascii() and "_" not in raw else math.nan
        except ValueError:
            value = math.nan
        if math.isfinite(value) and 0 <= value <= 100:
            return value
        cure = "Write a number from 0 to 100, or leave the cell empty where it is missing."
        if raw.endswith("%"):
            cure = f"Write {printable(raw[:-1].strip())} without the percent sign."
        why = "is outside of 0 to 100" if math.isfinite(value) else "is not a number"
        self.faults.error(number, f"The confidence {quoted(raw)} {why}.", cure, topic)
        return None

    def _correct(self, number: int, raw: str, topic: str) -> bool | None:
        if raw and raw.casefold() not in _CORRECT:
            self.faults.error(
                number,
                f"“correct” is {quoted(raw)}.",
                "Write 1 or 0, yes or no, true or false; leave it empty where it is missing.",
                topic,
            )
        return _CORRECT.get(raw.casefold())

    def _percent(self) -> bool:
        """Whether the confidences are percentages; what was assumed goes into the faults."""
        values = [value for _, _, value, _, _ in self.found if value is not None]
        top = max(values, default=100.0)
        if top <= 1:
            if any(not value.is_integer() for value in values):
                self.faults.warning(
                    0,
                    "All confidences lie between 0 and 1: taken as probabilities.",
                    "Write percentages (0 to 100) to be safe.",
                )
                return False
            self.faults.warning(
                0,
                "All confidences are 0 or 1: taken as 0 % and 1 %.",
                "Write 100 for certainty.",
            )
        elif top <= _TENTHS and len(values) >= _ENOUGH_FOR_TENTHS:
            self.faults.warning(
                0,
                f"No confidence is above {_TENTHS}: taken as percentages all the same.",
                f"Multiply by 10 if they were given on a scale from 0 to {_TENTHS}.",
            )
        return True

    def done(self) -> Parsed[ConfidenceTable]:
        if self.places is None:
            if not any(fault.severity == "error" for fault in self.faults.done()):
                self.faults.error(
                    0, "The file is empty.", f"Begin with the line {','.join(COLUMNS)}."
                )
            return Parsed(None, self.faults.done())
        for what, lines in self.empty.items():
            if lines:
                self.faults.warning(
                    lines[0],
                    f"“{what}” is missing on {len(lines)} "
                    f"line{'s' if len(lines) > 1 else ''} ({listed(map(str, lines), 10)}).",
                    "Scores that hang on them are ranges.",
                )
        if not self.found:
            self.faults.error(0, "The file holds no row.", "Add one line a run and topic.")
        percent = self._percent()
        rows = tuple(
            ConfidenceRow(
                run,
                topic,
                value / 100 if percent and value is not None else value,
                correct,
                line,
            )
            for run, topic, value, correct, line in self.found
        )
        return Parsed(ConfidenceTable(rows, percent), self.faults.done())
