"""Scores as a long table: run, topic, measure, value, and why a value is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, get_args

from assay.measures.base import Measure
from assay.measures.run_scores import RunScores

if TYPE_CHECKING:
    import polars as pl

ALL = "all"
"""The entry of the topic column for the mean."""

NO_TOPIC = "the run has no topic of the qrels"

Topics = Literal["qrels", "answered"]
"""What a mean is taken over: all topics of the qrels, or only those that the run has."""

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
    """Yield the rows of each run and measure: its topics, then the mean.

    ``runs``: scores by the run's name. ``measures``: measures by the name to show. ``topics``: what
    the mean is taken over; with ``answered``, topics that a run lacks have no row. ``per_topic``,
    ``means``: whether to yield rows of topics, and of means.
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


def frame(table_rows: Iterable[Row]) -> pl.DataFrame:
    """A DataFrame with the columns ``run``, ``topic``, ``measure``, ``value``, ``reason``."""
    import polars as pl  # noqa: PLC0415 (slow to import)

    names = ("run", "topic", "measure", "value", "reason")
    schema = dict.fromkeys(names, pl.String) | {"value": pl.Float64}
    return pl.DataFrame(list(table_rows), schema=schema, orient="row")
