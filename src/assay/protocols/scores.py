"""The columns that every protocol's ``scores.csv`` has, and what is written under them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.measures.ranges import Range
from assay.measures.scores import PerTopic, Score, Scores
from assay.model.csv_cells import cell_text
from assay.page.parts import Table
from assay.protocols.output import FileData, csv_bytes

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

    yield "per_topic.csv", lambda: _topic_lines(TOPIC_COLUMNS, per_topic, _value)
    if any(
        ends and ends.value is None
        for by_measure in per_topic.values()
        for values in by_measure.values()
        for ends in values.values()
    ):
        yield "per_topic_ranges.csv", lambda: _topic_lines(RANGE_COLUMNS, per_topic, _open_ends)
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


def _topic_lines(
    header: Sequence[str],
    per_topic: PerTopic,
    numbers: Callable[[Range | None], str | None],
) -> Iterator[bytes]:
    """A line for each value of which ``numbers`` gives the last cells. These files are long, and
    their names few: each is made a cell once."""
    yield (",".join(header) + "\n").encode()
    for run, by_measure in per_topic.items():
        for measure, values in by_measure.items():
            start, middle = f"{cell_text(run)},", f",{cell_text(measure)},"
            yield "".join(
                f"{start}{cell_text(topic)}{middle}{cells}\n"
                for topic, ends in values.items()
                if (cells := numbers(ends)) is not None
            ).encode()


def _value(ends: Range | None) -> str:
    value = ends and ends.value
    return "" if value is None else str(value)


def _open_ends(ends: Range | None) -> str | None:
    return f"{ends.floor},{ends.ceiling}" if ends and ends.value is None else None


def value_row(run: str, topic: str, measure: str, ends: Range | None) -> tuple[object, ...]:
    """A row under :data:`VALUE_COLUMNS`; None is undefined."""
    return (run, topic, measure, ends and ends.value, *(ends or (None, None)))


def scores_on(what: str, topic: str, per_topic: PerTopic) -> Table:
    """Every run's scores on one topic, whatever that is called, as a part of a report."""
    measures = list(dict.fromkeys(name for found in per_topic.values() for name in found))
    rows = [
        (run, *(found.get(name, {}).get(topic) for name in measures))
        for run, found in per_topic.items()
    ]
    return Table(f"Scores on this {what}", ("run", *measures), rows, folded=True)


def score_csv(table: Scores) -> bytes:
    """A table as a file of scores."""
    scores = (one for found in table.values() for one in found.values())
    return csv_bytes(SCORE_COLUMNS, (score_row(one) for one in scores))


def score_row(score: Score) -> tuple[object, ...]:
    """The cells of a row of ``scores.csv``."""
    return tuple(getattr(score, name) for name in SCORE_COLUMNS)
