"""Item analysis of a leaderboard: what each question, or nugget, of a topic contributes.

A run's score on a topic is the mean value of the topic's items; the leaderboard has the means over
topics. Sources: Crocker & Algina, Introduction to Classical and Modern Test Theory (1986), chapter
14 (difficulty, discrimination); the effects on orders are Assay's own.

τ-b with another leaderboard, and its change without an item, have percentile intervals that
resample topics. The other leaderboard only has scores of whole runs, so it is not resampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.bootstrap import percentile_interval, topic_counts
from assay.measures.ranges import ROUNDING, Range
from assay.statistics.agreement import Estimate
from assay.statistics.checks import defined

_LEVEL, _RESAMPLES, _SEED = 0.95, 1000, 0
_CELLS_AT_ONCE = 2_000_000
"""How many orders of pairs of runs are in memory at a time: 16 MB."""


def discrimination(values: Floats | Bools, column: int) -> float | None:
    """The correlation over runs between an item and the sum of the topic's other items, or ``None``
    if either does not vary. ``values``: runs × items, none missing. ``column``: the item."""
    own = values[:, column].astype(float)
    rest = np.delete(values, column, axis=1).sum(axis=1).astype(float)
    if own.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(own, rest)[0, 1])


def likeness(met: npt.NDArray[np.bool_]) -> Floats:
    """The Jaccard similarity of every two items: of the passages or answers that meet either, the
    share that meet both. NaN if none meets either, and on the diagonal. ``met``: passages or
    answers × items."""
    counts = met.astype(float)
    both = counts.T @ counts
    each = counts.sum(axis=0)
    either = each[:, None] + each[None, :] - both
    similarity = np.where(either > 0, both / np.where(either > 0, either, 1), np.nan)
    np.fill_diagonal(similarity, np.nan)
    return np.asarray(similarity)


@dataclass(frozen=True, eq=False)
class TopicItems:
    """The items of a topic. ``values``: runs × items, NaN if a label is missing. ``counts``:
    whether the topic counts for each run."""

    values: Floats
    counts: Bools

    @property
    def certain(self) -> bool:
        """Whether no label is missing."""
        return not np.isnan(self.values).any()


class ItemBoard:
    """A leaderboard whose scores are means over topics of means over items.

    ``topics``: the items of each topic, with the same runs in the same order. ``official``: each
    run's score on another leaderboard, NaN if it has none. ``levels``: how many values an item can
    have: 2 if it is met or not, 3 with one half.
    """

    def __init__(
        self, topics: Mapping[str, TopicItems], official: npt.ArrayLike, levels: int = 2
    ) -> None:
        self._topics = topics
        self._levels = levels
        self._place = {topic: place for place, topic in enumerate(topics)}
        scores = np.asarray(official, dtype=np.float64)
        self._known = np.flatnonzero(~np.isnan(scores))
        self._means = np.array([_mean(items.values) for items in topics.values()])
        self._counts = np.array([items.counts for items in topics.values()])
        self._certain = all(items.certain for items in topics.values())
        self._pairs = np.triu_indices(len(self._known), 1)
        first, second = (scores[self._known[runs]] for runs in self._pairs)
        self._order = np.sign(first - second)
        # The first row is the original topics. A single topic is not resampled.
        draws = topic_counts(len(topics), _RESAMPLES, _SEED) if len(topics) > 1 else ()
        self._weights = np.concatenate([np.ones((1, len(topics))), *draws])

    @cached_property
    def _taus(self) -> Floats:
        """τ-b with the other leaderboard, for the original topics and each resample."""
        return self._taus_of(self._means, self._counts, self._weights)

    def _taus_of(self, means: Floats, counts: Bools, weights: Floats) -> Floats:
        """τ-b of each resample of topics (row of ``weights``), NaN if undefined. A run without a
        drawn topic has its mean over all of its topics, or 0 if it has none."""
        n = weights @ counts
        whole = np.divide(
            (means * counts).sum(axis=0), counts.sum(axis=0), where=counts.any(axis=0),
            out=np.zeros(counts.shape[1]),
        )  # fmt: skip
        scores = np.divide(
            weights @ (means * counts), n, where=n > 0, out=np.tile(whole, (len(n), 1))
        )[:, self._known]
        first, second = self._pairs
        taus = np.full(len(scores), np.nan)
        at_once = max(1, _CELLS_AT_ONCE // max(1, len(first)))
        for start in range(0, len(scores), at_once):
            part = scores[start : start + at_once]
            difference = part[:, first] - part[:, second]
            order = np.sign(difference) * (np.abs(difference) > ROUNDING)
            below = np.sqrt(np.count_nonzero(order, axis=1) * np.count_nonzero(self._order))
            np.divide(order @ self._order, below, where=below > 0,
                      out=taus[start : start + at_once])  # fmt: skip
        return np.asarray(np.clip(taus, -1, 1))

    @property
    def tau(self) -> Estimate | None:
        """Kendall's τ-b with the other leaderboard; ``None`` if labels are missing, it is
        undefined, or fewer than two runs are on both."""
        return self._estimate(self._taus) if self._certain else None

    def tau_without(self, topic: str, column: int) -> Estimate | None:
        """The change of τ-b if an item is left out (with its topic, if it is the only item)."""
        if self.tau is None:
            return None
        means, counts, place = self._means.copy(), self._counts.copy(), self._place[topic]
        left = np.delete(self._topics[topic].values, column, axis=1)
        if left.shape[1]:
            means[place] = _mean(left)
        else:
            counts[place] = False
        drawn = self._weights[:, place] > 0
        changes = np.where(np.isnan(self._taus), np.nan, 0.0)  # 0 for resamples without the topic
        changes[drawn] = self._taus_of(means, counts, self._weights[drawn]) - self._taus[drawn]
        return self._estimate(changes)

    def _estimate(self, rows: Floats) -> Estimate | None:
        """An estimate whose value is the first of ``rows``, and whose interval comes from the
        others; ``None`` if the value is undefined."""
        value, topics = defined(rows[0]), self._weights.shape[1]
        if value is None:
            return None
        interval = percentile_interval(rows[1:], _LEVEL, topics) if len(rows) > 1 else None
        return Estimate(value, interval)

    def settles(self, topic: str, column: int | None, *, goes: bool) -> Range:
        """How many pairs of runs a proposal reorders on the topic, from certainly to possibly.

        ``column``: the item to be removed or reworded, or ``None`` if one is added. ``goes``:
        whether it is removed, which changes the pairs that it decides. Otherwise a new item takes
        its place, which may decide pairs that are tied without it.
        """
        if goes and column is not None:
            return Range(*map(float, self.may_decide(topic, column)))
        return Range(0.0, float(self.may_settle(topic, column)))

    def decides(self, topic: str, column: int) -> int | None:
        """The number of pairs of runs whose order on the topic changes without the item; ``None``
        if labels are missing."""
        items = self._topics[topic]
        if not items.certain:
            return None
        sums = items.values.sum(axis=1)
        return int(np.triu(_order(sums) != _order(sums - items.values[:, column])).sum())

    def may_decide(self, topic: str, column: int) -> tuple[int, int]:
        """Bounds of :meth:`decides` for any missing values from 0 to 1. They may be loose, because
        each pair is considered by itself."""
        values = self._topics[topic].values
        low, high = np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)

        def between(low: Floats, high: Floats) -> tuple[Floats, Floats]:
            return low[:, None] - high[None, :], high[:, None] - low[None, :]

        item = between(low[:, column], high[:, column])
        rest = between(*(np.delete(one, column, axis=1).sum(axis=1) for one in (low, high)))
        # Certain: the pair is tied without the item and not with it, or one run is better without
        # it, but cannot be with it.
        sure = (rest[0] == 0) & (rest[1] == 0) & ((item[0] > 0) | (item[1] < 0))
        sure |= (rest[0] > 0) & (rest[1] + item[1] <= 0)
        sure |= (rest[1] < 0) & (rest[0] + item[0] >= 0)
        # Impossible: the item has equal values, or the better run without it is so with it.
        never = (item[0] == 0) & (item[1] == 0)
        never |= (rest[0] > 0) & (rest[0] + item[0] > 0)
        never |= (rest[1] < 0) & (rest[1] + item[1] < 0)
        return int(np.triu(sure, 1).sum()), int(np.triu(~never, 1).sum())

    def may_settle(self, topic: str, without: int | None = None) -> int:
        """The most pairs of runs, tied on the topic (``without`` an item), that one more item could
        separate. It separates most if it divides k tied runs evenly over its possible values
        (⌊k²/4⌋ pairs for two). If labels are missing, all runs may be tied."""
        items = self._topics[topic]
        groups = np.array([len(items.values)])
        if items.certain:
            values = items.values
            remaining = values if without is None else np.delete(values, without, axis=1)
            _, groups = np.unique(remaining.sum(axis=1), return_counts=True)
        each, over = np.divmod(groups, self._levels)
        within = over * (each + 1) ** 2 + (self._levels - over) * each**2
        return int((groups**2 - within).sum() // 2)

    def tied(self, topic: str) -> int | None:
        """The number of pairs of runs tied on the topic; ``None`` if labels are missing."""
        items = self._topics[topic]
        if not items.certain:
            return None
        return int(np.triu(_order(items.values.sum(axis=1)) == 0, 1).sum())


def _mean(values: Floats) -> Floats:
    return values.mean(axis=1) if values.shape[1] else np.zeros(len(values))


def _order(sums: Floats) -> npt.NDArray[np.float64]:
    """1, 0 or −1 for each pair of runs: better, tied or worse. (Sums of halves are exact.)"""
    return np.asarray(np.sign(sums[:, None] - sums[None, :]))


def official_scores(runs: Sequence[str], known: Mapping[str, float | None]) -> Floats:
    """The known scores in the order of the runs, NaN if there is none."""
    return np.array([np.nan if (v := known.get(run)) is None else v for run in runs])
