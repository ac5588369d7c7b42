"""Confidence measures where the correctness of some answers, or whole answers, are missing.

Two things may be missing. Whether an answer is *correct* may be unknown, for want of a label: both
are possible. A question may be *left out*: then the answer counts as wrong, and its confidence is
unknown (R2C2, step 5). The ceiling takes a confidence of 0 for it. So that handing in less never
pays, the floor takes the worst answer that could have been handed in: wrong with confidence 1 or,
where that is worse, right with confidence 0; otherwise a run could raise its HMR and its R_U by
leaving out what it answers rightly but timidly.

All ends are exact but for these, which are safe: the ceiling of KS, and with questions left out the
floors of ECE, MCE, KS and AUROC. (With questions left out the ceilings are those of a confidence of
0; ECE, MCE and KS can be lower with another one, which makes up for errors of the other kind.)
``tests/measures/test_confidence_ranges.py`` sets them against every completion.
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
    """One way in which everything that is missing could have turned out: confidences and
    correctness of all questions."""

    p: Floats
    c: Bools


@dataclass(frozen=True)
class CompletedRange:
    """Where a measure lies, and completions at (or, where the end is only safe, near) both ends."""

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

    ``p``: the confidence of each answer, 0 to 1. ``c``: 1 if it is correct, 0 if it is not,
    NaN if nobody knows. ``left_out``: how many further questions have no answer. ``bins``:
    number of bins of ECE and MCE. ``closed``: which end of a bin belongs to it. Returns the
    ranges by the names and in the order of :data:`assay.measures.confidence.MEASURES`; None for
    AUROC where it is undefined whatever the missing labels are. Raises ValueError if as
    :func:`assay.measures.confidence.check` does, for the known answers.
    """
    confidence, correct, unknown = _checked(p, c, left_out)
    if not unknown.any() and not left_out:
        only = Completion(confidence, correct)
        values = confidence_measures(confidence, correct, bins=bins, closed=closed)
        return {
            name: None if value is None else CompletedRange(Range.certain(value), only, only)
            for name, value in values.items()
        }
    return _Missing(confidence, correct, unknown, left_out, bins, closed).ends()


def accuracy_and_hmr(
    p: npt.ArrayLike, c: npt.ArrayLike, *, left_out: int = 0
) -> tuple[Range, Range]:
    """Floor and ceiling of these two alone, as :func:`confidence_ranges` has them."""
    confidence, correct, unknown = _checked(p, c, left_out)
    if not unknown.any() and not left_out:
        return (
            Range.certain(float(correct.mean())),
            Range.certain(hmr(confidence, correct)),
        )
    missing = _Missing(confidence, correct, unknown, left_out)
    return missing.accuracy().range, missing.rewards("HMR").range


def _checked(p: npt.ArrayLike, c: npt.ArrayLike, left_out: int) -> tuple[Floats, Bools, Bools]:
    """Confidences, correctness (False where unknown), and where it is unknown."""
    given = np.asarray(c, dtype=np.float64)
    unknown = np.isnan(given)
    if left_out and not len(given):
        return np.empty(0), np.empty(0, dtype=bool), unknown
    return (*check(p, np.where(unknown, 0.0, given)), unknown)


