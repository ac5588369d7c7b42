"""The expected label by people of each item, given the judge: E[y | judge], fitted on drawn items.

It is cross-fitted by topic: an item's expectation never uses labels from the fold of its own topic,
which would make the residuals, and thus the intervals, too small (Zrnic & Candès 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers

FOLDS = 5
_MANY = 11
"""If a judge has at least this many different labels, they are put into :data:`_BINS` bins."""

_BINS = 10
_PSEUDO = 5.0
"""The number of pseudo-labels, at the overall mean, by which the mean of each grade is shrunk."""

_PENALTY = 20.0


_Places = npt.NDArray[np.intp]

_Expectation = Callable[[_Places, Floats, Floats, _Places], Floats]
"""A function of the places of labelled items, their labels, their weights, and the places of other
items, which gives the expected labels of the latter."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected labels of all items.

    ``given_judge``: m, given the judge's label. ``mean``: p₀, without the judge: the mean label of
    the drawn items, weighted by 1/π.
    """

    given_judge: Floats
    mean: float


def grades(judge: Floats) -> Integers:
    """The grade of each label: its number among distinct labels, or a quantile bin if many."""
    different, numbers = np.unique(judge, return_inverse=True)
    if len(different) >= _MANY:
        edges = np.unique(np.quantile(judge, np.arange(1, _BINS) / _BINS))
        numbers = np.unique(np.searchsorted(edges, judge, side="left"), return_inverse=True)[1]
    return numbers.astype(np.int64)


def grade_means(grade: Integers, seen: _Places, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The weighted mean label of each grade, shrunk towards the overall mean, and its total weight.
    ``seen``: the places of the labelled items; ``y``, ``w``: their labels and weights."""
    n = int(grade.max()) + 1
    counts = np.bincount(grade[seen], weights=w, minlength=n) + _PSEUDO
    sums = np.bincount(grade[seen], weights=w * y, minlength=n)
    means = (sums + _PSEUDO * np.average(y, weights=w)) / counts
    return means.astype(np.float64), counts.astype(np.float64)


def cross_fitted(
    people: Floats, judge: Floats, pi: Floats, drawn: Bools, topic: Integers
) -> Expected:
    """The expected labels of each fold, fitted on the drawn items of other folds (or of all folds,
    if others have none).

    ``people``: labels of I items; those of items that were not drawn are ignored. ``judge``: J × I
    labels of J judges. ``pi``: the probability with which each item was drawn. ``drawn``: whether
    it was. ``topic``: the topic number of each item, from 0 without gaps; its fold is that mod 5.
    """
    fold = topic % FOLDS
    places = np.flatnonzero(drawn)
    expectation = _by_ridge(judge) if len(judge) > 1 else _by_grade(judge[0])
    given_judge = np.zeros(len(people))
    for number in np.unique(fold):
        others = places[fold[places] != number]
        seen = others if len(others) else places
        w = 1.0 / pi[seen]
        inside = np.flatnonzero(fold == number)
        given_judge[inside] = expectation(seen, people[seen], w / w.mean(), inside)
    return Expected(given_judge, float(np.average(people[places], weights=1.0 / pi[places])))


def _by_grade(judge: Floats) -> _Expectation:
    """Expectation by the shrunken mean of the judge's grade, made monotone in the grade."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 (half a second to load)

    grade = grades(judge)

    def expectation(seen: _Places, y: Floats, w: Floats, inside: _Places) -> Floats:
        means, counts = grade_means(grade, seen, y, w)
        steps = isotonic_regression(means, weights=counts).x
        return np.asarray(steps[grade[inside]], dtype=np.float64)

    return expectation


def _by_ridge(judge: Floats) -> _Expectation:
    """Expectation by weighted ridge regression on all judges, clipped to the range of the labels
    that it was fitted on."""
    varies = np.ptp(judge, axis=1) > 0
    centred = np.where(varies[:, None], judge - judge.mean(axis=1, keepdims=True), 0.0)
    x = (centred / np.where(varies, judge.std(axis=1), 1.0)[:, None]).T

    def expectation(seen: _Places, y: Floats, w: Floats, inside: _Places) -> Floats:
        average = np.average(y, weights=w)
        gram = (x[seen] * w[:, None]).T @ x[seen] + _PENALTY * np.eye(x.shape[1])
        slopes = np.linalg.solve(gram, (w * (y - average)) @ x[seen])
        fitted: Floats = np.clip(average + x[inside] @ slopes, y.min(), y.max())
        return fitted

    return expectation
