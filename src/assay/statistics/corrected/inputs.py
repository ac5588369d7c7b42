"""Checks of the estimators' input; whatever would make an interval wrong is refused."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.model.wording import counted, noun
from assay.statistics.checks import numbers

Population = Literal["these", "like these"]
"""What an interval is about: the units at hand, or the population that they are a sample of."""

LEAST_TOPICS = 3
LEAST_LABELS = 10


def check_population(population: str) -> None:
    """Raise ValueError if ``population`` is neither ``these`` nor ``like these``."""
    if population not in get_args(Population):
        raise ValueError(f"population must be 'these' or 'like these', got {population!r}")


def mask(values: npt.ArrayLike, n: int, what: str, unit: str) -> Bools:
    """Check a mask of ``n`` units. Raises ValueError if ``values`` are not ``n`` booleans."""
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
    """Check people's labels (… × units), and set them to 0 where a unit was not drawn.

    Labels of units that were not drawn cannot be used, because the probability that somebody chose
    to label them is unknown. Raises ValueError if a drawn unit has no label, or one outside
    ``bounds``.
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
    """Check the judge's labels. Raises ValueError if one is missing."""
    array = numbers(values, "judge's labels", missing=True)
    lacking = np.argwhere(np.isnan(array))
    if len(lacking):
        raise ValueError(
            f"the judge has no label for {unit} {lacking[0][-1] + 1}"
            f" ({len(lacking)} missing in all): let it label every {unit}"
        )
    return array


def weight_matrix(values: npt.ArrayLike) -> Floats:
    """Check weights, runs × items. Raises ValueError if not a finite matrix, or all are 0."""
    weights = numbers(values, "weights (run, item)")
    if weights.ndim != 2:
        raise ValueError(f"give the weights as runs × items, got {weights.ndim} dimensions")
    if not weights.any():
        raise ValueError("all weights are 0: no run's score depends on any item's label")
    return weights


def probabilities(values: npt.ArrayLike, weighted: Bools, drawn: Bools) -> Floats:
    """Check the probability with which each item was drawn. Raises ValueError if one is missing, is
    not from 0 to 1, or is 0 for an item that has weight in a run (``weighted``) or was drawn."""
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
            " all): draw again with a probability for each item; items that people chose have none"
        )
    return pi


def require_at_least(least: int, count: int, one: str, many: str | None = None) -> None:
    """Raise ValueError if ``count`` is below ``least``. ``one``, ``many``: the units' name in
    singular and plural."""
    if count < least:
        raise ValueError(
            f"{counted(count, one, many)} {noun(count, 'is', 'are')} too few: at least {least} "
            "are needed for an interval (or all, of these alone), so draw and label more"
        )