class _Missing:
    """The answers of a run, of which something is missing.

    ``order`` are the answers of unknown correctness by rising confidence. The m of them that are
    right are the m least confident ones where that is worst, the m most confident ones where it is
    best: for a given m this makes R_O, R_U and the AUROC as low, or as high, as they can be, so
    that all that is left is to try every m.
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

    def ends(self) -> dict[str, CompletedRange | None]:
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
        """Those answers of unknown correctness are right. Of the questions left out ``timid`` are
        right with confidence 0 and the others wrong with confidence 1; with None all are wrong
        with confidence 0."""
        c = self.c.copy()
        c[right] = True
        absent = np.zeros(self.left_out)
        if timid is not None:
            absent[timid:] = 1.0
        return Completion(
            np.concatenate([self.p, absent]),
            np.concatenate([c, np.arange(self.left_out) < (timid or 0)]),
        )

    def _least(self, m: int, timid: int = 0) -> Completion:
        return self._complete(self.order[:m], timid)

    def _most(self, m: int) -> Completion:
        return self._complete(self.order[len(self.order) - m :], None)

    # -- modesty --------------------------------------------------------------------------------

    def rewards(self, name: str) -> CompletedRange:
        """HMR, R_O or R_U: the least over m and over how many of the questions left out are right
        with confidence 0, of which R_O is least with none; the greatest over m."""
        sums = np.concatenate([[0.0], np.cumsum(self.open)])
        low, at = np.inf, (0, 0)
        for timid in range(1 if name == "R_O" else self.left_out + 1):
            values = self._reward(name, sums, timid, self.left_out - timid)
            m = int(values.argmin())
            if values[m] < low:
                low, at = float(values[m]), (m, timid)
        highs = self._reward(name, sums[-1] - sums[::-1], 0, 0)
        best = int(highs.argmax())
        return CompletedRange(Range(low, float(highs[best])), self._least(*at), self._most(best))

    def _reward(self, name: str, right_sums: Floats, timid: int, bold: int) -> Floats:
        """The measure where m = 0, 1, … answers of unknown correctness, with these sums of
        confidences, are right. Of the questions left out ``timid`` are right with confidence 0,
        ``bold`` wrong with confidence 1, the others wrong with confidence 0."""
        m = np.arange(len(right_sums))
        many_right = len(self.right) + m + timid
        many_wrong = len(self.wrong) + len(self.open) - m + self.left_out - timid
        doubt = self.wrong.sum() + self.open.sum() - right_sums + bold
        trust = self.right.sum() + right_sums
        sums = np.stack([doubt, many_wrong, many_right - trust, many_right])
        return MEASURES[name].value(sums, self.n)

    def accuracy(self) -> CompletedRange:
        known = len(self.right)
        ends = Range(known / self.n, (known + len(self.open)) / self.n)
        return CompletedRange(ends, self._least(0), self._most(len(self.open)))

    # -- calibration ----------------------------------------------------------------------------

    def _brier(self) -> CompletedRange:
        worst = self._complete(self.order[self.open < 0.5], 0)
        best = self._complete(self.order[self.open > 0.5], None)
        values = [float(np.square(one.p - one.c).mean()) for one in (worst, best)]
        return CompletedRange(Range(*values), worst, best)

    def _binned(self) -> dict[str, CompletedRange]:
        """ECE and MCE: in each bin only the number of right answers matters."""
        bins, absent = self.bins, self.left_out
        numbers = bin_numbers(self.p, bins, self.closed)
        sizes = np.bincount(numbers, minlength=bins)
        free = np.bincount(numbers[self.order], minlength=bins)
        # Σ (p − c) of each bin if every open answer is wrong; each right one takes 1 away.
        surplus = np.bincount(numbers, weights=self.p - self.c, minlength=bins)
        all_right = np.abs(surplus - free) > np.abs(surplus)
        worst = np.maximum(np.abs(surplus), np.abs(surplus - free))
        taken = np.clip(np.rint(surplus), 0, free)
        best = np.abs(surplus - taken)
        floor = self._complete(self.order[all_right[numbers[self.order]]], 0)
        of_open = numbers[self.order]  # which rise
        in_bin = np.arange(len(of_open)) - np.searchsorted(of_open, of_open)
        ceiling = self._complete(self.order[in_bin < taken[of_open]], None)
        ece = Range(float(worst.sum() + absent) / self.n, float(best.sum()) / self.n)
        gaps = [np.divide(worst, sizes, out=np.zeros(bins), where=sizes > 0)]
        if absent:  # what is left out may all stand in one bin, at either of its ends
            low_end, high_end = np.arange(bins) / bins, np.arange(1, bins + 1) / bins
            gaps.append((surplus + absent * high_end) / (sizes + absent))
            gaps.append((free - surplus + absent * (1.0 - low_end)) / (sizes + absent))
        sizes[0] += absent
        least = np.divide(best, sizes, out=np.zeros(bins), where=sizes > 0)
        mce = Range(float(max(gap.max() for gap in gaps)), float(least.max()))
        return {
            "ECE": CompletedRange(ece, floor, ceiling),
            "MCE": CompletedRange(mce, floor, ceiling),
        }

    def _ks(self) -> CompletedRange:
        if not len(self.p):
            return CompletedRange(Range(1.0, 0.0), self._least(0), self._most(0))
        levels, group = np.unique(self.p, return_inverse=True)
        sums = np.cumsum(np.bincount(group, weights=self.p - self.c))
        free = np.cumsum(np.bincount(group[self.order], minlength=len(levels)))
        none_right, all_right = np.abs(sums), np.abs(sums - free)
        place = int(np.maximum(none_right, all_right).argmax())
        high = float(max(none_right[place], all_right[place]))
        up_to = self.order[self.open <= levels[place]]
        floor = self._complete(up_to if all_right[place] > none_right[place] else up_to[:0], 0)
        low = float(np.abs(sums - np.clip(np.rint(sums), 0, free)).max())
        right: list[int] = []
        for answer, level in zip(self.order, group[self.order], strict=True):
            if len(right) < np.rint(sums[level]):
                right.append(answer)
        ceiling = self._complete(np.array(right, dtype=np.intp), None)
        return CompletedRange(Range((high + self.left_out) / self.n, low / self.n), floor, ceiling)

    # -- discrimination -------------------------------------------------------------------------

    def _auroc(self) -> CompletedRange | None:
        """By how many pairs of a right and a wrong answer are ordered well, ties counting half."""
        count, absent = len(self.open), self.left_out
        m = np.arange(count + 1)
        known = float(_below(self.wrong, self.right).sum())
        beats = np.concatenate([[0.0], np.cumsum(_below(self.wrong, self.open))])
        beaten = np.concatenate([[0.0], np.cumsum(len(self.right) - _below(self.right, self.open))])
        ties = np.concatenate([[0.0], _ties_across(self.open), [0.0]])[: count + 1] / 2.0
        # Pairs of known ones; of open right with known wrong ones, and of known right with open
        # wrong ones; and ties of open ones across the border.
        low = known + beats + beaten[-1] - beaten + ties
        high = known + (beats[-1] - beats[::-1]) + beaten[::-1] + m * (count - m) - ties[::-1]
        # What is left out: wrong with confidence 0 if that is best.
        positive = np.concatenate([[0.0], np.cumsum(np.where(self.open[::-1] > 0, 1.0, 0.5))])
        high = high + absent * (np.where(self.right > 0, 1.0, 0.5).sum() + positive)
        many_right, many_wrong = len(self.right) + m, len(self.wrong) + count - m
        defined = many_right * (many_wrong + absent) > 0
        # No pair of what is left out is ordered well here: the more pairs, the lower the share, and
        # there are most where as many are right as wrong.
        timid = np.clip((many_wrong + absent - many_right) // 2, 0, absent)
        pairs = (many_right + timid) * (many_wrong + absent - timid)
        if not defined.any() and not (pairs > 0).any():
            return None
        lows = np.divide(low, pairs, out=np.full(count + 1, np.inf), where=pairs > 0)
        highs = np.divide(
            high, many_right * (many_wrong + absent), out=np.full(count + 1, -1.0), where=defined
        )
        worst, best = int(lows.argmin()), int(highs.argmax())
        ends = Range(float(lows[worst]), float(highs[best]) if defined.any() else 1.0)
        return CompletedRange(ends, self._least(worst, int(timid[worst])), self._most(best))


def _below(among: Floats, values: Floats) -> Floats:
    """For each value, how many of the sorted ``among`` are below it, ties counting half."""
    left, right = np.searchsorted(among, values, "left"), np.searchsorted(among, values, "right")
    return np.asarray((left + right) / 2.0)


def _ties_across(values: Floats) -> Floats:
    """For each place between two of the sorted ``values``, how many pairs across it are equal."""
    if len(values) < 2:
        return np.zeros(0)
    starts = np.searchsorted(values, values, "left")
    stops = np.searchsorted(values, values, "right")
    places = np.arange(1, len(values))
    return np.where(
        values[1:] == values[:-1], (places - starts[:-1]) * (stops[:-1] - places), 0
    ).astype(np.float64)
