"""Seeded draws that every test and interval here rests on: bootstrap topics and swaps of pairs.

Draws depend on the seed, the number of topics and the number of draws alone, never on memory or
threads, so statistics of the same data rest on the same resamples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.settings import whole_number

EXACT_LIMIT = 2**17
"""Up to how many arrangements of the data a randomisation test goes through all of them."""

_CELLS_AT_ONCE = 1_000_000
"""How many drawn cells (draws × topics) are held in memory at a time: 8 MB."""


def parts(rows: Floats, at_once: int) -> Iterator[Floats]:
    """The rows, so many at once (one at least) that what is made of them fits into memory."""
    step = max(1, at_once)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def sum_slack(differences: Floats, sizes: Floats) -> Floats:
    """How far apart two sums of n differences can be that are equal but for rounding.

    A test by permutations has to count ties, so sums this near to each other are equal to it. A
    score is rounded when it is read and a difference when it is taken, each by at most half an ulp
    of the scores, which may be far larger than their differences; every addition rounds once more.
    Both sums are off by as much. (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    section 4.2.) ``differences``: n × k, the differences that are added up, column by column.
    ``sizes``: n × k, the largest absolute score behind each difference.
    """
    eps = np.finfo(np.float64).eps
    additions = 2 * len(differences) * np.abs(differences).sum(axis=0)
    return np.asarray(eps * (8 * sizes.sum(axis=0) + additions))


def is_exact(n: int, exact_limit: int = EXACT_LIMIT) -> bool:
    """Tell whether all 2^n swaps of ``n`` pairs are few enough to go through."""
    return n < 63 and 2**n <= exact_limit


def swap_masks(
    n: int, permutations: int, seed: int, exact_limit: int = EXACT_LIMIT
) -> Iterator[Floats]:
    """Which of ``n`` pairs are swapped (1) or left (0), in blocks of draws × n.

    All arrangements where 2^n is at most ``exact_limit``, else ``permutations`` random ones. Of all
    arrangements only those that leave the last pair are given: the others are their mirror images,
    with the same absolute difference. Raises ValueError if ``permutations`` is not a whole
    number from 1, or ``seed`` one from 0.
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
