"""The labels of two files, matched by what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.formats.label_tables import LabelTable, Unit

_UNJUDGED = -1.0


class LabelPair:
    """The labels of two files, matched by unit.

    ``a``: the first file's labels. ``b``: the second file's. ``scale``: the labels that there are;
    None where it is not said. ``files``: how messages name the files. ``first``: the labels of the
    first file by unit, without units that have none. ``second``: the second file's.
    ``unjudged_first``: how many units of the first file have no label. ``unjudged_second``: how
    many of the second file. ``units``: the units of either file, those of the first one first.
    ``shared``: how many units both files have, with a label or without. ``both``: the units with a
    label in both, in the first file's order. ``only_first``: how many units only the first file
    has. ``only_second``: how many only the second one has. ``runs``: whether both files have a
    column of runs. ``notes``: what is known beside the labels of each file. ``names``: what labels
    are called.
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
        self.both = [unit for unit in self.first if unit in self.second]
        self.only_first = len(a.labels) - self.shared
        self.only_second = len(b.labels) - self.shared
        self.runs = a.runs and b.runs
        self.notes = (a.notes, b.notes)
        self.names = {**b.names, **a.names}


def _named_alike(a: LabelTable, b: LabelTable) -> tuple[LabelTable, LabelTable]:
    """Two files whose labels are words of no known scale, each numbered by itself: the same word
    gets the same number."""
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
    """The labels of a file, and how many of its units have none.

    In qrels −1 says that a document was not judged, unless the scale holds it.
    """
    marked = table.qrels and (scale is None or _UNJUDGED not in scale)
    paired = {
        unit: label
        for unit, label in table.labels.items()
        if label is not None and not (marked and label == _UNJUDGED)
    }
    return paired, len(table.labels) - len(paired)
