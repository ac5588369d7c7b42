"""The columns of ``scores.csv`` and ``per_topic.csv`` of every protocol, and their writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isclose
from operator import attrgetter
from statistics import fmean

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic, Score, Scores
from assay.page.parts import Table
from assay.protocols.output import FileData, csv_bytes, csv_lines

SCORE_COLUMNS = (
    "run", "measure", "value", "low", "high", "topics", "missing", "floor", "ceiling",
)  # fmt: skip
_CELLS: Callable[[Score], tuple[object, ...]] = attrgetter(*SCORE_COLUMNS)
TOPIC_COLUMNS = ("run", "topic", "measure", "value")
VALUE_COLUMNS = ("run", "topic", "measure", "value", "floor", "ceiling")
"""The columns that commands on files print with ``--csv``; the topic of a mean is ``all``."""

RANGE_COLUMNS = ("run", "topic", "measure", "floor", "ceiling")
_MEANS = (
    "sqlite3 -header -csv :memory: '.import --csv per_topic.csv t' \"SELECT run, 'all' AS topic, "
    "measure, avg(value) AS value FROM t WHERE value <> '' GROUP BY run, measure\""
)


def score_files(
    scores: Scores,
    per_topic: PerTopic,
    more: Mapping[str, Scores],
    by_category: Mapping[str, Scores] | None,
) -> Iterator[tuple[str, FileData]]:
    """Name and data of ``scores.csv`` and ``per_topic.csv``; of ``per_topic_ranges.csv`` if
    anything depends on a missing label; of ``scores_NAME.csv`` for tables in ``more``; and of
    ``scores_by_category.csv`` if topics have categories."""
    yield "scores.csv", score_csv(scores)

    yield (
        "per_topic.csv",
        lambda: csv_lines(
            TOPIC_COLUMNS, ((*of, ends and ends.value) for *of, ends in _every(per_topic))
        ),
    )
    if next(_open(per_topic), None):
        yield "per_topic_ranges.csv", lambda: csv_lines(RANGE_COLUMNS, _open(per_topic))
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


def means_command(scores: Scores, per_topic: PerTopic) -> Iterator[str]:
    """A command that reproduces the scores, if all are means of the values per topic."""
    for run, by_measure in per_topic.items():
        for measure, values in by_measure.items():
            if (score := scores.get(run, {}).get(measure)) is None:
                continue
            known = [ends.value for ends in values.values() if ends is not None]
            sure = [value for value in known if value is not None]
            mean = fmean(sure) if sure else None
            if len(sure) < len(known) or (mean is None) != (score.value is None):
                return
            if not isclose(mean or 0, score.value or 0, abs_tol=1e-12):
                return
    if per_topic:
        yield _MEANS


def _every(per_topic: PerTopic) -> Iterator[tuple[str, str, str, Range | None]]:
    """Run, topic and measure of every value."""
    for run, by_measure in per_topic.items():
        for measure, values in by_measure.items():
            for topic, ends in values.items():
                yield run, topic, measure, ends


def _open(per_topic: PerTopic) -> Iterator[tuple[str | float, ...]]:
    """The values that are ranges."""
    return ((*of, *ends) for *of, ends in _every(per_topic) if ends and ends.value is None)


def value_row(run: str, topic: str, measure: str, ends: Range | None) -> tuple[object, ...]:
    """A row under :data:`VALUE_COLUMNS`; None is undefined."""
    return (run, topic, measure, ends and ends.value, *(ends or (None, None)))


def scores_on(what: str, topic: str, per_topic: PerTopic) -> Table:
    """Every run's scores on one topic, under whatever name, as a part of a report."""
    measures = list(dict.fromkeys(name for found in per_topic.values() for name in found))
    rows = [
        (run, *(found.get(name, {}).get(topic) for name in measures))
        for run, found in per_topic.items()
    ]
    return Table(f"Scores on this {what}", ("run", *measures), rows, folded=True)


def score_csv(table: Scores) -> bytes:
    """Scores as a CSV file."""
    scores = (one for found in table.values() for one in found.values())
    return csv_bytes(SCORE_COLUMNS, (score_row(one) for one in scores))


def score_row(score: Score) -> tuple[object, ...]:
    """The cells of a row of ``scores.csv``."""
    return _CELLS(score)


def score_document(score: Score) -> dict[str, object]:
    """A score as JSON. (``asdict`` copies every number, which takes several times as long.)"""
    return dict(zip(SCORE_COLUMNS, _CELLS(score), strict=True))
