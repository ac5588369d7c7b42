"""What ``assay compare`` compares: matrices of topics × runs, from a file or qrels and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import typer

from assay.cli.common import topics_file
from assay.cli.statistics import all_used, note, used
from assay.formats.confidence_matrices import ConfidenceMatrix, read_confidences
from assay.formats.parsed import Parsed, listed, printable
from assay.formats.score_cells import same_name, split_end
from assay.formats.score_matrices import ScoreMatrix, read_matrix
from assay.formats.trec import read_qrels, read_topic_list
from assay.formats.trec_fast import read_runs
from assay.measures import Measure, parse_measure
from assay.measures.frames import RunScores, run_scores, to_judgements
from assay.measures.hits import Judgements
from assay.model.errors import Fault, FormatError, SettingsError
from assay.reports.text import counted
from assay.statistics.confidence import MEASURES

__all__ = ["Confidences", "confidence_measure", "read_matrices"]


@dataclass(frozen=True, slots=True)
class Confidences:
    """What to compare by a measure of confidence, or by an end of it (``HMR:floor``)."""

    name: str
    matrix: ConfidenceMatrix


def confidence_measure(name: str) -> str | None:
    """The measure of confidence that a score, or an end of it, is of; None where it is none."""
    return next((one for one in MEASURES if same_name(one, split_end(name)[0])), None)


def read_matrices(
    files: Sequence[Path], matrix: Path | None, measures: Sequence[str], topics: str
) -> Sequence[ScoreMatrix | Confidences]:
    """The matrices of topics × runs to compare, one a measure.

    Args:
        files: qrels and runs; empty with *matrix*.
        matrix: a file of scores in their place; a measure of confidence that it has no scores of
            single topics for is taken from the confidences that it holds.
        measures: the measures as ``-m`` names them, perhaps several in a text; of *matrix* the
            names of its scores.
        topics: ``qrels`` or ``answered``: which topics of the qrels count; or a file of those that
            do.

    Raises:
        typer.BadParameter: arguments that do not go together, or a name that is no measure.
        FormatError: files cannot be read or have faults; it holds those of all files.
        SettingsError: two runs of one name, or too few topics to compare on.
    """
    names = _split(measures)
    if matrix is not None:
        if files:
            raise typer.BadParameter("give either --matrix or qrels and runs", param_hint="QRELS")
        tables = all_used(partial(_table, matrix, name) for name in (names or (None,)))
        if len(tables) > 1 and isinstance(tables[0], ScoreMatrix) and tables[0].wide:
            shown_path = printable(str(matrix))
            raise typer.BadParameter(f"{shown_path} holds one score only", param_hint="-m")
        return tables
    if len(files) < 3:
        raise typer.BadParameter(
            "give qrels and at least two runs, or a table of scores", param_hint="QRELS RUN..."
        )
    if not names:
        raise typer.BadParameter("say by which measure, e.g. -m nDCG@20", param_hint="-m")
    try:
        wanted = {name: parse_measure(name) for name in names}
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="-m") from None
    return _scored(files[0], files[1:], wanted, topics)


def _table(path: Path, name: str | None) -> Parsed[ScoreMatrix | Confidences]:
    scores = read_matrix(path, name, option="-m")
    measure = name and confidence_measure(name)
    if scores.ok or not name or not measure:
        return Parsed(scores.value, scores.faults)
    end = split_end(name)[1]
    found = read_confidences(path, measure, end)
    if found.value is None or not found.ok:
        return Parsed(None, found.faults)
    shown = measure if end is None else f"{measure}:{end}"
    return Parsed(Confidences(shown, found.value), found.faults)


def _split(names: Sequence[str]) -> list[str]:
    """Repeated options that may hold lists; commas inside of brackets belong to a measure."""
    parts = [part.strip() for name in names for part in re.split(r",(?![^()]*\))", name)]
    return list(dict.fromkeys(part for part in parts if part))


def _scored(
    qrels: Path, files: Sequence[Path], wanted: Mapping[str, Measure], topics: str
) -> list[ScoreMatrix]:
    """The matrices of topics × runs that ``assay measure`` takes its means of.

    Everything is read, so that all faults of all files come at once.
    """
    names: list[str] = []
    scores: list[RunScores] = []
    faults: list[Fault] = []
    try:
        judged, faults = _judgements(qrels, topics_file(topics))
        for batch in read_runs(files, judged):
            for fault in (fault for warnings in batch.warnings for fault in warnings):
                note(fault)
            if faults:
                continue
            names += batch.names
            scores += run_scores(batch.hits, judged, list(wanted.values()), batch.unjudged)
    except FormatError as error:
        faults += error.faults
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    if faults:
        raise FormatError(faults)
    _check_names(names, files)
    names = [printable(name) for name in names]
    kept = np.ones(len(judged.topics), dtype=np.bool_)
    for name, one in zip(names, scores, strict=True):
        _say_what_lacks(name, one)
        if topics == "answered":
            kept &= one.answered
    return [_matrix(name, measure, names, scores, kept) for name, measure in wanted.items()]


def _judgements(qrels: Path, topics: Path | None) -> tuple[Judgements, list[Fault]]:
    """The qrels, over the topics of a file where there is one; or all their faults, and none of
    their topics for the runs to be read against."""
    try:
        judged = to_judgements(used(read_qrels(qrels)).grades)
        if topics is not None:
            wanted = used(read_topic_list(topics))
            judged = judged.over(wanted)
        return judged, []
    except FormatError as error:
        return Judgements({"": {}}), list(error.faults)


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


def _say_what_lacks(name: str, scores: RunScores) -> None:
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
    kept: npt.NDArray[np.bool_],
) -> ScoreMatrix:
    table = np.column_stack([one.values[measure] for one in scores])
    undefined = np.asarray(~np.isfinite(table).all(axis=1))
    topics = scores[0].topics
    if undefined[kept].any():
        lost = [topics[place] for place in np.flatnonzero(undefined & kept)]
        note(
            f"{name} is undefined for some run on {counted(len(lost), 'topic')}, left out for all "
            f"runs: {listed(lost, 10)}."
        )
    used_topics = kept & ~undefined
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
