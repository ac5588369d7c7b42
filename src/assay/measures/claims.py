"""Claim measures: the claims of an answer and of a reference against the retrieved passages.

Labels are 1 (yes), 0 (no) or NaN (unknown: no label, a failed one, or a missing text). Every score
is a :class:`Range`; each end is reached by some completion of the unknown labels. All measures are
shares of claims, and follow from two partitions into cells: of the answer's claims, and of the
reference's. The terms are those of ragas and RAGChecker; the definitions are Assay's own
(docs/rag.md says how they differ).
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
    """The labels of a question's claims: 1, 0 or NaN.

    ``e``: answer claims × passages, whether the passage entails the claim. ``c``: whether the
    reference entails the answer claim. ``r``: reference claims × passages, whether the passage
    entails the claim. ``u``: whether the answer entails the reference claim. ``relevant``: whether
    a passage entails some claim of the reference.
    """

    e: Floats
    c: Floats
    r: Floats
    u: Floats
    relevant: Floats


def any_yes(rows: Floats) -> Floats:
    """For each row: 1 if any label is yes, 0 if all are no, else NaN."""
    yes_or_unknown = np.where((rows == 1).any(axis=1), 1.0, np.nan)
    return np.where((rows == 0).all(axis=1), 0.0, yes_or_unknown)


def share(labels: Floats) -> Range:
    """The share of yes; 0 if there are no labels."""
    return _share_range((labels == 1).sum(), (labels != 0).sum(), len(labels))


def _share_range(least: int, most: int, total: int, lower_is_better: bool = False) -> Range:
    """A share of ``total`` claims, from the least and greatest number of them; worst end first."""
    if not total:
        return Range.certain(0.0)
    ends = (float(least) / total, float(most) / total)
    return Range(*(ends[::-1] if lower_is_better else ends))


# -- the answer's claims --------------------------------------------------------------------------


def answer_cells(labels: ClaimLabels) -> dict[str, tuple[Bools, Bools]]:
    """For each cell, which claims are certainly in it, and which may be."""
    e, c, relevant = labels.e, labels.c, labels.relevant
    found = any_yes(e)
    in_relevant = ((e == 1) & (relevant == 1)).any(axis=1)
    maybe_in_relevant = ((e != 0) & (relevant != 0)).any(axis=1)
    # A claim is irrelevant noise if only irrelevant passages entail it.
    sure_noise = ((e == 1) & (relevant == 0)).any(axis=1) & ~maybe_in_relevant
    maybe_noise = ((e != 0) & (relevant != 1)).any(axis=1) & ~in_relevant
    return {
        "GroundedRight": ((c == 1) & (found == 1), (c != 0) & (found != 0)),
        "SelfKnowledge": ((c == 1) & (found == 0), (c != 0) & (found != 1)),
        "NoiseRelevant": ((c == 0) & in_relevant, (c != 1) & maybe_in_relevant),
        "NoiseIrrelevant": ((c == 0) & sure_noise, (c != 1) & maybe_noise),
        "Hallucination": ((c == 0) & (found == 0), (c != 1) & (found != 1)),
    }


def answer_scores(labels: ClaimLabels, *, reference: bool = True) -> dict[str, Range]:
    """Faithfulness and, with a ``reference``, ClaimPrecision and the cells of the answer's claims.
    An answer without claims has NoClaim 1 and all others 0."""
    n = len(labels.c)
    scores = {"Faithfulness": share(any_yes(labels.e))}
    if not reference:
        return scores
    scores["ClaimPrecision"] = share(labels.c)
    for name, (least, most) in answer_cells(labels).items():
        scores[name] = _share_range(least.sum(), most.sum(), n, name in LOWER_IS_BETTER)
    scores["NoClaim"] = Range.certain(0.0 if n else 1.0)
    return scores


# -- the reference's claims -----------------------------------------------------------------------


def reference_cells(labels: ClaimLabels) -> dict[str, tuple[Bools, Bools]]:
    """For each cell, which claims of the reference are certainly in it, and which may be."""
    found, used = any_yes(labels.r), labels.u
    return {
        "UsedFound": ((used == 1) & (found == 1), (used != 0) & (found != 0)),
        "UsedOwn": ((used == 1) & (found == 0), (used != 0) & (found != 1)),
        "FoundUnused": ((used == 0) & (found == 1), (used != 1) & (found != 0)),
        "Missed": ((used == 0) & (found == 0), (used != 1) & (found != 1)),
    }


def reference_scores(labels: ClaimLabels) -> dict[str, Range]:
    """ClaimRecall, ContextRecall, ContextPrecision(claims), and the cells of its claims."""
    n = len(labels.u)
    scores = {
        "ClaimRecall": share(labels.u),
        "ContextRecall": share(any_yes(labels.r)),
        "ContextPrecision(claims)": share(labels.relevant),
    }
    for name, (least, most) in reference_cells(labels).items():
        scores[name] = _share_range(least.sum(), most.sum(), n, name in LOWER_IS_BETTER)
    return scores


def f1(precision: Range, recall: Range) -> Range:
    """The harmonic mean of precision and recall, 0 if either is 0. It increases with both, so each
    of its ends follows from theirs."""
    ends = zip(precision, recall, strict=True)
    return Range(*(2 * p * r / (p + r) if p and r else 0.0 for p, r in ends))


def utilization(questions: Iterable[ClaimLabels]) -> Range | None:
    """The share of the reference claims found in passages that the answers use, over all questions
    (a ratio of totals). None if nothing was found, whatever the unknown labels are.

    For the floor, a claim that may have been found counts as found if that lowers the ratio.
    (Bounding numerator and denominator separately would allow ratios above 1.)
    """
    low, high = np.zeros(2), np.zeros(2)
    for labels in questions:
        found, used = any_yes(labels.r), labels.u
        unsure = np.isnan(found)
        low += [((found == 1) & (used == 1)).sum(),
                (found == 1).sum() + (unsure & (used != 1)).sum()]  # fmt: skip
        most = ((found == 1) | unsure) & (used != 0)
        high += [most.sum(), (found == 1).sum() + (unsure & (used != 0)).sum()]
    if not low[1] and not high[1]:
        return None
    return Range(*(float(a / b) if b else 0.0 for a, b in (low, high)))


# -- ranked passages ------------------------------------------------------------------------------


def average_precision(relevant: Floats) -> Range:
    """Σ_k P@k·rel_k / Σ rel_k over the retrieved passages, in rank order; 0 if none is relevant.

    Unlike trec_eval's, the denominator counts retrieved passages only. The score is not monotone in
    the unknown labels. If m of them are relevant, it is lowest if these are the last m, and highest
    if they are the first m, so every m is tried.
    """
    unknown = np.flatnonzero(np.isnan(relevant))
    lows: list[float] = []
    highs: list[float] = []
    for m in range(len(unknown) + 1):
        for ends, chosen in ((lows, unknown[len(unknown) - m :]), (highs, unknown[:m])):
            filled = np.nan_to_num(relevant)
            filled[chosen] = 1.0
            ends.append(_ap(filled))
    return Range(min(lows), max(highs))


def _ap(relevant: Floats) -> float:
    hits = relevant.sum()
    precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
    return float((precision * relevant).sum() / hits) if hits else 0.0


# -- single claims --------------------------------------------------------------------------------


def cell_of_answer_claim(labels: ClaimLabels, claim: int) -> str | None:
    """The cell of a claim of the answer, by its index; None while unknown labels decide it."""
    return next((name for name, (sure, _) in answer_cells(labels).items() if sure[claim]), None)


def cell_of_reference_claim(labels: ClaimLabels, claim: int) -> str | None:
    """The cell of a claim of the reference, by its index; None while unknown labels decide it."""
    return next((name for name, (sure, _) in reference_cells(labels).items() if sure[claim]), None)
