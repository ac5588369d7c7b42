"""Support labels and nugget assignments as labels of units, to be compared with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.formats.parsed import Parsed
from assay.formats.text import SourceText
from assay.formats.trec_rag_nuggets import read_assignments
from assay.formats.trec_rag_support import CODES, read_support
from assay.model.trec_rag import Assigned

__all__ = ["labels_of_records"]

Labels = Mapping[tuple[str, str, str], float | None]
"""By topic, run and what is labelled; None where it has no label."""

_ASSIGNED = {Assigned.SUPPORT: 2.0, Assigned.PARTIAL: 1.0, Assigned.NONE: 0.0, None: None}


def labels_of_records(source: SourceText, first: Mapping[str, Any]) -> Parsed[Labels] | None:
    """The labels of a file of JSON records: 2 full, 1 partial, 0 none, as the track writes support.

    A citation is known by its document and its sentence's place in the answer, a nugget by its
    text; one that occurs several times there, by its number too.

    Args:
        source: the file.
        first: its first record.

    Returns:
        None where the record is neither an answer's support labels nor its assignments.
    """
    if "sentences" in first:
        support = read_support(source.path)
        return Parsed(
            _numbered(
                (
                    (one.topic, one.run, f"sentence {place}, {cited.reference}"),
                    None if cited.support is None else float(CODES[cited.support]),
                )
                for one in support.value or ()
                for place, sentence in enumerate(one.sentences, 1)
                for cited in sentence.citations
            ),
            support.faults,
        )
    nuggets = first.get("nuggets")
    if isinstance(nuggets, list) and any("assignment" in one for one in nuggets):
        assigned = read_assignments(source.path)
        return Parsed(
            _numbered(
                ((one.topic, one.run, each.nugget.text), _ASSIGNED[each.assigned])
                for one in assigned.value or ()
                for each in one.nuggets
            ),
            assigned.faults,
        )
    return None


def _numbered(
    found: Iterable[tuple[tuple[str, str, str], float | None]],
) -> dict[tuple[str, str, str], float | None]:
    labels: dict[tuple[str, str, str], float | None] = {}
    times: dict[tuple[str, str, str], int] = {}
    for unit, label in found:
        times[unit] = times.get(unit, 0) + 1
        topic, run, what = unit
        labels[topic, run, what if times[unit] == 1 else f"{what} ({times[unit]})"] = label
    return labels
