"""Item analysis of a leaderboard: what each question, or nugget, of a topic does for it.

A topic's score of a run is the mean of what the topic's items are worth in it, the leaderboard the
mean over topics. Sources: Crocker & Algina, Introduction to Classical and Modern Test Theory
(1986), chapter 14 (difficulty, discrimination); the effects on orders are Assay's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.measures.confidence import Bools, Floats
from assay.statistics.correlation import kendall_tau

__all__ = ["ItemBoard", "TopicItems", "discrimination", "likeness"]


def discrimination(values: Floats | Bools, column: int) -> float | None:
    """Return the correlation, over runs, of an item with the sum of the topic's other items.

    Args:
        values: runs × items, none unknown.
        column: the item.

    Returns:
        -1 to 1; ``None`` where one of both does not vary.
    """
    own = values[:, column].astype(float)
    rest = np.delete(values, column, axis=1).sum(axis=1).astype(float)
    if own.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(own, rest)[0, 1])


def likeness(met: npt.NDArray[np.bool_]) -> Floats:
    """Return of every two items what meets both among what meets either (Jaccard), NaN where
    nothing does, and of an item with itself.

    Args:
        met: things (passages, answers) × items.
    """
    counts = met.astype(float)
    both = counts.T @ counts
    each = counts.sum(axis=0)
    either = each[:, None] + each[None, :] - both
    found = np.where(either > 0, both / np.where(either > 0, either, 1), np.nan)
    np.fill_diagonal(found, np.nan)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class TopicItems:
    """A topic's items.

    Attributes:
        values: what they are worth, runs × items, NaN where a label is missing.
        counts: of which runs the topic counts.
    """

    values: Floats
    counts: Bools

    @property
    def certain(self) -> bool:
        """Whether no label is missing."""
        return not np.isnan(self.values).any()


class ItemBoard:
    """Runs by the mean over topics of the mean of items.

    Args:
        topics: the items of each topic; runs are the same, in the same order, in all.
        official: each run's score on another leaderboard, NaN where it has none.
    """

    def __init__(self, topics: Mapping[str, TopicItems], official: npt.ArrayLike) -> None:
        self._topics = topics
        self._place = {topic: place for place, topic in enumerate(topics)}
        self._official = np.asarray(official, dtype=np.float64)
        self._means = np.array([_mean(one.values) for one in topics.values()])
        self._counts = np.array([one.counts for one in topics.values()])
        self._certain = all(one.certain for one in topics.values())

    @cached_property
    def tau(self) -> float | None:
        """Kendall's τ-b with the other leaderboard; ``None`` where labels are missing, or fewer
        than two runs are on both."""
        return self._tau(self._means, self._counts)

    def _tau(self, means: Floats, counts: Bools) -> float | None:
        known = ~np.isnan(self._official)
        if known.sum() < 2 or not self._certain:
            return None
        topics = counts.sum(axis=0)
        scores = np.divide(
            (means * counts).sum(axis=0), topics, where=topics > 0, out=np.zeros(len(topics))
        )
        return kendall_tau(scores[known], self._official[known])

    def tau_without(self, topic: str, column: int) -> float | None:
        """How much τ-b changes where an item is left out (with its topic, if it is alone)."""
        if self.tau is None:
            return None
        means, counts, place = self._means.copy(), self._counts.copy(), self._place[topic]
        left = np.delete(self._topics[topic].values, column, axis=1)
        if left.shape[1]:
            means[place] = _mean(left)
        else:
            counts[place] = False
        tau = self._tau(means, counts)
        return None if tau is None else tau - self.tau

    def decides(self, topic: str, column: int) -> int | None:
        """Pairs of runs whose order on the topic is another without the item; ``None`` where
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
        sure = (rest[0] == 0) & (rest[1] == 0) & ((item[0] > 0) | (item[1] < 0))
        sure |= (rest[0] > 0) & (rest[1] + item[1] <= 0)
        sure |= (rest[1] < 0) & (rest[0] + item[0] >= 0)
        never = (item[0] == 0) & (item[1] == 0)
        never |= (rest[0] > 0) & (rest[0] + item[0] > 0)
        never |= (rest[1] < 0) & (rest[1] + item[1] < 0)
        return int(np.triu(sure, 1).sum()), int(np.triu(~never, 1).sum())

    def may_settle(self, topic: str, without: int | None = None) -> int:
        """The most pairs of runs that are tied on the topic (``without`` an item) and that one more
        item, met or not, can tell apart: of k tied runs ⌊k²/4⌋ pairs. Where labels are missing all
        runs may be tied."""
        one = self._topics[topic]
        if not one.certain:
            return len(one.values) ** 2 // 4
        kept = one.values if without is None else np.delete(one.values, without, axis=1)
        _, groups = np.unique(kept.sum(axis=1), return_counts=True)
        return int((groups**2 // 4).sum())

    def tied(self, topic: str) -> int | None:
        """Pairs of runs that the topic does not tell apart; ``None`` where labels are missing."""
        one = self._topics[topic]
        return int(np.triu(_order(one.values.sum(axis=1)) == 0, 1).sum()) if one.certain else None


def _mean(values: Floats) -> Floats:
    return values.mean(axis=1) if values.shape[1] else np.zeros(len(values))


def _order(sums: Floats) -> npt.NDArray[np.float64]:
    """Of every two runs which is the better one: 1, 0 or -1. Worths are halves: sums are exact."""
    return np.asarray(np.sign(sums[:, None] - sums[None, :]))


def official_scores(runs: Sequence[str], known: Mapping[str, float | None]) -> Floats:
    """Scores in the order of the runs, NaN where there is none."""
    return np.array([np.nan if (v := known.get(run)) is None else v for run in runs])
