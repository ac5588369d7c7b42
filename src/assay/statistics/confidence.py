"""Whether one run's confidence is better than another's: paired comparison of HMR and its fellows.

Both runs answered the same questions. Every measure here is a function of sums over questions, so a
resample or a permutation costs one matrix product. The measures themselves are those of
:mod:`assay.measures.confidence`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.measures.bootstrap import Interval, percentile_interval, topic_counts
from assay.measures.confidence import (
    Bools,
    Floats,
    auroc,
    bin_numbers,
    brier,
    check,
    ece,
    hmr,
    ks,
    mce,
    reward_over,
    reward_under,
)
from assay.measures.confidence import accuracy as plain_accuracy
from assay.measures.settings import probability, whole_number
from assay.statistics.resampling import EXACT_LIMIT, is_exact, parts, swap_masks

_BINS = 10
_ROUNDING = 1e-12
_AT_ONCE = 1_000
"""Resamples or permutations whose sums are held at a time."""


@dataclass(frozen=True)
class PairedDifference:
    """How two runs differ in one measure; all but the numbers of swaps None where it is undefined.

    ``first``: the first run's value. ``second``: the second run's value. ``difference``: first −
    second. ``interval``: the bootstrap interval of the difference, resampling questions. ``p``: the
    two-sided p-value of the randomisation test that swaps the runs' answers. ``p_below``: the
    one-sided one, the share of swaps whose difference is at most the observed. ``exact``: whether
    all 2^n swaps were gone through. ``permutations``: how many swaps p rests on.
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    p_below: float | None
    exact: bool
    permutations: int


class _Measure(NamedTuple):
    """A measure as a function of sums.

    ``summands`` gives of n confidences, correctness and the confidences that occur in either run
    n × f numbers; ``value`` the measure, one a row, of B × f sums over n questions of them, NaN
    where it is undefined.
    """

    plain: Callable[[Floats, Bools], float | None]
    summands: Callable[[Floats, Bools, Floats], Floats]
    value: Callable[[Floats, int], Floats]


