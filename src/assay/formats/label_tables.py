"""Labels by topic and document: qrels, or CSV with the columns topic, doc, label, perhaps run.

Also here is what all tables with a header have in common (:func:`read_cells`): separators, quotes,
rows that do not fit. Only the table with a header is read here; qrels are those of
:mod:`assay.formats.trec`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

from assay.formats.jsonl import first_object
from assay.formats.label_records import labels_of_records
from assay.formats.naming import clean, normal_id
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import read_text
from assay.formats.trec import read_qrels
from assay.formats.trec_rag_passages import read_judgment_run
from assay.model.csv_cells import from_csv_cell
from assay.model.wording import listed, printable, quoted

__all__ = [
    "Cells",
    "LabelTable",
    "Unit",
    "finite_number",
    "number_fault",
    "one_column",
    "read_cells",
    "read_labels",
]

TOPIC = ("topic", "topic_id", "qid", "query", "query_id", "question", "narrative", "narrative_id")
DOC = ("doc", "doc_id", "docid", "docno", "item", "unit")
RUN = ("run", "run_id", "runid")
LABEL = ("label", "grade", "relevance")

_JUDGMENT_COLUMNS = 6

LARGEST = 1e100  # as in the statistics, whose squares and sums would overflow

Unit = tuple[str, str, str]
"""What is labelled: topic, run and document; no run or no document is the empty string."""


# --- tables with a header ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cells:
    """A table as it stands in a file.

    Attributes:
        line: the number of the header's line.
        header: the columns' names as written, without white space around them.
        rows: every row with its line number; all are as wide as the header.
    """

    line: int
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names without regard to case, spaces as underscores (``run_id``)."""
        return tuple("_".join(name.casefold().split()) for name in self.header)

    def places(self, among: Sequence[str]) -> list[int]:
        """The columns whose name is one of *among*."""
        return [place for place, name in enumerate(self.names) if name in among]


def read_cells(lines: Sequence[str], faults: FaultList) -> Cells | None:
    """Split the lines of a CSV or TSV file into cells; None where there is no line with text.

    The header decides what separates: commas, tabs or (with a warning) semicolons. Rows that are
    not as wide as the header are reported and left out.
    """
    header = next((line for line in lines if line.strip()), "")
    mark = _separator(header)
    if mark == ";":
        faults.warning(
            1, "The columns are separated by semicolons.", "Write commas; read all the same."
        )
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=mark, strict=True)
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


def one_column(
    cells: Cells, among: Sequence[str], what: str, faults: FaultList, cure: str
) -> int | None:
    """The one column whose name is among some; a fault and None where there is none or several."""
    places = cells.places(among)
    if not places:
        faults.error(
            cells.line, f"The header lacks {what}; it has {listed(cells.header, 12)}.", cure
        )
        return None
    if len(places) > 1:
        twice = listed(cells.header[place] for place in places)
        faults.error(
            cells.line,
            f"The header has more than one {what} column: {twice}.",
            "Rename all but one of them.",
        )
        return None
    return places[0]


def finite_number(text: str) -> float | None:
    """The number that a cell holds; None where it holds none that can be counted with."""
    if not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) <= LARGEST else None


def number_fault(text: str) -> str:
    """What is wrong with a cell that :func:`finite_number` takes for none."""
    try:
        beyond = LARGEST < abs(float(text)) < math.inf
    except ValueError:
        beyond = False
    return f"is beyond {LARGEST:g}" if beyond else "is not a finite number"


def _separator(header: str) -> str:
    return next((mark for mark in (",", "\t", ";") if mark in header), ",")


