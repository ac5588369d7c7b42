"""Rank correlations over all topic–run pairs at once, when topics are drawn several times.

A resample that draws a topic w times has w copies of each of its pairs. What the coefficients
need is then a sum over topics, or over pairs of topics, of quantities counted once; no resample
compares all pairs with all others. Undefined is NaN here.

Copies of a pair are the same pair, not two that tie: neither τ-b nor the AP correlation compares
them with each other, so that identical tables have a coefficient of 1 in every resample.
"""

from __future__ import annotations

import numpy as np

from assay.measures.arrays import Floats, Integers
from assay.statistics.ranks import ap_weights, extrapolated, rbo_depth
from assay.statistics.resampling import parts

_CELLS_AT_ONCE = 2_000_000


class StackedPairs:
    """All topic–run pairs with two scores each, ready for any number of resamples.

    ``x``: the first score of each of the N pairs, the truth of the AP correlation. ``y``: the
    second score. ``topic``: the number of each pair's topic, from 0 to topics − 1, ascending, none
    left out.
    """

    def __init__(self, x: Floats, y: Floats, topic: Integers) -> None:
        self.x, self.y, self.topic = x, y, topic
        starts = np.flatnonzero(np.r_[True, np.diff(topic) > 0])
        self.n, self.topics = len(x), len(starts)
        self._same = np.zeros((self.topics, self.topics))
        self._untied_x, self._untied_y = np.zeros_like(self._same), np.zeros_like(self._same)
        # Right minus half of all pairs above each pair, by the topic of those above.
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
            # Only what is above by the estimate counts in the AP correlation.
            order_x *= order_y > 0
            self._surplus[:, part] = np.add.reduceat(order_x, starts, axis=1).T / 2
        self._ranks_x, self._ranks_y = _Groups(x), _Groups(y)

    def values(self, weights: Floats, p: float) -> dict[str, Floats]:
        """``tau``, ``rho``, ``ap`` and ``rbo`` of every resample. ``weights``: resamples ×
        topics, how often each topic is drawn. ``p``: the persistence of RBO."""
        found = [self._block(one, p) for one in parts(weights, _CELLS_AT_ONCE // self.n)]
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def _block(self, weights: Floats, p: float) -> dict[str, Floats]:
        of_pair = weights[:, self.topic]
        n = of_pair.sum(axis=1)
        above_x, ties_x = self._ranks_x.places(of_pair)
        above_y, ties_y = self._ranks_y.places(of_pair)
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
        # A copy is ranked among the others of its group, its own copies aside. Every copy counts
        # that has something above it; at the top that depends on the order of the group.
        group = np.where(of_pair > 0, ties_y - of_pair + 1, 1)
        shares = ap_weights(above_y.astype(np.int64), group.astype(np.int64), int(n.max()))
        counted = (of_pair * np.where(above_y > 0, 1.0, 1 - 1 / group)).sum(axis=1)
        total = 2 * (of_pair * shares * surplus).sum(axis=1)
        ap = np.divide(total, counted, out=np.full(len(n), np.nan), where=defined)

        places = (above_x, ties_x, above_y, ties_y)
        # Few topics are drawn alike time and again.
        _, first, which = np.unique(weights, axis=0, return_index=True, return_inverse=True)
        rbo = np.array([_rbo(of_pair[b], [cells[b] for cells in places], p) for b in first])
        return {
            "tau": np.clip(tau, -1, 1),
            "rho": np.clip(rho, -1, 1),
            "ap": np.clip(ap, -1, 1),
            "rbo": rbo[which.ravel()],
        }


class _Groups:
    """The groups of equal scores of a list, best first."""

    def __init__(self, scores: Floats) -> None:
        _, self.of_item = np.unique(-scores, return_inverse=True)
        self.order = np.argsort(self.of_item, kind="stable")
        ordered = self.of_item[self.order]
        self.starts = np.flatnonzero(np.r_[True, np.diff(ordered) > 0])

    def places(self, weights: Floats) -> tuple[Floats, Floats]:
        """How many items are above each item and how many tie with it, itself included.
        ``weights``: resamples × items, how many copies of each item there are."""
        sizes = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        above = np.cumsum(sizes, axis=1) - sizes
        return above[:, self.of_item], sizes[:, self.of_item]


def _rbo(weights: Floats, places: list[Floats], p: float) -> float:
    """The extrapolated RBO of one resample; see ``ranks.rbo_rows`` for the tie rule.

    ``weights``: how many copies of each item there are. ``places``: for every item, how many are
    above it and how many tie with it, by the first and then by the second scores. ``p``: the
    persistence.
    """
    above_x, ties_x, above_y, ties_y = (cells[weights > 0] for cells in places)
    weights = weights[weights > 0]
    depth = rbo_depth(int(weights.sum()), p)
    depths = np.arange(1, depth + 1, dtype=np.float64)
    seen = (above_x < depth) & (above_y < depth)
    # Items at the same place in both lists are shown to the same degree: count them together.
    keys = above_x[seen] * (weights.sum() + 1) + above_y[seen]
    _, one, which = np.unique(keys, return_index=True, return_inverse=True)
    copies = np.bincount(which, weights=weights[seen], minlength=len(one))
    shown_x, shown_y = (
        np.clip((depths - above[seen][one][:, None]) / ties[seen][one][:, None], 0, 1)
        for above, ties in ((above_x, ties_x), (above_y, ties_y))
    )
    overlap = copies @ (shown_x * shown_y)
    sizes = _size(above_x, ties_x, depths) * _size(above_y, ties_y, depths)
    return float(extrapolated((overlap / np.sqrt(sizes))[None], p)[0])


def _size(above: Floats, ties: Floats, depths: Floats) -> Floats:
    """Σ (degree to which an item is shown)² at every depth."""
    starts, first = np.unique(above, return_index=True)
    group = np.searchsorted(starts, depths, side="left") - 1
    return np.asarray(starts[group] + np.square(depths - starts[group]) / ties[first][group])
