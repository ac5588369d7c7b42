"""Randomised Tukey HSD: a test of all pairs of runs that controls the family-wise error.

Sources: Carterette, Multiple testing in statistical analysis of systems-based information
retrieval experiments, TOIS 30 (2012), algorithm 1; Sakai, Laboratory Experiments in Information
Retrieval (2018), section 4.6.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import permutations as arrangements

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.settings import whole_number
from assay.statistics.checks import score_matrix
from assay.statistics.resampling import EXACT_LIMIT, sum_slack

_CELLS_AT_ONCE = 1_000_000
"""How many scores (permutations × topics × runs) a thread shuffles at a time: 8 MB."""


@dataclass(frozen=True, eq=False)
class TukeyResult:
    """The result of a randomised Tukey HSD test of m runs.

    ``p``: p-values, adjusted for all pairs, m × m; symmetric, and 1 on the diagonal. ``exact``:
    whether all permutations were used. ``permutations``: their number, (m!)^n if exact.
    """

    p: Floats
    exact: bool
    permutations: int


def randomised_tukey(
    matrix: npt.ArrayLike,
    *,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
    workers: int | None = None,
) -> TukeyResult:
    """Test all pairs of runs at once.

    Under the null hypothesis all runs are equal, so the scores of each topic may be permuted over
    the runs. The p of a pair is the share of permutations, over all topics together, for which the
    range of run means is at least the pair's absolute difference. With random permutations the
    observed one is added, p = (count + 1) / (B + 1), so that p is never 0 (Phipson & Smyth 2010).

    ``matrix``: scores, n topics × m runs. ``permutations``: B, the number of random permutations.
    ``seed``: of these; equal seeds give equal p-values for any number of workers. ``exact_limit``:
    the test is exact if there are at most this many permutations, (m!)^n. ``workers``: the number
    of threads, by default one per processor. Raises ValueError if the matrix has fewer than 2
    topics or 2 runs or is not complete, or a setting is out of range.
    """
    scores = score_matrix(matrix)
    whole_number(permutations, "permutations")
    whole_number(seed, "seed", 0)
    topics, runs = scores.shape
    exact = topics * math.lgamma(runs + 1) <= math.log(max(1, exact_limit)) + 1e-9
    # Centring each topic changes no difference between runs, and keeps the sums small.
    centred = scores - scores.mean(axis=1, keepdims=True)
    if exact:
        ranges = _all_ranges(centred)
        total = math.factorial(runs) ** topics
    else:
        ranges = _random_ranges(centred, permutations, seed, workers)
        total = permutations
    sums = centred.sum(axis=0)
    differences = sums[:, None] - sums[None, :]
    # A permutation may give one run the largest score of every topic.
    extremes = (np.abs(part).max(axis=1, keepdims=True) for part in (centred, scores))
    slack = float(sum_slack(*extremes)[0])
    below = np.searchsorted(np.sort(ranges), np.abs(differences) - slack, side="left")
    counts = len(ranges) - below
    p = counts / len(ranges) if exact else (counts + 1) / (len(ranges) + 1)
    np.fill_diagonal(p, 1.0)
    return TukeyResult(p.astype(np.float64), exact, total)


def _all_ranges(scores: Floats) -> Floats:
    """The range of the run sums for every permutation. The first topic is not permuted, because
    permuting all topics in the same way changes no range."""
    runs = scores.shape[1]
    orders = np.array(list(arrangements(range(runs))))
    sums = scores[:1]
    for row in scores[1:]:
        sums = (sums[:, None, :] + row[orders][None, :, :]).reshape(-1, runs)
    return np.asarray(np.ptp(sums, axis=1), dtype=np.float64)


def _random_ranges(scores: Floats, permutations: int, seed: int, workers: int | None) -> Floats:
    """The range of the run sums for random permutations. Each block of them has its own seed, so
    the result does not depend on the number of threads."""
    at_once = max(1, _CELLS_AT_ONCE // scores.size)
    sizes = [min(at_once, permutations - i) for i in range(0, permutations, at_once)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))

    def block(size: int, own_seed: np.random.SeedSequence) -> Floats:
        generator = np.random.Generator(np.random.SFC64(own_seed))
        permuted = np.repeat(scores[None, :, :], size, axis=0)
        generator.permuted(permuted, axis=2, out=permuted)
        return np.asarray(np.ptp(permuted.sum(axis=1), axis=1), dtype=np.float64)

    threads = whole_number(workers, "workers") if workers is not None else os.cpu_count() or 1
    with ThreadPoolExecutor(max_workers=min(threads, len(sizes))) as pool:
        return np.concatenate(list(pool.map(block, sizes, seeds)))
