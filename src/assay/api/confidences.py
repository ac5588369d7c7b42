"""HMR and the calibration measures of a table of confidences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.api.reading import Note, used
from assay.api.undefined import explained, undefined_values
from assay.formats.confidence import ConfidenceRow, ConfidenceTable, read_confidence
from assay.measures.confidence import LOWER_IS_BETTER, MEASURES, MOST_BINS, Closed
from assay.measures.confidence_ranges import confidence_ranges
from assay.measures.ranges import OPEN, Range
from assay.measures.scores import Score, ranks
from assay.protocols.scores import VALUE_COLUMNS, value_row

NAMES = tuple(MEASURES)
BINS_LIMIT = MOST_BINS
Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a run's scored rows, of rows without a value, and of topics without a row."""

    scored: int
    missing: int
    left_out: int


@dataclass(frozen=True)
class ConfidenceScores:
    """The scores of every run: ``means`` by run and measure, ``topics`` by run (topic, measure,
    ends). ``reasons`` says by run why some are undefined. ``stated`` holds a run's pairs of
    confidence and correctness where both are known."""

    means: Mapping[str, Mapping[str, Range | None]]
    topics: Mapping[str, Sequence[tuple[str, str, Range | None]]]
    counts: Mapping[str, Counts]
    reasons: Mapping[str, str]
    stated: Mapping[str, Arrays]

    def _each(self) -> Iterator[tuple[tuple[object, ...], str | None]]:
        """Rows under ``VALUE_COLUMNS``, with the reason if a mean is undefined."""
        for run, means in self.means.items():
            for name, ends in means.items():
                yield value_row(run, "all", name, ends), None if ends else self.reasons[run]
            for topic, name, ends in self.topics[run]:
                yield value_row(run, topic, name, ends), None

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The cells under ``VALUE_COLUMNS``."""
        return (row for row, _ in self._each())

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "scores": [
                explained(dict(zip(VALUE_COLUMNS, row, strict=True)), reason)
                for row, reason in self._each()
            ],
            "runs": self.counts,
        }

    def undefined(self, mark: str) -> Iterator[str]:
        """Sentences on what is undefined and why."""
        yield from undefined_values(
            mark,
            (
                (f"{run} {name}", self.reasons[run])
                for run, means in self.means.items()
                for name, ends in means.items()
                if ends is None
            ),
        )

    def ranks(self) -> dict[str, int | None]:
        """The ranks of the runs by HMR."""
        scores = {
            run: {"HMR": Score.between(run, "HMR", means["HMR"], topics=self.counts[run].scored)}
            for run, means in self.means.items()
        }
        return ranks(scores, "HMR")


def confidences(
    file: Path, *, bins: int, closed: Closed, answered: bool, per_topic: bool, note: Note
) -> ConfidenceScores:
    """Score the runs of a table. Topics without a row count as incorrect with unknown confidence;
    ``answered`` leaves them out, and rows that lack a value. Raises FormatError with all faults."""
    table = used(read_confidence(file), note)
    means: dict[str, dict[str, Range | None]] = {}
    topics: dict[str, list[tuple[str, str, Range | None]]] = {}
    counts: dict[str, Counts] = {}
    stated: dict[str, Arrays] = {}
    reasons: dict[str, str] = {}
    silent = {} if answered else _silent(table)
    for run in table.runs:
        every = [row for row in table.of(run) if not answered or row.scored]
        left_out = silent.get(run, ())
        scored = [row for row in every if row.scored]
        counts[run] = Counts(len(scored), len(table.of(run)) - len(scored), len(left_out))
        ranges = _ranges(every, len(left_out), bins=bins, closed=closed)
        means[run] = {name: ranges[name] for name in NAMES}
        p = np.array([row.probability for row in scored], dtype=np.float64)
        c = np.array([bool(row.correct) for row in scored], dtype=bool)
        if scored:
            stated[run] = (p, c)
        if None in ranges.values():
            reasons[run] = _reason(c)
        single = [(row.topic, row.probability, row.correct) for row in every]
        single += [(topic, None, False) for topic in left_out]
        topics[run] = [
            (topic, *each)
            for topic, confidence, correct in (single if per_topic else ())
            for each in _of_topic(confidence, correct)
        ]
    return ConfidenceScores(means, topics, counts, reasons, stated)


def _ranges(
    rows: Sequence[ConfidenceRow], left_out: int, *, bins: int, closed: Closed
) -> dict[str, Range | None]:
    """The range of every measure of a run. A row without correctness may be right or wrong. A row
    without confidence may have any: at the ceiling 1 if right and 0 if wrong, at the floor the
    worst. An incorrect row without confidence counts as left out."""
    p = [row.probability for row in rows if row.probability is not None]
    c = [
        np.nan if row.correct is None else float(row.correct)
        for row in rows
        if row.probability is not None
    ]
    doubtful = [row for row in rows if row.probability is None and row.correct]
    left_out += len(rows) - len(p) - len(doubtful)
    if not rows and not left_out:
        return dict.fromkeys(NAMES)
    sure = [float(bool(row.correct)) for row in doubtful]
    best = confidence_ranges(p + sure, c + sure, left_out=left_out, bins=bins, closed=closed)
    if not doubtful:
        return {name: None if ends is None else ends.range for name, ends in best.items()}
    timid = [1.0 - one for one in sure]
    worst = confidence_ranges(p + timid, c + sure, left_out=left_out, bins=bins, closed=closed)
    # In a bin, and in a running sum, errors of two kinds make up for each other.
    safe_floors = confidence_ranges(
        p, c, left_out=left_out + len(doubtful), bins=bins, closed=closed
    )
    found: dict[str, Range | None] = {}
    for name, ends in best.items():
        low = (safe_floors if name in ("ECE", "MCE", "KS") else worst)[name]
        whole = (1.0, 0.0) if name in LOWER_IS_BETTER else (0.0, 1.0)
        found[name] = Range(
            whole[0] if low is None else low.range.floor,
            whole[1] if ends is None else ends.range.ceiling,
        )
    return found


def _of_topic(p: float | None, correct: bool | None) -> Iterator[tuple[str, Range | None]]:
    """An answer's Brier score, correctness and confidence."""
    right = OPEN if correct is None else Range.certain(float(correct))
    errors = [0.0, 1.0] if p is None else [(p - one) ** 2 for one in right]
    yield "Brier", Range(max(errors), min(errors))
    yield "Accuracy", right
    yield "Confidence", None if p is None else Range.certain(p)


def _silent(table: ConfidenceTable) -> dict[str, tuple[str, ...]]:
    """For each run, the topics that only other runs have a row for."""
    topics = dict.fromkeys(row.topic for row in table.rows)
    absent = {}
    for run in table.runs:
        own = {row.topic for row in table.of(run)}
        absent[run] = tuple(topic for topic in topics if topic not in own)
    return absent


def _reason(correct: npt.NDArray[np.bool_]) -> str:
    """Why a run has an undefined measure: AUROC needs right and wrong answers, others any."""
    if not len(correct):
        return "no answer has both a confidence and a correctness"
    return f"all answers are {'right' if correct.all() else 'wrong'}"
