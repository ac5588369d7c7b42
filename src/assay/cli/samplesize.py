"""``assay samplesize``: how many topics an experiment needs, and what power one had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json
from assay.cli.statistics import all_used, one_output, shown
from assay.formats.score_matrices import ScoreMatrix, read_matrix
from assay.model.errors import SettingsError
from assay.model.wording import printable
from assay.statistics.samplesize import (
    AchievedPower,
    SizeRow,
    Variance,
    achieved_power,
    pooled_variance,
    residual_variance,
    size_table,
)

HEADER = ("design", "alpha", "beta", "mind", "m", "topics")
POWER_HEADER = ("matrix", "alpha", "mind", "m", "topics", "paired_t", "anova", "width")
T = TypeVar("T")

_MIND = (0.05, 0.1, 0.2)
_RUNS = (2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class _Experiment:
    """A finished experiment: its scores, their residual variance, and the power it had."""

    path: Path
    matrix: ScoreMatrix
    variance: Variance
    powers: tuple[tuple[float, AchievedPower], ...]
    """With the level of each; first for the observed range of run means, unless that is 0."""


def samplesize_command(
    matrices: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MATRIX.csv...",
            help="Scores of topics x runs: one column a run, or run,topic,score.",
        ),
    ] = None,
    variance: Annotated[
        float | None, typer.Option("--variance", help="Use this variance; no matrix is needed.")
    ] = None,
    alpha: Annotated[
        list[str] | None, typer.Option("--alpha", help="Levels; default 0.05.")
    ] = None,
    beta: Annotated[
        list[str] | None,
        typer.Option("--beta", help="Risks of missing the difference; default 0.2."),
    ] = None,
    mind: Annotated[
        list[str] | None,
        typer.Option("--mind", help="Smallest differences to detect; default 0.05,0.1,0.2."),
    ] = None,
    m: Annotated[
        list[str] | None,
        typer.Option("--m", help="Numbers of runs to compare; default 2,5,10,20,50,100."),
    ] = None,
    width: Annotated[
        list[str] | None,
        typer.Option("--width", help="Widths of the interval; default: those of --mind."),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option("--score", metavar="NAME", help="Which score of a table run,topic,score."),
    ] = None,
    power: Annotated[
        bool,
        typer.Option(
            "--power", help="Only the power that the experiments had, with their own topics."
        ),
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """How many topics are needed, by Sakai's three designs, from the residual variance.

    paired-t: power of a paired t-test. anova: power of a one-way ANOVA over m runs. interval:
    expected width of the interval of a difference (its width is the column mind). Options with
    several values may be repeated or hold a list: --mind 0.05,0.1.
    """
    one_output(as_json=as_json, as_csv=as_csv)
    files = matrices or []
    if power and not files:
        raise typer.BadParameter("needs the matrix of an experiment", param_hint="--power")
    if variance is not None and files:
        raise typer.BadParameter("give either matrices or --variance", param_hint="--variance")
    if variance is None and not files:
        raise typer.BadParameter("give at least one matrix, or --variance", param_hint="MATRIX.csv")
    alphas = _values(alpha, "--alpha", _share, (0.05,))
    betas = _values(beta, "--beta", _share, (0.2,))
    minds = _values(mind, "--mind", _positive, _MIND)
    runs = _values(m, "--m", _two_or_more, _RUNS)
    widths = _values(width, "--width", _positive, minds)
    tables = all_used(partial(read_matrix, path, score) for path in files)
    try:
        done = [
            _experiment(path, matrix, alphas, minds)
            for path, matrix in zip(files, tables, strict=True)
        ]
        pooled = (
            pooled_variance(one.variance for one in done)
            if variance is None
            else Variance(variance, 1)
        )
        rows = (
            []
            if power
            else size_table(
                pooled.value,
                alphas=alphas,
                betas=betas,
                differences=minds,
                runs=runs,
                widths=widths,
            )
        )
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    if as_json:
        print_json(_document(rows, done, pooled, variance is None))
    elif as_csv and power:
        print_csv(POWER_HEADER, [row for one in done for row in _power_cells(one)])
    elif as_csv:
        print_csv(HEADER, [_cells(row) for row in rows])
    else:
        if done:
            _show_experiments(done, pooled)
        if not power:
            _show_sizes(rows, pooled)


def _experiment(
    path: Path, matrix: ScoreMatrix, alphas: Sequence[float], minds: Sequence[float]
) -> _Experiment:
    variance = residual_variance(matrix.scores)
    powers = [
        (alpha, achieved_power(matrix.scores, alpha=alpha, min_difference=mind))
        for alpha in alphas
        for mind in (None, *minds)
    ]
    known = tuple((alpha, power) for alpha, power in powers if power is not None)
    if not known:
        raise SettingsError(
            f"{printable(str(path))}: the residual variance is 0: all runs differ by the same on "
            "every topic, so that any number of topics is enough. Is this a matrix of scores?"
        )
    return _Experiment(path, matrix, variance, known)


# --- options -------------------------------------------------------------------------------------


def _values(
    given: Sequence[str] | None,
    option: str,
    read: Callable[[str], T],
    default: Sequence[T],
) -> tuple[T, ...]:
    """The values of an option that may be repeated and may hold lists."""
    if not given:
        return tuple(default)
    found = []
    for part in (part for text in given for part in text.split(",")):
        try:
            found.append(read(part.strip()))
        except ValueError as error:
            raise typer.BadParameter(f"{part.strip()!r}: {error}", param_hint=option) from None
    return tuple(dict.fromkeys(found))


def _share(text: str) -> float:
    value = _finite(text)
    if not 0 < value < 1:
        raise ValueError("must be between 0 and 1")
    return value


def _positive(text: str) -> float:
    value = _finite(text)
    if value <= 0:
        raise ValueError("must be greater than 0")
    return value


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("is not a number")
    return value


def _two_or_more(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 2 <= int(text) <= 10**6):
        raise ValueError("must be a whole number from 2")
    return int(text)


# --- output --------------------------------------------------------------------------------------


def _cells(row: SizeRow) -> tuple[object, ...]:
    return (row.design, row.alpha, row.beta, row.mind, row.m, row.topics)


def _power_cells(one: _Experiment) -> list[tuple[object, ...]]:
    return [
        (
            str(one.path), alpha, had.difference, had.runs, had.topics, had.paired_t, had.anova,
            had.width,
        )
        for alpha, had in one.powers
    ]  # fmt: skip


def _document(
    rows: Iterable[SizeRow], done: Iterable[_Experiment], pooled: Variance, estimated: bool
) -> dict[str, Any]:
    return {
        "rows": [dict(zip(HEADER, _cells(row), strict=True)) for row in rows],
        "variance": pooled.value,
        "degrees": pooled.degrees if estimated else None,
        "matrices": [
            {
                "file": str(one.path),
                "score": one.matrix.name,
                "topics": len(one.matrix.topics),
                "runs": len(one.matrix.runs),
                "topics_left_out": one.matrix.left_out,
                "runs_left_out": one.matrix.runs_left_out,
                "variance": one.variance.value,
                "degrees": one.variance.degrees,
                "power": [
                    {
                        "alpha": alpha,
                        "mind": had.difference,
                        "paired_t": had.paired_t,
                        "anova": had.anova,
                        "width": had.width,
                    }
                    for alpha, had in one.powers
                ],
            }
            for one in done
        ],
    }


def _show_experiments(done: Sequence[_Experiment], pooled: Variance) -> None:
    table = plain_table("Residual variance")
    table.add_column("matrix", overflow="fold")
    for name in ("topics", "runs", "degrees", "variance"):
        table.add_column(name, justify="right")
    for one in done:
        topics, runs = len(one.matrix.topics), len(one.matrix.runs)
        table.add_row(
            Text(printable(one.path.name)), f"{topics:,}", f"{runs:,}", f"{one.variance.degrees:,}",
            shown(one.variance.value, 8),
        )  # fmt: skip
    if len(done) > 1:
        table.add_row("pooled", "", "", f"{pooled.degrees:,}", shown(pooled.value, 8))
    out().print(table)
    power = plain_table("Power that the experiment had")
    power.add_column("matrix", overflow="fold")
    for name in ("alpha", "difference", "paired-t", "anova", "expected width"):
        power.add_column(name, justify="right")
    for one in done:
        for alpha, had in one.powers:
            power.add_row(
                Text(printable(one.path.name)), f"{alpha:g}", shown(had.difference),
                shown(had.paired_t), shown(had.anova), shown(had.width),
            )  # fmt: skip
    out().print(power)
    out().print(
        "Power with the experiment's own topics and runs: first for the observed range of the run "
        "means, which says no more than the p-value does, then for the differences of --mind. "
        "Expected width is that of the interval of a difference.",
        soft_wrap=True,
    )
    out().print()


def _show_sizes(rows: Sequence[SizeRow], pooled: Variance) -> None:
    table = plain_table(f"Topics needed, variance {pooled.value:.6g}")
    for name in HEADER:
        table.add_column(name, justify="left" if name == "design" else "right")
    for row in rows:
        table.add_row(
            row.design, f"{row.alpha:g}", "–" if row.beta is None else f"{row.beta:g}",
            f"{row.mind:g}", str(row.m), f"{row.topics:,}",
        )  # fmt: skip
    out().print(table)
    out().print(
        "mind is the difference to detect (of an interval: its expected width); m the number of "
        "runs.",
        soft_wrap=True,
    )
