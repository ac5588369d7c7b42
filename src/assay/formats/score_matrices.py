"""Matrices of topics × runs: CSV or TSV with one column per run, or a table of scores by topic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from assay.formats.cells import RUN, TOPIC, Cells, finite_number, number_fault
from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Parsed
from assay.formats.score_cells import (
    ALL,
    MEASURE,
    VALUE,
    filled,
    is_mean,
    is_missing,
    looks_like_number,
    read_score_cells,
)
from assay.formats.score_tables import parse_scores
from assay.formats.text import Given, text_of
from assay.model.wording import joined, natural_key, printable, quoted

T = TypeVar("T")

_FIRST_OF_MATRIX = (*TOPIC, "", "id", "item", "#")
_RUN_LIKE = ("run", "system")
_OF_RUNS = re.compile(r"(?:run|system)s?[\W_]*(?:(?:id|name|tag|topic)s?)?")


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of topics × runs, with no missing values.

    ``name``: the score's name. ``topics``: the topics, one per row. ``runs``: the runs, one per
    column. ``scores``: the rows. ``left_out``: topics without a row, as some run has no score.
    ``runs_left_out``: runs without a column, as they have no score at all. ``wide``: whether the
    file has one column per run, and so only one score.
    """

    name: str
    topics: tuple[str, ...]
    runs: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...] = field(repr=False)
    left_out: tuple[str, ...] = ()
    runs_left_out: tuple[str, ...] = ()
    wide: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        by_run: Mapping[str, Mapping[str, float | None]],
        faults: FaultList,
        *,
        uncertain: tuple[str, str] | None = None,
        wide: bool = False,
    ) -> ScoreMatrix:
        """The matrix of scores given by run and topic; what :func:`complete` leaves out is reported
        in ``faults``."""
        runs, empty, rows, left_out = complete(by_run, faults, uncertain)
        return cls(name, tuple(rows), runs, tuple(rows.values()), left_out, empty, wide)


def read_matrix(
    given: Given, score: str | None = None, *, option: str = "--score"
) -> Parsed[ScoreMatrix]:
    """Read a matrix of topics × runs: one column per run, or one line per run and topic.

    ``given``: a CSV or TSV file. The first column of a matrix holds the topics; a matrix with a run
    column is refused, as its columns would be topics or measures. Means (topic ``all``) are left
    out. ``score``: which score of a long table, as in
    :func:`assay.formats.score_tables.read_scores`; None if there is only one. ``option``: the
    command-line option that names the score, for messages. Raises FormatError if the file cannot be
    read at all.
    """
    source = text_of(given)
    cells, faults = read_score_cells(source, "topic, then one column per run")
    name = score or source.path.name.partition(".")[0] or "score"
    matrix = None if cells is None else _read(cells, score, printable(name), option, faults)
    return Parsed(matrix, faults.done())


def _read(
    cells: Cells, score: str | None, name: str, option: str, faults: FaultList
) -> ScoreMatrix | None:
    runs = _column_of_runs(cells)
    if runs is not None and (cells.places(TOPIC) or cells.places((*MEASURE, *VALUE))):
        table = parse_scores(cells, score, option, faults)
        if table is None:
            return None
        if not table.by_topic:
            no_topics(cells, faults)
            return None
        return ScoreMatrix.of(table.name, table.by_topic, faults, uncertain=table.uncertain)
    if runs is not None:  # the other columns may be topics, or measures
        which = "first column" if runs == 0 else f"column {quoted(cells.header[runs])}"
        faults.error(
            cells.line,
            f"The {which} holds runs, but a matrix has one column per run and one line per topic.",
            "Turn rows into columns and begin the header with topic, or write one line per run and "
            "topic: run,topic,score.",
        )
        return None
    wide = _scores_by_column(cells, faults)
    return None if wide is None else ScoreMatrix.of(name, wide, faults, wide=True)


def no_topics(cells: Cells, faults: FaultList) -> None:
    """Report that a table holds only means."""
    faults.error(
        cells.line,
        "The table has no scores of single topics.",
        "Write one line per run and topic: run,topic,score (per_topic.csv, or --per-topic).",
    )


