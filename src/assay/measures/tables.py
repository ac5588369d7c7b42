"""Scores as rows of a long table: run, topic, measure, value, and why a value is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from assay.measures.base import Measure
from assay.measures.frames import RunScores

if TYPE_CHECKING:
    import polars as pl

ALL = "all"
"""What stands for the mean in the topic column."""

NO_TOPIC = "the run has no topic of the qrels"

Topics = Literal["qrels", "answered"]
"""What a mean is taken over: all topics of the qrels, or those among them that the run has."""

TOPICS: tuple[Topics, ...] = get_args(Topics)

Row = tuple[str, str, str, float | None, str | None]


def rows(
    runs: Mapping[str, RunScores],
    measures: Mapping[str, Measure],
    topics: Topics = "qrels",
    *,
    per_topic: bool = False,
    means: bool = True,
) -> Iterator[Row]:
    """Rows run by run and measure by measure: single topics if wanted, then the mean.

    ``runs``: scores by the run's name. ``measures``: measures by the name that they are to be shown
    by. ``topics``: what the mean is taken over; with ``answered``, topics that a run lacks have no
    row. ``per_topic``: whether there are rows of single topics. ``means``: whether there are rows
    of means.
    """
    for run, scores in runs.items():
        for name, measure in measures.items():
            if per_topic:
                values = scores.values[measure].tolist()
                for topic, value, answered in zip(
                    scores.topics, values, scores.answered.tolist(), strict=True
                ):
                    if answered or topics == "qrels":
                        yield run, topic, name, value, None
            if means:
                mean = scores.mean(measure, topics=topics)
                yield run, ALL, name, mean, NO_TOPIC if mean is None else None


def frame(found: Iterable[Row]) -> pl.DataFrame:
    """Rows as a table with the columns ``run``, ``topic``, ``measure``, ``value`` and
    ``reason``."""
    import polars as pl  # noqa: PLC0415 (half of the time that importing takes)

    names = ("run", "topic", "measure", "value", "reason")
    schema = dict.fromkeys(names, pl.String) | {"value": pl.Float64}
    return pl.DataFrame(list(found), schema=schema, orient="row")
