"""Paired comparison of runs by confidence measures such as HMR.

The runs answered the same questions. Every measure of :mod:`assay.measures.confidence` is a
function of sums over questions, so a resample or a permutation costs one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.bootstrap import MIN_TOPICS, Interval, percentile_interval, topic_counts
from assay.measures.confidence import MEASURES, Tally, bin_starts, check, confidence_measure
from assay.measures.ranges import ROUNDING
from assay.measures.settings import probability, whole_number
from assay.statistics.resampling import EXACT_LIMIT, blocks, is_exact, swap_masks

_AT_ONCE = 1_000
"""How many resamples or permutations are summed at a time."""

_CELLS_AT_ONCE = 1_000_000
"""How many cells (questions × levels of confidence) are summed at a time."""


@dataclass(frozen=True)
class PairedDifference:
    """The difference of two runs in one measure; None where it is undefined.

    ``first``, ``second``: the values of the two runs. ``difference``: first − second. ``interval``:
    its bootstrap interval over questions; None also with a single question. ``p``: the two-sided
    p-value of the randomisation test that swaps the runs' answers. ``p_below``: the one-sided
    p-value, the share of swaps whose difference is at most the observed one. ``exact``: whether all
    2^n swaps were used. ``permutations``: the number of swaps.
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    p_below: float | None
    exact: bool
    permutations: int


