"""A score of a run over topics, and the columns that every protocol's ``scores.csv`` has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SCORE_COLUMNS = ("run", "measure", "value", "low", "high", "topics", "missing")
TOPIC_COLUMNS = ("run", "topic", "measure", "value")


@dataclass(frozen=True, slots=True)
class Score:
    """A score of a run over topics (questions). ``value`` is None where undefined; ``low``/``high``
    bound its bootstrap interval over topics. ``topics`` topics went in, ``missing`` could not for
    want of a label."""

    run: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    topics: int
    missing: int


def score_rows(*tables: Mapping[str, Mapping[str, Score]]) -> Iterator[tuple[object, ...]]:
    """The rows of ``scores.csv`` of tables run -> measure -> score."""
    for table in tables:
        for run, scores in table.items():
            for score in scores.values():
                yield (
                    run, score.measure, score.value, score.low, score.high, score.topics,
                    score.missing,
                )  # fmt: skip


def topic_rows(
    per_topic: Mapping[str, Mapping[str, Mapping[str, float | None]]],
) -> Iterator[tuple[object, ...]]:
    """The rows of ``per_topic.csv`` of run -> measure -> topic -> value."""
    for run, by_measure in per_topic.items():
        for measure, values in by_measure.items():
            for topic, value in values.items():
                yield (run, topic, measure, value)
