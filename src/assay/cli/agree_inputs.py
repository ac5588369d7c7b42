"""What ``assay agree`` compares: the labels of two files, matched, and their scale."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from assay.formats.label_tables import LARGEST, LabelTable, Unit

__all__ = ["LabelPair", "parse_scale"]

_UNJUDGED = -1.0
_MOST_STEPS = 1000


class LabelPair:
    """The labels of two files, matched by unit.

    Args:
        a: the first file's labels.
        b: the second file's.
        scale: the labels that there are; None where it is not said.
        files: how messages name the files.

    Attributes:
        first: the labels of the first file by unit, without units that have none.
        second: the second file's.
        unjudged_first: how many units of the first file have no label.
        unjudged_second: how many of the second file.
        units: the units of either file, those of the first one first.
        shared: how many units both files have, with a label or without.
        both: the units with a label in both, in the first file's order.
        only_first: how many units only the first file has.
        only_second: how many only the second one has.
        runs: whether both files have a column of runs.
    """

    def __init__(
        self, a: LabelTable, b: LabelTable, scale: Sequence[float] | None, files: str
    ) -> None:
        self.files = files
        self.first, self.unjudged_first = _judged(a, scale)
        self.second, self.unjudged_second = _judged(b, scale)
        self.units = tuple(dict.fromkeys([*a.labels, *b.labels]))
        self.shared = sum(unit in b.labels for unit in a.labels)
        self.both = [unit for unit in self.first if unit in self.second]
        self.only_first = len(a.labels) - self.shared
        self.only_second = len(b.labels) - self.shared
        self.runs = a.runs and b.runs


def _judged(table: LabelTable, scale: Sequence[float] | None) -> tuple[dict[Unit, float], int]:
    """The labels of a file, and how many of its units have none.

    In qrels −1 says that a document was not judged, unless the scale holds it.
    """
    marked = table.qrels and (scale is None or _UNJUDGED not in scale)
    kept = {
        unit: label
        for unit, label in table.labels.items()
        if label is not None and not (marked and label == _UNJUDGED)
    }
    return kept, len(table.labels) - len(kept)


def parse_scale(text: str | None) -> list[float] | None:
    """``0:4`` as 0, 1, 2, 3, 4; ``0,0.5,1`` sorted; None as it is.

    Raises:
        typer.BadParameter: the text is no scale, has a label twice, or is too long.
    """
    if text is None:
        return None
    try:
        if ":" in text:
            low, high = (int(end) for end in text.split(":"))
            if not low < high <= low + _MOST_STEPS:
                raise ValueError
            return [float(label) for label in range(low, high + 1)]
        labels = [float(label) for label in text.split(",")]
        if len(set(labels)) < max(2, len(labels)) or not all(abs(x) <= LARGEST for x in labels):
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no scale; write 0:4, or a list as 0,0.5,1", param_hint="--scale"
        ) from None
    return sorted(labels)