class MeasuredDraws:
    """Computes a measure of several runs for many draws of the same questions.

    ``p``: confidences, n questions × m runs. ``c``: correctness, n × m. ``measure``: a name among
    :data:`assay.measures.confidence.MEASURES`. Raises ValueError if the measure is unknown.
    """

    def __init__(self, p: Floats, c: Bools, measure: str) -> None:
        if measure not in MEASURES:
            raise ValueError(f"there is no measure {measure}; there are {', '.join(MEASURES)}")
        self._sums, self._value = MEASURES[measure]
        self._runs, levels = p.shape[1], np.unique(p)
        by_run = [self._by_question(p[:, run], c[:, run], levels) for run in range(self._runs)]
        self._summands = np.hstack(by_run)

    def _by_question(self, p: Floats, c: Bools, levels: Floats) -> Floats:
        """The f sums of each question by itself: questions × f."""
        starts, at_once = bin_starts(levels), max(1, _CELLS_AT_ONCE // len(levels))
        summed = []
        for start in range(0, len(p), at_once):
            right = c[start : start + at_once]
            at_level = levels[:, None] == p[start : start + at_once]
            counts = np.stack([at_level & ~right, at_level & right]).astype(np.float64)
            summed.append(self._sums(Tally(counts, levels, starts)).T)
        return np.concatenate(summed)

    def sums(self, counts: Floats) -> Floats:
        """The sums of each draw: draws × m × f. ``counts``: how often each is drawn, draws × n."""
        return np.asarray((counts @ self._summands).reshape(len(counts), self._runs, -1))

    def value(self, sums: Floats, questions: int) -> Floats:
        """The measure of a run in each draw, NaN if undefined. ``sums``: draws × f.
        ``questions``: the number of questions in a draw."""
        return self._value(sums.T, questions)

    def values(self, counts: Floats, questions: int) -> Floats:
        """The measure of every run: draws × m, NaN if undefined. ``counts``: as in :meth:`sums`.
        ``questions``: the number of questions in a draw."""
        values = [
            np.stack([self.value(sums[:, run], questions) for run in range(self._runs)], axis=1)
            for sums in map(self.sums, blocks(counts, _AT_ONCE))
        ]
        return np.concatenate(values)


def compare_confidence(
    p_first: npt.ArrayLike,
    c_first: npt.ArrayLike,
    p_second: npt.ArrayLike,
    c_second: npt.ArrayLike,
    *,
    measures: Sequence[str] = ("HMR", "R_O", "R_U", "Accuracy"),
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
) -> dict[str, PairedDifference]:
    """Compare two runs on the same questions, by each measure.

    The null hypothesis of the test is that the two answers to each question, with their
    confidences, could as well be swapped between the runs. p is the share of swaps whose absolute
    difference is at least the observed one; with random swaps the observed one is added. Swaps that
    leave the measure undefined (AUROC, if all right answers end up in one run) count among these,
    which can only increase p; resamples that do are left out of the interval.

    ``p_first``, ``p_second``: the confidences of each run, 0 to 1, for the same questions in the
    same order. ``c_first``, ``c_second``: 1 if the answer is correct, else 0. ``measures``: names
    among :data:`assay.measures.confidence.MEASURES`; ECE and MCE have 10 bins. ``level``: of the
    intervals. ``resamples``: of the bootstrap. ``permutations``: the number of random swaps if the
    test is not exact. ``seed``: of all random draws, which are the same for all measures.
    ``exact_limit``: the test is exact if there are at most this many swaps. Raises ValueError as
    :func:`assay.measures.confidence.check` does, or if the runs have different numbers of
    questions, a measure is unknown, or a setting is out of range.
    """
    first, second = check(p_first, c_first), check(p_second, c_second)
    n = len(first[0])
    if len(second[0]) != n:
        raise ValueError(f"the runs answered {n} and {len(second[0])} questions: pair them first")
    p, c = np.stack([first[0], second[0]], axis=1), np.stack([first[1], second[1]], axis=1)
    return {
        name: paired_differences(
            p,
            c,
            name,
            [(0, 1)],
            level=level,
            resamples=resamples,
            permutations=permutations,
            seed=seed,
            exact_limit=exact_limit,
        )[0]
        for name in measures
    }


def paired_differences(
    p: Floats,
    c: Bools,
    measure: str,
    pairs: Sequence[tuple[int, int]],
    *,
    level: float,
    resamples: int,
    permutations: int,
    seed: int,
    exact_limit: int,
) -> list[PairedDifference]:
    """Compare pairs of runs as :func:`compare_confidence` does, all with the same draws.

    ``p``: confidences, n questions × m runs. ``c``: correctness, n × m. ``pairs``: the columns of
    the two runs of each pair. Raises ValueError if the measure is unknown, or a setting is out of
    range.
    """
    probability(level, "level")
    whole_number(permutations, "permutations")
    draws = MeasuredDraws(p, c, measure)
    n, m = p.shape
    value = draws.value
    values = [confidence_measure(measure, p[:, run], c[:, run]) for run in range(m)]
    drawn = np.concatenate([draws.values(counts, n) for counts in topic_counts(n, resamples, seed)])
    observed = [
        None if (first := values[a]) is None or (second := values[b]) is None else first - second
        for a, b in pairs
    ]
    total = draws.sums(np.ones((1, n)))[0]
    exact = is_exact(n, exact_limit)
    extreme, below, swaps = [0] * len(pairs), [0] * len(pairs), 0
    for masks in swap_masks(n, permutations, seed, exact_limit):
        for swapped in map(draws.sums, blocks(masks, _AT_ONCE)):
            swaps += len(swapped)
            for place, ((a, b), difference) in enumerate(zip(pairs, observed, strict=True)):
                if difference is not None:
                    gained = swapped[:, b] - swapped[:, a]
                    under_null = value(total[a] + gained, n) - value(total[b] - gained, n)
                    less = np.abs(under_null) < abs(difference) - ROUNDING
                    extreme[place] += int((~less).sum())
                    # An exact test skips the mirror images of swaps, which change the sign.
                    for mirrored in (under_null, -under_null) if exact else (under_null,):
                        below[place] += int((~(mirrored > difference + ROUNDING)).sum())
    results = []
    for (a, b), difference, count, least in zip(pairs, observed, extreme, below, strict=True):
        interval = p_value = p_below = None
        if difference is not None:
            if n >= MIN_TOPICS:
                interval = percentile_interval(drawn[:, a] - drawn[:, b], level, n)
            p_value = count / swaps if exact else (count + 1) / (swaps + 1)
            p_below = least / (2 * swaps) if exact else (least + 1) / (swaps + 1)
        results.append(
            PairedDifference(
                first=values[a],
                second=values[b],
                difference=difference,
                interval=interval,
                p=p_value,
                p_below=p_below,
                exact=exact,
                permutations=2**n if exact else permutations,
            )
        )
    return results
