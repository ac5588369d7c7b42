"""Confidence measures: whether a system knows when it is right.

Every function takes *p*, the confidence of each answer (from 0 to 1), and *c*, 1 if the answer is
correct, else 0, in the same order. It raises ``ValueError`` if the two differ in length, are empty,
or hold anything else. Undefined values are ``None``, never NaN.

Higher is better for ``hmr``, ``reward_over``, ``reward_under``, ``auroc`` and ``accuracy``; lower
is better for ``ece``, ``mce``, ``brier`` and ``ks``.

Sources: HMR, R_O and R_U are equations 1 to 4 of the R2C2 overview (Sakai); for the rest see
``docs/measures.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.ranges import ROUNDING
from assay.measures.settings import whole_number

LOWER_IS_BETTER = frozenset({"ECE", "MCE", "Brier", "KS"})

Closed = Literal["right", "left"]
"""Which end of a bin belongs to it: ``right`` is (a, b] with the first bin [0, b], ``left`` is
[a, b) with the last bin [a, 1]."""

MOST_BINS = 1_000
"""The most bins that users may set."""


def check(p: npt.ArrayLike, c: npt.ArrayLike) -> tuple[Floats, Bools]:
    """Confidences and correctness as checked arrays. Raises ValueError if they are empty, not
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
    """Raise ValueError if a value of a masked numpy array, or of a list of such arrays, is masked:
    numpy would silently drop the mask."""
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


# --- measures as functions of sums ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tally:
    """The numbers of wrong and right answers at each confidence; all measures follow from these.

    ``counts``: 2 (wrong, right) × levels × samples. ``levels``: the confidences, ascending.
    ``bins``: the index of the first level of each bin that has any.
    """

    counts: Floats
    levels: Floats
    bins: Integers

    @cached_property
    def surplus(self) -> Floats:
        """Σ (p − c) at each level: levels × samples."""
        levels, (wrong, right) = self.levels[:, None], self.counts
        return np.asarray(wrong * levels - right * (1.0 - levels))


class ConfidenceMeasure(NamedTuple):
    """A measure as a function of sums over answers. Samples, resamples and swaps of answers are
    thus all measured in the same way.

    ``sums``: a function of a tally that gives f × samples sums, linear in its counts. ``value``: a
    function of such sums and the number of answers that gives the measure of each sample, NaN if
    undefined. It must allow for rounding errors in the sums.
    """

    sums: Callable[[Tally], Floats]
    value: Callable[[Floats, int], Floats]


def tally_answers(p: Floats, c: Bools, bins: int = 10, closed: Closed = "right") -> Tally:
    """The tally of checked answers, as a single sample."""
    levels, level = np.unique(p, return_inverse=True)
    cells = np.bincount(level + len(levels) * c, minlength=2 * len(levels)).astype(np.float64)
    return Tally(cells.reshape(2, -1, 1), levels, bin_starts(levels, bins, closed))


def bin_starts(levels: Floats, bins: int = 10, closed: Closed = "right") -> Integers:
    """The index of the first level of each bin that has any; ``levels`` ascend. See
    :func:`bin_numbers`."""
    return np.flatnonzero(np.diff(bin_numbers(levels, bins, closed), prepend=-1))


def _weighted(weights: Floats, counts: Floats) -> Floats:
    # With einsum, unlike BLAS, rounding does not depend on the number of samples.
    return np.asarray(np.einsum("l,ls->s", weights, counts))


def _reward_sums(tally: Tally) -> Floats:
    """O, |I⁻|, U and |I⁺|: Σ p and number of the wrong answers, Σ (1 − p) and number
    of the right ones."""
    wrong, right = tally.counts
    over, under = _weighted(tally.levels, wrong), _weighted(1.0 - tally.levels, right)
    return np.stack([over, wrong.sum(axis=0), under, right.sum(axis=0)])


