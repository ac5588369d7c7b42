"""Scores of runs: CSV or TSV with a run column, perhaps a topic column, and scores.

There are two shapes: one column per score (``run,topic,nDCG@20,AP``), and one line per score as
Assay writes them (``run,topic,measure,value``), also without a header (leaderboards). Matrices of
topics × runs are read by :mod:`assay.formats.score_matrices`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.formats.cells import RUN, TOPIC, Cells, finite_number, number_fault, one_column
from assay.formats.naming import normal_id
from assay.formats.parsed import FaultList, Parsed
from assay.formats.score_cells import (
    ALL,
    ENDS,
    MEASURE,
    VALUE,
    filled,
    is_mean,
    is_missing,
    looks_like_number,
    read_score_cells,
    same_name,
    split_end,
)
from assay.formats.text import Given
from assay.model.wording import joined, printable, quoted


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """One score of every run of a file, in file order; None for an empty cell.

    ``name``: the measure, or the column. ``by_topic``: the scores by run, then topic; empty if the
    file has no topics, else it has every run, even those with only a mean. ``means``: by run, the
    score of the run as a whole: on a line without a topic, or with the topic ``all`` in any case.
    ``uncertain``: which values are ranges and therefore missing, and how to use their ends; None if
    there are none.
    """

    name: str
    by_topic: Mapping[str, Mapping[str, float | None]] = field(repr=False)
    means: Mapping[str, float | None] = field(repr=False)
    uncertain: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def has_own_means(self) -> bool:
        """Whether the file gives the mean of every run, so that none has to be calculated."""
        return all(self.means.get(run) is not None for run in self.by_topic)

    def run_scores(self) -> dict[str, float | None]:
        """One score per run: the file's own mean, or the mean over the run's topics.

        The file's means are used only if it has one for every run: otherwise the scores of
        different runs might be based on different topics.
        """
        if self.has_own_means:
            return dict(self.means)
        found: dict[str, float | None] = {}
        for run, scores in self.by_topic.items():
            known = [score for score in scores.values() if score is not None]
            found[run] = sum(known) / len(known) if known else None
        return found


def read_scores(
    given: Given, score: str | None = None, *, option: str = "--score"
) -> Parsed[ScoreTable]:
    """Read one score of a table of runs.

    ``given``: a CSV or TSV file with a header, or a leaderboard; other columns are ignored. An
    unnamed column is the score only if no other column can be. An empty value with a ``floor`` and
    a ``ceiling`` is uncertain and counts as missing. ``score``: the score's column, or its name in
    the column ``measure``, as files or tables write it; None if there is only one. ``NAME:floor``
    and ``NAME:ceiling`` are the ends of its values. ``option``: the command-line option that names
    the score, for messages. Raises FormatError if the file cannot be read at all.
    """
    cells, faults = read_score_cells(given)
    if cells is None:
        return Parsed(None, faults.done())
    table = parse_scores(cells, score, option, faults)
    if table is not None and table.means and not table.has_own_means:
        without = [run for run in table.by_topic if table.means.get(run) is None]
        faults.warning(
            0,
            f"The lines of the topic {ALL} give some runs no value: "
            f"{joined(map(quoted, without), 5)}.",
            "Means over topics are used instead of them.",
        )
    return Parsed(table, faults.done())


def parse_scores(
    cells: Cells, score: str | None, option: str, faults: FaultList
) -> ScoreTable | None:
    """As :func:`read_scores`, from cells; None if the score is not found."""
    run = one_column(
        cells, RUN, "run", faults, "Name the columns: run, then topic if there are any, then score."
    )
    topics = cells.places(TOPIC)
    topic = one_column(cells, TOPIC, "topic", faults, "") if topics else None
    if run is None or (topics and topic is None):
        return None
    measures, values = cells.places(MEASURE), cells.places(VALUE)
    if len(measures) == 1 and len(values) == 1:
        found = _measure(cells, measures[0], score, option, faults)
        if found is None:
            return None
        rows, name, end = found
        place, ends = values[0], [place for one in ENDS for place in cells.places((one,))]
    else:
        rows, end, ends = list(cells.rows), None, []
        column = _column(cells, {run, *topics}, score, option, faults)
        if column is None:
            return None
        place, name = column, cells.header[column] or "score"
    reader = _ScoreReader(faults)
    for number, row in rows:
        own = None if topic is None else normal_id(row[topic])
        raw, bounds = row[place], tuple(row[one] for one in ends if not is_missing(row[one]))
        if end is not None and is_missing(raw):
            raw, bounds = row[ends[ENDS.index(end)]], ()
        reader.row(number, printable(normal_id(row[run])), own, raw, bounds)
    uncertain = reader.done(option, name)
    shown = printable(name if end is None else f"{name}:{end}")
    return ScoreTable(shown, reader.scores(), reader.means, uncertain)


def _measure(
    cells: Cells, place: int, score: str | None, option: str, faults: FaultList
) -> tuple[list[tuple[int, tuple[str, ...]]], str, str | None] | None:
    """The rows of the requested measure, its name, and which end of its values is meant, if any;
    None, with a fault, if it is not found."""
    names = _measure_names(cells, place)
    known = tuple(dict.fromkeys(name for name in names if name))
    base, end = (score, None) if score is None or score in known else split_end(score)
    if end is not None and not all(cells.places((one,)) for one in ENDS):
        faults.error(
            cells.line,
            f"The table has no columns {joined(ENDS)} that {quoted(score or '')} could be.",
            "Give one that has them (any --csv of Assay), or per_topic.csv with the "
            "per_topic_ranges.csv that was written beside it.",
        )
        return None
    name = _chosen(known, base, cells.line, faults, ("measure", option))
    if name is None:
        return None
    return [row for row, own in zip(cells.rows, names, strict=True) if own == name], name, end


def _measure_names(cells: Cells, place: int) -> list[str]:
    """The measure of every row; its name includes τ if the table has the measure at several τ."""
    taus = cells.places(("tau",))
    names = [row[place] for _, row in cells.rows]
    if len(taus) != 1 or len({row[taus[0]] for _, row in cells.rows}) < 2:
        return names
    return [f"{name}(tau={row[taus[0]]})" for name, (_, row) in zip(names, cells.rows, strict=True)]


def _column(
    cells: Cells, others: set[int], score: str | None, option: str, faults: FaultList
) -> int | None:
    free = [place for place in range(len(cells.header)) if place not in others]
    if score is None:
        # A column that is empty or has a bad cell may be the intended one, so it stays.
        named = [place for place in free if cells.names[place] in VALUE]
        meant = [place for place in free if _may_be_scores(cells, place)]
        free = named if len(named) == 1 else meant or free
    free = [place for place in free if cells.header[place]] or free
    if len(free) > 1 and not cells.header[free[0]]:
        faults.error(
            cells.line,
            f"The table has {len(free)} columns without a name.",
            "Name the column of scores: score.",
        )
        return None
    known = [cells.header[place] for place in free]
    name = _chosen(known, score, cells.line, faults, ("column", option))
    return None if name is None else free[known.index(name)]


def _chosen(
    known: Sequence[str], score: str | None, line: int, faults: FaultList, words: tuple[str, str]
) -> str | None:
    """The requested score, or the only one; otherwise None, with a fault that lists all scores.

    ``words`` are what a score is called here (column or measure), and the option that names one.
    """
    what, option = words
    if score is None:
        if len(known) == 1:
            return known[0]
        if known:
            faults.error(
                line,
                f"The table has {len(known)} scores: {joined(known, 20)}.",
                f"Say which {what} is meant, e.g. {_given(option, known[0])}.",
            )
        else:
            faults.error(line, "The table has no column of scores.", "Add a column named score.")
        return None
    same = [name for name in known if name == score.strip()]
    folded = [name for name in known if name.casefold() == score.strip().casefold()]
    found = same or folded or [name for name in known if same_name(name, score)]
    if len(found) == 1:
        return found[0]
    why = "more than one" if found else "no"
    faults.error(
        line,
        f"The table has {why} {what} {quoted(score)}.",
        f"It has {joined(known, 20) or 'none'}.",
    )
    return None


def _may_be_scores(cells: Cells, place: int) -> bool:
    """Whether a column can hold scores: not only words, and not both unnamed and empty."""
    written = filled(cells, place)
    if not written:
        return bool(cells.header[place])
    return any(looks_like_number(cell) for cell in written)


class _ScoreReader:
    """Collector of scores, line by line."""

    def __init__(self, faults: FaultList) -> None:
        self.faults = faults
        self.by_topic: dict[str, dict[str, float | None]] = {}
        self.means: dict[str, float | None] = {}
        self.lines: dict[tuple[str, str | None], int] = {}
        self.empty: list[int] = []
        self.open: list[tuple[int, str]] = []

    def row(
        self, number: int, run: str, topic: str | None, raw: str, ends: tuple[str, ...]
    ) -> None:
        """Add one line; ``topic`` is None if the table has no topics, ``ends`` are floor and
        ceiling."""
        at = self.faults.at(number, topic)
        if not run or topic == "":
            what = "run" if not run else "topic"
            at.error(f"The {what} is empty.", f"Write the {what}.")
            return
        score: float | None = None
        if is_missing(raw) and ends:
            where = f" on {topic}" if topic and not is_mean(topic) else ""
            self.open.append((number, f"{run}{where} ({'–'.join(ends)})"))
        elif is_missing(raw):
            self.empty.append(number)
        else:
            score = finite_number(raw)
            if score is None:
                at.error(
                    f"The score {quoted(raw)} {number_fault(raw)}.",
                    "Write a number with a decimal point; leave the cell empty if it is missing.",
                )
                return
        whole = topic is None or is_mean(topic)
        first = self.lines.setdefault((run, None if whole else topic), number)
        if first != number:
            at.error(
                f"Run {quoted(run)} has {'a score' if whole else 'the topic'} on line {first} "
                "already.",
                "Keep one of the lines; the first was read.",
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

    def done(self, option: str, name: str) -> tuple[str, str] | None:
        """Report what is missing; return which values of the score ``name`` are ranges."""
        uncertain = None
        if self.open:
            uncertain = uncertainty((one for _, one in self.open), option, name)
            why, cure = uncertain
            self.faults.warning(self.open[0][0], why, f"Missing here; {cure}")
        self.faults.missing("The score", self.empty, "They count as missing.")
        if not self.lines:
            self.faults.error(0, "The table holds no score.", "Add one line per run.")
        return uncertain


def uncertainty(ranges: Iterable[str], option: str, name: str) -> tuple[str, str]:
    """The message about values that are ranges, and the cure: how to use their ends."""
    every = list(ranges)
    count = f"{len(every)} value{'s are' if len(every) > 1 else ' is'}"
    end = _given(option, f"{name}:{ENDS[0]}")
    why = f"{count} not certain, as labels are missing: {joined(every, 10)}."
    return why, f"{end} takes every value at its worst, :{ENDS[1]} at its best."


def _given(option: str, name: str) -> str:
    """How to name a score with an option of the command line, or a Python argument."""
    return printable(f"{option}{name!r}" if option[-1] == "=" else f"{option} {shlex.quote(name)}")
