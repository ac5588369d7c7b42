"""The columns that every protocol's ``scores.csv`` has, and what is written under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic, Score, Scores
from assay.protocols.output import FileData, csv_bytes, csv_lines

SCORE_COLUMNS = (
    "run", "measure", "value", "low", "high", "topics", "missing", "floor", "ceiling",
)  # fmt: skip
TOPIC_COLUMNS = ("run", "topic", "measure", "value")
VALUE_COLUMNS = ("run", "topic", "measure", "value", "floor", "ceiling")
"""What commands on files print with ``--csv``; the topic of a mean is ``all``."""

RANGE_COLUMNS = ("run", "topic", "measure", "floor", "ceiling")


def score_files(
    scores: Scores,
    per_topic: PerTopic,
    more: Mapping[str, Scores],
    by_category: Mapping[str, Scores] | None,
) -> Iterator[tuple[str, FileData]]:
    """Name and data of ``scores.csv``, ``per_topic.csv`` and, where something hangs on a missing
    label, ``per_topic_ranges.csv``; of ``scores_NAME.csv`` for tables that are ``more``, and of
    ``scores_by_category.csv`` where topics have categories."""
    yield "scores.csv", score_csv(scores)

    def cells() -> Iterator[tuple[str, str, str, Range | None]]:
        for run, by_measure in per_topic.items():
            for measure, values in by_measure.items():
                for topic, ends in values.items():
                    yield run, topic, measure, ends

    def ranges() -> Iterator[tuple[object, ...]]:
        return ((*cell, *ends) for *cell, ends in cells() if ends and ends.value is None)

    values = ((*cell, ends and ends.value) for *cell, ends in cells())
    yield "per_topic.csv", lambda: csv_lines(TOPIC_COLUMNS, values)
    if next(ranges(), None):
        yield "per_topic_ranges.csv", lambda: csv_lines(RANGE_COLUMNS, ranges())
    for name, table in more.items():
        yield f"scores_{name}.csv", score_csv(table)
    if by_category is not None:
        rows = (
            (category, *score_row(score))
            for category, runs in by_category.items()
            for found in runs.values()
            for score in found.values()
        )
        yield "scores_by_category.csv", csv_bytes(("category", *SCORE_COLUMNS), rows)


def value_row(run: str, topic: str, measure: str, ends: Range | None) -> tuple[object, ...]:
    """A row under :data:`VALUE_COLUMNS`; None is undefined."""
    return (run, topic, measure, ends and ends.value, *(ends or (None, None)))


def score_csv(table: Scores) -> bytes:
    """A table as a file of scores."""
    scores = (one for found in table.values() for one in found.values())
    return csv_bytes(SCORE_COLUMNS, (score_row(one) for one in scores))


def score_row(score: Score) -> tuple[object, ...]:
    """The cells of a row of ``scores.csv``."""
    return tuple(getattr(score, name) for name in SCORE_COLUMNS)
