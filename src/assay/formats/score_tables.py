"""Scores of runs: CSV or TSV with a run column, perhaps a topic column, and scores.

Two shapes are known: one column a score (``run,topic,nDCG@20,AP``), and one line a score as Assay
itself writes them (``run,topic,measure,value``). Matrices of topics × runs are those of
:mod:`assay.formats.score_matrices`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

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

__all__ = [
    "ScoreTable",
    "filled",
    "is_mean",
    "is_missing",
    "looks_like_number",
    "parse_scores",
    "read_scores",
    "without_index",
]

MEASURE = ("measure",)
VALUE = ("value", "score")
ALL = "all"
"""The topic whose line holds a run's mean, as trec_eval and Assay write it."""

_NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none", "–", "-"})
_NUMBER_LIKE = re.compile(
    r"[-+]?(?:inf(?:inity)?|[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?)\s*%?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """One score of every run of a file, in file order; None stands for an empty cell.

    Attributes:
        name: the score's name: the measure, or the column.
        by_topic: by run, then topic; empty where the file has no topics, else with every run of
            it, also with those that have a mean only.
        means: by run, what the file gives for the run as a whole: a line without a topic, or of
            the topic ``all`` in any case.
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


def read_scores(
    path: str | PathLike[str], score: str | None = None, *, option: str = "--score"
) -> Parsed[ScoreTable]:
    """Read one score of a table of runs.

    Args:
        path: a CSV or TSV file with a header; other columns are ignored. One without a name is
            the score only where no other can be.
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
    table = parse_scores(without_index(cells), score, option, faults)
    if table is not None and table.means and not table.has_own_means:
        without = [run for run in table.by_topic if table.means.get(run) is None]
        faults.warning(
            0,
            f"Lines of the topic {ALL} are there for some runs only, not for "
            f"{listed(map(quoted, without), 5)}.",
            "They are not used; write one for every run, or for none.",
        )
    return Parsed(table, faults.done())


def parse_scores(
    cells: Cells, score: str | None, option: str, faults: FaultList
) -> ScoreTable | None:
    """As :func:`read_scores`, of a file that was split into cells; None where no score is found."""
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
        name = None if place is None else cells.header[place] or "score"
    if name is None or place is None:
        return None
    reader = _ScoreReader(faults)
    for number, row in rows:
        own = None if topic is None else normal_id(row[topic])
        reader.row(number, printable(normal_id(row[run])), own, row[place])
    reader.done()
    return ScoreTable(printable(name), reader.scores(), reader.means)


def _column(
    cells: Cells, others: set[int], score: str | None, option: str, faults: FaultList
) -> int | None:
    free = [place for place in range(len(cells.header)) if place not in others]
    if score is None:
        # A column with a bad cell, or an empty one, may be the one that is meant: it stays.
        named = [place for place in free if cells.names[place] in VALUE]
        meant = [place for place in free if _may_be_scores(cells, place)]
        free = named if len(named) == 1 else meant or free
    free = [place for place in free if cells.header[place]] or free
    if len(free) > 1 and not cells.header[free[0]]:
        faults.error(
            cells.line,
            f"The file has {len(free)} columns without a name.",
            "Name the column of scores: score.",
        )
        return None
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


def _may_be_scores(cells: Cells, place: int) -> bool:
    """True unless all cells of a column hold words, or it has neither a name nor cells."""
    written = filled(cells, place)
    if not written:
        return bool(cells.header[place])
    return any(looks_like_number(cell) for cell in written)


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
        if is_missing(raw):
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
        whole = topic is None or is_mean(topic)
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

    def scores(self) -> dict[str, dict[str, float | None]]:
        """The scores by run and topic, as in :class:`ScoreTable`."""
        if not self.by_topic:
            return {}
        return {run: self.by_topic.get(run, {}) for run, _ in self.lines}

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


# --- cells, of matrices too ----------------------------------------------------------------------


def without_index(cells: Cells) -> Cells:
    """The table without a column of line numbers, as pandas writes one.

    That is a first column without a name that holds different whole numbers, beside one of runs
    or topics.
    """
    numbers = [row[0] for _, row in cells.rows]
    counted = all(cell.isdigit() for cell in numbers) and len(set(numbers)) == len(numbers)
    if cells.header[0] or not counted or not cells.places((*RUN, *TOPIC)):
        return cells
    return replace(
        cells, header=cells.header[1:], rows=tuple((line, row[1:]) for line, row in cells.rows)
    )


def is_missing(cell: str) -> bool:
    """True where a cell says that there is no score: it is empty, or holds ``NA``, ``-``, …"""
    return cell.casefold() in _NOTHING


def is_mean(topic: str) -> bool:
    """True where a topic's name says that the line holds means: ``all``, ``ALL``, …"""
    return topic.casefold() == ALL


def filled(cells: Cells, place: int) -> list[str]:
    """The cells of a column that are not missing."""
    return [row[place] for _, row in cells.rows if not is_missing(row[place])]


def looks_like_number(cell: str) -> bool:
    """True where a number was meant, though it may be none: ``1e999``, ``0,5``, ``12 %``."""
    return _NUMBER_LIKE.fullmatch(cell) is not None