def _reward(lost: Floats, n: Floats) -> Floats:
    # Where the loss is 0, differences of sums may leave rounding errors instead.
    rewards: Floats = 1.0 - np.divide(lost, n, out=np.zeros(len(n)), where=n > 0.5)
    return np.clip(rewards, 0.0, 1.0)


def _over(sums: Floats, _n: int) -> Floats:
    return _reward(sums[0], sums[1])


def _under(sums: Floats, _n: int) -> Floats:
    return _reward(sums[2], sums[3])


def _hmr(sums: Floats, n: int) -> Floats:
    over, under = _over(sums, n), _under(sums, n)
    both = over + under
    return np.divide(2 * over * under, both, out=np.zeros(len(both)), where=both > ROUNDING)


def _bin_sums(tally: Tally) -> Floats:
    """Σ (p − c) of each bin, then the number of answers in each."""
    by_level = (tally.surplus, tally.counts.sum(axis=0))
    by_bin = [np.split(values, tally.bins[1:]) for values in by_level]
    return np.stack([levels.sum(axis=0) for bins in by_bin for levels in bins])


def _ece(sums: Floats, n: int) -> Floats:
    return np.asarray(np.abs(np.vsplit(sums, 2)[0]).sum(axis=0) / n)


def _mce(sums: Floats, _n: int) -> Floats:
    surplus, counts = np.vsplit(sums, 2)
    gaps = np.divide(np.abs(surplus), counts, out=np.zeros(counts.shape), where=counts > 0.5)
    return np.asarray(gaps.max(axis=0))


def _squared_errors(tally: Tally) -> Floats:
    wrong, right = tally.counts
    of_wrong = _weighted(np.square(tally.levels), wrong)
    return (of_wrong + _weighted(np.square(1.0 - tally.levels), right))[None]


def _ks(sums: Floats, n: int) -> Floats:
    return np.asarray(np.abs(np.cumsum(sums, axis=0)).max(axis=0) / n)


