"""An answer's claims and a reference's against the passages that were retrieved.

Labels are 1 (yes), 0 (no) or NaN (open: no label, a failed one, or a text that is not there). Every
score is a :class:`Range` whose ends are each reached by one completion of what is open. Measures
are shares of yes/no per claim, so that two partitions say everything: of the answer's claims, and
of the reference's. The terms are those of ragas and RAGChecker; the definitions are Assay's own
(docs/rag.md says by what they differ).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.ranges import Range

ANSWER_CELLS = (
    "GroundedRight", "SelfKnowledge", "NoiseRelevant", "NoiseIrrelevant", "Hallucination",
    "NoClaim",
)  # fmt: skip
REFERENCE_CELLS = ("UsedFound", "UsedOwn", "FoundUnused", "Missed")
LOWER_IS_BETTER = frozenset(
    {"NoiseRelevant", "NoiseIrrelevant", "Hallucination", "NoClaim", "Missed", "FoundUnused"}
)


@dataclass(frozen=True)
class ClaimLabels:
    """What is said of a question's claims: 1, 0 or NaN.

    ``e``: answer claims × passages, whether the passage entails the claim; ``c``: whether the
    reference does. ``r``: reference claims × passages; ``u``: whether the answer entails the
    reference claim. ``relevant``: of each passage whether it entails a claim of the reference.
    """

    e: Floats
    c: Floats
    r: Floats
    u: Floats
    relevant: Floats


def any_of(rows: Floats) -> Floats:
    """Of each row: 1 where any is yes, 0 where all are no, else NaN."""
    found = np.where((rows == 1).any(axis=1), 1.0, np.nan)
    return np.where((rows == 0).all(axis=1), 0.0, found)


def share(labels: Floats) -> Range:
    """The share of yes, 0 of nothing."""
    return _range((labels == 1).sum(), (labels != 0).sum(), len(labels))


def _range(least: int, most: int, of: int, lower: bool = False) -> Range:
    """From a least and a greatest number of claims, worst end first."""
    if not of:
        return Range.certain(0.0)
    ends = (float(least) / of, float(most) / of)
    return Range(*(ends[::-1] if lower else ends))


# -- the answer's claims --------------------------------------------------------------------------


def answer_cells(labels: ClaimLabels) -> dict[str, tuple[Bools, Bools]]:
    """Of each cell which claims are surely in it, and which may be."""
    e, c, relevant = labels.e, labels.c, labels.relevant
    found = any_of(e)
    sure = (e == 1) & (relevant == 1)
    # Open passages are relevant, and only these entail where they are open: least irrelevant noise.
    least_noise = ((e == 1) & (relevant == 0)).any(axis=1) & ~((e != 0) & (relevant != 0)).any(
        axis=1
    )
    most_noise = ((e != 0) & (relevant != 1)).any(axis=1) & ~sure.any(axis=1)
    return {
        "GroundedRight": ((c == 1) & (found == 1), (c != 0) & (found != 0)),
        "SelfKnowledge": ((c == 1) & (found == 0), (c != 0) & (found != 1)),
        "NoiseRelevant": (
            (c == 0) & sure.any(axis=1), (c != 1) & ((e != 0) & (relevant != 0)).any(axis=1)
        ),
        "NoiseIrrelevant": ((c == 0) & least_noise, (c != 1) & most_noise),
        "Hallucination": ((c == 0) & (found == 0), (c != 1) & (found != 1)),
    }  # fmt: skip


def answer_scores(labels: ClaimLabels, *, reference: bool = True) -> dict[str, Range]:
    """Faithfulness and, with a ``reference``, ClaimPrecision and the partition of the answer's
    claims. An answer without claims has none of what is good, and NoClaim 1."""
    n = len(labels.c)
    found = {"Faithfulness": share(any_of(labels.e))}
    if not reference:
        return found
    found["ClaimPrecision"] = share(labels.c)
    for name, (least, most) in answer_cells(labels).items():
        found[name] = _range(least.sum(), most.sum(), n, name in LOWER_IS_BETTER)
    found["NoClaim"] = Range.certain(0.0 if n else 1.0)
    return found


# -- the reference's claims -----------------------------------------------------------------------


def reference_cells(labels: ClaimLabels) -> dict[str, tuple[Bools, Bools]]:
    """Of each cell which claims of the reference are surely in it, and which may be."""
    found, used = any_of(labels.r), labels.u
    return {
        "UsedFound": ((used == 1) & (found == 1), (used != 0) & (found != 0)),
        "UsedOwn": ((used == 1) & (found == 0), (used != 0) & (found != 1)),
        "FoundUnused": ((used == 0) & (found == 1), (used != 1) & (found != 0)),
        "Missed": ((used == 0) & (found == 0), (used != 1) & (found != 1)),
    }


def reference_scores(labels: ClaimLabels) -> dict[str, Range]:
    """ClaimRecall, ContextRecall, ContextPrecision(claims), and the partition of the reference's
    claims."""
    scores = {
        "ClaimRecall": share(labels.u),
        "ContextRecall": share(any_of(labels.r)),
        "ContextPrecision(claims)": share(labels.relevant),
    }
    for name, (least, most) in reference_cells(labels).items():
        scores[name] = _range(least.sum(), most.sum(), len(labels.u), name in LOWER_IS_BETTER)
    return scores


def f1(precision: Range, recall: Range) -> Range:
    """Their harmonic mean, 0 where either is 0; it rises with both, so its ends are of theirs."""
    ends = zip(precision, recall, strict=True)
    return Range(*(2 * p * r / (p + r) if p and r else 0.0 for p, r in ends))


def utilization(questions: Iterable[ClaimLabels]) -> Range | None:
    """Of all reference claims that were found, the share that is used: a ratio of totals. None
    if nothing was found, whatever the open labels are.

    Floor: an open claim counts as found where that lowers the ratio. (Bounding numerator and
    denominator apart would give ratios above 1.)
    """
    low, high = np.zeros(2), np.zeros(2)
    for labels in questions:
        found, used = any_of(labels.r), labels.u
        unsure = np.isnan(found)
        low += [((found == 1) & (used == 1)).sum(),
                (found == 1).sum() + (unsure & (used != 1)).sum()]  # fmt: skip
        most = ((found == 1) | unsure) & (used != 0)
        high += [most.sum(), (found == 1).sum() + (unsure & (used != 0)).sum()]
    if not low[1] and not high[1]:
        return None
    return Range(*(float(a / b) if b else 0.0 for a, b in (low, high)))


# -- passages in their order ----------------------------------------------------------------------


def average_precision(relevant: Floats) -> Range:
    """Σ_k P@k·rel_k / Σ rel_k over the passages retrieved, 0 without a relevant one: the ideal is
    what was retrieved. It is not monotone in open labels: for each number of open ones that are
    relevant the last of them are where that is worst, the first where it is best."""
    places = np.flatnonzero(np.isnan(relevant))
    ends: list[tuple[float, float]] = []
    for m in range(len(places) + 1):
        values = []
        for some in (places[len(places) - m :], places[:m]):
            filled = np.nan_to_num(relevant)
            filled[some] = 1.0
            values.append(_ap(filled))
        ends.append((values[0], values[1]))
    return Range(min(low for low, _ in ends), max(high for _, high in ends))


def _ap(relevant: Floats) -> float:
    hits = relevant.sum()
    precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float((precision * relevant).sum() / hits) if hits else 0.0


# -- single claims --------------------------------------------------------------------------------


def cell_of_answer_claim(labels: ClaimLabels, place: int) -> str | None:
    """The cell that a claim of the answer is surely in; None while it hangs on what is open."""
    return next((n for n, (sure, _) in answer_cells(labels).items() if sure[place]), None)


def cell_of_reference_claim(labels: ClaimLabels, place: int) -> str | None:
    """The same of a claim of the reference."""
    return next((n for n, (sure, _) in reference_cells(labels).items() if sure[place]), None)
