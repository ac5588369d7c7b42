"""Matrices of topics × runs to be compared: from a table of scores, or from qrels and runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.api.reading import Note, all_used
from assay.api.run_files import score_files
from assay.formats.confidence_matrices import ConfidenceMatrix, read_confidences
from assay.formats.parsed import Parsed
from assay.formats.score_cells import same_name, split_end
from assay.formats.score_matrices import ScoreMatrix, read_matrix
from assay.measures import Measure, parse_measure
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.confidence_ranges import confidence_ranges
from assay.measures.frames import RunScores
from assay.model.errors import SettingsError
from assay.model.wording import counted, listed, printable
from assay.statistics.comparison import (
    Comparison,
    Test,
    compare_confidences,
    compare_runs,
)
from assay.statistics.confidence import MEASURES


@dataclass(frozen=True, slots=True)
class Confidences:
    """What to compare by a measure of confidence, or by an end of it (``HMR:floor``)."""

    name: str
    matrix: ConfidenceMatrix


def confidence_measure(name: str) -> str | None:
    """The measure of confidence that a score, or an end of it, is of; None where it is none."""
    return next((one for one in MEASURES if same_name(one, split_end(name)[0])), None)


Comparable = ScoreMatrix | Confidences


def read_tables(
    path: Path, names: Sequence[str | None], note: Note, *, option: str = "-m"
) -> list[Comparable]:
    """The scores that ``names`` say of a table (None: its only one); those of a measure of
    confidence that it has no scores of single topics for are taken from the confidences that it
    holds. ``option`` is how messages call a name. Raises FormatError with all faults, ValueError
    for several names of a table of one score."""
    tables = all_used((partial(read_table, path, name, option) for name in names), note)
    if len(tables) > 1 and isinstance(tables[0], ScoreMatrix) and tables[0].wide:
        raise ValueError(f"{printable(str(path))} holds one score only")
    return tables


def read_table(path: Path, name: str | None, option: str) -> Parsed[Comparable]:
    """One score of a table, as :func:`read_tables` has it."""
    scores = read_matrix(path, name, option=option)
    measure = name and confidence_measure(name)
    if scores.ok or not name or not measure:
        return Parsed(scores.value, scores.faults)
    end = split_end(name)[1]
    found = read_confidences(
        path, measure, None if end is None else (end, partial(completed, measure, end))
    )
    if found.value is None or not found.ok:
        return Parsed(None, found.faults)
    shown = measure if end is None else f"{measure}:{end}"
    return Parsed(Confidences(shown, found.value), found.faults)


def completed(
    measure: str, end: str, p: Sequence[float], c: Sequence[float], left_out: int
) -> Iterable[tuple[float, float]]:
    """Confidence and correctness where the measure is at its end, or nearest to it that is
    known."""
    found = confidence_ranges(p, c, left_out=left_out)
    ends = found[measure] or found["Accuracy"]  # undefined however the rest turns out
    if ends is None:
        raise AssertionError("accuracy is defined for every run")
    done = ends.floor if end == "floor" else ends.ceiling
    return zip(done.p.tolist(), done.c.astype(float).tolist(), strict=True)


def compared(
    one: Comparable, note: Note, *, test: Test | None = None, seed: int = 0, **settings: Any
) -> Comparison:
    """Every pair of runs of a matrix. ``test`` is that of scores of topics (tukey where None); of
    confidences it is randomisation; ``settings`` are others of :func:`compare_runs`. Raises
    ValueError for what cannot be compared."""
    measure = confidence_measure(one.name)
    if isinstance(one, ScoreMatrix):
        lower = measure in LOWER_IS_BETTER
        settings |= {"test": test or "tukey", "seed": seed, "lower_is_better": lower}
        return compare_runs(one.scores, one.runs, **settings)
    if test not in (None, "randomisation"):
        raise ValueError(f"{one.name} is no mean over topics: its test is 'randomisation'")
    table = one.matrix
    arrays, name = (table.confidences, table.correct, table.runs), measure or one.name
    result = compare_confidences(*arrays, measure=name, seed=seed, **settings)
    without = [run for run in table.runs if run not in result.means]
    if without:
        note(f"{one.name} is undefined, so that it is left out, of {listed(without, 10)}.")
    return result


def score_runs(
    qrels: Path,
    files: Sequence[Path],
    measures: Sequence[str],
    note: Note,
    *,
    only: Path | None = None,
    answered: bool = False,
) -> list[ScoreMatrix]:
    """The scores of runs that ``assay measure`` takes its means of, a matrix a measure: over the
    topics of the file ``only`` where there is one, and with ``answered`` without those that some
    run is silent on. Everything is read, so that all faults of all files come at once
    (FormatError). Raises ValueError for a name that is no measure, SettingsError for two runs of
    one name, and too few topics."""
    wanted = {name: parse_measure(name) for name in measures}
    try:
        found = score_files(qrels, files, wanted.values(), note=note, only=only)
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    _check_names(found.names, files)
    names = [printable(name) for name in found.names]
    mask = np.ones(len(found.judged.topics), dtype=np.bool_)
    for name, one in zip(names, found.scores, strict=True):
        _say_what_lacks(name, one, note)
        if answered:
            mask &= one.answered
    return [
        _matrix(name, measure, names, found.scores, mask, note) for name, measure in wanted.items()
    ]


def _check_names(names: Sequence[str], files: Sequence[Path]) -> None:
    seen: dict[str, Path] = {}
    for name, file in zip(names, files, strict=True):
        if name in seen:
            both = printable(f"{seen[name]} and {file}")
            raise SettingsError(
                f"{both} are both runs named {printable(name)}: give each a name of its own in "
                "the last column, and each file once."
            )
        seen[name] = file


def _say_what_lacks(name: str, scores: RunScores, note: Note) -> None:
    if scores.missing:
        count = counted(len(scores.missing), "topic")
        note(f"Run {name} is silent on {count}: {listed(scores.missing, 10)}.")
    if scores.unjudged:
        count = counted(len(scores.unjudged), "topic")
        note(f"Run {name} has {count} not counted: {listed(scores.unjudged, 10)}.")


def _matrix(
    name: str,
    measure: Measure,
    runs: Sequence[str],
    scores: Sequence[RunScores],
    mask: npt.NDArray[np.bool_],
    note: Note,
) -> ScoreMatrix:
    table = np.column_stack([one.values[measure] for one in scores])
    undefined = np.asarray(~np.isfinite(table).all(axis=1))
    topics = scores[0].topics
    if undefined[mask].any():
        lost = [topics[place] for place in np.flatnonzero(undefined & mask)]
        note(
            f"{name} is undefined for some run on {counted(len(lost), 'topic')}, left out for all "
            f"runs: {listed(lost, 10)}."
        )
    used_topics = mask & ~undefined
    count = int(used_topics.sum())
    if count < 2:
        raise SettingsError(
            f"{name}: {counted(count, 'topic')} left to compare on, at least 2 are needed."
        )
    return ScoreMatrix(
        name=name,
        topics=tuple(topics[place] for place in np.flatnonzero(used_topics)),
        runs=tuple(runs),
        scores=tuple(map(tuple, table[used_topics].tolist())),
        left_out=tuple(topics[place] for place in np.flatnonzero(~used_topics)),
    )
