"""Reading labels from a file to import them, in blocks, as a file may hold millions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from assay.formats.cells import is_table
from assay.formats.jsonl import read_objects
from assay.formats.parsed import FaultList, Parsed
from assay.formats.text import read_text
from assay.ledger.exchange import Problem, label_from
from assay.ledger.hashes import packed
from assay.ledger.ledger import Ledger, NewLabel
from assay.ledger.sheets import sheet_rows, shown_unit
from assay.model.labels import Label, LabellerId
from assay.tasks.base import canonical

Content = Mapping[str, Any]
Saying = tuple[object, ...]
_Row = tuple[int, dict[str, Any]]

_AT_ONCE = 1000  # rows looked up together


class Incoming:
    """The labels of JSON Lines, or of a sheet (CSV, TSV) that people filled in.

    Rows are described in :func:`assay.ledger.exchange.label_from`. Their ``unit_hash`` may name a
    unit in the ledger, one that ``asked`` returns, or the one that a sheet's row shows. ``known``
    counts labels that the ledger already has; ``outdated`` those of them whose person has given
    another verdict since.
    """

    def __init__(
        self, ledger: Ledger, path: Path, by: LabellerId | None = None,
        asked: Callable[[], Mapping[str, Content]] = dict,
    ) -> None:  # fmt: skip
        self.known = self.outdated = 0
        self._ledger, self._by, self._asked = ledger, by, asked
        self._asked_about: Mapping[str, Content] | None = None
        self._source = read_text(path)
        self._faults = FaultList(self._source.file, self._source.faults)
        self._sheet = is_table(path)
        self._said: dict[tuple[str, str], tuple[int, object]] = {}

    def new(self) -> Iterator[list[NewLabel]]:
        """The new labels in blocks; the caller must write each block before taking the next. Raises
        FormatError at the end with every faulty line."""
        numbers = self._ledger.numbers()
        read = sheet_rows if self._sheet else read_objects
        rows = read(self._source, self._faults)
        while some := list(islice(rows, _AT_ONCE)):
            made = list(self._made(some, numbers))
            self._contradictions(made)
            if not self._faults.faulty:
                yield self._unknown([label for _, label in made])
        Parsed(True, self._faults.done()).require()

    def _made(
        self, rows: Sequence[_Row], numbers: Mapping[bytes, int]
    ) -> Iterator[tuple[int, NewLabel]]:
        """The labels of some rows with their line numbers. ``numbers`` holds, by packed uid, the
        numbers of the labels that the ledger had before the import."""
        uids = (packed(str(row.get("uid"))) for _, row in rows)
        there = self._ledger.of_numbers(numbers[uid] for uid in uids if uid in numbers)
        known = {label.uid: label for label in there}
        hashes: set[str] = set()
        for _, row in rows:
            if "unit" not in row:
                original = known.get(str(row.get("uid")))
                of_original = None if original is None else original.unit
                hashes.add(str(row.get("unit_hash", of_original)))
        contents: Mapping[str, Content] = self._ledger.contents(hashes)
        for number, row in rows:
            if self._sheet and (original := known.get(row.get("uid", ""))):
                # Here a uid only says which unit is meant: people did not see that label.
                row = {"task": original.task, "unit_hash": original.unit, **row}
                del row["uid"]
            unit = str(row.get("unit_hash"))
            if row.get("uid") is None and "unit" not in row and unit not in contents:
                if self._asked_about is None:
                    self._asked_about = self._asked()  # units nobody has labelled yet
                content = self._asked_about.get(unit) or shown_unit(row)
                if content:
                    row["unit"] = content
            found = label_from(row, known, contents, self._by)
            if isinstance(found, Problem):
                self._faults.error(number, found.why, found.cure)
            elif found is None or (
                found.created is not None and packed(found.uid(found.created)) in numbers
            ):
                self.known += 1
            else:
                yield number, found

    def _contradictions(self, labels: Sequence[tuple[int, NewLabel]]) -> None:
        """Report a person's different verdicts on one unit: which would count is left to chance."""
        for number, label in labels:
            if not label.labeller.is_human or label.created is not None:
                continue
            unit = label.unit, label.labeller.name
            line, verdict = self._said.setdefault(unit, (number, label.verdict))
            if verdict != label.verdict:
                why = (
                    f"{label.labeller.name} gives another verdict for the same unit on line {line}."
                )
                self._faults.error(number, why, "Keep only the correct line.")

    def _unknown(self, labels: Sequence[NewLabel]) -> list[NewLabel]:
        """The ``labels`` that equal no known label. Those with a time are from another ledger and
        were compared by uid; those written by hand are compared by content."""
        by_unit: dict[tuple[str, str], list[tuple[Saying, str | None]]] = {}
        for one in self._ledger.of_units(one.unit for one in labels if one.created is None):
            found = by_unit.setdefault((one.unit, one.labeller.name), [])
            found.append((_saying(one), one.overrules))
        new: list[NewLabel] = []
        for label in labels:
            if label.created is not None:
                new.append(label)
                continue
            said = by_unit.setdefault((label.unit, label.labeller.name), [])
            saying = _saying(label)
            if not said or (said[-1][0] != saying and (saying, label.overrules) not in said):
                new.append(label)
                said.append((saying, label.overrules))
            else:
                self.known += 1
                self.outdated += label.labeller.is_human and said[-1][0] != saying
        return new


def _saying(label: Label | NewLabel) -> Saying:
    """A label's content, apart from its time."""
    verdict = None if label.verdict is None else canonical(dict(label.verdict))
    params = canonical(dict(label.labeller.params))
    return (label.version, params, label.sample, label.status, verdict, label.reason)
