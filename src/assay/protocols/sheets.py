"""Values of runs by measure and topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.ranges import OPEN, Range, RangeIfDefined

Topics = Literal["all", "answered"]
Values = dict[str, dict[str, Range | None]]
"""measure -> topic -> value of one run; None if it is undefined whatever the labels are."""


@dataclass(frozen=True)
class Sheet:
    """The values of every run, and what is needed to average them. ``values[run][measure][topic]``
    has the topics that the run answers, ``topics`` are all topics, and ``nothing[measure][topic]``
    is the value of a run that is silent on one: 0, or None if the measure is undefined for every
    run (no vital nuggets, no sub-narratives)."""

    topics: tuple[str, ...]
    measures: tuple[str, ...]
    values: Mapping[str, Values]
    nothing: Values

    def silent(self, run: str) -> list[str]:
        """The topics that a run does not answer."""
        answered = self.values[run][self.measures[0]]
        return [topic for topic in self.topics if topic not in answered]

    def without(self, measure: str) -> list[str]:
        """The topics where a measure is undefined for every run."""
        return [topic for topic in self.topics if self.nothing[measure][topic] is None]

    def unjudged(self, run: str) -> list[str]:
        """The topics left out of one run's means alone, because the track judged nothing there."""
        return [
            topic
            for topic in self.topics
            if any(
                self.values[run][name].get(topic, OPEN) is None
                and self.nothing[name][topic] is not None
                for name in self.measures
            )
        ]

    def lacking(self, run: str) -> list[str]:
        """The topics where some value depends on a missing label."""
        values = self.completed(run).values()
        return [
            topic
            for topic in self.topics
            if any(one is not None and one.value is None for one in (v[topic] for v in values))
        ]

    def completed(self, run: str, topics: Topics = "all") -> Values:
        """measure -> topic -> value, with that of ``nothing`` for topics that the run is silent on
        (``all``), or without these. (No topic is left out because a label is missing.)"""
        return {
            measure: {
                topic: mine[topic] if topic in mine else self.nothing[measure][topic]
                for topic in self.topics
                if topic in mine or topics == "all"
            }
            for measure, mine in self.values[run].items()
        }

    def per_topic(self, topics: Topics = "all") -> dict[str, Values]:
        """:meth:`completed` of every run."""
        return {run: self.completed(run, topics) for run in self.values}


def ranges(floors: Floats, ceilings: Floats, sure: Bools | None = None) -> list[list[Range | None]]:
    """Rows of ends as ranges: None if they are NaN, and :class:`RangeIfDefined` if not ``sure``.
    Equal ones are one object."""
    certain = np.ones_like(floors, np.bool_) if sure is None else sure
    return [
        [None if cell[0] != cell[0] else _range(*cell) for cell in zip(*row, strict=True)]
        for row in zip(floors.tolist(), ceilings.tolist(), certain.tolist(), strict=True)
    ]


@lru_cache(10_000)
def _range(floor: float, ceiling: float, sure: bool) -> Range:
    return (Range if sure else RangeIfDefined)(floor, ceiling)
