"""Battles, counted: how often whom beat whom, and which runs can be reached from which."""

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
"""What comes of a battle for its first run."""


@dataclass(frozen=True, eq=False)
class Battles:
    """Counts of battles of n runs in T topics.

    ``runs``: n. ``first``: P runs of the pairs that fought at all, ``first < second``. ``second``:
    the others. ``counts``: T × 3 × P: how often the first won, it was a tie, the second won.
    ``lacking``: T × P: how many battles have no verdict yet.
    """

    runs: int
    first: Integers
    second: Integers
    counts: Floats
    lacking: Floats

    @property
    def total(self) -> Floats:
        """3 × P, over all topics."""
        return np.asarray(self.counts.sum(axis=0))

    def of_topics(self, which: npt.ArrayLike) -> Battles:
        """Those in some topics, by their numbers or by whether each is one."""
        places = _unless_all(np.asarray(which))
        return replace(self, counts=self.counts[places], lacking=self.lacking[places])

    def among(self, active: Integers) -> Battles:
        """Those with a verdict, with the runs that have any, ``active``, numbered from 0."""
        fought = _unless_all(np.asarray(self.total.any(axis=0)))
        first, second = (
            np.searchsorted(active, runs[fought]) for runs in (self.first, self.second)
        )
        counts, lacking = self.counts[:, :, fought], self.lacking[:, fought]
        return Battles(len(active), first, second, counts, lacking)

    @property
    def fought(self) -> Integers:
        """How many battles each run had."""
        per_pair = self.total.sum(axis=0).astype(np.int64)
        found = np.zeros(self.runs, dtype=np.int64)
        np.add.at(found, self.first, per_pair)
        np.add.at(found, self.second, per_pair)
        return found


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

    ``a``: the number of each battle's first run, from 0. ``b``: that of its second. ``outcome``: 1
    if ``a`` won, ½ for a tie, 0 if ``b`` did, NaN if there is no verdict. ``topic``: the
    number of each battle's topic, from 0. ``runs``: how many runs there are. ``topics``: how many
    topics. Raises ValueError if the lists differ in length, a run fights itself or an outcome is
    none.
    """
    one, other, where = (np.asarray(values, dtype=np.int64) for values in (a, b, topic))
    said = numbers(outcome, "outcomes", missing=True)
    if one.ndim != 1 or not one.shape == other.shape == said.shape == where.shape:
        raise ValueError(
            "give four flat lists of one length: runs, their opponents, outcome, topic"
        )
    if (one == other).any():
        raise ValueError(f"battle {np.flatnonzero(one == other)[0] + 1} is of a run with itself")
    judged = ~np.isnan(said)
    if not np.isin(said[judged], (WIN, TIE, LOSS)).all():
        raise ValueError("outcomes are 1 (the first won), 0.5 (a tie), 0 and NaN (no verdict)")
    turned = one > other
    low, high = np.where(turned, other, one), np.where(turned, one, other)
    pairs, place = np.unique(low * runs + high, return_inverse=True)
    # 0 if the run of the lower number won, 1 for a tie, 2 where the other did.
    column = np.rint(2 * np.where(turned, said, 1 - said)[judged]).astype(np.int64)
    counts, lacking = np.zeros((topics, 3, len(pairs))), np.zeros((topics, len(pairs)))
    np.add.at(counts, (where[judged], column, place[judged]), 1)
    np.add.at(lacking, (where[~judged], place[~judged]), 1)
    return Battles(runs, pairs // runs, pairs % runs, counts, lacking)


def components(battles: Battles) -> Integers:
    """For each run which part it belongs to: within a part every run can be reached from
    every other along battles won or tied, so that the part has finite ratings."""
    (parts,) = parts_of(battles, battles.total[None])
    return np.asarray(parts)


def parts_of(battles: Battles, counts: Floats) -> Integers:
    """The same by counts of their own, B × 3 × P: B × n numbers of parts. All B are looked at as
    one graph, of which none is tied to another."""
    wins, ties, losses = np.moveaxis(counts, 1, 0)
    rows, runs = len(counts), battles.runs
    (up, up_pair), (down, down_pair) = (np.nonzero(one + ties > 0) for one in (wins, losses))
    first, second = battles.first, battles.second
    source = np.concatenate([up * runs + first[up_pair], down * runs + second[down_pair]])
    target = np.concatenate([up * runs + second[up_pair], down * runs + first[down_pair]])
    graph = csr_array((np.ones(len(source)), (source, target)), (rows * runs, rows * runs))
    parts = connected_components(graph, connection="strong")[1]
    return np.asarray(parts, dtype=np.int64).reshape(rows, runs)


def _unless_all(which: npt.NDArray[Any]) -> npt.NDArray[Any] | slice:
    """Which are wanted; where that is all by their truth, in a way that copies nothing."""
    return slice(None) if which.dtype == np.bool_ and which.all() else which
