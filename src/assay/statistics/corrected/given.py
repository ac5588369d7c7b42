"""Checks of what the estimators are given: whatever would make an interval wrong is refused."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.model.wording import counted, noun
from assay.statistics.checks import numbers

Population = Literal["these", "like these"]
"""What an interval is about: the units at hand, or the topics that they are a sample of."""

LEAST_TOPICS = 3
LEAST_LABELS = 10


def population_named(population: str) -> None:
    """Refuse a population that is none. Raises ValueError if it is neither ``these`` nor ``like
    these``."""
    if population not in get_args(Population):
        raise ValueError(f"population must be 'these' or 'like these', got {population!r}")


def mask(values: npt.ArrayLike, n: int, what: str, unit: str) -> Bools:
    """``values``, one true or false for each of ``n`` units. Raises ValueError if they
    are not booleans, or not ``n`` in a row."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(
            f"{what} must be True or False for each {unit}, got {array.dtype}: of numbers of"
            f" {unit}s make np.isin(np.arange({n}), numbers)"
        )
    if array.shape != (n,):
        raise ValueError(f"{what} has shape {array.shape}, but there are {n} {unit}s")
    return array


def people_labels(
    values: npt.ArrayLike, drawn: Bools, unit: str, *, bounds: tuple[float, float] | None = None
) -> Floats:
    """People's labels, units last, 0 wherever a unit was not drawn.

    Labels of units that were not drawn are no part of any estimate: nobody knows with what
    probability somebody chose to label them. Raises ValueError if a drawn unit has no label, or
    one outside of ``bounds``.
    """
    array = numbers(values, "people's labels", missing=True)
    if array.shape[-1:] != drawn.shape:
        raise ValueError(
            f"people's labels have shape {array.shape}, but there are {len(drawn)} {unit}s"
        )
    labels: Floats = np.where(drawn, array, 0.0)
    lacking = np.flatnonzero(np.isnan(labels).reshape(-1, len(drawn)).any(axis=0))
    if len(lacking):
        raise ValueError(
            f"{unit} {_listed(lacking)} drawn, but people's labels are missing there: label all"
            " that was drawn, or wait; leaving out what people skipped biases the scores"
        )
    if bounds is not None:
        outside = np.flatnonzero(drawn & ((labels < bounds[0]) | (labels > bounds[1])))
        if len(outside):
            raise ValueError(
                f"the person's label {labels[outside[0]]:g} of {unit} {outside[0] + 1} is not from"
                f" {bounds[0]:g} to {bounds[1]:g}: give labels and bounds on one scale"
            )
    return labels


def _listed(places: npt.NDArray[np.intp]) -> str:
    shown = ", ".join(str(place + 1) for place in places[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return f"{shown}{more} {'was' if len(places) == 1 else 'were'}"


def judge_labels(values: npt.ArrayLike, unit: str) -> Floats:
    """The judge's labels. Raises ValueError if one is missing."""
    array = numbers(values, "judge's labels", missing=True)
    lacking = np.argwhere(np.isnan(array))
    if len(lacking):
        raise ValueError(
            f"the judge has no label for {unit} {lacking[0][-1] + 1}"
            f" ({len(lacking)} missing in all): let it label every {unit}"
        )
    return array


def weight_matrix(values: npt.ArrayLike) -> Floats:
    """Weights, runs × items. Raises ValueError if they are no matrix of finite numbers,
    or all are 0."""
    weights = numbers(values, "weights (run, item)")
    if weights.ndim != 2:
        raise ValueError(f"give the weights as runs × items, got {weights.ndim} dimensions")
    if not weights.any():
        raise ValueError("all weights are 0: no run's score depends on any item's label")
    return weights


def probabilities(values: npt.ArrayLike, weighted: Bools, drawn: Bools) -> Floats:
    """The probability with which each item was drawn. Raises ValueError if one is missing
    or not from 0 to 1, or is 0 if a run has weight (``weighted``) or where the item was drawn.
    """
    pi = numbers(values, "probabilities of being drawn (pi)", missing=True)
    if pi.shape != weighted.shape:
        raise ValueError(f"pi has shape {pi.shape}, but there are {len(weighted)} items")
    lacking = np.flatnonzero(np.isnan(pi))
    if len(lacking):
        raise ValueError(
            f"item {lacking[0] + 1} has no probability of being drawn ({len(lacking)} in all): take"
            " pi from the draw; labels of items that people chose cannot be corrected"
        )
    beyond = np.flatnonzero((pi < 0) | (pi > 1))
    if len(beyond):
        raise ValueError(f"pi of item {beyond[0] + 1} is {pi[beyond[0]]:g}, not from 0 to 1")
    never = np.flatnonzero((pi == 0) & (weighted | drawn))
    if len(never):
        raise ValueError(
            f"item {never[0] + 1} counts for a run or was drawn, but its pi is 0 ({len(never)} in"
            " all): draw anew with a probability for each item; items that people chose have none"
        )
    return pi


def enough(count: int, least: int, one: str, many: str | None = None) -> None:
    """Refuse too few units, ``one`` or ``many``. Raises ValueError if there are fewer than
    ``least``."""
    if count < least:
        raise ValueError(
            f"{counted(count, one, many)} {noun(count, 'is', 'are')} too few: at least {least} "
            "are needed for an interval (or all, of these alone), so draw and label more"
        )
