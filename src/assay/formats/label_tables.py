"""Labels by topic and document: qrels, or CSV with the columns topic, doc, label, perhaps run.

Only tables with a header are parsed here; qrels are read by :mod:`assay.formats.trec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.formats.cells import (
    RUN,
    TOPIC,
    Cells,
    finite_number,
    number_fault,
    one_column,
    read_cells,
    separator,
)
from assay.formats.jsonl import first_object
from assay.formats.label_records import (
    LabelNote,
    LabelTable,
    Unit,
    is_pairs,
    labels_of_pairs,
    labels_of_records,
)
from assay.formats.naming import clean, normal_id
from assay.formats.parsed import FaultList, Parsed, Spot
from assay.formats.reasons import rationale_of
from assay.formats.text import Given, SourceText, text_of
from assay.formats.trec import read_qrels
from assay.formats.trec_rag_passages import read_judgment_run
from assay.model.labels import NO_RATIONALE
from assay.model.wording import joined, printable, quoted

DOC = ("doc", "doc_id", "docid", "docno", "item", "unit")
LABEL = ("label", "grade", "relevance")

_JUDGMENT_COLUMNS = 6
_UNJUDGED = -1.0


def read_labels(given: Given, label: str | None = None) -> Parsed[LabelTable]:
    """Read qrels, CSV or TSV with the columns topic, doc (or docid, item, unit) and label, perhaps
    reason and annotation, or JSON records (see
    :func:`assay.formats.label_records.labels_of_records`, also for ``label``).

    A run column tells units of different runs apart, and may replace doc: one label per run and
    topic. Columns may be in any order, others are ignored. A file is read as a table if its first
    line looks like a header: it names a topic and a label column, or has commas where qrels have
    spaces. A relevance judgment run of TREC RAG (topic, Q0, document, label 0 to 4, confidence,
    run) is read too, with a warning, since a ranked run has as many columns. Raises
    FormatError if the file cannot be read at all.
    """
    source = text_of(given)
    first = first_object(source)
    records = None if first is None else labels_of_records(source, first, label)
    if records is not None:
        return records
    if first is not None:
        faults = FaultList(source.file)
        faults.error(
            0,
            f"The JSON records are no labels; the first has {joined(first, 8)}.",
            "Give support labels ('sentences'), nuggets or assignments ('nuggets'), battles, "
            "exported labels, what 'assay label' wrote, qrels or CSV.",
        )
        return Parsed(None, faults.done())
    judged_run = _judgment_run(source)
    if judged_run is not None:
        return judged_run
    if not _is_table(source.first_line):
        parsed = read_qrels(source)
        grades = {} if parsed.value is None else parsed.value.grades
        return Parsed(LabelTable(_by_document(grades), qrels=True), parsed.faults)
    faults = FaultList(source.file, source.faults)
    cells = read_cells(source.lines, faults)
    if cells is None:
        faults.error(0, "The file is empty.", "Begin with the line topic,doc,label.")
        return Parsed(None, faults.done())
    if is_pairs(cells.names):
        return Parsed(labels_of_pairs(cells.records(), faults), faults.done())
    cure = "Begin the file with the line topic,doc,label."
    by_run = bool(cells.places(RUN))
    topic = one_column(cells, TOPIC, "topic", faults, cure)
    run = one_column(cells, RUN, "run", faults, cure) if by_run else None
    needs_doc = not by_run or bool(cells.places(DOC))
    doc = one_column(cells, DOC, "doc", faults, cure) if needs_doc else None
    column = one_column(cells, LABEL, "label", faults, cure)
    lacking = topic is None or (by_run and run is None) or (needs_doc and doc is None)
    if column is None or lacking:
        return Parsed(None, faults.done())
    found = LabelTable(runs=by_run)
    _read_labels(cells, (topic, run, doc), column, found, faults)
    if not cells.rows:
        faults.error(0, "The file holds no label.", "Add one line per topic and document.")
    return Parsed(found, faults.done())


def _judgment_run(source: SourceText) -> Parsed[LabelTable] | None:
    if len(source.first_line.split()) != _JUDGMENT_COLUMNS or "," in source.first_line:
        return None
    parsed = read_judgment_run(source)
    run = parsed.value
    if run is None or parsed.errors or parsed.warnings:
        return None  # a ranked run, which the reader of qrels reports
    guesses = {
        topic: {doc: guess.label for doc, guess in judged.items()}
        for topic, judged in run.guesses.items()
    }
    faults = FaultList(source.file)
    faults.warning(
        0,
        "Six columns: read as a relevance judgment run, its fourth column as the label.",
        "If it is something else, give qrels or a table.",
    )
    return Parsed(LabelTable(_by_document(guesses)), faults.done())


def _by_document(judged: Mapping[str, Mapping[str, int]]) -> dict[Unit, float | None]:
    return {
        (normal_id(topic), "", normal_id(doc)): float(label)
        for topic, labels in judged.items()
        for doc, label in labels.items()
    }


def _is_table(first: str) -> bool:
    names = [clean(cell).casefold() for cell in first.split(separator(first))]
    if len(names) > 1 and any(name in (*LABEL, *TOPIC) for name in names):
        return True
    return not first.strip() or ("," in first and len(first.split()) < 4)


def _read_labels(
    cells: Cells,
    places: tuple[int | None, int | None, int | None],
    column: int,
    found: LabelTable,
    faults: FaultList,
) -> None:
    """Add the labels of a table to ``found``. ``places`` are the columns of topic, run and
    document, ``column`` that of the label; reasons are read from columns named as in records."""
    lines: dict[Unit, tuple[int, str]] = {}
    empty: list[int] = []
    for (number, row), (_, record) in zip(cells.rows, cells.records(), strict=True):
        topic, run, doc = ("" if place is None else normal_id(row[place]) for place in places)
        at = faults.at(number, topic)
        names = zip(("topic", "run", "doc"), places, (topic, run, doc), strict=True)
        lacking = [name for name, place, text in names if place is not None and not text]
        if lacking:
            what = " and the ".join(lacking)
            at.error(
                f"The {what} {'is' if len(lacking) == 1 else 'are'} empty.", f"Write the {what}."
            )
            continue
        raw = row[column]
        value = finite_number(raw) if raw else None
        if raw and value is None:
            at.error(
                f"The label {quoted(raw)} {number_fault(raw)}.",
                "Write labels as numbers; leave the cell empty if there is none.",
            )
            continue
        unit = (topic, run, doc)
        first = lines.setdefault(unit, (number, raw))
        if first[0] != number:
            _twice(at, raw, unit, first, same=value == found.labels[unit])
            continue
        if value is None:
            empty.append(number)
        found.labels[unit] = value
        if (why := rationale_of(record)) != NO_RATIONALE:
            found.notes[unit] = LabelNote(rationale=why)
    faults.missing("The label", empty, "These are counted as unlabelled.")


def _twice(at: Spot, raw: str, unit: Unit, first: tuple[int, str], *, same: bool) -> None:
    """Report a unit that is on two lines: a warning if both labels are the ``same``, else an error.

    Labels are shown as written in the file, so that different ones never look alike; ``first`` is
    the number and the label of the earlier line.
    """
    _, run, doc = unit
    line, known = first
    shown = " of ".join(quoted(one) for one in (doc, run) if one)
    if same:
        at.warning(
            f"{shown} was already labelled on line {line}, with the same label.",
            "Remove one of the lines.",
        )
        return
    at.error(
        f"{shown} has label {printable(raw) or 'none'} here and "
        f"{printable(known) or 'none'} on line {line}.",
        "Keep one of the two; the first was read.",
    )


class LabelPair:
    """The labels of two files, matched by unit.

    ``a`` and ``b``: the labels of the first and of the second file. ``scale``: the possible labels,
    or None if not given. ``files``: the files' names in messages. ``first`` and ``second``: the
    labels of each file by unit, without units that have none; ``unjudged_first`` and
    ``unjudged_second``: how many these are. ``units``: the units of either file, those of the first
    one first. ``shared``: how many units both files have, with or without a label. ``both``: the
    units with a label in both, in the first file's order. ``only_first`` and ``only_second``: how
    many units only that file has. ``runs``: whether both files have a run column. ``one_label``:
    the units whose label in both files is the very same label of a ledger, as when people labelled
    only some units and one labeller's labels fill in the rest; they are left out of all but the
    counts. Empty if this is true of all units. ``notes``: what else is known about the labels of
    each file. ``names``: the words for labels.
    """

    def __init__(
        self, a: LabelTable, b: LabelTable, scale: Sequence[float] | None, files: str
    ) -> None:
        a, b = _named_alike(a, b)
        self.files = files
        self.first, self.unjudged_first = _judged(a, scale)
        self.second, self.unjudged_second = _judged(b, scale)
        self.units = tuple(dict.fromkeys([*a.labels, *b.labels]))
        self.shared = sum(unit in b.labels for unit in a.labels)
        both = [unit for unit in self.first if unit in self.second]
        one = {unit for unit in both if _uid(a, unit) and _uid(a, unit) == _uid(b, unit)}
        self.one_label = len(one) if len(one) < len(both) else 0
        self.both = [unit for unit in both if not self.one_label or unit not in one]
        if self.one_label:
            for side in (self.first, self.second):
                for unit in one:
                    del side[unit]
        self.only_first = len(a.labels) - self.shared
        self.only_second = len(b.labels) - self.shared
        self.runs = a.runs and b.runs
        self.notes = (a.notes, b.notes)
        self.names = {**b.names, **a.names}


def _uid(table: LabelTable, unit: Unit) -> str:
    return table.notes[unit].uid if unit in table.notes else ""


def _named_alike(a: LabelTable, b: LabelTable) -> tuple[LabelTable, LabelTable]:
    """Renumber the labels of two tables whose words are of no known scale, so that the same word
    has the same number in both."""
    if all(b.names.get(value, name) == name for value, name in a.names.items()):
        return a, b
    words = sorted({*a.names.values(), *b.names.values()})
    names = {float(place): word for place, word in enumerate(words)}
    numbers = {word: value for value, word in names.items()}

    def named(one: LabelTable) -> LabelTable:
        labels = {
            unit: None if value is None else numbers[one.names[value]]
            for unit, value in one.labels.items()
        }
        return replace(one, names=names, labels=labels)

    return named(a), named(b)


def _judged(table: LabelTable, scale: Sequence[float] | None) -> tuple[dict[Unit, float], int]:
    """The labels of a file, and the number of units without one.

    In qrels −1 means that a document was not judged, unless the scale includes it.
    """
    marked = table.qrels and (scale is None or _UNJUDGED not in scale)
    paired = {
        unit: label
        for unit, label in table.labels.items()
        if label is not None and not (marked and label == _UNJUDGED)
    }
    return paired, len(table.labels) - len(paired)
