"""Item analysis of a leaderboard: what each question, or nugget, of a topic does for it.

A topic's score of a run is the mean of what the topic's items are worth in it, the leaderboard the
mean over topics. Sources: Crocker & Algina, Introduction to Classical and Modern Test Theory
(1986), chapter 14 (difficulty, discrimination); the effects on orders are Assay's.

What a leaderboard would become without an item is a forecast from the topics at hand: τ-b, and its
change, have a percentile interval over topics that are drawn anew. The other leaderboard has scores
of whole runs: it stays as it is.
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
"""How many orders of pairs of runs are held in memory at a time: 16 MB."""


def discrimination(values: Floats | Bools, column: int) -> float | None:
    """The correlation, over runs, of an item with the sum of the topic's other items.
    ``values``: runs × items, none unknown. ``column``: the item. Returns -1 to 1; ``None`` if
    one of both does not vary."""
    own = values[:, column].astype(float)
    rest = np.delete(values, column, axis=1).sum(axis=1).astype(float)
    if own.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(own, rest)[0, 1])


def likeness(met: npt.NDArray[np.bool_]) -> Floats:
    """Of every two items what meets both among what meets either (Jaccard), NaN if
    nothing does, and of an item with itself. ``met``: things (passages, answers) × items."""
    counts = met.astype(float)
    both = counts.T @ counts
    each = counts.sum(axis=0)
    either = each[:, None] + each[None, :] - both
    found = np.where(either > 0, both / np.where(either > 0, either, 1), np.nan)
    np.fill_diagonal(found, np.nan)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class TopicItems:
    """A topic's items. ``values``: what they are worth, runs × items, NaN if a label is missing.
    ``counts``: of which runs the topic counts."""

    values: Floats
    counts: Bools

    @property
    def certain(self) -> bool:
        """Whether no label is missing."""
        return not np.isnan(self.values).any()


class ItemBoard:
    """Runs by the mean over topics of the mean of items.

    ``topics``: the items of each topic; runs are the same, in the same order, in all. ``official``:
    each run's score on another leaderboard, NaN if it has none. ``levels``: how many worths an
    item can have: 2 where it is met or not, 3 with half.
    """

    def __init__(
        self, topics: Mapping[str, TopicItems], official: npt.ArrayLike, levels: int = 2
    ) -> None:
        self._topics = topics
        self._levels = levels
        self._place = {topic: place for place, topic in enumerate(topics)}
        scores = np.asarray(official, dtype=np.float64)
        self._known = np.flatnonzero(~np.isnan(scores))
        self._means = np.array([_mean(one.values) for one in topics.values()])
        self._counts = np.array([one.counts for one in topics.values()])
        self._certain = all(one.certain for one in topics.values())
        self._pairs = np.triu_indices(len(self._known), 1)
        first, second = (scores[self._known[one]] for one in self._pairs)
        self._order = np.sign(first - second)
        # The first row is the topics as they are; of one topic nothing else can be drawn.
        draws = topic_counts(len(topics), _RESAMPLES, _SEED) if len(topics) > 1 else ()
        self._weights = np.concatenate([np.ones((1, len(topics))), *draws])

    @cached_property
    def _taus(self) -> Floats:
        """τ-b with the other leaderboard, of the topics and of each draw."""
        return self._taus_of(self._means, self._counts, self._weights)

    def _taus_of(self, means: Floats, counts: Bools, weights: Floats) -> Floats:
        """τ-b of each draw of topics (rows of ``weights``), NaN if it is undefined. A run that
        has no drawn topic stands where it does by all of its topics, and by none at 0."""
        n = weights @ counts
        whole = np.divide(
            (means * counts).sum(axis=0), counts.sum(axis=0), where=counts.any(axis=0),
            out=np.zeros(counts.shape[1]),
        )  # fmt: skip
        scores = np.divide(
            weights @ (means * counts), n, where=n > 0, out=np.tile(whole, (len(n), 1))
        )[:, self._known]
        first, second = self._pairs
        found = np.full(len(scores), np.nan)
        at_once = max(1, _CELLS_AT_ONCE // max(1, len(first)))
        for start in range(0, len(scores), at_once):
            part = scores[start : start + at_once]
            apart = part[:, first] - part[:, second]
            order = np.sign(apart) * (np.abs(apart) > ROUNDING)
            below = np.sqrt(np.count_nonzero(order, axis=1) * np.count_nonzero(self._order))
            np.divide(order @ self._order, below, where=below > 0,
                      out=found[start : start + at_once])  # fmt: skip
        return np.asarray(np.clip(found, -1, 1))

    @property
    def tau(self) -> Estimate | None:
        """Kendall's τ-b with the other leaderboard; ``None`` if labels are missing, it is
        undefined, or fewer than two runs are on both."""
        return self._estimate(self._taus) if self._certain else None

    def tau_without(self, topic: str, column: int) -> Estimate | None:
        """How much τ-b changes where an item is left out (with its topic, if it is alone)."""
        if self.tau is None:
            return None
        means, counts, place = self._means.copy(), self._counts.copy(), self._place[topic]
        left = np.delete(self._topics[topic].values, column, axis=1)
        if left.shape[1]:
            means[place] = _mean(left)
        else:
            counts[place] = False
        drawn = self._weights[:, place] > 0
        changes = np.where(np.isnan(self._taus), np.nan, 0.0)  # a draw without the topic: none
        changes[drawn] = self._taus_of(means, counts, self._weights[drawn]) - self._taus[drawn]
        return self._estimate(changes)

    def _estimate(self, rows: Floats) -> Estimate | None:
        """The first row with the interval that the others make; ``None`` if it is undefined."""
        value, topics = defined(rows[0]), self._weights.shape[1]
        if value is None:
            return None
        interval = percentile_interval(rows[1:], _LEVEL, topics) if len(rows) > 1 else None
        return Estimate(value, interval)

    def settles(self, topic: str, column: int | None, *, goes: bool) -> Range:
        """Of how many pairs of runs a proposal changes the order on the topic, from surely to
        possibly.

        ``topic``: which. ``column``: the item that goes or is put anew; ``None`` for one that is
        added. ``goes``: it goes, and changes what it decides; else another stands in its place,
        which may tell apart what is tied without it.
        """
        if goes and column is not None:
            return Range(*map(float, self.may_decide(topic, column)))
        return Range(0.0, float(self.may_settle(topic, column)))

    def decides(self, topic: str, column: int) -> int | None:
        """Pairs of runs whose order on the topic is another without the item; ``None`` if
        labels are missing."""
        one = self._topics[topic]
        if not one.certain:
            return None
        whole = one.values.sum(axis=1)
        return int(np.triu(_order(whole) != _order(whole - one.values[:, column])).sum())

    def may_decide(self, topic: str, column: int) -> tuple[int, int]:
        """The fewest and the most pairs of runs that :meth:`decides` may come to, whatever from 0
        to 1 the missing labels turn out to be. Safe: each pair is looked at alone."""
        values = self._topics[topic].values
        low, high = np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)

        def between(low: Floats, high: Floats) -> tuple[Floats, Floats]:
            return low[:, None] - high[None, :], high[:, None] - low[None, :]

        item = between(low[:, column], high[:, column])
        rest = between(*(np.delete(one, column, axis=1).sum(axis=1) for one in (low, high)))
        # Tied without the item and parted by it, or ahead without it and, whatever is missing, not
        # with it.
        sure = (rest[0] == 0) & (rest[1] == 0) & ((item[0] > 0) | (item[1] < 0))
        sure |= (rest[0] > 0) & (rest[1] + item[1] <= 0)
        sure |= (rest[1] < 0) & (rest[0] + item[0] >= 0)
        # It parts nothing, or who is ahead without it surely is with it.
        never = (item[0] == 0) & (item[1] == 0)
        never |= (rest[0] > 0) & (rest[0] + item[0] > 0)
        never |= (rest[1] < 0) & (rest[1] + item[1] < 0)
        return int(np.triu(sure, 1).sum()), int(np.triu(~never, 1).sum())

    def may_settle(self, topic: str, without: int | None = None) -> int:
        """The most pairs of runs that are tied on the topic (``without`` an item) and that one more
        item can tell apart: of k tied runs those between groups as equal as can be, one for each
        worth (⌊k²/4⌋ pairs for two). Where labels are missing all runs may be tied."""
        one = self._topics[topic]
        groups = np.array([len(one.values)])
        if one.certain:
            remaining = one.values if without is None else np.delete(one.values, without, axis=1)
            _, groups = np.unique(remaining.sum(axis=1), return_counts=True)
        each, over = np.divmod(groups, self._levels)
        within = over * (each + 1) ** 2 + (self._levels - over) * each**2
        return int((groups**2 - within).sum() // 2)

    def tied(self, topic: str) -> int | None:
        """Pairs of runs that the topic does not tell apart; ``None`` if labels are missing."""
        one = self._topics[topic]
        return int(np.triu(_order(one.values.sum(axis=1)) == 0, 1).sum()) if one.certain else None


def _mean(values: Floats) -> Floats:
    return values.mean(axis=1) if values.shape[1] else np.zeros(len(values))


def _order(sums: Floats) -> npt.NDArray[np.float64]:
    """Of every two runs which is the better one: 1, 0 or -1. Worths are halves: sums are exact."""
    return np.asarray(np.sign(sums[:, None] - sums[None, :]))


def official_scores(runs: Sequence[str], known: Mapping[str, float | None]) -> Floats:
    """Scores in the order of the runs, NaN if there is none."""
    return np.array([np.nan if (v := known.get(run)) is None else v for run in runs])
