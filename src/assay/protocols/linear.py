"""Measures that are sums over labels of one task, so that single drawn labels can correct them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.tasks.base import AnyTask

Worth = Callable[[Request, Mapping[str, Any]], float]
"""What a verdict on a unit is worth to a measure, from 0 to 1."""


def value_of(name: str) -> Worth:
    """The worth that is a field of the verdict: a number, or yes (1) and no (0)."""
    return lambda _, verdict: float(verdict[name])


class Share(NamedTuple):
    """The weight of a unit's worth in the score of a run."""

    run: str
    request: Request
    weight: float


@dataclass(frozen=True)
class LinearMeasure:
    """A measure that is linear in the labels of ``task``, with labels of other tasks taken as they
    are: θ_r = c_r + Σ_i w_ri y_i, where w_ri are the weights of ``shares`` and y_i the ``worth`` of
    the verdict on unit i (the specification of trust, section 4). ``measure`` is its name on the
    leaderboard, and θ is its mean over topics there."""

    measure: str
    task: AnyTask
    worth: Worth
    shares: Iterable[Share]


def at_least(grade: Callable[[Mapping[str, Any]], float], least: float) -> Worth:
    """The worth that is 1 if a verdict's grade is at least ``least``, else 0."""
    return lambda _, verdict: float(grade(verdict) >= least)
