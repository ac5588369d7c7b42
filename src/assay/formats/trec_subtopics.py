"""Qrels by subtopic, ``topic subtopic docid grade``: TREC's diversity tasks and ndeval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.formats.naming import parse_integer
from assay.formats.parsed import FaultList
from assay.formats.text import SourceText, reads_file
from assay.formats.trec import qrels_columns
from assay.model.wording import quoted

_COLUMNS = 4


class SubtopicQrels(NamedTuple):
    """Relevance grades by subtopic. ``subtopics``: topic → subtopic → document id → grade.
    ``grades``: topic → document id → its highest grade over the subtopics, for measures that know
    of none."""

    subtopics: Mapping[str, Mapping[str, Mapping[str, int]]]
    grades: Mapping[str, Mapping[str, int]]


@reads_file
def read_subtopic_qrels(source: SourceText, faults: FaultList) -> SubtopicQrels:
    """Read qrels whose second column is the subtopic; ``0`` on all lines means a single one.

    A document may be judged once for each subtopic of its topic.
    """
    subtopics: dict[str, dict[str, dict[str, int]]] = {}
    grades: dict[str, dict[str, int]] = {}
    for number, line in source.numbered():
        cells = line.split()
        if not cells:
            continue
        if len(cells) != _COLUMNS:
            cells = qrels_columns(line)
        if len(cells) != _COLUMNS or not all(cells):
            faults.error(
                number,
                f"The number of columns is {len(cells)}, not {_COLUMNS}.",
                "Write topic, subtopic, document id, grade.",
            )
            continue
        topic, subtopic, document, raw = cells
        at, grade = faults.at(number, topic), parse_integer(raw)
        if grade is None:
            at.error(
                f"The grade {quoted(raw)} is not an integer.", "Write an integer, e.g. 0, 1 or 2."
            )
            continue
        judged = subtopics.setdefault(topic, {}).setdefault(subtopic, {})
        if judged.setdefault(document, grade) != grade:
            at.error(
                f"{quoted(document)} has grade {grade} here and {judged[document]} above, for the"
                f" same subtopic {quoted(subtopic)}.",
                "Keep one of the two; the first was read.",
            )
        best = grades.setdefault(topic, {})
        best[document] = max(best.get(document, grade), grade)
    if not grades and not faults.faulty:
        faults.error(0, "The file holds no judgment.", "Write topic, subtopic, document id, grade.")
    return SubtopicQrels(subtopics, grades)
