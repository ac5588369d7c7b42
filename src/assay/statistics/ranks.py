"""Rank correlations of many pairs of score lists at once, as rows of B × n arrays.

:mod:`assay.statistics.correlation` has definitions and sources. Undefined values are NaN here.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.ranges import ROUNDING

_CELLS_AT_ONCE = 2_000_000
"""How many compared pairs are in memory at a time: 16 MB per array."""

_NEGLIGIBLE = 1e-15
"""Ranks beyond which the weight in RBO is less than this are left out."""


def near_ranks(scores: Floats, largest: npt.ArrayLike | None = None) -> Floats:
    """The ranks of each row's scores, lowest first. Neighbours that differ by less than a share
    :data:`ROUNDING` of the ``largest`` absolute score (by default that of the row) have the same
    rank, because they may differ by rounding only."""
    if largest is None:
        largest = np.abs(scores).max(axis=1, keepdims=True)
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    higher = np.diff(ascending, axis=1, prepend=ascending[:, :1]) > np.multiply(ROUNDING, largest)
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, higher.cumsum(axis=1).astype(np.float64), axis=1)
    return np.asarray(ranks)


def all_rows(x: Floats, y: Floats, p: float) -> dict[str, Floats]:
    """``tau``, ``rho``, ``ap`` (with x as the truth) and ``rbo`` of every row."""
    return {
        "tau": tau_rows(x, y),
        "rho": rho_rows(x, y),
        "ap": ap_rows(x, y),
        "rbo": rbo_rows(x, y, p),
    }


def _blocks(rows: int, n: int) -> list[tuple[slice, slice]]:
    """Blocks of rows × items, small enough to compare these items with all n of their rows."""
    block_rows = max(1, _CELLS_AT_ONCE // (n * n))
    pivots = max(1, min(n, _CELLS_AT_ONCE // n))
    return [
        (slice(r, r + block_rows), slice(i, i + pivots))
        for r in range(0, rows, block_rows)
        for i in range(0, n, pivots)
    ]


def tau_rows(x: Floats, y: Floats) -> Floats:
    """Kendall's τ-b of every row; NaN if a row is constant."""
    rows, n = x.shape
    above, untied_x, untied_y = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    for part, pivots in _blocks(rows, n):
        order_x = np.sign(x[part, pivots, None] - x[part, None, :])
        order_y = np.sign(y[part, pivots, None] - y[part, None, :])
        above[part] += np.einsum("bij,bij->b", order_x, order_y)
        untied_x[part] += np.count_nonzero(order_x, axis=(1, 2))
        untied_y[part] += np.count_nonzero(order_y, axis=(1, 2))
    below = np.sqrt(untied_x * untied_y)
    return _bounded(np.divide(above, below, out=np.full(rows, np.nan), where=below > 0))


def rho_rows(x: Floats, y: Floats) -> Floats:
    """Spearman's ρ, with mid-ranks, of every row; NaN if a row is constant."""
    middle = (x.shape[1] + 1) / 2
    ranks_x, ranks_y = _middle_ranks(x) - middle, _middle_ranks(y) - middle
    below = np.sqrt(np.square(ranks_x).sum(axis=1) * np.square(ranks_y).sum(axis=1))
    above = (ranks_x * ranks_y).sum(axis=1)
    return _bounded(np.divide(above, below, out=np.full(len(x), np.nan), where=below > 0))


def ap_rows(truth: Floats, estimate: Floats) -> Floats:
    """The AP correlation of every row; NaN if a row is constant."""
    rows, n = truth.shape
    total = np.zeros(rows)
    for part, pivots in _blocks(rows, n):
        order = estimate[part, None, :] - estimate[part, pivots, None]
        above = order > 0
        true_order = truth[part, None, :] - truth[part, pivots, None]
        right = (above * (true_order > 0)).sum(axis=2) + (above * (true_order == 0)).sum(axis=2) / 2
        t, g = above.sum(axis=2), (order == 0).sum(axis=2)
        total[part] += (ap_weights(t, g, n) * (right - t / 2)).sum(axis=1)
    constant = (np.ptp(truth, axis=1) == 0) | (np.ptp(estimate, axis=1) == 0)
    return _bounded(np.where(constant, np.nan, 2 * total / max(1, n - 1)))