class MeasuredDraws:
    """The values of a measure for draws of the same questions from several runs.

    ``p``: confidences, n questions × m runs. ``c``: correctness, n × m. ``measure``: a name among
    :data:`MEASURES`. Raises ValueError where the measure is unknown.
    """

    def __init__(self, p: Floats, c: Bools, measure: str) -> None:
        if measure not in MEASURES:
            raise ValueError(f"there is no measure {measure}; there are {', '.join(MEASURES)}")
        _, summands, self._value = MEASURES[measure]
        self._runs, levels = p.shape[1], np.unique(p)
        every = [summands(p[:, run], c[:, run], levels) for run in range(self._runs)]
        self._summands = np.hstack(every)

    def sums(self, counts: Floats) -> Floats:
        """Draws × m × f sums; ``counts`` (draws × n) is how often a question is drawn."""
        return np.asarray((counts @ self._summands).reshape(len(counts), self._runs, -1))

    def values(self, counts: Floats, questions: int) -> Floats:
        """Draws × m values, NaN where undefined; each draw holds ``questions`` of them."""
        values = [
            np.stack([self._value(found[:, run], questions) for run in range(self._runs)], axis=1)
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

    ``p_first``: the first run's confidences, 0 to 1, one per question. ``c_first``: 1 where its
    answer is correct, else 0. ``p_second``: the second run's confidences, for the same questions in
    the same order. ``c_second``: 1 where its answer is correct, else 0. ``measures``: names among
    :data:`MEASURES`; ECE and MCE are over 10 bins. ``level``: of the intervals. ``resamples``: of
    the bootstrap. ``permutations``: random swaps where the test is not exact. ``seed``: of all
    random draws; all measures rest on the same draws. ``exact_limit``: all 2^n swaps are gone
    through where they are no more than this. Returns the differences by measure. Raises ValueError
    where a run's data are not what :func:`assay.measures.confidence.check` accepts, the runs have
    different numbers of questions, a measure is unknown, or a setting is out of range.
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
    :data:`MEASURES`. ``pairs``: the columns of the two runs of each pair. ``level``: of the
    intervals. ``resamples``: of the bootstrap. ``permutations``: random swaps where the test is not
    exact. ``seed``: of all random draws. ``exact_limit``: all 2^n swaps are gone through where they
    are no more than this. Raises ValueError where the measure is unknown, or a setting is out of
    range.
    """
    probability(level, "level")
    whole_number(permutations, "permutations")
    measured = MeasuredDraws(p, c, measure)
    n, m = p.shape
    plain, _, value = MEASURES[measure]
    values = [plain(p[:, run], c[:, run]) for run in range(m)]
    drawn = np.concatenate(
        [measured.values(counts, n) for counts in topic_counts(n, resamples, seed)]
    )
    observed = [
        None if (first := values[a]) is None or (second := values[b]) is None else first - second
        for a, b in pairs
    ]
    total = measured.sums(np.ones((1, n)))[0]
    exact = is_exact(n, exact_limit)
    extreme, below, swaps = [0] * len(pairs), [0] * len(pairs), 0
    for masks in swap_masks(n, permutations, seed, exact_limit):
        for found in map(measured.sums, parts(masks, _AT_ONCE)):
            swaps += len(found)
            for place, ((a, b), difference) in enumerate(zip(pairs, observed, strict=True)):
                if difference is not None:
                    gained = found[:, b] - found[:, a]
                    under_null = value(total[a] + gained, n) - value(total[b] - gained, n)
                    less = np.abs(under_null) < abs(difference) - _ROUNDING
                    extreme[place] += int((~less).sum())
                    # All swaps are gone through but for their mirror images, which turn the sign.
                    for mirrored in (under_null, -under_null) if exact else (under_null,):
                        below[place] += int((~(mirrored > difference + _ROUNDING)).sum())
    results = []
    for (a, b), difference, count, least in zip(pairs, observed, extreme, below, strict=True):
        interval = p_value = p_below = None
        if difference is not None:
            interval = percentile_interval(drawn[:, a] - drawn[:, b], level)
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


# --- HMR, its parts, and accuracy ----------------------------------------------------------------


def _rewarded(confidence: Floats, correct: Bools, _levels: Floats) -> Floats:
    """Questions × 4: confidence if wrong, is wrong, lack of confidence if right, is right.

    Their sums are O, |I⁻|, U and |I⁺| of the R2C2 overview.
    """
    wrong, right = (~correct).astype(np.float64), correct.astype(np.float64)
    return np.stack([wrong * confidence, wrong, right * (1.0 - confidence), right], axis=1)


def _over(sums: Floats, _n: int) -> Floats:
    return _reward(sums[:, 0], sums[:, 1])


def _under(sums: Floats, _n: int) -> Floats:
    return _reward(sums[:, 2], sums[:, 3])


def _hmr(sums: Floats, n: int) -> Floats:
    over, under = _over(sums, n), _under(sums, n)
    both = over + under
    return np.divide(2 * over * under, both, out=np.zeros(len(sums)), where=both > _ROUNDING)


def _reward(lost: Floats, n: Floats) -> Floats:
    # Differences of sums leave rounding errors where there is nothing to lose.
    some = n > 0.5
    rewards: Floats = 1.0 - np.divide(lost, n, out=np.zeros(len(n)), where=some)
    return np.clip(rewards, 0.0, 1.0)


# --- calibration ---------------------------------------------------------------------------------


def _binned(confidence: Floats, correct: Bools, _levels: Floats) -> Floats:
    """Questions × 2 bins: correctness less confidence in each bin, then whether in it."""
    inside = np.eye(_BINS)[bin_numbers(confidence, _BINS)]
    return np.hstack([inside * (correct - confidence)[:, None], inside])


def _mce(sums: Floats, _n: int) -> Floats:
    gaps, counts = np.abs(sums[:, :_BINS]), sums[:, _BINS:]
    filled = counts > 0.5
    means = np.divide(gaps, counts, out=np.zeros(gaps.shape), where=filled)
    return np.asarray(means.max(axis=1))


def _by_level(confidence: Floats, levels: Floats) -> Floats:
    """Questions × levels: whether a question has each confidence."""
    return np.asarray(confidence[:, None] == levels[None, :], dtype=np.float64)


def _gaps(confidence: Floats, correct: Bools, levels: Floats) -> Floats:
    return _by_level(confidence, levels) * (confidence - correct)[:, None]


def _right_and_wrong(confidence: Floats, correct: Bools, levels: Floats) -> Floats:
    at = _by_level(confidence, levels)
    return np.hstack([at * correct[:, None], at * ~correct[:, None]])


def _auroc(sums: Floats, _n: int) -> Floats:
    right, wrong = np.hsplit(sums, 2)  # counts, so all of this is exact
    pairs = right.sum(axis=1) * wrong.sum(axis=1)
    ordered = (right * (np.cumsum(wrong, axis=1) - wrong / 2.0)).sum(axis=1)
    areas = np.divide(ordered, pairs, out=np.full(len(sums), np.nan), where=pairs > 0)
    return np.asarray(areas)


MEASURES: dict[str, _Measure] = {
    "HMR": _Measure(hmr, _rewarded, _hmr),
    "R_O": _Measure(reward_over, _rewarded, _over),
    "R_U": _Measure(reward_under, _rewarded, _under),
    "ECE": _Measure(ece, _binned, lambda sums, n: np.abs(sums[:, :_BINS]).sum(axis=1) / n),
    "MCE": _Measure(mce, _binned, _mce),
    "Brier": _Measure(
        brier, lambda p, c, _: np.square(p - c)[:, None], lambda sums, n: sums[:, 0] / n
    ),
    "KS": _Measure(ks, _gaps, lambda sums, n: np.abs(np.cumsum(sums, axis=1)).max(axis=1) / n),
    "AUROC": _Measure(auroc, _right_and_wrong, _auroc),
    "Accuracy": _Measure(plain_accuracy, _rewarded, lambda sums, n: sums[:, 3] / n),
}
"""The measures that can be compared, by name."""
