"""Whether one run's confidence is better than another's: paired comparison of HMR and its fellows.

Both runs answered the same questions. Every measure of :mod:`assay.measures.confidence` is a
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
from assay.statistics.resampling import EXACT_LIMIT, is_exact, parts, swap_masks

_AT_ONCE = 1_000
"""Resamples or permutations whose sums are held at a time."""

_CELLS_AT_ONCE = 1_000_000
"""Questions × levels of confidence that are summed up at a time."""


@dataclass(frozen=True)
class PairedDifference:
    """How two runs differ in one measure; all but the numbers of swaps None if it is undefined.

    ``first``: the first run's value. ``second``: the second run's value. ``difference``: first −
    second. ``interval``: the bootstrap interval of the difference, resampling questions; None also
    of one question. ``p``: the two-sided p-value of the randomisation test that swaps the runs'
    answers. ``p_below``: the one-sided one, the share of swaps whose difference is at most the
    observed. ``exact``: whether all 2^n swaps were gone through. ``permutations``: how many swaps p
    rests on.
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
    """The values of a measure for draws of the same questions from several runs.

    ``p``: confidences, n questions × m runs. ``c``: correctness, n × m. ``measure``: a name among
    :data:`assay.measures.confidence.MEASURES`. Raises ValueError if the measure is unknown.
    """

    def __init__(self, p: Floats, c: Bools, measure: str) -> None:
        if measure not in MEASURES:
            raise ValueError(f"there is no measure {measure}; there are {', '.join(MEASURES)}")
        self._of, self._value = MEASURES[measure]
        self._runs, levels = p.shape[1], np.unique(p)
        every = [self._summands(p[:, run], c[:, run], levels) for run in range(self._runs)]
        self._every = np.hstack(every)

    def _summands(self, p: Floats, c: Bools, levels: Floats) -> Floats:
        """Questions × f sums of each question alone."""
        starts, at_once = bin_starts(levels), max(1, _CELLS_AT_ONCE // len(levels))
        blocks = []
        for start in range(0, len(p), at_once):
            right = c[start : start + at_once]
            at = levels[:, None] == p[start : start + at_once]
            counts = np.stack([at & ~right, at & right]).astype(np.float64)
            blocks.append(self._of(Tally(counts, levels, starts)).T)
        return np.concatenate(blocks)

    def sums(self, counts: Floats) -> Floats:
        """Draws × m × f sums; ``counts`` (draws × n) is how often a question is drawn."""
        return np.asarray((counts @ self._every).reshape(len(counts), self._runs, -1))

    def value(self, sums: Floats, questions: int) -> Floats:
        """The measure of a run by draws × f sums over ``questions`` answers, NaN if
        undefined."""
        return self._value(sums.T, questions)

    def values(self, counts: Floats, questions: int) -> Floats:
        """Draws × m values, NaN if undefined; each draw holds ``questions`` of them."""
        values = [
            np.stack([self.value(found[:, run], questions) for run in range(self._runs)], axis=1)
            for found in map(self.sums, parts(counts, _AT_ONCE))
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
    """Compare two runs on the same questions.

    The null hypothesis of the test is that for each question it does not matter which run gave
    which answer with which confidence; the share of swaps whose absolute difference is at least
    the observed one is p. With random swaps the observed one counts as one more. A swap that
    leaves the measure undefined (AUROC, where one run then has all the right answers) counts as
    one of these, which can only make p greater; a resample that does is left out of the interval.

    ``p_first``: the first run's confidences, 0 to 1, one per question. ``c_first``: 1 if its
    answer is correct, else 0. ``p_second``: the second run's confidences, for the same questions in
    the same order. ``c_second``: 1 if its answer is correct, else 0. ``measures``: names among
    :data:`assay.measures.confidence.MEASURES`; ECE and MCE are over 10 bins. ``level``: of the
    intervals. ``resamples``: of the bootstrap. ``permutations``: random swaps where the test is not
    exact. ``seed``: of all random draws; all measures rest on the same draws. ``exact_limit``: all
    2^n swaps are gone through where they are no more than this. Returns the differences by measure.
    Raises ValueError if a run's data are not what :func:`assay.measures.confidence.check`
    accepts, the runs have different numbers of questions, a measure is unknown, or a setting is out
    of range.
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
    """Compare pairs of runs as :func:`compare_confidence` does, all on the same draws.

    ``p``: confidences, n questions × m runs. ``c``: correctness, n × m. ``measure``: a name among
    :data:`assay.measures.confidence.MEASURES`. ``pairs``: the columns of the two runs of each pair.
    ``level``: of the intervals. ``resamples``: of the bootstrap. ``permutations``: random swaps
    where the test is not exact. ``seed``: of all random draws. ``exact_limit``: all 2^n swaps are
    gone through where they are no more than this. Raises ValueError if the measure is unknown,
    or a setting is out of range.
    """
    probability(level, "level")
    whole_number(permutations, "permutations")
    drawing = MeasuredDraws(p, c, measure)
    n, m = p.shape
    value = drawing.value
    values = [confidence_measure(measure, p[:, run], c[:, run]) for run in range(m)]
    drawn = np.concatenate(
        [drawing.values(counts, n) for counts in topic_counts(n, resamples, seed)]
    )
    observed = [
        None if (first := values[a]) is None or (second := values[b]) is None else first - second
        for a, b in pairs
    ]
    total = drawing.sums(np.ones((1, n)))[0]
    exact = is_exact(n, exact_limit)
    extreme, below, swaps = [0] * len(pairs), [0] * len(pairs), 0
    for masks in swap_masks(n, permutations, seed, exact_limit):
        for found in map(drawing.sums, parts(masks, _AT_ONCE)):
            swaps += len(found)
            for place, ((a, b), difference) in enumerate(zip(pairs, observed, strict=True)):
                if difference is not None:
                    gained = found[:, b] - found[:, a]
                    under_null = value(total[a] + gained, n) - value(total[b] - gained, n)
                    less = np.abs(under_null) < abs(difference) - ROUNDING
                    extreme[place] += int((~less).sum())
                    # All swaps are gone through but for their mirror images, which turn the sign.
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
