"""Matrices of topics × runs with the stated confidence and correctness of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.formats.cells import TOPIC, Cells
from assay.formats.confidence import read_confidence
from assay.formats.parsed import FaultList, Parsed
from assay.formats.score_cells import is_mean, read_score_cells
from assay.formats.score_matrices import complete, no_topics
from assay.formats.score_tables import ScoreTable, parse_scores, uncertainty
from assay.formats.text import Given, text_of
from assay.model.wording import joined, printable, quoted


@dataclass(frozen=True, slots=True)
class ConfidenceMatrix:
    """Stated confidence and correctness of topics × runs, with no missing values.

    ``name``: the confidence measure that they were read for, with ``:floor`` or ``:ceiling`` if
    missing values were filled in for that end. ``topics``: the topics, one per row. ``runs``: the
    runs, one per column. ``confidences``: the rows of confidences, 0 to 1. ``correct``: the rows of
    correctness, 1 or 0. ``left_out``: topics without a row, as some run lacks a value.
    ``runs_left_out``: runs without a column, as they have no topic with both values.
    """

    name: str
    topics: tuple[str, ...]
    runs: tuple[str, ...]
    confidences: tuple[tuple[float, ...], ...] = field(repr=False)
    correct: tuple[tuple[float, ...], ...] = field(repr=False)
    left_out: tuple[str, ...] = ()
    runs_left_out: tuple[str, ...] = ()


class Confident(NamedTuple):
    """The confidence and correctness of an answer; None if unknown or not given."""

    p: float | None
    c: float | None

    @property
    def left_out(self) -> bool:
        """Whether the question counts as left out: no confidence, and not known to be correct."""
        return self.p is None and self.c != 1


End = Callable[[Sequence[float], Sequence[float], int], Iterable[tuple[float, float]]]
"""Fills in missing values for a measure's floor or ceiling: from stated confidences, correctness
(NaN if unknown) and the number of questions left out, to both of every question, those last."""

_NO_ANSWER = Confident(None, 0.0)
_Answers = dict[str, dict[str, Confident]]
"""run → topic → answer; every run has all topics."""

_CONFIDENCE = ("Confidence", "Accuracy")
"""The measures of per_topic.csv that hold confidence and correctness."""


def read_confidences(
    given: Given, measure: str, end: tuple[str, End] | None = None
) -> Parsed[ConfidenceMatrix]:
    """Read confidence and correctness of topics × runs.

    ``given``: a table ``run,topic,confidence,correct``, or one of scores by topic that holds the
    measures Confidence and Accuracy. ``measure``: the confidence measure that they are read for.
    ``end``: ``floor`` or ``ceiling``, and the function that fills in a run's missing values for it.
    With None, topics with an unknown value are left out for all runs, and a question left out by a
    run counts as wrong with confidence 1. Raises FormatError if the file cannot be read at all.
    """
    source = text_of(given)
    cells, faults = read_score_cells(source)
    answers: _Answers = {}
    if cells is not None and {"confidence", "correct"} <= set(cells.names):
        table = read_confidence(source)
        faults = FaultList(faults.file, table.faults)
        for row in table.value.rows if table.value is not None else ():
            correct = None if row.correct is None else float(row.correct)
            answers.setdefault(printable(row.run), {})[row.topic] = Confident(
                row.probability, correct
            )
    elif cells is not None:
        topics_of = [row[place] for place in cells.places(TOPIC) for _, row in cells.rows]
        if all(map(is_mean, topics_of)):
            no_topics(cells, faults)
        else:
            answers = _of_scores(cells, faults)
    topics = list(dict.fromkeys(topic for by_topic in answers.values() for topic in by_topic))
    answers = {
        run: {topic: by_topic.get(topic, _NO_ANSWER) for topic in topics}
        for run, by_topic in answers.items()
    }
    pairs: Mapping[str, Mapping[str, tuple[float, float] | None]]
    uncertain = None
    if end is None:
        uncertain = _report(answers, measure, faults)
        pairs = {run: _plain(by_topic) for run, by_topic in answers.items()}
    else:
        pairs = {run: at_end(by_topic, *end) for run, by_topic in answers.items()}
    runs, empty, rows, left_out = complete(pairs, faults, uncertain)
    return Parsed(
        ConfidenceMatrix(
            measure if end is None else f"{measure}:{end[0]}",
            tuple(rows),
            runs,
            tuple(tuple(p for p, _ in row) for row in rows.values()),
            tuple(tuple(c for _, c in row) for row in rows.values()),
            left_out,
            empty,
        ),
        faults.done(),
    )


def _of_scores(cells: Cells, faults: FaultList) -> _Answers:
    """The answers of a table of scores. What is missing is reported later, naming the measure."""
    tables: list[ScoreTable | None] = []
    for name in _CONFIDENCE:
        found = FaultList(faults.file)
        tables.append(parse_scores(cells, name, "-m", found))
        for fault in found.done():
            if fault.severity == "error":
                faults.error(fault.line, fault.why, fault.cure, fault.topic)
    given, right = (one.by_topic if one is not None else {} for one in tables)
    answers: _Answers = {}
    for run in dict.fromkeys((*given, *right)):
        p_of, c_of = given.get(run, {}), right.get(run, {})
        for topic in dict.fromkeys((*p_of, *c_of)):
            one = Confident(p_of.get(topic), c_of.get(topic))
            answers.setdefault(run, {})[topic] = one
            if not (one.p is None or 0 <= one.p <= 1) or one.c not in (None, 0, 1):
                faults.error(
                    0,
                    f"The confidence {one.p} or accuracy {one.c} of run {quoted(run)} is not "
                    "valid.",
                    "Write a confidence from 0 to 1, and 1 or 0 for a right or wrong answer.",
                    topic,
                )
    if not faults.faulty and not any(given.values()):
        faults.error(
            0,
            "The table has no confidences of single topics.",
            "Give per_topic.csv, or a table run,topic,confidence,correct.",
        )
    return answers


def _report(answers: _Answers, measure: str, faults: FaultList) -> tuple[str, str] | None:
    """Report what is missing; return which answers are uncertain, and the cure."""
    silent = {run: sum(one.left_out for one in every.values()) for run, every in answers.items()}
    if any(silent.values()):
        counts = (f"{run} ({count})" for run, count in silent.items() if count)
        faults.warning(
            0,
            f"Questions that runs leave out: {joined(counts, 5)}.",
            f"They count as wrong with confidence 1; -m {measure}:floor assumes what is worst by "
            f"{measure}, -m {measure}:ceiling what is best.",
        )
    unsure = [
        f"{run} on {topic} (no {'confidence' if one.p is None else 'correctness'})"
        for run, every in answers.items()
        for topic, one in every.items()
        if None in one and not one.left_out
    ]
    if not unsure:
        return None
    why, cure = uncertainty(unsure, "-m", measure)
    faults.warning(0, why, f"Missing here; {cure}")
    return why, cure


def _plain(answers: Mapping[str, Confident]) -> dict[str, tuple[float, float] | None]:
    return {
        topic: (1.0, 0.0)
        if one.left_out
        else None
        if one.p is None or one.c is None
        else (one.p, one.c)
        for topic, one in answers.items()
    }


def at_end(
    answers: Mapping[str, Confident], end: str, complete: End
) -> Mapping[str, tuple[float, float]]:
    """A run's answers with missing values filled in so that the measure is at ``end``, or as near
    to it as is known."""
    stated = {topic: one for topic, one in answers.items() if not one.left_out}
    sure = 1.0 if end == "ceiling" else 0.0  # of correct answers without a confidence
    p = [sure if one.p is None else one.p for one in stated.values()]
    c = [np.nan if one.c is None else one.c for one in stated.values()]
    absent = [topic for topic in answers if topic not in stated]
    return dict(zip((*stated, *absent), complete(p, c, len(absent)), strict=True))
