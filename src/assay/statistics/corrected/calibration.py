"""What people would say of an item, given the judge: E[y | judge], fitted on drawn items.

Cross-fitted by topics: an item's expectation never rests on labels of its own topic's fold, which
would make residuals, and with them intervals, too small (Zrnic & Candès 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers

FOLDS = 5
_MANY = 11
"""From so many different labels on, a judge's labels are cut into :data:`_BINS` bins."""

_BINS = 10
_PSEUDO = 5.0
"""Labels at the mean that each grade is shrunk by."""

_PENALTY = 20.0


_Places = npt.NDArray[np.intp]

_Expectation = Callable[[_Places, Floats, Floats, _Places], Floats]
"""Of where labels are, the labels, their weights, and where they are not used: what is expected
there."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The expectations of all items. ``given_judge``: m, given what the judge says. ``mean``: p₀,
    the mean label of all drawn items, weighted by 1/π: without the judge."""

    given_judge: Floats
    mean: float


def grades(judge: Floats) -> Integers:
    """The number of each label among the different ones; of many, of its quantile bin."""
    different, numbers = np.unique(judge, return_inverse=True)
    if len(different) >= _MANY:
        edges = np.unique(np.quantile(judge, np.arange(1, _BINS) / _BINS))
        numbers = np.unique(np.searchsorted(edges, judge, side="left"), return_inverse=True)[1]
    return numbers.astype(np.int64)


def grade_means(grade: Integers, seen: _Places, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The mean of the labels ``y``, weighted by ``w``, in each grade, shrunk to that of all, and
    their weight. ``seen``: which items they are of."""
    n = int(grade.max()) + 1
    counts = np.bincount(grade[seen], weights=w, minlength=n) + _PSEUDO
    sums = np.bincount(grade[seen], weights=w * y, minlength=n)
    means = (sums + _PSEUDO * np.average(y, weights=w)) / counts
    return means.astype(np.float64), counts.astype(np.float64)


def cross_fitted(
    people: Floats, judge: Floats, pi: Floats, drawn: Bools, topic: Integers
) -> Expected:
    """Fit on the drawn items of other folds (of all folds, where others have none).

    ``people``: labels of I items; those of items that were not drawn are ignored. ``judge``: J × I
    labels of J judges. ``pi``: with what probability each item was drawn. ``drawn``: whether it
    was. ``topic``: the numbers of the items' topics, from 0 without gaps; number mod 5 is the fold.
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
    """The mean label in each grade, shrunk, and made to rise with the grade."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 (half a second to load)

    grade = grades(judge)

    def expectation(seen: _Places, y: Floats, w: Floats, inside: _Places) -> Floats:
        means, counts = grade_means(grade, seen, y, w)
        steps = isotonic_regression(means, weights=counts).x
        return np.asarray(steps[grade[inside]], dtype=np.float64)

    return expectation


def _by_ridge(judge: Floats) -> _Expectation:
    """A weighted ridge regression on all judges, kept within the labels it was fitted on."""
    varies = np.ptp(judge, axis=1) > 0
    centred = np.where(varies[:, None], judge - judge.mean(axis=1, keepdims=True), 0.0)
    x = (centred / np.where(varies, judge.std(axis=1), 1.0)[:, None]).T

    def expectation(seen: _Places, y: Floats, w: Floats, inside: _Places) -> Floats:
        average = np.average(y, weights=w)
        bend = (x[seen] * w[:, None]).T @ x[seen] + _PENALTY * np.eye(x.shape[1])
        slopes = np.linalg.solve(bend, (w * (y - average)) @ x[seen])
        fitted: Floats = np.clip(average + x[inside] @ slopes, y.min(), y.max())
        return fitted

    return expectation
