"""Scores of runs: CSV or TSV with a run column, perhaps a topic column, and scores.

Three shapes are known: one column a score (``run,topic,nDCG@20,AP``), one line a score as Assay
itself writes them (``run,topic,measure,value``), and matrices of topics × runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from assay.formats.label_tables import (
    RUN,
    TOPIC,
    Cells,
    finite_number,
    number_fault,
    one_column,
    read_cells,
)
from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Parsed, listed, printable, quoted
from assay.formats.text import read_text

__all__ = ["ScoreMatrix", "ScoreTable", "read_matrix", "read_scores"]

MEASURE = ("measure",)
VALUE = ("value", "score")
ALL = "all"
"""The topic whose line holds a run's mean, as trec_eval and Assay write it."""

_NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none", "–", "-"})
_FIRST_OF_MATRIX = (*TOPIC, "", "id", "item", "#")
_NUMBER_LIKE = re.compile(
    r"[-+]?(?:inf(?:inity)?|[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?)\s*%?", re.IGNORECASE
)
"""What was meant as a number, though perhaps it is none: ``1e999``, ``0,5``, ``inf``, ``12 %``."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """One score of every run of a file, in file order; None stands for an empty cell.

    Attributes:
        name: the score's name: the measure, or the column.
        by_topic: by run, then topic; empty where the file has no topics.
        means: by run, what the file gives for the run as a whole: a line without a topic, or of
            the topic ``all``.
    """

    name: str
    by_topic: Mapping[str, Mapping[str, float | None]] = field(repr=False)
    means: Mapping[str, float | None] = field(repr=False)

    @property
    def has_own_means(self) -> bool:
        """Whether the file itself gives every run's mean, so that no other need be taken."""
        return all(self.means.get(run) is not None for run in self.by_topic)

    def run_scores(self) -> dict[str, float | None]:
        """One score a run: as the file gives it, else the mean over the topics that it has.

        The file's own means count only where it gives one for every run: those of some runs and
        means over the topics of others may stand on different topics.
        """
        if self.has_own_means:
            return dict(self.means)
        found: dict[str, float | None] = {}
        for run, scores in self.by_topic.items():
            known = [score for score in scores.values() if score is not None]
            found[run] = sum(known) / len(known) if known else None
        return found


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of topics × runs, none missing.

    Attributes:
        name: the score's name.
        topics: the topics, one a row.
        runs: the runs, one a column.
        scores: the rows.
        left_out: topics that some run has no score for; they are in no row.
        wide: whether the file has one column a run, and so one score only.
    """

    name: str
    topics: tuple[str, ...]
    runs: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...] = field(repr=False)
    left_out: tuple[str, ...] = ()
    wide: bool = False


def read_scores(
    path: str | PathLike[str], score: str | None = None, *, option: str = "--score"
) -> Parsed[ScoreTable]:
    """Read one score of a table of runs.

    Args:
        path: a CSV or TSV file with a header; other columns are ignored.
        score: the score's column, or its name in the column ``measure``; None where there is
            one only.
        option: what names the score on the command line, for messages.

    Raises:
        FormatError: the file cannot be read at all.
    """
    source = read_text(path)
    faults = FaultList(source.file, source.faults)
    cells = read_cells(source.lines, faults)
    if cells is None:
        faults.error(0, "The file is empty.", "Begin with a header: run,topic,score.")
        return Parsed(None, faults.done())
    table = _scores(cells, score, option, faults)
    if table is not None and table.means and not table.has_own_means:
        without = [run for run in table.by_topic if table.means.get(run) is None]
        faults.warning(
            0,
            f"Lines of the topic {ALL} are there for some runs only, not for "
            f"{listed(map(quoted, without), 5)}.",
            "They are not used; write one for every run, or for none.",
        )
    return Parsed(table, faults.done())


def read_matrix(
    path: str | PathLike[str], score: str | None = None, *, option: str = "--score"
) -> Parsed[ScoreMatrix]:
    """Read a matrix of topics × runs: one column a run, or a table as :func:`read_scores` takes.

    Args:
        path: a CSV or TSV file. The first column of a matrix holds the topics; one whose header
            begins with ``run`` is refused, as its columns would be topics, or measures.
        score: which score of a long table; None where there is one only.
        option: what names the score on the command line, for messages.

    Raises:
        FormatError: the file cannot be read at all.
    """
    source = read_text(path)
    faults = FaultList(source.file, source.faults)
    cells = read_cells(source.lines, faults)
    if cells is None:
        faults.error(0, "The file is empty.", "Begin with a header: topic, then a column a run.")
        return Parsed(None, faults.done())
    if cells.places(RUN) and (cells.places(TOPIC) or cells.places((*MEASURE, *VALUE))):
        table = _scores(cells, score, option, faults)
        if table is None:
            return Parsed(None, faults.done())
        if not table.by_topic:
            faults.error(
                cells.line,
                "The table has no scores of single topics.",
                "Write one line a run and topic: run,topic,score.",
            )
            return Parsed(None, faults.done())
        return Parsed(_complete(table.name, table.by_topic, faults), faults.done())
    if cells.names[0] in RUN:  # the other columns may be topics, or measures
        faults.error(
            cells.line,
            "The first column holds runs, but a matrix has a column a run and a line a topic.",
            "Turn rows into columns and begin the header with topic, or write one line a run and "
            "topic: run,topic,score.",
        )
        return Parsed(None, faults.done())
    wide = _wide(cells, faults)
    if wide is None:
        return Parsed(None, faults.done())
    name = score or Path(path).name.partition(".")[0] or "score"
    matrix = replace(_complete(printable(name), wide, faults), wide=True)
    return Parsed(matrix, faults.done())


# --- tables with a run column --------------------------------------------------------------------


def _scores(cells: Cells, score: str | None, option: str, faults: FaultList) -> ScoreTable | None:
    run = one_column(
        cells, RUN, "run", faults, "Name the columns: run, then topic if there are any, then score."
    )
    topics = cells.places(TOPIC)
    topic = one_column(cells, TOPIC, "topic", faults, "") if topics else None
    if run is None or (topics and topic is None):
        return None
    measures, values = cells.places(MEASURE), cells.places(VALUE)
    if len(measures) == 1 and len(values) == 1:
        known = tuple(dict.fromkeys(row[measures[0]] for _, row in cells.rows if row[measures[0]]))
        name = _chosen(known, score, cells.line, faults, ("measure", option))
        rows = [row for row in cells.rows if row[1][measures[0]] == name]
        place: int | None = values[0]
    else:
        rows = list(cells.rows)
        place = _column(cells, {run, *topics}, score, option, faults)
        name = None if place is None else cells.header[place]
    if name is None or place is None:
        return None
    reader = _ScoreReader(faults)
    for number, row in rows:
        own = None if topic is None else normal_id(row[topic])
        reader.row(number, printable(normal_id(row[run])), own, row[place])
    reader.done()
    return ScoreTable(printable(name), reader.by_topic, reader.means)


def _column(
    cells: Cells, others: set[int], score: str | None, option: str, faults: FaultList
) -> int | None:
    free = [place for place in range(len(cells.header)) if place not in others]
    if score is None:
        # A column with a bad cell, or an empty one, may be the one that is meant: it stays.
        named = [place for place in free if cells.names[place] in VALUE]
        meant = [place for place in free if _may_be_scores(cells, place)]
        free = named if len(named) == 1 else meant or free
    known = [cells.header[place] for place in free]
    name = _chosen(known, score, cells.line, faults, ("column", option))
    return None if name is None else free[known.index(name)]


def _chosen(
    known: Sequence[str], score: str | None, line: int, faults: FaultList, words: tuple[str, str]
) -> str | None:
    """The score that is asked for, or the only one; else a fault that lists what there is.

    *words* are what holds a score, a column or a measure, and the option that names one.
    """
    what, option = words
    if score is None:
        if len(known) == 1:
            return known[0]
        if known:
            faults.error(
                line,
                f"The file has {len(known)} scores: {listed(known, 20)}.",
                f"Say which {what} is meant, e.g. {option} {printable(shlex.quote(known[0]))}.",
            )
        else:
            faults.error(line, "The file has no column of scores.", "Add a column named score.")
        return None
    same = [name for name in known if name == score.strip()]
    folded = [name for name in known if name.casefold() == score.strip().casefold()]
    found = same or folded
    if len(found) == 1:
        return found[0]
    why = "more than one" if found else "no"
    faults.error(
        line,
        f"The file has {why} {what} {quoted(score)}.",
        f"It has {listed(known, 20) or 'none'}.",
    )
    return None


def _filled(cells: Cells, place: int) -> list[str]:
    return [row[place] for _, row in cells.rows if row[place].casefold() not in _NOTHING]


def _may_be_scores(cells: Cells, place: int) -> bool:
    """True unless all cells of a column hold words, or it has neither a name nor cells."""
    filled = _filled(cells, place)
    if not filled:
        return bool(cells.header[place])
    return any(_NUMBER_LIKE.fullmatch(cell) for cell in filled)


class _ScoreReader:
    """Collects scores line by line."""

    def __init__(self, faults: FaultList) -> None:
        self.faults = faults
        self.by_topic: dict[str, dict[str, float | None]] = {}
        self.means: dict[str, float | None] = {}
        self.lines: dict[tuple[str, str | None], int] = {}
        self.empty: list[int] = []

    def row(self, number: int, run: str, topic: str | None, raw: str) -> None:
        """Take one line; *topic* is None where the table has no topics."""
        if not run or topic == "":
            what = "run" if not run else "topic"
            self.faults.error(number, f"The {what} is empty.", f"Write the {what}.", topic)
            return
        score: float | None = None
        if raw.casefold() in _NOTHING:
            self.empty.append(number)
        else:
            score = finite_number(raw)
            if score is None:
                self.faults.error(
                    number,
                    f"The score {quoted(raw)} {number_fault(raw)}.",
                    "Write a number with a decimal point; leave the cell empty where it is "
                    "missing.",
                    topic,
                )
                return
        whole = topic is None or topic == ALL
        first = self.lines.setdefault((run, None if whole else topic), number)
        if first != number:
            self.faults.error(
                number,
                f"Run {quoted(run)} has {'a score' if whole else 'the topic'} on line {first} "
                "already.",
                "Keep one of the lines; the first was read.",
                topic,
            )
        elif whole or topic is None:
            self.means[run] = score
        else:
            self.by_topic.setdefault(run, {})[topic] = score

    def done(self) -> None:
        """Report what is missing."""
        if self.empty:
            self.faults.warning(
                self.empty[0],
                f"The score is missing on {len(self.empty)} "
                f"line{'s' if len(self.empty) > 1 else ''} "
                f"({listed(map(str, self.empty), 10)}).",
                "They count as missing.",
            )
        if not self.lines:
            self.faults.error(0, "The file holds no score.", "Add one line a run.")


# --- matrices ------------------------------------------------------------------------------------


def _wide(cells: Cells, faults: FaultList) -> dict[str, dict[str, float | None]] | None:
    """The scores of a matrix by run, then topic; None where it cannot be made out."""
    header, rows = cells.header, list(cells.rows)
    if all(finite_number(name) is not None for name in header):
        rows.insert(0, (cells.line, header))
        named = _counted([row[0] for _, row in rows])
        header = tuple(f"run {place + 1 - named}" for place in range(len(header)))
        faults.warning(
            cells.line,
            "The file has no header: the runs are named by their columns.",
            "Begin with a header: topic, then the runs' names.",
        )
    else:
        named = cells.names[0] in _FIRST_OF_MATRIX or _ids(cells)
    if not named:
        faults.warning(
            cells.line,
            "There is no column of topics: every column is taken for a run.",
            "Begin the header with topic.",
        )
    runs = tuple(printable(normal_id(name)) for name in (header[1:] if named else header))
    double = [name for place, name in enumerate(runs) if name in runs[:place]]
    if double or not all(runs):
        why = f"the run {quoted(double[0])} twice" if double else "a column without a name"
        faults.error(cells.line, f"The header has {why}.", "Give every run a name of its own.")
        return None
    table: dict[str, dict[str, float | None]] = {run: {} for run in runs}
    lines: dict[str, int] = {}
    for place, (number, row) in enumerate(rows):
        topic = normal_id(row[0]) if named else str(place + 1)
        if not topic or lines.setdefault(topic, number) != number:
            why = (
                f"The topic is on line {lines[topic]} already." if topic else "The topic is empty."
            )
            faults.error(number, why, "Write one line a topic, with its name first.", topic)
            continue
        for run, raw in zip(runs, row[1:] if named else row, strict=True):
            score = None if raw.casefold() in _NOTHING else finite_number(raw)
            if score is None and raw.casefold() not in _NOTHING:
                faults.error(
                    number,
                    f"The score {quoted(raw)} of run {quoted(run)} {number_fault(raw)}.",
                    "Write a number with a decimal point; leave the cell empty where it is "
                    "missing.",
                    topic,
                )
            table[run][topic] = score
    if not rows:
        faults.error(0, "The file holds no topic.", "Add one line a topic.")
    return table


def _counted(column: Sequence[str]) -> bool:
    """True where a column holds 1, 2, 3, …: numbers of topics, not scores."""
    return len(column) > 1 and list(column) == [str(place + 1) for place in range(len(column))]


def _ids(cells: Cells) -> bool:
    """True where the first column holds names or distinct whole numbers, and the others scores.

    A fraction among names is no topic: more likely the column is a run's, and a name a slip.
    """
    filled = _filled(cells, 0)
    numbers = [cell for cell in filled if _NUMBER_LIKE.fullmatch(cell)]
    if len(numbers) < len(filled) or not filled:
        return all(cell.isdigit() for cell in numbers)
    columns = list(zip(*(row for _, row in cells.rows), strict=True))
    whole = [all(cell.isdigit() for cell in column) for column in columns]
    return whole[0] and not all(whole) and len(set(columns[0])) == len(columns[0])


def _complete(
    name: str, by_run: Mapping[str, Mapping[str, float | None]], faults: FaultList
) -> ScoreMatrix:
    """The matrix of the topics that every run has a score for."""
    runs = tuple(by_run)
    rows: dict[str, tuple[float, ...]] = {}
    left_out: list[str] = []
    for topic in dict.fromkeys(topic for scores in by_run.values() for topic in scores):
        row = [by_run[run].get(topic) for run in runs]
        known = tuple(score for score in row if score is not None)
        if len(known) == len(row):
            rows[topic] = known
        else:
            left_out.append(topic)
    if left_out:
        count = f"{len(left_out)} topic{'s' if len(left_out) > 1 else ''}"
        faults.warning(
            0,
            f"Some run has no score for {count}: {listed(left_out, 10)}.",
            "These are left out for all runs.",
        )
    broken = any(fault.severity == "error" for fault in faults.done())
    if (len(runs) < 2 or len(rows) < 2) and not broken:  # else it is the errors' consequence
        topics = f"{len(rows)} topic{'' if len(rows) == 1 else 's'} that every run has a score for"
        faults.error(
            0,
            f"The matrix has {len(runs)} run{'' if len(runs) == 1 else 's'} and {topics}.",
            "At least 2 of both are needed.",
        )
    return ScoreMatrix(name, tuple(rows), runs, tuple(rows.values()), tuple(left_out))