def ap_weights(above: npt.NDArray[np.integer], group: npt.NDArray[np.integer], n: int) -> Floats:
    """The weight, in AP correlation, of an item's surplus of correct items above it.

    An item in a group of g tied items, with t items above the group, is at each of the ranks
    t + 1 + k, k = 0 … g − 1, in one g-th of the orders of the group. On average c_t of the t items
    above, and half of the k, are correctly there. So Σ C(i) / (i − 1) over the group is
    Σ_k [½ + (c_t − t / 2) / (t + k)], and each item's surplus c_t − t / 2 has the weight
    (H(t + g − 1) − H(t − 1)) / g, with the harmonic numbers H.
    """
    harmonic = np.concatenate([[0.0, 0.0], np.cumsum(1.0 / np.arange(1, n + 1))])  # from H(−1)
    weights: Floats = (harmonic[above + group] - harmonic[above]) / np.maximum(group, 1)
    return weights


def rbo_depth(n: int, p: float) -> int:
    """The depth beyond which the total weight of all ranks is negligible."""
    return min(n, math.ceil(math.log(_NEGLIGIBLE) / math.log(p)))


def rbo_rows(x: Floats, y: Floats, p: float) -> Floats:
    """The extrapolated RBO of every row; both lists rank the same n items."""
    rows, n = x.shape
    depth = rbo_depth(n, p)
    depths = np.arange(1, depth + 1, dtype=np.float64)
    values = np.empty(rows)
    at_once = max(1, _CELLS_AT_ONCE // (n * depth))
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        within_x, within_y = _within(x[part], depths), _within(y[part], depths)
        overlap = np.einsum("bnd,bnd->bd", within_x, within_y)
        size_x = np.einsum("bnd,bnd->bd", within_x, within_x)
        size_y = np.einsum("bnd,bnd->bd", within_y, within_y)
        values[part] = extrapolated(overlap / np.sqrt(size_x * size_y), p)
    return values


def extrapolated(agreements: Floats, p: float) -> Floats:
    """Extrapolated RBO: (1 − p)/p Σ_d A_d p^d + A_D p^D, for agreements A, B × D depths."""
    weights = (1 - p) * p ** np.arange(agreements.shape[1], dtype=np.float64)
    value: Floats = agreements @ weights + agreements[:, -1] * p ** agreements.shape[1]
    return np.clip(value, 0.0, 1.0)


def _within(scores: Floats, depths: Floats) -> Floats:
    """The probability that each item is within each depth, with ties in random order: B × n × D."""
    low, high = _group_ranks(scores)
    higher, ties = scores.shape[1] - high, high - low + 1
    within: Floats = np.clip((depths - higher[:, :, None]) / ties[:, :, None], 0.0, 1.0)
    return within


def _middle_ranks(scores: Floats) -> Floats:
    """The mid-rank of each item in its row, from 1 for the lowest."""
    low, high = _group_ranks(scores)
    return (low + high) / 2.0


def _group_ranks(
    scores: Floats,
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """The first and last rank of the items with an equal score, from 1 for the lowest."""
    n = scores.shape[1]
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    place = np.arange(1, n + 1)
    begins = np.ones(scores.shape, dtype=bool)
    begins[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    ends = np.ones(scores.shape, dtype=bool)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, n)[:, ::-1], axis=1)[:, ::-1]
    low, high = np.empty_like(first), np.empty_like(last)
    np.put_along_axis(low, order, first, axis=1)
    np.put_along_axis(high, order, last, axis=1)
    return low, high


def _bounded(values: Floats) -> Floats:
    """Clip rounding errors beyond −1 and 1. NaN stays NaN."""
    return np.clip(values, -1.0, 1.0)
