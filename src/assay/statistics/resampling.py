"""Seeded swaps for paired tests, and helpers for working in blocks.

Draws depend only on the seed, the number of topics and the number of draws, never on memory or
threads, so all statistics of the same data use the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.settings import whole_number

EXACT_LIMIT = 2**17
"""A randomisation test is exact if there are at most this many arrangements of the data."""

_CELLS_AT_ONCE = 1_000_000
"""How many drawn cells (draws × topics) are in memory at a time: 8 MB."""


def blocks(rows: Floats, at_once: int) -> Iterator[Floats]:
    """Split an array into blocks of ``at_once`` rows, or single rows if that is below 1."""
    step = max(1, at_once)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def sum_slack(differences: Floats, sizes: Floats) -> Floats:
    """A bound on the rounding error between two sums of n differences.

    A permutation test must count ties, so sums that differ by no more than this count as equal. A
    score is rounded when it is read, and a difference when it is computed, each by at most half an
    ulp of the scores, which may be far larger than their differences; each addition rounds again.
    Both sums have errors of this size. (Higham, Accuracy and Stability of Numerical Algorithms,
    2002, section 4.2.) ``differences``: n × k, summed column by column. ``sizes``: n × k, the
    larger absolute score behind each difference.
    """
    eps = np.finfo(np.float64).eps
    additions = 2 * len(differences) * np.abs(differences).sum(axis=0)
    return np.asarray(eps * (8 * sizes.sum(axis=0) + additions))


def is_exact(n: int, exact_limit: int = EXACT_LIMIT) -> bool:
    """Whether there are at most ``exact_limit`` swaps of ``n`` pairs, of which there are 2^n."""
    return n < 63 and 2**n <= exact_limit


def swap_masks(
    n: int, permutations: int, seed: int, exact_limit: int = EXACT_LIMIT
) -> Iterator[Floats]:
    """Which of ``n`` pairs are swapped (1) or not (0), in blocks of draws × n.

    Yields all arrangements if the test :func:`is_exact`, else ``permutations`` random ones. Of all
    arrangements, only those that do not swap the last pair are yielded: the others are their mirror
    images, with the same absolute difference. Raises ValueError if ``permutations`` is not a whole
    number from 1, or ``seed`` not a whole number from 0.
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