# --- labels --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The labels of one file, by topic, run and document in file order.

    Attributes:
        labels: the label of every unit; None where the cell is empty.
        qrels: whether the file is qrels, where −1 says that the document was not judged.
        runs: whether the file has a column of runs.
    """

    labels: Mapping[Unit, float | None] = field(repr=False)
    qrels: bool
    runs: bool = False


def read_labels(path: str | PathLike[str]) -> Parsed[LabelTable]:
    """Read qrels, CSV or TSV with the columns topic, doc (or docid, item, unit) and label, support
    labels or nugget assignments (:func:`assay.formats.label_records.labels_of_records`).

    A column of runs makes units of different runs different, and may take the place of doc: one
    label a run and topic. Columns may be in any order, others are ignored. A file is taken for a
    table where its first line looks like one: it names a topic and a label column, or has commas
    where qrels have spaces. A relevance judgment run of TREC RAG (topic, Q0, document, label 0 to
    4, confidence, run) is read too, with a warning, as a ranked run has as many columns.

    Raises:
        FormatError: the file cannot be read at all.
    """
    source = read_text(path)
    first = first_object(source)
    records = None if first is None else labels_of_records(source, first)
    if records is not None:
        table = LabelTable(records.value or {}, qrels=False, runs=True)
        return Parsed(table, records.faults)
    if first is not None:
        faults = FaultList(source.file)
        faults.error(
            0,
            f"The JSON records are no labels; the first has {listed(first, 8)}.",
            "Give support labels ('sentences') or nugget assignments ('nuggets'), or qrels or CSV.",
        )
        return Parsed(None, faults.done())
    judged_run = _judgment_run(path, source.lines)
    if judged_run is not None:
        return judged_run
    if not _is_table(source.lines):
        parsed = read_qrels(path)
        if parsed.value is None:
            return Parsed(None, parsed.faults)
        grades = parsed.value.grades
        labels = {
            (normal_id(topic), "", normal_id(doc)): float(grade)
            for topic, judged in grades.items()
            for doc, grade in judged.items()
        }
        return Parsed(LabelTable(labels, qrels=True), parsed.faults)
    faults = FaultList(source.file, source.faults)
    cells = read_cells(source.lines, faults)
    if cells is None:
        faults.error(0, "The file is empty.", "Begin with the line topic,doc,label.")
        return Parsed(None, faults.done())
    cure = "Begin the file with the line topic,doc,label."
    by_run = bool(cells.places(RUN))
    topic = one_column(cells, TOPIC, "topic", faults, cure)
    run = one_column(cells, RUN, "run", faults, cure) if by_run else None
    needs_doc = not by_run or bool(cells.places(DOC))
    doc = one_column(cells, DOC, "doc", faults, cure) if needs_doc else None
    label = one_column(cells, LABEL, "label", faults, cure)
    lacking = topic is None or (by_run and run is None) or (needs_doc and doc is None)
    if label is None or lacking:
        return Parsed(None, faults.done())
    found = _labels(cells, (topic, run, doc), label, faults)
    if not cells.rows:
        faults.error(0, "The file holds no label.", "Add one line a topic and document.")
    return Parsed(LabelTable(found, qrels=False, runs=by_run), faults.done())


def _judgment_run(path: str | PathLike[str], lines: Sequence[str]) -> Parsed[LabelTable] | None:
    first = next((line for line in lines if line.strip()), "")
    if len(first.split()) != _JUDGMENT_COLUMNS or "," in first:
        return None
    parsed = read_judgment_run(path)
    run = parsed.value
    if run is None or parsed.errors or parsed.warnings:
        return None  # a ranked run, whose faults qrels' reader tells
    labels = {
        (normal_id(topic), "", normal_id(doc)): float(guess.label)
        for topic, judged in run.guesses.items()
        for doc, guess in judged.items()
    }
    faults = FaultList(str(path))
    faults.warning(
        0,
        "Six columns: read as a relevance judgment run, its fourth column as the label.",
        "Give qrels or a table where that is not meant.",
    )
    return Parsed(LabelTable(labels, qrels=False), faults.done())


def _is_table(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    names = [clean(cell).casefold() for cell in first.split(_separator(first))]
    if len(names) > 1 and any(name in (*LABEL, *TOPIC) for name in names):
        return True
    return not first.strip() or ("," in first and len(first.split()) < 4)


def _labels(
    cells: Cells, places: tuple[int | None, int | None, int | None], column: int, faults: FaultList
) -> dict[Unit, float | None]:
    """The labels of a table, given the columns of topic, run and document and that of the label."""
    found: dict[Unit, float | None] = {}
    lines: dict[Unit, tuple[int, str]] = {}
    empty: list[int] = []
    for number, row in cells.rows:
        topic, run, doc = ("" if place is None else normal_id(row[place]) for place in places)
        names = zip(("topic", "run", "doc"), places, (topic, run, doc), strict=True)
        lacking = [name for name, place, text in names if place is not None and not text]
        if lacking:
            what = " and the ".join(lacking)
            faults.error(
                number,
                f"The {what} {'is' if len(lacking) == 1 else 'are'} empty.",
                f"Write the {what}.",
                topic,
            )
            continue
        raw = row[column]
        value = finite_number(raw) if raw else None
        if raw and value is None:
            faults.error(
                number,
                f"The label {quoted(raw)} {number_fault(raw)}.",
                "Write labels as numbers; leave the cell empty where there is none.",
                topic,
            )
            continue
        unit = (topic, run, doc)
        first = lines.setdefault(unit, (number, raw))
        if first[0] != number:
            _twice(number, raw, unit, first, faults, same=value == found[unit])
            continue
        if value is None:
            empty.append(number)
        found[unit] = value
    if empty:
        faults.warning(
            empty[0],
            f"The label is missing on {len(empty)} line{'s' if len(empty) > 1 else ''} "
            f"({listed(map(str, empty), 10)}).",
            "These are counted as unlabelled.",
        )
    return found


def _twice(
    number: int,
    raw: str,
    unit: Unit,
    first: tuple[int, str],
    faults: FaultList,
    *,
    same: bool,
) -> None:
    """Report a unit that stands on two lines: a warning where both say the same.

    Labels are shown as they stand in the file, so that no two that differ look alike; *first* is
    the number and the label of the earlier line.
    """
    topic, run, doc = unit
    line, known = first
    shown = " of ".join(quoted(one) for one in (doc, run) if one)
    if same:
        faults.warning(
            number,
            f"{shown} was labelled on line {line} already, with the same label.",
            "Remove one of the lines.",
            topic,
        )
        return
    faults.error(
        number,
        f"{shown} has label {printable(raw) or 'none'} here and "
        f"{printable(known) or 'none'} on line {line}.",
        "Keep one of the two; the first was read.",
        topic,
    )
