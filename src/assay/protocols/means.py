"""A run's score: the mean over topics, from floor to ceiling, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum
from typing import Protocol

from assay.measures.bootstrap import mean_interval
from assay.measures.ranges import IfDefined, Range
from assay.measures.scores import PerTopic, Score


class Resampling(Protocol):
    """The settings of bootstrap intervals."""

    @property
    def level(self) -> float: ...
    @property
    def resamples(self) -> int: ...
    @property
    def seed(self) -> int: ...


def mean_score(
    run: str, measure: str, values: Iterable[Range | None], settings: Resampling
) -> Score:
    """The mean of the values of topics. The interval runs from the low end of the one of the
    floors to the high end of the one of the ceilings (the other way round where less is better);
    there is none where either is of one topic.

    A topic is None where the measure is undefined there whatever the labels are: it leaves the
    mean, for every run alike. Nothing leaves a mean because a label is missing; where it is not
    known whether a topic has a value (:class:`IfDefined`, more is better), the floor counts it if
    that lowers the mean, the ceiling if that raises it.
    """
    known = [value for value in values if value is not None]
    if not known:
        return Score.undefined(run, measure)
    sure = [value for value in known if not isinstance(value, IfDefined)]
    open_ones = [value for value in known if isinstance(value, IfDefined)]
    floors, ceilings = ([value[end] for value in sure] for end in (0, 1))
    for floor in sorted(value.floor for value in open_ones):
        if not floors or floor < fsum(floors) / len(floors):
            floors.append(floor)
    for ceiling in sorted((value.ceiling for value in open_ones), reverse=True):
        if not ceilings or ceiling > fsum(ceilings) / len(ceilings):
            ceilings.append(ceiling)
    lacking = sum(value.value is None for value in known)
    samples = (floors, ceilings) if lacking else (floors,)
    means = [fsum(sample) / len(sample) for sample in samples]
    intervals = [
        mean_interval(
            sample, level=settings.level, resamples=settings.resamples, seed=settings.seed
        )
        for sample in samples
    ]
    return Score.between(
        run,
        measure,
        Range(means[0], means[-1]),
        *((one.low, one.high) for one in intervals if one and None not in intervals),
        topics=len(known),
        missing=lacking,
    )


def score_table(
    per_topic: PerTopic, settings: Resampling, topics: Iterable[str] | None = None
) -> dict[str, dict[str, Score]]:
    """Run → measure → :func:`mean_score` over some topics; None: over those that it has."""
    wanted = None if topics is None else list(topics)
    return {
        run: {
            measure: mean_score(
                run, measure, of.values() if wanted is None else map(of.get, wanted), settings
            )
            for measure, of in by_measure.items()
        }
        for run, by_measure in per_topic.items()
    }
