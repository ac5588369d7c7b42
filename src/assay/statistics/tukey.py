"""Randomised Tukey HSD: all pairs of runs at once, with the family-wise error under control.

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
    """The outcome of a randomised Tukey HSD test over m runs.

    ``p``: m × m p-values, already adjusted for all pairs; symmetric, 1 on the diagonal. ``exact``:
    whether all permutations were gone through. ``permutations``: how many: (m!)^n if exact, else as
    many as were asked for.
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

    Under the null hypothesis all runs are alike, so the scores of a topic may be dealt to the runs
    in any order. p of a pair is the share of such deals, over all topics at once, whose range of
    run means is at least the pair's absolute difference. With random deals the observed one counts
    as one more, p = (count + 1) / (B + 1), so that no p is 0 (Phipson & Smyth 2010).

    ``matrix``: scores, n topics × m runs. ``permutations``: B, the number of random deals.
    ``seed``: of the random deals; equal seeds give equal p-values for any number of workers.
    ``exact_limit``: all (m!)^n deals are gone through where they are no more than this.
    ``workers``: threads; ``None`` means one per processor. Raises ValueError if the matrix has
    fewer than 2 topics or 2 runs or is not complete, or a setting is out of range.
    """
    scores = score_matrix(matrix)
    whole_number(permutations, "permutations")
    whole_number(seed, "seed", 0)
    topics, runs = scores.shape
    exact = topics * math.lgamma(runs + 1) <= math.log(max(1, exact_limit)) + 1e-9
    # Removing a topic's mean changes no difference within a deal and keeps the sums small.
    centred = scores - scores.mean(axis=1, keepdims=True)
    if exact:
        ranges = _all_ranges(centred)
        total = math.factorial(runs) ** topics
    else:
        ranges = _random_ranges(centred, permutations, seed, workers)
        total = permutations
    sums = centred.sum(axis=0)
    differences = sums[:, None] - sums[None, :]
    # A deal may bring the largest scores of all topics together.
    extremes = (np.abs(part).max(axis=1, keepdims=True) for part in (centred, scores))
    slack = float(sum_slack(*extremes)[0])
    below = np.searchsorted(np.sort(ranges), np.abs(differences) - slack, side="left")
    counts = len(ranges) - below
    p = counts / len(ranges) if exact else (counts + 1) / (len(ranges) + 1)
    np.fill_diagonal(p, 1.0)
    return TukeyResult(p.astype(np.float64), exact, total)


def _all_ranges(scores: Floats) -> Floats:
    """The range of the run sums of every deal.

    The first topic stays: dealing the runs of all topics alike changes no range.
    """
    runs = scores.shape[1]
    orders = np.array(list(arrangements(range(runs))))
    sums = scores[:1]
    for row in scores[1:]:
        sums = (sums[:, None, :] + row[orders][None, :, :]).reshape(-1, runs)
    return np.asarray(np.ptp(sums, axis=1), dtype=np.float64)


def _random_ranges(scores: Floats, permutations: int, seed: int, workers: int | None) -> Floats:
    """The range of the run sums of ``permutations`` random deals.

    The work is cut into blocks with a seed each, so the number of threads changes nothing.
    """
    at_once = max(1, _CELLS_AT_ONCE // scores.size)
    sizes = [min(at_once, permutations - i) for i in range(0, permutations, at_once)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))

    def block(size: int, own_seed: np.random.SeedSequence) -> Floats:
        generator = np.random.Generator(np.random.SFC64(own_seed))
        dealt = np.repeat(scores[None, :, :], size, axis=0)
        generator.permuted(dealt, axis=2, out=dealt)
        return np.asarray(np.ptp(dealt.sum(axis=1), axis=1), dtype=np.float64)

    threads = whole_number(workers, "workers") if workers is not None else os.cpu_count() or 1
    with ThreadPoolExecutor(max_workers=min(threads, len(sizes))) as pool:
        return np.concatenate(list(pool.map(block, sizes, seeds)))
