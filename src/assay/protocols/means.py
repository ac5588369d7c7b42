"""A run's score: the mean over topics, from floor to ceiling, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import Protocol, TypedDict

import numpy as np

from assay.measures.arrays import Floats
from assay.measures.bootstrap import mean_intervals
from assay.measures.ranges import Range, RangeIfDefined
from assay.measures.scores import PerTopic, Score, Scores


class ResamplingArguments(TypedDict):
    """The settings of bootstrap intervals, as functions take them by name."""

    level: float
    resamples: int
    seed: int


USUAL: ResamplingArguments = {"level": 0.95, "resamples": 2000, "seed": 20251210}


class Resampling(Protocol):
    """Settings that include those of bootstrap intervals."""

    @property
    def resampling(self) -> ResamplingArguments: ...


def mean_score(
    run: str, measure: str, values: Iterable[Range | None], settings: Resampling
) -> Score:
    """The mean of the values of topics, with its interval.

    The interval runs from the low end of the floors' interval to the high end of the ceilings' (the
    other way round if less is better); there is none if either rests on a single topic.

    A topic is None if the measure is undefined there whatever the labels are; such topics are left
    out of the mean for every run alike. No topic is left out because a label is missing. If it is
    not known whether a topic has a value (:class:`RangeIfDefined`, more is better), the floor
    includes it if that lowers the mean, the ceiling if that raises it.
    """
    return _mean_scores(run, {measure: values}, settings)[measure]


def _mean_scores(
    run: str, by_measure: Mapping[str, Iterable[Range | None]], settings: Resampling | None
) -> dict[str, Score]:
    """:func:`mean_score` for several measures, whose intervals use the same resamples."""
    means: dict[str, list[float]] = {}
    counts: dict[str, tuple[int, int]] = {}
    every: list[Floats] = []
    for name, of in by_measure.items():
        known = [value for value in of if value is not None]
        lacking = sum(value.value is None for value in known)
        counts[name] = len(known), lacking
        # If nothing is missing both ends are equal, and one is enough.
        samples = _samples(known)[: 1 + bool(lacking)] if known else []
        means[name] = [fsum(sample) / len(sample) for sample in samples]
        every += map(np.array, samples)
    of_every = iter(mean_intervals(every, **(settings.resampling if settings else USUAL)))
    scores = {}
    for name, (topics, missing) in counts.items():
        ends = [next(of_every) for _ in means[name]]
        scores[name] = (
            Score.undefined(run, name)
            if not ends
            else Score.between(
                run,
                name,
                Range(means[name][0], means[name][-1]),
                *((one.low, one.high) for one in ends if one and None not in ends),
                topics=topics,
                missing=missing,
            )
        )
    return scores


def _samples(known: Sequence[Range]) -> tuple[list[float], list[float]]:
    """The values that the floor and the ceiling of the mean are taken over."""
    sure = [value for value in known if not isinstance(value, RangeIfDefined)]
    open_ones = [value for value in known if isinstance(value, RangeIfDefined)]
    floors, ceilings = ([value[end] for value in sure] for end in (0, 1))
    for floor in sorted(value.floor for value in open_ones):
        if not floors or floor < fsum(floors) / len(floors):
            floors.append(floor)
    for ceiling in sorted((value.ceiling for value in open_ones), reverse=True):
        if not ceilings or ceiling > fsum(ceilings) / len(ceilings):
            ceilings.append(ceiling)
    return floors, ceilings


def score_table(
    per_topic: PerTopic, settings: Resampling | None, topics: Iterable[str] | None = None
) -> dict[str, dict[str, Score]]:
    """Run → measure → :func:`mean_score` over ``topics``, or over those with a value if None.
    Without settings, intervals use :data:`USUAL`."""
    wanted = None if topics is None else list(topics)
    return {
        run: _mean_scores(
            run,
            {
                measure: of.values() if wanted is None else map(of.get, wanted)
                for measure, of in by_measure.items()
            },
            settings,
        )
        for run, by_measure in per_topic.items()
    }


def scores_by_category(
    categories: Iterable[str | None], table: Callable[[list[int]], Scores], every: Scores
) -> Mapping[str, Scores] | None:
    """Category → scores, or None if no topic has a category. ``categories`` are those of all topics
    in order (None or empty for none). ``table`` makes the scores over the topics at some indexes,
    ``every`` has the scores over all topics."""
    places: dict[str, list[int]] = {}
    count = 0
    for count, category in enumerate(categories, 1):
        if category:
            places.setdefault(category, []).append(count - 1)
    # A category with all topics has the scores over all.
    return {
        category: every if len(some) == count else table(some) for category, some in places.items()
    } or None
