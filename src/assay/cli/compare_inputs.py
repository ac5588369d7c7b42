"""What ``assay compare`` compares: matrices of topics × runs, from a file or qrels and runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import typer

from assay.api.compare_inputs import Comparable, read_tables, score_runs
from assay.cli.common import topics_file
from assay.cli.statistics import note
from assay.formats.score_matrices import ScoreMatrix
from assay.measures import parse_measure
from assay.model.wording import printable


def read_matrices(
    files: Sequence[Path], matrix: Path | None, measures: Sequence[str], topics: str
) -> Sequence[Comparable]:
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
        tables = read_tables(matrix, names or [None], note)
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
    only, answered = topics_file(topics), topics == "answered"
    return score_runs(files[0], files[1:], wanted, note, only=only, answered=answered)


def _split(names: Sequence[str]) -> list[str]:
    """Repeated options that may hold lists; commas inside of brackets belong to a measure."""
    parts = [part.strip() for name in names for part in re.split(r",(?![^()]*\))", name)]
    return list(dict.fromkeys(part for part in parts if part))
