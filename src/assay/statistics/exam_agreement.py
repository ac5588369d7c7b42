"""Agreement of EXAM-Labels with manual judgments, by label and in bins.

Source: Farzi & Dietz, EXAM++, section 5.1 (table 4: counts and Cohen's κ).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from assay.statistics.agreement import cohen_kappa

Whole = npt.NDArray[np.int_]

_FORM = re.compile(r"\s*(?:(?P<open><=|≤|>=|≥)\s*)?(?P<low>-?\d+)(?:\s*-\s*(?P<high>-?\d+))?\s*")
_CURE = "write a grade (0), a range (1-3) or an open end (<=0, >=2)"


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of grades from ``low`` to ``high``, both included; None if the bin has no such end."""

    low: int | None
    high: int | None

    def __contains__(self, grade: int) -> bool:
        return (self.low is None or grade >= self.low) and (self.high is None or grade <= self.high)

    def __str__(self) -> str:
        if self.low is None:
            return f"≤ {self.high}"
        if self.high is None:
            return f"≥ {self.low}"
        return f"{self.low}" if self.low == self.high else f"{self.low}–{self.high}"


def read_bins(texts: Sequence[str]) -> tuple[Bin, ...]:
    """Parse bins, lowest first. Raises ValueError if one cannot be parsed, bins overlap or are out
    of order, or there are none."""
    bins = tuple(_bin(text) for text in texts)
    if not bins:
        raise ValueError(f"there is no bin; {_CURE}")
    for before, after in pairwise(bins):
        if before.high is None or after.low is None:
            raise ValueError("bins overlap, or are not lowest first")
        if after.low <= before.high:
            low = float("-inf") if before.low is None else before.low
            wrong = "overlap" if after.low >= low else "are not lowest first"
            raise ValueError(f"the bins {before} and {after} {wrong}")
    return bins


def _bin(text: str) -> Bin:
    match = _FORM.fullmatch(text)
    if match is None or (match["open"] and match["high"]):
        raise ValueError(f"{text!r} is not a bin; {_CURE}")
    low = int(match["low"])
    if match["open"]:
        return Bin(None, low) if match["open"] in ("<=", "≤") else Bin(low, None)
    high = low if match["high"] is None else int(match["high"])
    if high < low:
        raise ValueError(f"{text!r} is not a bin; {_CURE}")
    return Bin(low, high)


_LABELS: Mapping[int, tuple[str, ...]] = {
    1: ("0", "1"),
    2: ("0", "1", "2"),
    3: ("0", "1", "2-3"),
    5: ("0", "1-3", "4-5"),
}


def default_bins(top: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Default bins of labels from 0 to ``top``, and the same number of bins of judgments."""
    labels = _LABELS[top]
    return labels, ("<=0", ">=1") if len(labels) == 2 else ("<=0", "1", ">=2")


@dataclass(frozen=True, slots=True)
class Binned:
    """Counts of passages by the bins of their label (rows) and judgment (columns).

    ``outside``: the number of passages in no bin. ``kappa``: Cohen's κ with bins paired in order;
    None if it is undefined, or there are different numbers of bins.
    """

    labels: tuple[Bin, ...]
    judgments: tuple[Bin, ...]
    counts: tuple[tuple[int, ...], ...]
    outside: int
    kappa: float | None


@dataclass(frozen=True, slots=True)
class ExamAgreement:
    """The agreement of EXAM-Labels with manual judgments.

    ``counts``: for each label, the number of passages by level of judgment, highest first.
    ``binarised``: κ for every binarisation (label ≥ τ, judgment ≥ level). ``binned``: the agreement
    in bins.
    """

    passages: int
    levels: tuple[int, ...]
    counts: Mapping[int, tuple[int, ...]]
    binarised: tuple[tuple[int, int, float | None], ...]
    binned: Binned

    def document(self) -> dict[str, object]:
        """The agreement as JSON values."""
        return {
            "passages": self.passages,
            "levels": list(self.levels),
            "counts": {str(label): list(row) for label, row in self.counts.items()},
            "binarised": [
                {"label": tau, "judgment": level, "kappa": kappa}
                for tau, level, kappa in self.binarised
            ],
            "binned": {
                "labels": [str(one) for one in self.binned.labels],
                "judgments": [str(one) for one in self.binned.judgments],
                "counts": [list(row) for row in self.binned.counts],
                "outside": self.binned.outside,
                "kappa": self.binned.kappa,
            },
        }


def compare(
    pairs: Sequence[tuple[int, int]],
    top: int,
    label_bins: Sequence[str],
    judgment_bins: Sequence[str],
) -> ExamAgreement:
    """Agreement of (label, judgment) pairs, at least one. ``top``: the highest label possible."""
    labels, judged = (np.array(column) for column in zip(*pairs, strict=True))
    levels = tuple(sorted({judgment for _, judgment in pairs}, reverse=True))
    counts = {
        grade: tuple(int(((labels == grade) & (judged == level)).sum()) for level in levels)
        for grade in range(top, -1, -1)
    }
    binarised = tuple(
        (tau, level, cohen_kappa(labels >= tau, judged >= level))
        for tau in range(1, top + 1)
        for level in sorted(levels)[1:] or levels
    )
    return ExamAgreement(
        len(pairs), levels, counts, binarised, _binned(labels, judged, label_bins, judgment_bins)
    )


def _binned(
    labels: Whole, judged: Whole, label_bins: Sequence[str], judgment_bins: Sequence[str]
) -> Binned:
    rows, columns = read_bins(label_bins), read_bins(judgment_bins)
    first, second = _bin_numbers(labels, rows), _bin_numbers(judged, columns)
    inside = (first >= 0) & (second >= 0)
    counts = tuple(
        tuple(int(((first == row) & (second == column)).sum()) for column in range(len(columns)))
        for row in range(len(rows))
    )
    kappa = None
    if len(rows) == len(columns) and inside.any():
        kappa = cohen_kappa(first[inside], second[inside])
    return Binned(rows, columns, counts, int((~inside).sum()), kappa)


def _bin_numbers(values: Whole, bins: Sequence[Bin]) -> Whole:
    """The number of each value's bin, −1 if it is in none."""
    return np.array(
        [next((n for n, one in enumerate(bins) if value in one), -1) for value in values.tolist()]
    )
