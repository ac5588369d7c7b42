"""Confidence measures: whether a system knows when it is right.

Every function takes *p*, the confidence of each answer (0 to 1; a score of 0 to 100 is divided by
100), and *c*, 1 where the answer is correct and 0 where it is not, in the same order. Every
function raises ``ValueError`` where the two differ in length, are empty, or hold anything else.
What the data leave undefined is ``None``, never NaN or a made-up value.

Higher is better for ``hmr``, ``reward_over``, ``reward_under``, ``auroc`` and ``accuracy``; lower
is better for ``ece``, ``mce``, ``brier`` and ``ks``.

Sources: HMR, R_O and R_U are equations 1 to 4 of the R2C2 overview (Sakai); the rest as in
``docs/measures.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from assay.measures.settings import whole_number

T = TypeVar("T")

LOWER_IS_BETTER = frozenset({"ECE", "MCE", "Brier", "KS"})

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

Closed = Literal["right", "left"]
"""Which end of a bin belongs to it: ``right`` is (a, b] with the first bin [0, b], ``left`` is
[a, b) with the last bin [a, 1]."""


def check(p: npt.ArrayLike, c: npt.ArrayLike) -> tuple[Floats, Bools]:
    """Confidences and correctness as arrays. Raises ValueError where they are empty, not
    one-dimensional or of different lengths, a confidence is not a number from 0 to 1, or a
    correctness is neither 0 nor 1."""
    confidence = _numbers(p, "confidences")
    correct = _numbers(c, "correctness values")
    if len(confidence) != len(correct):
        raise ValueError(
            f"{len(confidence)} confidences, but {len(correct)} correctness values: give one of"
            " each per answer"
        )
    if not len(confidence):
        raise ValueError("there are no answers to measure")
    wrong = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
    if len(wrong):
        raise ValueError(
            f"confidence {confidence[wrong[0]]} of answer {wrong[0] + 1} is not from 0 to 1"
        )
    wrong = np.flatnonzero((correct != 0) & (correct != 1))
    if len(wrong):
        raise ValueError(
            f"correctness {correct[wrong[0]]} of answer {wrong[0] + 1} is neither 0 nor 1"
        )
    return confidence, correct == 1


def refuse_masked(values: object, what: str) -> None:
    """Refuse an array of numpy.ma that masks something, or a list of such: numpy drops the masks.
    Raises ValueError where a value is masked."""
    parts = values if isinstance(values, list | tuple) else (values,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"the {what} are masked in places: leave these out or fill them with NaN")


def _numbers(values: npt.ArrayLike, what: str) -> Floats:
    refuse_masked(values, what)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the {what} are not all numbers") from None
    if array.ndim != 1:
        raise ValueError(f"the {what} must be a flat list, got {array.ndim} dimensions")
    return array


class _OfChecked(Generic[T]):
    """A measure of confidences and correctness that are checked first; ``plain`` is that of data
    that were checked already."""

    def __init__(self, plain: Callable[[Floats, Bools], T]) -> None:
        self.plain: Callable[[Floats, Bools], T] = plain
        update_wrapper(self, plain)

    def __call__(self, p: npt.ArrayLike, c: npt.ArrayLike) -> T:
        return self.plain(*check(p, c))


# --- modesty -------------------------------------------------------------------------------------


@_OfChecked
def reward_over(confidence: Floats, correct: Bools) -> float:
    """R_O: 1 − the mean confidence of the wrong answers; 1 if none is wrong (eq. 2).

    High means that the system suppresses overconfidence.
    """
    wrong = confidence[~correct]
    return float(1.0 - wrong.mean()) if len(wrong) else 1.0


@_OfChecked
def reward_under(confidence: Floats, correct: Bools) -> float:
    """R_U: 1 − the mean of 1 − p over the right answers; 1 if none is right (eq. 3).

    High means that the system suppresses underconfidence.
    """
    right = confidence[correct]
    return float(1.0 - (1.0 - right).mean()) if len(right) else 1.0


@_OfChecked
def hmr(confidence: Floats, correct: Bools) -> float:
    """HMR, the harmonic mean of R_O and R_U; 0 if both are 0 (eq. 4).

    Lowering the confidence of a right answer or raising that of a wrong one never raises it.
    """
    over, under = reward_over.plain(confidence, correct), reward_under.plain(confidence, correct)
    return 2.0 * over * under / (over + under) if over + under > 0 else 0.0


@_OfChecked
def accuracy(confidence: Floats, correct: Bools) -> float:
    """The share of correct answers."""
    return float(correct.mean())


# --- calibration ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReliabilityBin:
    """One bar of a reliability diagram.

    ``low``: the lower end of the bin. ``high``: the upper end of the bin. ``n``: how many answers
    fall into it. ``mean_confidence``: their mean confidence, ``None`` in an empty bin.
    ``accuracy``: the share of them that is correct, ``None`` in an empty bin.
    """

    low: float
    high: float
    n: int
    mean_confidence: float | None
    accuracy: float | None


def bin_numbers(p: npt.ArrayLike, bins: int = 10, closed: Closed = "right") -> Integers:
    """The number of the bin, from 0, that each confidence falls into.

    The bins have equal width. Their edges are the quotients i / bins, so that 30 / 100 is on the
    edge 3 / 10 exactly. Raises ValueError where ``bins`` is not a whole number from 1, or
    ``closed`` is neither ``right`` nor ``left``.
    """
    whole_number(bins, "bins")
    if closed not in ("right", "left"):
        raise ValueError(f"closed must be 'right' or 'left', got {closed!r}")
    inner_edges = np.arange(1, bins) / bins
    side: Literal["left", "right"] = "left" if closed == "right" else "right"
    return np.searchsorted(inner_edges, np.asarray(p, dtype=np.float64), side=side).astype(np.int64)


def reliability_bins(
    p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right"
) -> list[ReliabilityBin]:
    """The reliability diagram: ``bins`` bins of equal width from 0 to 1, empty ones too."""
    confidence, correct = check(p, c)
    numbers = bin_numbers(confidence, bins, closed)
    counts = np.bincount(numbers, minlength=bins)
    confidences = np.bincount(numbers, weights=confidence, minlength=bins)
    rights = np.bincount(numbers, weights=correct, minlength=bins)
    return [
        ReliabilityBin(
            low=number / bins,
            high=(number + 1) / bins,
            n=int(n),
            mean_confidence=float(confidences[number] / n) if n else None,
            accuracy=float(rights[number] / n) if n else None,
        )
        for number, n in enumerate(counts)
    ]


def _bin_gaps(
    confidence: Floats, correct: Bools, bins: int, closed: Closed
) -> tuple[Floats, Floats]:
    """The share of answers and |accuracy − mean confidence| of every non-empty bin."""
    numbers = bin_numbers(confidence, bins, closed)
    counts = np.bincount(numbers, minlength=bins)
    gaps = np.abs(np.bincount(numbers, weights=correct - confidence, minlength=bins))
    filled = counts > 0
    return counts[filled] / len(confidence), gaps[filled] / counts[filled]


def ece(p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right") -> float:
    """The expected calibration error: Σ (n_b / N) |acc_b − conf_b| over the bins."""
    shares, gaps = _bin_gaps(*check(p, c), bins, closed)
    return float((shares * gaps).sum())


def mce(p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right") -> float:
    """The maximum calibration error: the largest |acc_b − conf_b| of a non-empty bin."""
    return float(_bin_gaps(*check(p, c), bins, closed)[1].max())


@_OfChecked
def brier(confidence: Floats, correct: Bools) -> float:
    """The Brier score: the mean of (p − c)²."""
    return float(np.square(confidence - correct).mean())


@_OfChecked
def ks(confidence: Floats, correct: Bools) -> float:
    """The KS calibration error: max_k |(1/N) Σ_{i≤k} (p_i − c_i)|, sorted by p.

    It is taken at the ends of groups of equal confidence, so the order of ties does not matter.
    """
    _, group = np.unique(confidence, return_inverse=True)
    differences = np.bincount(group, weights=confidence - correct)
    return float(np.abs(np.cumsum(differences)).max() / len(confidence))


@_OfChecked
def auroc(confidence: Floats, correct: Bools) -> float | None:
    """The area under the ROC curve of confidence as a sign of correctness.

    That is the chance that a random right answer has a higher confidence than a random wrong one,
    ties counting half. ``None`` if every answer is right or every answer is wrong.
    """
    _, group = np.unique(confidence, return_inverse=True)
    right = np.bincount(group, weights=correct)
    wrong = np.bincount(group, weights=~correct)
    pairs = right.sum() * wrong.sum()
    if not pairs:
        return None
    return float((right * (np.cumsum(wrong) - wrong / 2.0)).sum() / pairs)


# --- answering only when sure --------------------------------------------------------------------


@dataclass(frozen=True)
class RiskPoint:
    """What a system would achieve if it answered only with this confidence or more.

    ``threshold``: the lowest confidence that is still answered. ``n``: how many answers have it or
    more. ``coverage``: ``n`` over all answers. ``accuracy``: the share of the ``n`` that is
    correct. ``risk``: 1 − accuracy.
    """

    threshold: float
    n: int
    coverage: float
    accuracy: float
    risk: float


def risk_coverage(p: npt.ArrayLike, c: npt.ArrayLike) -> list[RiskPoint]:
    """The risk-coverage curve: one point for each confidence that occurs, highest first.

    Answers of equal confidence enter together; the last point covers everything. Source: El-Yaniv
    & Wiener 2010; docs/r2c2.md, step 5.
    """
    confidence, correct = check(p, c)
    thresholds, group = np.unique(-confidence, return_inverse=True)
    answered = np.cumsum(np.bincount(group))
    right = np.cumsum(np.bincount(group, weights=correct))
    return [
        RiskPoint(
            threshold=float(-threshold),
            n=int(n),
            coverage=float(n / len(confidence)),
            accuracy=float(hits / n),
            risk=float((n - hits) / n),
        )
        for threshold, n, hits in zip(thresholds, answered, right, strict=True)
    ]


def selective_accuracy(p: npt.ArrayLike, c: npt.ArrayLike, coverage: float) -> float:
    """The accuracy at the highest threshold that still answers ``coverage`` of the questions.

    Answers of equal confidence are never split, so more than ``coverage`` may be answered. Raises
    ValueError where ``coverage`` is not above 0 and at most 1.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, got {coverage}")
    curve = risk_coverage(p, c)
    least = coverage - 1e-12  # 3 of 10 are a coverage of 0.1 + 0.2, which is more than 0.3
    return next(point for point in curve if point.coverage >= least).accuracy


def confidence_measures(
    p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right"
) -> dict[str, float | None]:
    """HMR, R_O, R_U, ECE, MCE, Brier, KS, AUROC and Accuracy by those names, in that order.

    AUROC is ``None`` where it is undefined; the others always have a value.
    """
    confidence, correct = check(p, c)
    shares, gaps = _bin_gaps(confidence, correct, bins, closed)
    return {
        "HMR": hmr.plain(confidence, correct),
        "R_O": reward_over.plain(confidence, correct),
        "R_U": reward_under.plain(confidence, correct),
        "ECE": float((shares * gaps).sum()),
        "MCE": float(gaps.max()),
        "Brier": brier.plain(confidence, correct),
        "KS": ks.plain(confidence, correct),
        "AUROC": auroc.plain(confidence, correct),
        "Accuracy": accuracy.plain(confidence, correct),
    }
