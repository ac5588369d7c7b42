"""Stated confidences with correctness: CSV with the columns run, topic, confidence, correct.

Confidences are percentages (0–100), as in R2C2 runs; a file with only values from 0 to 1, at least
one of them fractional, is read as probabilities, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.formats.cells import finite_number, number_fault, read_columns
from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Spot
from assay.formats.text import SourceText, reads_file
from assay.model.wording import printable, quoted

COLUMNS = ("run", "topic", "confidence", "correct")

_CORRECT = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
_CORRECT |= {"1.0": True, "0.0": False}
_TENTHS = 10
_ENOUGH_FOR_TENTHS = 20


@dataclass(frozen=True, slots=True)
class ConfidenceRow:
    """One answer: its stated probability of being correct (0–1) and whether it was.

    None is an empty cell: such a row is counted as missing, not scored.
    """

    run: str
    topic: str
    probability: float | None
    correct: bool | None
    line: int = 0

    @property
    def scored(self) -> bool:
        """Whether both confidence and correctness are known."""
        return self.probability is not None and self.correct is not None


@dataclass(frozen=True, slots=True)
class ConfidenceTable:
    """All rows in file order. ``percent`` is False if the file held probabilities."""

    rows: tuple[ConfidenceRow, ...] = field(repr=False)
    percent: bool = True

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs, in file order."""
        return tuple(dict.fromkeys(row.run for row in self.rows))

    def of(self, run: str) -> tuple[ConfidenceRow, ...]:
        """The rows of one run, including those with an empty cell."""
        return tuple(row for row in self.rows if row.run == run)


@reads_file
def read_confidence(source: SourceText, faults: FaultList) -> ConfidenceTable | None:
    """Read a confidence table: header required, any column order, other columns ignored."""
    records = read_columns(source.lines, COLUMNS, faults, tabs=False)
    found: dict[tuple[str, str], ConfidenceRow] = {}
    empty: dict[str, list[int]] = {"confidence": [], "correct": []}
    for number, record in records:
        run, topic, raw, correct = map(record.__getitem__, COLUMNS)
        at = faults.at(number, normal_id(topic))
        if not run or not at.topic:
            lacking = "run" if not run else "topic"
            at.error(f"The {lacking} is empty.", f"Write the {lacking}.")
            continue
        one = ConfidenceRow(run, at.topic, _confidence(raw, at), _correct(correct, at), number)
        first = found.setdefault((run, at.topic), one)
        if first is not one:
            why = f"Run {printable(run)} already has the topic on line {first.line}."
            at.error(why, "Keep one of the lines; the first was read.")
            continue
        for lines, cell in zip(empty.values(), (raw, correct), strict=True):
            if not cell:
                lines.append(number)
    for what, lines in empty.items():
        faults.missing(f"“{what}”", lines, "Scores that depend on them are ranges.")
    if not found:
        if not faults.faulty:
            faults.error(0, "The file holds no row.", "Add one line per run and topic.")
        return None
    rows = tuple(found.values())
    percent = _percent([row.probability for row in rows if row.probability is not None], faults)
    if percent:
        rows = tuple(
            row if row.probability is None else replace(row, probability=row.probability / 100)
            for row in rows
        )
    return ConfidenceTable(rows, percent)


def _percent(values: Sequence[float], faults: FaultList) -> bool:
    """Whether the confidences are percentages; an assumption is reported as a warning."""
    top = max(values, default=100.0)
    if top <= 1 and not all(value.is_integer() for value in values):
        faults.warning(
            0,
            "All confidences are between 0 and 1, so they are read as probabilities.",
            "Write percentages (0 to 100) to be safe.",
        )
        return False
    if top <= 1:
        faults.warning(
            0,
            "All confidences are 0 or 1, so they are read as 0 % and 1 %.",
            "Write 100 for certainty.",
        )
    elif top <= _TENTHS and len(values) >= _ENOUGH_FOR_TENTHS:
        faults.warning(
            0,
            f"No confidence is above {_TENTHS}: they are read as percentages all the same.",
            f"Multiply by 10 if they were given on a scale from 0 to {_TENTHS}.",
        )
    return True


def _confidence(raw: str, at: Spot) -> float | None:
    value = finite_number(raw)
    if not raw or (value is not None and 0 <= value <= 100):
        return value
    cure = "Write a number from 0 to 100, or leave the cell empty if it is missing."
    if raw.endswith("%"):
        cure = f"Write {printable(raw[:-1].strip())} without the percent sign."
    why = number_fault(raw) if value is None else "is outside 0 to 100"
    at.error(f"The confidence {quoted(raw)} {why}.", cure)
    return None


def _correct(raw: str, at: Spot) -> bool | None:
    if raw and raw.casefold() not in _CORRECT:
        at.error(
            f"“correct” is {quoted(raw)}.",
            "Write 1 or 0, yes or no, true or false; leave it empty if it is missing.",
        )
    return _CORRECT.get(raw.casefold())
