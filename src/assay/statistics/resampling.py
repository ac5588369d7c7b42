"""Seeded draws that every test and interval here rests on: bootstrap topics and swaps of pairs.

Draws depend on the seed, the number of topics and the number of draws alone, never on memory or
threads, so statistics of the same data rest on the same resamples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.measures.bootstrap import Interval
from assay.measures.confidence import Floats
from assay.statistics.checks import probability, whole_number

__all__ = [
    "EXACT_LIMIT",
    "is_exact",
    "percentile_interval",
    "sum_slack",
    "swap_masks",
    "topic_counts",
]

EXACT_LIMIT = 2**17
"""Up to how many arrangements of the data a randomisation test goes through all of them."""

_CELLS_AT_ONCE = 1_000_000
"""How many drawn cells (draws × topics) are held in memory at a time: 8 MB."""


def topic_counts(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each of *n* topics is drawn in each resample, in blocks of resamples × n.

    A resample draws *n* topics with replacement; the draws are those of
    :func:`assay.measures.bootstrap.mean_interval` with the same seed.

    Raises:
        ValueError: *resamples* is not a whole number from 1, or *seed* one from 0.
    """
    whole_number(resamples, "resamples")
    whole_number(seed, "seed", 0)
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        drawn = generator.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def percentile_interval(values: Floats, level: float) -> Interval | None:
    """Return the percentile interval of resampled values; NaN values are left out and counted.

    Returns:
        ``None`` where the statistic was undefined in every resample.

    Raises:
        ValueError: *level* is not between 0 and 1.
    """
    probability(level, "level")
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), undefined=len(values) - len(defined))


def sum_slack(differences: Floats, sizes: Floats) -> Floats:
    """Return how far apart two sums of n differences can be that are equal but for rounding.

    A test by permutations has to count ties, so sums this near to each other are equal to it. A
    score is rounded when it is read and a difference when it is taken, each by at most half an ulp
    of the scores, which may be far larger than their differences; every addition rounds once more.
    Both sums are off by as much. (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    section 4.2.)

    Args:
        differences: n × k, the differences that are added up, column by column.
        sizes: n × k, the largest absolute score behind each difference.
    """
    eps = np.finfo(np.float64).eps
    additions = 2 * len(differences) * np.abs(differences).sum(axis=0)
    return np.asarray(eps * (8 * sizes.sum(axis=0) + additions))


def is_exact(n: int, exact_limit: int = EXACT_LIMIT) -> bool:
    """Tell whether all 2^n swaps of *n* pairs are few enough to go through."""
    return n < 63 and 2**n <= exact_limit


def swap_masks(
    n: int, permutations: int, seed: int, exact_limit: int = EXACT_LIMIT
) -> Iterator[Floats]:
    """Yield which of *n* pairs are swapped (1) or left (0), in blocks of draws × n.

    All arrangements where 2^n is at most *exact_limit*, else *permutations* random ones. Of all
    arrangements only those that leave the last pair are given: the others are their mirror images,
    with the same absolute difference.

    Raises:
        ValueError: *permutations* is not a whole number from 1, or *seed* one from 0.
    """
    whole_number(permutations, "permutations")
    whole_number(seed, "seed", 0)
    at_once = max(1, _CELLS_AT_ONCE // n)
    if is_exact(n, exact_limit):
        total = 2 ** (n - 1)
        for start in range(0, total, at_once):
            numbers = np.arange(start, min(start + at_once, total), dtype=np.int64)
            yield ((numbers[:, None] >> np.arange(n)) & 1).astype(np.float64)
        return
    generator = np.random.default_rng(seed)
    for start in range(0, permutations, at_once):
        rows = min(at_once, permutations - start)
        yield generator.integers(0, 2, size=(rows, n), dtype=np.int8).astype(np.float64)
