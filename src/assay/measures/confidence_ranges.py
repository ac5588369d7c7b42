"""Ranges of the confidence measures if the correctness of answers, or whole answers, are missing.

Two things may be missing. The *correctness* of an answer may be unknown because there is no label;
it may then be right or wrong. A question may be *left out* by the run; it then counts as wrong, and
its confidence is unknown (R2C2, step 5). For the ceiling, its confidence is 0. For the floor, it
has the worst answer possible: a bold one, wrong with confidence 1, or a timid one, right with
confidence 0. (Otherwise a run could raise HMR and R_U by leaving out questions that it would answer
correctly with low confidence.)

All ends are exact, except that the ceiling of KS and, with questions left out, the floors of ECE,
MCE, KS and AUROC are only bounds. (With questions left out, ECE, MCE and KS could be lower than at
the ceiling, with a confidence other than 0 that compensates for errors of the opposite kind.)
``tests/measures/test_confidence_ranges.py`` compares them with every completion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.confidence import MEASURES, Closed, bin_numbers, check, confidence_measures, hmr
from assay.measures.ranges import Range


@dataclass(frozen=True)
class Completion:
    """One way in which everything missing could turn out: the confidence (``p``) and correctness
    (``c``) of every question."""

    p: Floats
    c: Bools


@dataclass(frozen=True)
class CompletedRange:
    """The range of a measure, with a completion that reaches each end (or comes near, if the end is
    only a bound)."""

    range: Range
    floor: Completion
    ceiling: Completion


def confidence_ranges(
    p: npt.ArrayLike,
    c: npt.ArrayLike,
    *,
    left_out: int = 0,
    bins: int = 10,
    closed: Closed = "right",
) -> dict[str, CompletedRange | None]:
    """Floor and ceiling of every confidence measure.

    ``p``: the confidence of each answer, 0 to 1. ``c``: 1 if it is correct, 0 if it is not, NaN if
    unknown. ``left_out``: the number of further questions, without an answer. ``bins``: the number
    of bins of ECE and MCE. ``closed``: which end of a bin belongs to it. Returns ranges by name, in
    the order of :data:`assay.measures.confidence.MEASURES`; None for AUROC if it is undefined
    whatever the missing labels are. Raises ValueError as
    :func:`assay.measures.confidence.check` does.
    """
    confidence, correct, unknown = _checked(p, c, left_out)
    if not unknown.any() and not left_out:
        known = Completion(confidence, correct)
        values = confidence_measures(confidence, correct, bins=bins, closed=closed)
        return {
            name: None if value is None else CompletedRange(Range.certain(value), known, known)
            for name, value in values.items()
        }
    return _IncompleteAnswers(confidence, correct, unknown, left_out, bins, closed).ranges()


def accuracy_and_hmr(
    p: npt.ArrayLike, c: npt.ArrayLike, *, left_out: int = 0
) -> tuple[Range, Range]:
    """Floor and ceiling of accuracy and HMR only; faster than :func:`confidence_ranges`."""
    confidence, correct, unknown = _checked(p, c, left_out)
    if not unknown.any() and not left_out:
        return (
            Range.certain(float(correct.mean())),
            Range.certain(hmr(confidence, correct)),
        )
    answers = _IncompleteAnswers(confidence, correct, unknown, left_out)
    return answers.accuracy().range, answers.rewards("HMR").range


def _checked(p: npt.ArrayLike, c: npt.ArrayLike, left_out: int) -> tuple[Floats, Bools, Bools]:
    """Confidences, correctness (False where unknown), and where it is unknown."""
    labels = np.asarray(c, dtype=np.float64)
    unknown = np.isnan(labels)
    if left_out and not len(labels):
        return np.empty(0), np.empty(0, dtype=bool), unknown
    return (*check(p, np.where(unknown, 0.0, labels)), unknown)


class _IncompleteAnswers:
    """A run's answers, some of unknown correctness, and questions that it left out.

    ``order``: the answers of unknown correctness, by ascending confidence; ``open``: their
    confidences. If m of them are right, R_O, R_U and AUROC are lowest if these are the m least
    confident, and highest if they are the m most confident; so only every m has to be tried.
    """

    def __init__(
        self,
        p: Floats,
        c: Bools,
        unknown: Bools,
        left_out: int,
        bins: int = 10,
        closed: Closed = "right",
    ) -> None:
        self.p, self.c, self.unknown, self.left_out = p, c, unknown, left_out
        self.bins, self.closed = bins, closed
        self.order = np.flatnonzero(unknown)[np.argsort(p[unknown], kind="stable")]
        self.open = p[self.order]
        self.right, self.wrong = np.sort(p[c & ~unknown]), np.sort(p[~c & ~unknown])
        self.n = len(p) + left_out

    def ranges(self) -> dict[str, CompletedRange | None]:
        return {
            "HMR": self.rewards("HMR"),
            "R_O": self.rewards("R_O"),
            "R_U": self.rewards("R_U"),
            **self._binned(),
            "Brier": self._brier(),
            "KS": self._ks(),
            "AUROC": self._auroc(),
            "Accuracy": self.accuracy(),
        }

    # -- completions ----------------------------------------------------------------------------

    def _complete(self, right: npt.NDArray[np.intp], timid: int | None) -> Completion:
        """The completion in which the answers ``right`` are right. Of the questions left out,
        ``timid`` are right with confidence 0 and the others wrong with confidence 1; with None, all
        are wrong with confidence 0."""
        c = self.c.copy()
        c[right] = True
        left_out_p = np.zeros(self.left_out)
        if timid is not None:
            left_out_p[timid:] = 1.0
        return Completion(
            np.concatenate([self.p, left_out_p]),
            np.concatenate([c, np.arange(self.left_out) < (timid or 0)]),
        )

    def _worst(self, m: int, timid: int = 0) -> Completion:
        return self._complete(self.order[:m], timid)

    def _best(self, m: int) -> Completion:
        return self._complete(self.order[len(self.order) - m :], None)

    # -- modesty --------------------------------------------------------------------------------

    def rewards(self, name: str) -> CompletedRange:
        """HMR, R_O or R_U. The floor is the least value over m and over the number of questions
        left out that are timid (for R_O, none is worst); the ceiling is the greatest over m."""
        sums = np.concatenate([[0.0], np.cumsum(self.open)])
        low, lowest_at = np.inf, (0, 0)
        for timid in range(1 if name == "R_O" else self.left_out + 1):
            values = self._reward(name, sums, timid, self.left_out - timid)
            m = int(values.argmin())
            if values[m] < low:
                low, lowest_at = float(values[m]), (m, timid)
        highs = self._reward(name, sums[-1] - sums[::-1], 0, 0)
        best = int(highs.argmax())
        ends = Range(low, float(highs[best]))
        return CompletedRange(ends, self._worst(*lowest_at), self._best(best))

    def _reward(self, name: str, right_sums: Floats, timid: int, bold: int) -> Floats:
        """The measure if m = 0, 1, … answers of unknown correctness are right, whose confidences
        sum to ``right_sums``. Of the questions left out, ``timid`` are right with confidence 0,
        ``bold`` wrong with confidence 1, and the others wrong with confidence 0."""
        m = np.arange(len(right_sums))
        right_count = len(self.right) + m + timid
        wrong_count = len(self.wrong) + len(self.open) - m + self.left_out - timid
        wrong_p = self.wrong.sum() + self.open.sum() - right_sums + bold
        right_p = self.right.sum() + right_sums
        sums = np.stack([wrong_p, wrong_count, right_count - right_p, right_count])
        return MEASURES[name].value(sums, self.n)

    def accuracy(self) -> CompletedRange:
        known = len(self.right)
        ends = Range(known / self.n, (known + len(self.open)) / self.n)
        return CompletedRange(ends, self._worst(0), self._best(len(self.open)))

    # -- calibration ----------------------------------------------------------------------------

    def _brier(self) -> CompletedRange:
        worst = self._complete(self.order[self.open < 0.5], 0)
        best = self._complete(self.order[self.open > 0.5], None)
        values = [float(np.square(one.p - one.c).mean()) for one in (worst, best)]
        return CompletedRange(Range(*values), worst, best)

    def _binned(self) -> dict[str, CompletedRange]:
        """ECE and MCE: only the number of right answers in each bin matters."""
        bins, left_out = self.bins, self.left_out
        numbers = bin_numbers(self.p, bins, self.closed)
        sizes = np.bincount(numbers, minlength=bins)
        unknown = np.bincount(numbers[self.order], minlength=bins)
        # Σ (p − c) of each bin if every unknown answer is wrong; each right one subtracts 1.
        surplus = np.bincount(numbers, weights=self.p - self.c, minlength=bins)
        all_right = np.abs(surplus - unknown) > np.abs(surplus)
        worst = np.maximum(np.abs(surplus), np.abs(surplus - unknown))
        right_at_best = np.clip(np.rint(surplus), 0, unknown)
        best = np.abs(surplus - right_at_best)
        floor = self._complete(self.order[all_right[numbers[self.order]]], 0)
        bin_of_open = numbers[self.order]  # ascending
        in_bin = np.arange(len(bin_of_open)) - np.searchsorted(bin_of_open, bin_of_open)
        ceiling = self._complete(self.order[in_bin < right_at_best[bin_of_open]], None)
        ece = Range(float(worst.sum() + left_out) / self.n, float(best.sum()) / self.n)
        gaps = [np.divide(worst, sizes, out=np.zeros(bins), where=sizes > 0)]
        if left_out:  # the questions left out may all be in one bin, at either end of it
            low_end, high_end = np.arange(bins) / bins, np.arange(1, bins + 1) / bins
            gaps.append((surplus + left_out * high_end) / (sizes + left_out))
            gaps.append((unknown - surplus + left_out * (1.0 - low_end)) / (sizes + left_out))
        sizes[0] += left_out
        least = np.divide(best, sizes, out=np.zeros(bins), where=sizes > 0)
        mce = Range(float(max(gap.max() for gap in gaps)), float(least.max()))
        return {
            "ECE": CompletedRange(ece, floor, ceiling),
            "MCE": CompletedRange(mce, floor, ceiling),
        }

    def _ks(self) -> CompletedRange:
        if not len(self.p):
            return CompletedRange(Range(1.0, 0.0), self._worst(0), self._best(0))
        levels, group = np.unique(self.p, return_inverse=True)
        sums = np.cumsum(np.bincount(group, weights=self.p - self.c))
        unknown = np.cumsum(np.bincount(group[self.order], minlength=len(levels)))
        none_right, all_right = np.abs(sums), np.abs(sums - unknown)
        level = int(np.maximum(none_right, all_right).argmax())
        high = float(max(none_right[level], all_right[level]))
        up_to = self.order[self.open <= levels[level]]
        floor = self._complete(up_to if all_right[level] > none_right[level] else up_to[:0], 0)
        low = float(np.abs(sums - np.clip(np.rint(sums), 0, unknown)).max())
        right: list[int] = []
        for answer, level in zip(self.order, group[self.order], strict=True):
            if len(right) < np.rint(sums[level]):
                right.append(answer)
        ceiling = self._complete(np.array(right, dtype=np.intp), None)
        return CompletedRange(Range((high + self.left_out) / self.n, low / self.n), floor, ceiling)

    # -- discrimination -------------------------------------------------------------------------

    def _auroc(self) -> CompletedRange | None:
        """The share of pairs of a right and a wrong answer in which the right one has the higher
        confidence, ties counting half."""
        count, left_out = len(self.open), self.left_out
        m = np.arange(count + 1)
        known = float(_below(self.wrong, self.right).sum())
        beats = np.concatenate([[0.0], np.cumsum(_below(self.wrong, self.open))])
        beaten = np.concatenate([[0.0], np.cumsum(len(self.right) - _below(self.right, self.open))])
        ties = np.concatenate([[0.0], _ties_across(self.open), [0.0]])[: count + 1] / 2.0
        # Pairs of known answers; of unknown right and known wrong ones; of known right and unknown
        # wrong ones; and ties between unknown right and unknown wrong ones.
        low = known + beats + beaten[-1] - beaten + ties
        high = known + (beats[-1] - beats[::-1]) + beaten[::-1] + m * (count - m) - ties[::-1]
        # For the ceiling, the questions left out are wrong with confidence 0.
        positive = np.concatenate([[0.0], np.cumsum(np.where(self.open[::-1] > 0, 1.0, 0.5))])
        high = high + left_out * (np.where(self.right > 0, 1.0, 0.5).sum() + positive)
        right_count, wrong_count = len(self.right) + m, len(self.wrong) + count - m
        defined = right_count * (wrong_count + left_out) > 0
        # For the floor, no pair with a question left out is ordered correctly. So the share is
        # lowest with the most pairs: with about as many right as wrong answers.
        timid = np.clip((wrong_count + left_out - right_count) // 2, 0, left_out)
        pairs = (right_count + timid) * (wrong_count + left_out - timid)
        if not defined.any() and not (pairs > 0).any():
            return None
        lows = np.divide(low, pairs, out=np.full(count + 1, np.inf), where=pairs > 0)
        pairs_at_best = right_count * (wrong_count + left_out)
        highs = np.divide(high, pairs_at_best, out=np.full(count + 1, -1.0), where=defined)
        worst, best = int(lows.argmin()), int(highs.argmax())
        ends = Range(float(lows[worst]), float(highs[best]) if defined.any() else 1.0)
        return CompletedRange(ends, self._worst(worst, int(timid[worst])), self._best(best))


def _below(among: Floats, values: Floats) -> Floats:
    """For each value, how many of the sorted ``among`` are below it, ties counting half."""
    left, right = np.searchsorted(among, values, "left"), np.searchsorted(among, values, "right")
    return np.asarray((left + right) / 2.0)


def _ties_across(values: Floats) -> Floats:
    """For each gap between neighbours of the sorted ``values``, how many equal pairs span it."""
    if len(values) < 2:
        return np.zeros(0)
    starts = np.searchsorted(values, values, "left")
    stops = np.searchsorted(values, values, "right")
    places = np.arange(1, len(values))
    return np.where(
        values[1:] == values[:-1], (places - starts[:-1]) * (stops[:-1] - places), 0
    ).astype(np.float64)