def _auroc(sums: Floats, _n: int) -> Floats:
    wrong, right = np.vsplit(sums, 2)  # counts, so no rounding
    pairs = right.sum(axis=0) * wrong.sum(axis=0)
    ordered = (right * (np.cumsum(wrong, axis=0) - wrong / 2.0)).sum(axis=0)
    areas = np.divide(ordered, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return np.asarray(areas)


MEASURES: dict[str, ConfidenceMeasure] = {
    "HMR": ConfidenceMeasure(_reward_sums, _hmr),
    "R_O": ConfidenceMeasure(_reward_sums, _over),
    "R_U": ConfidenceMeasure(_reward_sums, _under),
    "ECE": ConfidenceMeasure(_bin_sums, _ece),
    "MCE": ConfidenceMeasure(_bin_sums, _mce),
    "Brier": ConfidenceMeasure(_squared_errors, lambda sums, n: sums[0] / n),
    "KS": ConfidenceMeasure(lambda tally: tally.surplus, _ks),
    "AUROC": ConfidenceMeasure(
        lambda tally: tally.counts.reshape(2 * len(tally.levels), -1), _auroc
    ),
    "Accuracy": ConfidenceMeasure(_reward_sums, lambda sums, n: sums[3] / n),
}
"""Every confidence measure, by name."""


def _value(
    name: str, p: npt.ArrayLike, c: npt.ArrayLike, bins: int = 10, closed: Closed = "right"
) -> float:
    confidence, correct = check(p, c)
    sums, value = MEASURES[name]
    return float(value(sums(tally_answers(confidence, correct, bins, closed)), len(confidence))[0])


def confidence_measure(name: str, p: npt.ArrayLike, c: npt.ArrayLike) -> float | None:
    """The value of a measure of :data:`MEASURES`, or None if it is undefined."""
    value = _value(name, p, c)
    return None if np.isnan(value) else value


# --- modesty -------------------------------------------------------------------------------------


reward_over = partial(_value, "R_O")
"""R_O: 1 − the mean confidence of the wrong answers; 1 if none is wrong (eq. 2). It is high if the
system avoids overconfidence."""

reward_under = partial(_value, "R_U")
"""R_U: 1 − the mean of 1 − p over the right answers; 1 if none is right (eq. 3). It is high if the
system avoids underconfidence."""

hmr = partial(_value, "HMR")
"""HMR: the harmonic mean of R_O and R_U; 0 if both are 0 (eq. 4). Lowering the confidence of a
right answer, or raising that of a wrong one, never raises HMR."""

accuracy = partial(_value, "Accuracy")
"""The share of correct answers."""


# --- calibration ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReliabilityBin:
    """One bar of a reliability diagram.

    ``low``, ``high``: the ends of the bin. ``n``: the number of answers in it. ``mean_confidence``,
    ``accuracy``: their mean confidence, and the share that is correct; ``None`` if the bin is
    empty.
    """

    low: float
    high: float
    n: int
    mean_confidence: float | None
    accuracy: float | None


def bin_numbers(p: npt.ArrayLike, bins: int = 10, closed: Closed = "right") -> Integers:
    """The bin number of each confidence, from 0.

    The bins have equal width. Their edges are computed as i / bins, so that 30 / 100 is exactly on
    the edge 3 / 10. Raises ValueError if ``bins`` is not a whole number from 1, or ``closed`` is
    neither ``right`` nor ``left``.
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
    """The reliability diagram: ``bins`` bins of equal width from 0 to 1, including empty ones."""
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


ece = partial(_value, "ECE")
"""Expected calibration error: Σ (n_b / N) |acc_b − conf_b| over bins (``bins``, ``closed``)."""

mce = partial(_value, "MCE")
"""Maximum calibration error: the largest |acc_b − conf_b| of a non-empty bin."""

brier = partial(_value, "Brier")
"""Brier score: the mean of (p − c)²."""

ks = partial(_value, "KS")
"""KS calibration error: max_k |(1/N) Σ_{i≤k} (p_i − c_i)|, sorted by p. Only k at the end of a
group of equal confidences count, so the order of ties does not matter."""

auroc = partial(confidence_measure, "AUROC")
"""Area under the ROC curve of confidence as a predictor of correctness: the probability that a
random right answer has a higher confidence than a random wrong one, ties counting half. ``None`` if
all answers are right or all are wrong."""


# --- selective answering -------------------------------------------------------------------------


@dataclass(frozen=True)
class RiskPoint:
    """What a system would achieve with only answers of a confidence of at least ``threshold``.

    ``n``: the number of such answers. ``coverage``: their share of all answers. ``accuracy``: the
    share of them that is correct. ``risk``: 1 − accuracy.
    """

    threshold: float
    n: int
    coverage: float
    accuracy: float
    risk: float


def risk_coverage(p: npt.ArrayLike, c: npt.ArrayLike) -> list[RiskPoint]:
    """The risk-coverage curve: one point for each distinct confidence, highest first.

    Answers of equal confidence are added together; the last point covers all. Source: El-Yaniv &
    Wiener 2010; docs/r2c2.md, step 5.
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
    """The accuracy at the highest threshold that answers a share ``coverage`` of the questions.

    Answers of equal confidence are never split, so more may be answered. Raises ValueError if
    ``coverage`` is not above 0 and at most 1.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, got {coverage}")
    curve = risk_coverage(p, c)
    least = coverage - ROUNDING  # 0.1 + 0.2 is above 0.3 in floating point
    return next(point for point in curve if point.coverage >= least).accuracy


def confidence_measures(
    p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right"
) -> dict[str, float | None]:
    """HMR, R_O, R_U, ECE, MCE, Brier, KS, AUROC and Accuracy by name, in this order.

    AUROC is ``None`` if it is undefined; the others always have a value.
    """
    confidence, correct = check(p, c)
    tally, n = tally_answers(confidence, correct, bins, closed), len(confidence)
    values = {name: float(value(sums(tally), n)[0]) for name, (sums, value) in MEASURES.items()}
    return {name: None if np.isnan(value) else value for name, value in values.items()}