def _scores_by_column(cells: Cells, faults: FaultList) -> dict[str, dict[str, float | None]] | None:
    """The scores of a matrix by run, then topic; None if its columns are unclear."""
    header = cells.header
    means = [number for number, row in cells.rows if is_mean(row[0])]
    rows = [(number, row) for number, row in cells.rows if number not in means]
    if means:
        faults.warning(
            means[0],
            f"The line {ALL} holds the runs' means.",
            "It is left out, as it is not a topic.",
        )
    if all(finite_number(name) is not None for name in header):
        rows.insert(0, (cells.line, header))
        named = bool(means) or _is_numbering([row[0] for _, row in rows])
        header = tuple(f"run {place + 1 - named}" for place in range(len(header)))
        faults.warning(
            cells.line,
            "The file has no header: the runs are named by their columns.",
            "Begin with a header: topic, then the runs' names.",
        )
    else:
        named = bool(means) or cells.names[0] in _FIRST_OF_MATRIX or _first_holds_ids(cells)
    if not named:
        faults.warning(
            cells.line,
            "There is no column of topics, so every column is read as a run.",
            "Begin the header with topic.",
        )
    runs = tuple(printable(normal_id(name)) for name in (header[1:] if named else header))
    double = [name for place, name in enumerate(runs) if name in runs[:place]]
    if double or not all(runs):
        why = f"the run {quoted(double[0])} twice" if double else "a column without a name"
        faults.error(cells.line, f"The header has {why}.", "Give every run its own name.")
        return None
    table: dict[str, dict[str, float | None]] = {run: {} for run in runs}
    lines: dict[str, int] = {}
    for place, (number, row) in enumerate(rows):
        topic = normal_id(row[0]) if named else str(place + 1)
        if not topic or lines.setdefault(topic, number) != number:
            why = (
                f"The topic is on line {lines[topic]} already." if topic else "The topic is empty."
            )
            faults.error(number, why, "Write one line per topic, with its name first.", topic)
            continue
        for run, raw in zip(runs, row[1:] if named else row, strict=True):
            score = None if is_missing(raw) else finite_number(raw)
            if score is None and not is_missing(raw):
                faults.error(
                    number,
                    f"The score {quoted(raw)} of run {quoted(run)} {number_fault(raw)}.",
                    "Write a number with a decimal point; leave the cell empty if it is missing.",
                    topic,
                )
            table[run][topic] = score
    if not rows:
        faults.error(0, "The file holds no topic.", "Add one line per topic.")
    return table


def _column_of_runs(cells: Cells) -> int | None:
    """The column with the names of runs: the first column if so named, or any one named ``run``.

    A column ``run_bm25``, for example, may be a run and hold its scores.
    """
    first = cells.names[0]
    if _OF_RUNS.fullmatch(first) or (first.startswith(_RUN_LIKE) and _first_holds_ids(cells)):
        return 0
    return next(iter(cells.places(RUN)), None)


def _is_numbering(column: Sequence[str]) -> bool:
    """Whether a column holds 1, 2, 3, …: topic numbers, not scores."""
    return len(column) > 1 and list(column) == [str(place + 1) for place in range(len(column))]


def _first_holds_ids(cells: Cells) -> bool:
    """Whether the first column holds names or distinct integers, and the others scores.

    A fraction among names is not a topic: more likely the column is a run, and the names mistakes.
    """
    first = filled(cells, 0)
    numbers = [cell for cell in first if looks_like_number(cell)]
    if len(numbers) < len(first) or not first:
        return all(cell.isdigit() for cell in numbers)
    columns = list(zip(*(row for _, row in cells.rows), strict=True))
    whole = [all(cell.isdigit() for cell in column) for column in columns]
    return whole[0] and not all(whole) and len(set(columns[0])) == len(columns[0])


def complete(
    by_run: Mapping[str, Mapping[str, T | None]],
    faults: FaultList,
    uncertain: tuple[str, str] | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[T, ...]], tuple[str, ...]]:
    """Split scores into what is complete and what is left out: the runs with any score, those
    without; the rows of topics on which each such run has a score, the other topics. Runs and
    topics are sorted by name, so that seeded samples do not depend on the order of the file.

    If too little is left, the fault says which scores are ``uncertain``, if any, and the cure.
    """
    runs = tuple(
        run for run in sorted(by_run, key=natural_key) if set(by_run[run].values()) - {None}
    )
    empty = tuple(run for run in by_run if run not in runs)
    if empty:
        faults.warning(
            0,
            f"Runs without a score of any topic ({len(empty)}): {joined(empty, 10)}.",
            "They are left out.",
        )
    rows: dict[str, tuple[T, ...]] = {}
    left_out: list[str] = []
    for topic in sorted({topic for scores in by_run.values() for topic in scores}, key=natural_key):
        row = [by_run[run].get(topic) for run in runs]
        known = tuple(score for score in row if score is not None)
        if len(known) == len(row):
            rows[topic] = known
        else:
            left_out.append(topic)
    if left_out:
        count = f"{len(left_out)} topic{'s' if len(left_out) > 1 else ''}"
        lacking = {run: sum(by_run[run].get(topic) is None for topic in left_out) for run in runs}
        worst = sorted((run for run in runs if lacking[run]), key=lambda run: -lacking[run])
        faults.warning(
            0,
            f"Some run has no score for {count}: {joined(left_out, 10)}. Runs that lack some: "
            f"{joined((f'{run} ({lacking[run]})' for run in worst), 5)}.",
            "These are left out for all runs.",
        )
    if (len(runs) < 2 or len(rows) < 2) and not faults.faulty:  # else errors are the cause
        topics = f"{len(rows)} topic{'' if len(rows) == 1 else 's'} that every run has a score for"
        why, cure = "", "runs without a score do not count."
        if uncertain is not None:
            why, cure = f" {uncertain[0]}", uncertain[1]
        faults.error(
            0,
            f"The matrix has {len(runs)} run{'' if len(runs) == 1 else 's'} and {topics}.{why}",
            f"At least 2 of both are needed; {cure}",
        )
    return runs, empty, rows, tuple(left_out)
