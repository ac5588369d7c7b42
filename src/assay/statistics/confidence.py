"""Whether one run's confidence is better than another's: paired comparison of HMR and its parts.

Both runs answered the same questions. Every statistic here is a function of four sums over
questions, so a resample or a permutation costs one matrix product. The measures themselves are
those of :mod:`assay.measures.confidence`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.bootstrap import Interval
from assay.measures.confidence import Bools, Floats, check, hmr, reward_over, reward_under
from assay.measures.confidence import accuracy as plain_accuracy
from assay.statistics.checks import probability, whole_number
from assay.statistics.resampling import (
    EXACT_LIMIT,
    is_exact,
    percentile_interval,
    swap_masks,
    topic_counts,
)

__all__ = ["PairedDifference", "compare_confidence"]

MEASURES = {"HMR": hmr, "R_O": reward_over, "R_U": reward_under, "Accuracy": plain_accuracy}

_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairedDifference:
    """How two runs differ in one measure.

    Attributes:
        first: the first run's value.
        second: the second run's value.
        difference: first − second.
        interval: the bootstrap interval of the difference, resampling questions.
        p: the two-sided p-value of the randomisation test that swaps the runs' answers.
        exact: whether all 2^n swaps were gone through.
        permutations: how many swaps p rests on.
    """

    first: float
    second: float
    difference: float
    interval: Interval
    p: float
    exact: bool
    permutations: int


def compare_confidence(
    p_first: npt.ArrayLike,
    c_first: npt.ArrayLike,
    p_second: npt.ArrayLike,
    c_second: npt.ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
) -> dict[str, PairedDifference]:
    """Compare two runs on the same questions.

    The null hypothesis of the test is that for each question it does not matter which run gave
    which answer with which confidence; the share of swaps whose absolute difference is at least
    the observed one is p. With random swaps the observed one counts as one more.

    Args:
        p_first: the first run's confidences, 0 to 1, one per question.
        c_first: 1 where its answer is correct, else 0.
        p_second: the second run's confidences, for the same questions in the same order.
        c_second: 1 where its answer is correct, else 0.
        level: of the intervals.
        resamples: of the bootstrap.
        permutations: random swaps where the test is not exact.
        seed: of all random draws; all measures rest on the same draws.
        exact_limit: all 2^n swaps are gone through where they are no more than this.

    Returns:
        The differences in ``HMR``, ``R_O``, ``R_U`` and ``Accuracy``.

    Raises:
        ValueError: a run's data are not what :func:`assay.measures.confidence.check` accepts, the
            runs have different numbers of questions, or a setting is out of range.
    """
    first, second = check(p_first, c_first), check(p_second, c_second)
    n = len(first[0])
    if len(second[0]) != n:
        raise ValueError(f"the runs answered {n} and {len(second[0])} questions: pair them first")
    probability(level, "level")
    whole_number(permutations, "permutations")
    ours, theirs = _summands(*first), _summands(*second)
    drawn = [
        _differences(counts @ ours, counts @ theirs) for counts in topic_counts(n, resamples, seed)
    ]
    swapped: list[dict[str, Floats]] = []
    both, change = ours.sum(axis=0), theirs - ours
    total = both + theirs.sum(axis=0)
    for masks in swap_masks(n, permutations, seed, exact_limit):
        sums = both + masks @ change
        swapped.append(_differences(sums, total - sums))
    exact = is_exact(n, exact_limit)
    result: dict[str, PairedDifference] = {}
    for name, measure in MEASURES.items():
        values = measure(*first), measure(*second)
        difference = values[0] - values[1]
        interval = percentile_interval(np.concatenate([part[name] for part in drawn]), level)
        if interval is None:  # never: all four are defined for any answers
            raise AssertionError(f"{name} is undefined")
        under_null = np.abs(np.concatenate([part[name] for part in swapped]))
        count = int((under_null >= abs(difference) - _ROUNDING).sum())
        p = count / len(under_null) if exact else (count + 1) / (len(under_null) + 1)
        result[name] = PairedDifference(
            first=values[0],
            second=values[1],
            difference=difference,
            interval=interval,
            p=p,
            exact=exact,
            permutations=2**n if exact else permutations,
        )
    return result


def _summands(confidence: Floats, correct: Bools) -> Floats:
    """Return questions × 4: confidence if wrong, is wrong, lack of confidence if right, is right.

    Their sums are O, |I⁻|, U and |I⁺| of the R2C2 overview.
    """
    wrong, right = (~correct).astype(np.float64), correct.astype(np.float64)
    return np.stack([wrong * confidence, wrong, right * (1.0 - confidence), right], axis=1)


def _measures(sums: Floats) -> dict[str, Floats]:
    """Return the measures of B × 4 sums, as :mod:`assay.measures.confidence` defines them."""
    over, under = _reward(sums[:, 0], sums[:, 1]), _reward(sums[:, 2], sums[:, 3])
    both = over + under
    return {
        "HMR": np.divide(2 * over * under, both, out=np.zeros(len(sums)), where=both > _ROUNDING),
        "R_O": over,
        "R_U": under,
        "Accuracy": sums[:, 3] / (sums[:, 1] + sums[:, 3]),
    }


def _reward(lost: Floats, n: Floats) -> Floats:
    # Differences of sums leave rounding errors where there is nothing to lose.
    some = n > 0.5
    rewards: Floats = 1.0 - np.divide(lost, n, out=np.zeros(len(n)), where=some)
    return np.clip(rewards, 0.0, 1.0)


def _differences(first: Floats, second: Floats) -> dict[str, Floats]:
    ours, theirs = _measures(first), _measures(second)
    return {name: ours[name] - theirs[name] for name in MEASURES}
