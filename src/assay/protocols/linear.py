"""Measures that are sums over labels of one task, which single drawn labels can correct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.measures.names import parse_measure
from assay.measures.ranking.relevance import Precision
from assay.tasks.base import AnyTask

Worth = Callable[[Request, Mapping[str, Any]], float]
"""What a verdict on a unit is worth to a measure, 0 to 1."""


def value_of(name: str) -> Worth:
    """A field of the verdict, a number or yes (1) or no."""
    return lambda _, verdict: float(verdict[name])


class Share(NamedTuple):
    """What a unit's worth is multiplied with in the score of a run."""

    run: str
    request: Request
    weight: float


@dataclass(frozen=True)
class LinearMeasure:
    """A measure that is linear in the labels of ``task``, those of other tasks as they are:
    θ_r = c_r + Σ_i w_ri y_i, with w_ri the weights of ``shares`` and y_i the ``worth`` of the
    verdict on unit i (the specification of trust, section 4).

    ``measure`` is its name on the leaderboard, and θ its mean over topics there.
    """

    measure: str
    task: AnyTask
    worth: Worth
    shares: Iterable[Share]


def precision_measures(
    task: AnyTask,
    names: Iterable[str],
    rankings: Mapping[str, Mapping[str, Sequence[str]]],
    requests: Mapping[tuple[str, str], Request],
    grade: Callable[[Mapping[str, Any]], float],
    *,
    every: bool,
) -> Iterator[LinearMeasure]:
    """Precision at k of runs as sums over the grades of what they show: those of ``names`` that are
    such a measure. ``rankings`` are run → topic → documents, best first, ``requests`` what is asked
    of a topic and document; means are over ``every`` topic, or those that a run answers."""
    for measure in map(parse_measure, names):
        if not isinstance(measure, Precision) or measure.k is None:
            continue
        shares = []
        for run, by_topic in rankings.items():
            topics = len(by_topic) if every else sum(map(bool, by_topic.values()))
            shares += [
                Share(run, requests[topic, doc], 1 / (measure.k * topics))
                for topic, docs in by_topic.items()
                for doc in docs[: measure.k]
                if (topic, doc) in requests
            ]
        yield LinearMeasure(str(measure), task, at_least(grade, measure.rel), shares)


def at_least(grade: Callable[[Mapping[str, Any]], float], least: float) -> Worth:
    """Whether a verdict's grade is at least so high."""
    return lambda _, verdict: float(grade(verdict) >= least)
