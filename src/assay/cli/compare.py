"""``assay compare``: which differences between runs are real."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from assay.api.compare_inputs import Comparable, compared
from assay.cli.common import CsvOption, JsonOption, out, print_csv, print_json, topics_file
from assay.cli.compare_inputs import read_matrices
from assay.cli.compare_shown import (
    HEADER,
    TESTS,
    Compared,
    document,
    hopeless,
    pair_rows,
    panel,
    show,
    undefined,
    without_p,
)
from assay.cli.statistics import LEVEL, note, one_of, one_output, plot_file
from assay.formats.confidence_matrices import ConfidenceMatrix
from assay.formats.score_matrices import ScoreMatrix
from assay.model.errors import SettingsError
from assay.model.wording import printable
from assay.reports.statistics_plots import save_differences
from assay.statistics.comparison import Test


def compare_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="QRELS RUN...",
            help="Qrels and TREC runs; or one table of scores (as --matrix).",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="M",
            help="Measure, e.g. nDCG@20; repeatable. Of a table: the score's name, or HMR, R_O, "
            "R_U, ECE, MCE, Brier, KS, AUROC where it has confidences; NAME:floor or NAME:ceiling "
            "where scores are ranges.",
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            "--matrix",
            metavar="FILE.csv",
            help="Scores instead of qrels and runs: a column a run, or run,topic,score.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            help="tukey | t | randomisation | bootstrap (default: tukey; of confidences, "
            "randomisation).",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Level at which runs count as different.")
    ] = 0.05,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            metavar="qrels|answered|FILE",
            help="'qrels': a topic that a run is silent on counts 0; 'answered': topics that some "
            "run is silent on are left out for all runs; a file with one topic id a line: these, "
            "0 where a run is silent or nothing is judged.",
        ),
    ] = "qrels",
    permutations: Annotated[
        int,
        typer.Option(
            "--permutations", min=1, help="Random draws of a test that is too large to be exact."
        ),
    ] = 10_000,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the intervals of differences (.svg, .pdf or .png)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all random draws.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Which differences between runs are real: every pair with interval, p-value and effect size.

    Intervals (95 %) resample topics and are not adjusted; effect is the difference over the
    residual standard deviation. Runs that share a letter do not differ.
    """
    one_output(as_json=as_json, as_csv=as_csv)
    one_of(test or "tukey", tuple(TESTS), "--test")
    topics_file(topics)
    if not 0 < alpha < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint="--alpha")
    plot_file(plot)
    settings: dict[str, Any] = {
        "alpha": alpha, "level": LEVEL, "permutations": permutations, "seed": seed,
    }  # fmt: skip
    found = []
    given = files or []
    if matrix is None and len(given) == 1:
        matrix = given.pop()
    for one in read_matrices(given, matrix, measures or [], topics):
        try:
            found.append(_compared(one, test, settings))
        except ValueError as error:
            raise SettingsError(f"{one.name}: {error}.") from None
        result = found[-1].result
        cannot_tell = hopeless(result)
        if cannot_tell:
            note(cannot_tell)
        without = without_p(result)
        if without and (as_json or as_csv):
            note(f"{one.name}: {without}")
    if plot is not None:
        save_differences(plot, [panel(one) for one in found])
    rows = [row for one in found for row in pair_rows(one)]
    policy = "matrix" if matrix is not None else topics
    if as_json:
        tests = list(dict.fromkeys(one.result.test for one in found))
        used = {"test": tests[0] if len(tests) == 1 else tests, "topics": policy, **settings}
        print_json(document(rows, found, used))
    elif as_csv:
        for done in found:
            for line in undefined("Empty", done):
                note(line)
        print_csv(HEADER, rows)
    else:
        for done in found:
            show(done, policy, seed)
        if plot is not None:
            out().print(f"Plot: {printable(str(plot))}", markup=False, soft_wrap=True)


def _compared(one: Comparable, test: str | None, settings: Mapping[str, Any]) -> Compared:
    if isinstance(one, ScoreMatrix):
        matrix: ScoreMatrix | ConfidenceMatrix = one
    else:
        matrix = one.matrix
        if test not in (None, "randomisation"):
            raise typer.BadParameter(
                f"{one.name} is no mean over topics: its test is 'randomisation'",
                param_hint="--test",
            )
    result = compared(one, note, test=cast("Test | None", test), **settings)
    return Compared(one.name, matrix, result)
