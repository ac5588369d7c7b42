"""Rank correlations over all topic–run pairs together, for many resamples of topics.

A resample that draws a topic w times has w copies of each of its pairs. The coefficients then
follow from sums over topics, or over pairs of topics, of quantities that are computed only once, so
not every resample compares all pairs with each other. Undefined values are NaN here.

Copies of a pair do not count as tied: neither τ-b nor AP correlation compares them with each other,
so that identical tables have a coefficient of 1 in every resample.
"""

from __future__ import annotations

import numpy as np

from assay.measures.arrays import Floats, Integers
from assay.statistics.ranks import ap_weights, extrapolated, rbo_depth
from assay.statistics.resampling import blocks

_CELLS_AT_ONCE = 2_000_000


class StackedPairs:
    """All topic–run pairs with two scores each, prepared for resampling topics.

    ``x``: the first score of each of the N pairs (the truth, for AP correlation). ``y``: the second
    score. ``topic``: the number of each pair's topic, ascending from 0 without gaps.
    """

    def __init__(self, x: Floats, y: Floats, topic: Integers) -> None:
        self.x, self.y, self.topic = x, y, topic
        starts = np.flatnonzero(np.r_[True, np.diff(topic) > 0])
        self.n, self.topics = len(x), len(starts)
        self._same = np.zeros((self.topics, self.topics))
        self._untied_x, self._untied_y = np.zeros_like(self._same), np.zeros_like(self._same)
        # For each pair, by topic: the pairs of that topic above it by y that are also above it by
        # x, minus half of all above it.
        self._surplus = np.zeros((self.topics, self.n), dtype=np.float32)
        at_once = max(1, _CELLS_AT_ONCE // self.n)
        for start in range(0, self.n, at_once):
            part = slice(start, start + at_once)
            order_x = np.sign(x[None, :] - x[part, None]).astype(np.float32)
            order_y = np.sign(y[None, :] - y[part, None]).astype(np.float32)
            rows = topic[part]
            for table, cells in (
                (self._same, order_x * order_y),
                (self._untied_x, np.abs(order_x)),
                (self._untied_y, np.abs(order_y)),
            ):
                np.add.at(table, rows, np.add.reduceat(cells, starts, axis=1, dtype=np.float64))
            # For AP correlation, only pairs that are above by the estimate count.
            order_x *= order_y > 0
            self._surplus[:, part] = np.add.reduceat(order_x, starts, axis=1).T / 2
        self._ranks_x, self._ranks_y = _Groups(x), _Groups(y)
        # Distinct combinations of groups of equal scores in x and y, and that of each pair.
        groups = np.column_stack([self._ranks_x.of_item, self._ranks_y.of_item])
        combinations, of_pair = np.unique(groups, axis=0, return_inverse=True)
        self._in_x, self._in_y = combinations[:, 0], combinations[:, 1]
        self._of_pair = of_pair.ravel()

    def values(self, weights: Floats, p: float) -> dict[str, Floats]:
        """``tau``, ``rho``, ``ap`` and ``rbo`` of every resample. ``weights``: how often each topic
        is drawn, resamples × topics. ``p``: the persistence of RBO."""
        weight_blocks = blocks(weights, _CELLS_AT_ONCE // self.n)
        found = [self._block(block, p) for block in weight_blocks]
        return {name: np.concatenate([values[name] for values in found]) for name in found[0]}

    def _block(self, weights: Floats, p: float) -> dict[str, Floats]:
        of_pair = weights[:, self.topic]
        n = of_pair.sum(axis=1)
        groups_x, groups_y = self._ranks_x.groups(of_pair), self._ranks_y.groups(of_pair)
        above_x, ties_x = (cells[:, self._ranks_x.of_item] for cells in groups_x)
        above_y, ties_y = (cells[:, self._ranks_y.of_item] for cells in groups_y)
        same, x_pairs, y_pairs = (
            np.einsum("bs,st,bt->b", weights, table, weights, optimize=True)
            for table in (self._same, self._untied_x, self._untied_y)
        )
        defined = (x_pairs > 0) & (y_pairs > 0)
        nothing = np.full(len(n), np.nan)
        tau = np.divide(same, np.sqrt(x_pairs * y_pairs), out=nothing, where=defined)

        middle = (n[:, None] - 1) / 2
        from_x = above_x + (ties_x - 1) / 2 - middle
        from_y = above_y + (ties_y - 1) / 2 - middle
        products, squares_x, squares_y = (
            (of_pair * cells).sum(axis=1)
            for cells in (from_x * from_y, np.square(from_x), np.square(from_y))
        )
        below = np.sqrt(squares_x * squares_y)
        rho = np.divide(products, below, out=np.full(len(n), np.nan), where=defined)

        surplus = weights.astype(np.float32) @ self._surplus
        # A copy is ranked among the others of its group, without copies of itself. It counts if it
        # has anything above it, which in the top group depends on the order of the group.
        group = np.where(of_pair > 0, ties_y - of_pair + 1, 1)
        shares = ap_weights(above_y.astype(np.int64), group.astype(np.int64), int(n.max()))
        counted = (of_pair * np.where(above_y > 0, 1.0, 1 - 1 / group)).sum(axis=1)
        total = 2 * (of_pair * shares * surplus).sum(axis=1)
        ap = np.divide(total, counted, out=np.full(len(n), np.nan), where=defined)

        # With few topics, many resamples are equal; RBO is computed once for each.
        _, first, which = np.unique(weights, axis=0, return_index=True, return_inverse=True)
        rbo = np.array([self._rbo(of_pair[b], groups_x, groups_y, b, p) for b in first])
        return {
            "tau": np.clip(tau, -1, 1),
            "rho": np.clip(rho, -1, 1),
            "ap": np.clip(ap, -1, 1),
            "rbo": rbo[which.ravel()],
        }

    def _rbo(
        self,
        weights: Floats,
        in_x: tuple[Floats, Floats],
        in_y: tuple[Floats, Floats],
        b: int,
        p: float,
    ) -> float:
        """The extrapolated RBO of resample ``b``; see :mod:`assay.statistics.correlation` for ties.

        ``weights``: the number of copies of each pair. ``in_x``, ``in_y``: for each group of equal
        first (or second) scores, in every resample, the number of pairs above it, and in it. ``p``:
        the persistence.
        """
        x, y = ((above[b], sizes[b]) for above, sizes in (in_x, in_y))
        depth = rbo_depth(int(weights.sum()), p)
        depths = np.arange(1, depth + 1, dtype=np.float64)
        # Pairs with the same combination of groups are within a depth with the same probability.
        copies = np.bincount(self._of_pair, weights=weights, minlength=len(self._in_x))
        seen = (copies > 0) & (x[0][self._in_x] < depth) & (y[0][self._in_y] < depth)
        shown_x, shown_y = (
            np.clip((depths - above[group][:, None]) / sizes[group][:, None], 0, 1)
            for (above, sizes), group in ((x, self._in_x[seen]), (y, self._in_y[seen]))
        )
        overlap = copies[seen] @ (shown_x * shown_y)
        sizes = _size(*x, depths) * _size(*y, depths)
        return float(extrapolated((overlap / np.sqrt(sizes))[None], p)[0])


class _Groups:
    """The groups of equal scores of a list, best first."""

    def __init__(self, scores: Floats) -> None:
        _, self.of_item = np.unique(-scores, return_inverse=True)
        self.order = np.argsort(self.of_item, kind="stable")
        ordered = self.of_item[self.order]
        self.starts = np.flatnonzero(np.r_[True, np.diff(ordered) > 0])

    def groups(self, weights: Floats) -> tuple[Floats, Floats]:
        """The number of items above each group, and in it. ``weights``: the number of copies of
        each item, resamples × items."""
        sizes = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        return np.cumsum(sizes, axis=1) - sizes, sizes


def _size(above: Floats, sizes: Floats, depths: Floats) -> Floats:
    """Σ (probability that an item is within the depth)², for every depth."""
    above, sizes = above[sizes > 0], sizes[sizes > 0]
    group = np.searchsorted(above, depths, side="left") - 1
    return np.asarray(above[group] + np.square(depths - above[group]) / sizes[group])
