"""Counts of battles between runs, and which runs they connect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from assay.measures.arrays import Floats, Integers
from assay.statistics.checks import numbers

WIN, TIE, LOSS = 1.0, 0.5, 0.0
"""The outcome of a battle for its first run."""


@dataclass(frozen=True, eq=False)
class Battles:
    """Counts of battles between n runs on T topics.

    ``runs``: n. ``first``, ``second``: the two runs of each of the P pairs that had battles, with
    ``first < second``. ``counts``: T × 3 × P, how often the first won, neither (a tie), and the
    second. ``lacking``: T × P, the number of battles without a verdict.
    """

    runs: int
    first: Integers
    second: Integers
    counts: Floats
    lacking: Floats

    @property
    def total(self) -> Floats:
        """The counts over all topics, 3 × P."""
        return np.asarray(self.counts.sum(axis=0))

    def of_topics(self, which: npt.ArrayLike) -> Battles:
        """The battles on some topics, selected by number or by a mask."""
        places = _unless_all(np.asarray(which))
        return replace(self, counts=self.counts[places], lacking=self.lacking[places])

    def among(self, active: Integers) -> Battles:
        """The battles of pairs with a verdict, with runs renumbered from 0. ``active``: the runs
        that have such battles, ascending."""
        fought = _unless_all(np.asarray(self.total.any(axis=0)))
        first, second = (
            np.searchsorted(active, runs[fought]) for runs in (self.first, self.second)
        )
        counts, lacking = self.counts[:, :, fought], self.lacking[:, fought]
        return Battles(len(active), first, second, counts, lacking)

    @property
    def fought(self) -> Integers:
        """The number of battles of each run that have a verdict."""
        per_pair = self.total.sum(axis=0).astype(np.int64)
        per_run = np.zeros(self.runs, dtype=np.int64)
        np.add.at(per_run, self.first, per_pair)
        np.add.at(per_run, self.second, per_pair)
        return per_run


def tally(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    outcome: npt.ArrayLike,
    topic: npt.ArrayLike,
    *,
    runs: int,
    topics: int,
) -> Battles:
    """Count battles.

    ``a``, ``b``: the numbers of each battle's first and second run, from 0. ``outcome``: 1 if ``a``
    won, ½ for a tie, 0 if ``b`` won, NaN if there is no verdict. ``topic``: the number of each
    battle's topic, from 0. ``runs``, ``topics``: how many there are. Raises ValueError if the lists
    differ in length, a run battles itself, or an outcome is not one of these.
    """
    one, other, topic_of = (np.asarray(values, dtype=np.int64) for values in (a, b, topic))
    outcomes = numbers(outcome, "outcomes", missing=True)
    if one.ndim != 1 or not one.shape == other.shape == outcomes.shape == topic_of.shape:
        raise ValueError(
            "give four flat lists of one length: runs, their opponents, outcome, topic"
        )
    if (one == other).any():
        raise ValueError(f"battle {np.flatnonzero(one == other)[0] + 1} is of a run with itself")
    judged = ~np.isnan(outcomes)
    if not np.isin(outcomes[judged], (WIN, TIE, LOSS)).all():
        raise ValueError("outcomes are 1 (the first won), 0.5 (a tie), 0 and NaN (no verdict)")
    swapped = one > other
    low, high = np.where(swapped, other, one), np.where(swapped, one, other)
    pairs, pair_of = np.unique(low * runs + high, return_inverse=True)
    # 0 if the run with the lower number won, 1 for a tie, 2 if the other won.
    column = np.rint(2 * np.where(swapped, outcomes, 1 - outcomes)[judged]).astype(np.int64)
    counts, lacking = np.zeros((topics, 3, len(pairs))), np.zeros((topics, len(pairs)))
    np.add.at(counts, (topic_of[judged], column, pair_of[judged]), 1)
    np.add.at(lacking, (topic_of[~judged], pair_of[~judged]), 1)
    return Battles(runs, pairs // runs, pairs % runs, counts, lacking)


def components(battles: Battles) -> Integers:
    """The component of each run. Within a component, every run can be reached from every other
    along battles won or tied, so its ratings are finite."""
    (only,) = components_of(battles, battles.total[None])
    return np.asarray(only)


def components_of(battles: Battles, counts: Floats) -> Integers:
    """The components for B sets of counts, B × 3 × P: component numbers, B × n. All sets are
    handled as one graph with no edges between them."""
    wins, ties, losses = np.moveaxis(counts, 1, 0)
    rows, runs = len(counts), battles.runs
    (up, up_pair), (down, down_pair) = (np.nonzero(one + ties > 0) for one in (wins, losses))
    first, second = battles.first, battles.second
    source = np.concatenate([up * runs + first[up_pair], down * runs + second[down_pair]])
    target = np.concatenate([up * runs + second[up_pair], down * runs + first[down_pair]])
    graph = csr_array((np.ones(len(source)), (source, target)), (rows * runs, rows * runs))
    numbers = connected_components(graph, connection="strong")[1]
    return np.asarray(numbers, dtype=np.int64).reshape(rows, runs)


def _unless_all(which: npt.NDArray[Any]) -> npt.NDArray[Any] | slice:
    """The index as it is, or a slice, which copies nothing, for a mask that selects everything."""
    return slice(None) if which.dtype == np.bool_ and which.all() else which
