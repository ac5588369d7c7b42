"""Confidence measures: whether a system knows when it is right.

Every function takes *p*, the confidence of each answer (0 to 1; a score of 0 to 100 is divided by
100), and *c*, 1 if the answer is correct and 0 if it is not, in the same order. Every
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
"""More bins than any number of answers fills."""


def check(p: npt.ArrayLike, c: npt.ArrayLike) -> tuple[Floats, Bools]:
    """Confidences and correctness as arrays. Raises ValueError if they are empty, not
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
    Raises ValueError if a value is masked."""
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


# --- what every measure is -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tally:
    """How many wrong and how many right answers have each confidence: all measures follow from it.

    ``counts``: 2 (wrong, right) × levels × samples. ``levels``: the confidences, ascending.
    ``bins``: at which levels a bin begins that has any.
    """

    counts: Floats
    levels: Floats
    bins: Integers

    @cached_property
    def surplus(self) -> Floats:
        """Σ (p − c) of each level."""
        levels, (wrong, right) = self.levels[:, None], self.counts
        return np.asarray(wrong * levels - right * (1.0 - levels))


class ConfidenceMeasure(NamedTuple):
    """A measure as sums over answers and what they come to, so that samples, resamples and swaps
    of answers are all measured alike.

    ``sums``: of a tally, f × samples, linear in its counts. ``value``: of such sums over n answers
    the measure of each sample, NaN if it is undefined. Sums may be off by rounding.
    """

    sums: Callable[[Tally], Floats]
    value: Callable[[Floats, int], Floats]


def tallied(p: Floats, c: Bools, bins: int = 10, closed: Closed = "right") -> Tally:
    """Checked answers as one sample."""
    levels, level = np.unique(p, return_inverse=True)
    cells = np.bincount(level + len(levels) * c, minlength=2 * len(levels)).astype(np.float64)
    return Tally(cells.reshape(2, -1, 1), levels, bin_starts(levels, bins, closed))


def bin_starts(levels: Floats, bins: int = 10, closed: Closed = "right") -> Integers:
    """At which of ascending levels a bin begins, see :func:`bin_numbers`."""
    return np.flatnonzero(np.diff(bin_numbers(levels, bins, closed), prepend=-1))


def _weighted(weights: Floats, counts: Floats) -> Floats:
    # (einsum adds up alike however many samples there are; a product by BLAS does not.)
    return np.asarray(np.einsum("l,ls->s", weights, counts))


def _rewarded(tally: Tally) -> Floats:
    """O, |I⁻|, U and |I⁺|: confidence of the wrong answers, and the lack of it in the right."""
    wrong, right = tally.counts
    over, under = _weighted(tally.levels, wrong), _weighted(1.0 - tally.levels, right)
    return np.stack([over, wrong.sum(axis=0), under, right.sum(axis=0)])


def _reward(lost: Floats, n: Floats) -> Floats:
    # Differences of sums leave rounding errors where there is nothing to lose.
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


def _binned(tally: Tally) -> Floats:
    """Σ (p − c) of each bin, then how many answers are in it."""
    cells = (tally.surplus, tally.counts.sum(axis=0))
    binned = [np.split(one, tally.bins[1:]) for one in cells]
    return np.stack([one.sum(axis=0) for bins in binned for one in bins])


def _ece(sums: Floats, n: int) -> Floats:
    return np.asarray(np.abs(np.vsplit(sums, 2)[0]).sum(axis=0) / n)


def _mce(sums: Floats, _n: int) -> Floats:
    surplus, counts = np.vsplit(sums, 2)
    gaps = np.divide(np.abs(surplus), counts, out=np.zeros(counts.shape), where=counts > 0.5)
    return np.asarray(gaps.max(axis=0))


def _squares(tally: Tally) -> Floats:
    wrong, right = tally.counts
    off = _weighted(np.square(tally.levels), wrong)
    return (off + _weighted(np.square(1.0 - tally.levels), right))[None]


def _ks(sums: Floats, n: int) -> Floats:
    return np.asarray(np.abs(np.cumsum(sums, axis=0)).max(axis=0) / n)


def _auroc(sums: Floats, _n: int) -> Floats:
    wrong, right = np.vsplit(sums, 2)  # counts, so all of this is exact
    pairs = right.sum(axis=0) * wrong.sum(axis=0)
    ordered = (right * (np.cumsum(wrong, axis=0) - wrong / 2.0)).sum(axis=0)
    areas = np.divide(ordered, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return np.asarray(areas)


MEASURES: dict[str, ConfidenceMeasure] = {
    "HMR": ConfidenceMeasure(_rewarded, _hmr),
    "R_O": ConfidenceMeasure(_rewarded, _over),
    "R_U": ConfidenceMeasure(_rewarded, _under),
    "ECE": ConfidenceMeasure(_binned, _ece),
    "MCE": ConfidenceMeasure(_binned, _mce),
    "Brier": ConfidenceMeasure(_squares, lambda sums, n: sums[0] / n),
    "KS": ConfidenceMeasure(lambda tally: tally.surplus, _ks),
    "AUROC": ConfidenceMeasure(
        lambda tally: tally.counts.reshape(2 * len(tally.levels), -1), _auroc
    ),
    "Accuracy": ConfidenceMeasure(_rewarded, lambda sums, n: sums[3] / n),
}
"""Every measure of confidence by its name."""


def _measured(
    name: str, p: npt.ArrayLike, c: npt.ArrayLike, bins: int = 10, closed: Closed = "right"
) -> float:
    confidence, correct = check(p, c)
    sums, value = MEASURES[name]
    return float(value(sums(tallied(confidence, correct, bins, closed)), len(confidence))[0])


def measured(name: str, p: npt.ArrayLike, c: npt.ArrayLike) -> float | None:
    """The measure of that name, of :data:`MEASURES`; None if it is undefined."""
    value = _measured(name, p, c)
    return None if np.isnan(value) else value


# --- modesty -------------------------------------------------------------------------------------


reward_over = partial(_measured, "R_O")
"""R_O: 1 − the mean confidence of the wrong answers; 1 if none is wrong (eq. 2). High means that
the system suppresses overconfidence."""

reward_under = partial(_measured, "R_U")
"""R_U: 1 − the mean of 1 − p over the right answers; 1 if none is right (eq. 3). High means that
the system suppresses underconfidence."""

hmr = partial(_measured, "HMR")
"""HMR, the harmonic mean of R_O and R_U; 0 if both are 0 (eq. 4). Lowering the confidence of a
right answer or raising that of a wrong one never raises it."""

accuracy = partial(_measured, "Accuracy")
"""The share of correct answers."""


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
    edge 3 / 10 exactly. Raises ValueError if ``bins`` is not a whole number from 1, or
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


ece = partial(_measured, "ECE")
"""The expected calibration error: Σ (n_b / N) |acc_b − conf_b| over the bins, which may be given
(``bins``, ``closed``)."""

mce = partial(_measured, "MCE")
"""The maximum calibration error: the largest |acc_b − conf_b| of a non-empty bin."""

brier = partial(_measured, "Brier")
"""The Brier score: the mean of (p − c)²."""

ks = partial(_measured, "KS")
"""The KS calibration error: max_k |(1/N) Σ_{i≤k} (p_i − c_i)|, sorted by p. It is taken at the ends
of groups of equal confidence, so the order of ties does not matter."""

auroc = partial(measured, "AUROC")
"""The area under the ROC curve of confidence as a sign of correctness: the chance that a random
right answer has a higher confidence than a random wrong one, ties counting half. ``None`` if every
answer is right or every answer is wrong."""


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
    ValueError if ``coverage`` is not above 0 and at most 1.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, got {coverage}")
    curve = risk_coverage(p, c)
    least = coverage - ROUNDING  # 3 of 10 are a coverage of 0.1 + 0.2, which is more than 0.3
    return next(point for point in curve if point.coverage >= least).accuracy


def confidence_measures(
    p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int = 10, closed: Closed = "right"
) -> dict[str, float | None]:
    """HMR, R_O, R_U, ECE, MCE, Brier, KS, AUROC and Accuracy by those names, in that order.

    AUROC is ``None`` if it is undefined; the others always have a value.
    """
    confidence, correct = check(p, c)
    tally, n = tallied(confidence, correct, bins, closed), len(confidence)
    found = {name: float(value(sums(tally), n)[0]) for name, (sums, value) in MEASURES.items()}
    return {name: None if np.isnan(value) else value for name, value in found.items()}
