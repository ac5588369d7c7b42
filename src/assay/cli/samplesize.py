"""``assay samplesize``: how many topics an experiment needs, and what power one had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from assay.api.samplesizes import COLUMNS, POWER_COLUMNS, Designs, designs
from assay.cli.common import CsvOption, JsonOption, present, remark
from assay.page.tables import Table, Value
from assay.page.wording import number

T = TypeVar("T")

_MIND = (0.05, 0.1, 0.2)
_RUNS = (2, 5, 10, 20, 50, 100)


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
    files = matrices or []
    if power and not files:
        raise typer.BadParameter("needs the matrix of an experiment", param_hint="--power")
    if variance is not None and files:
        raise typer.BadParameter("give either matrices or --variance", param_hint="--variance")
    if variance is None and not files:
        raise typer.BadParameter("give at least one matrix, or --variance", param_hint="MATRIX.csv")
    minds = _values(mind, "--mind", _number, _MIND)
    found = designs(
        files,
        score,
        variance=variance,
        sizes=not power,
        alphas=_values(alpha, "--alpha", _share, (0.05,)),
        betas=_values(beta, "--beta", _share, (0.2,)),
        minds=minds,
        runs=_values(m, "--m", _two_or_more, _RUNS),
        widths=_values(width, "--width", _number, minds),
        note=remark,
    )
    rows = [tuple(getattr(row, name) for name in COLUMNS) for row in found.rows]
    powers = (row for one in found.experiments for row in one.power_rows())
    present(
        found.document,
        _people(found, sizes=not power),
        (POWER_COLUMNS, powers) if power else (COLUMNS, rows),
        as_json=as_json,
        as_csv=as_csv,
    )


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


def _number(text: str, least: float = 0, most: float = math.inf) -> float:
    """A number strictly between two."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("is not a number")
    if not least < value < most:
        ends = f"between {least} and {most}" if most < math.inf else f"greater than {least}"
        raise ValueError(f"must be {ends}")
    return value


def _share(text: str) -> float:
    return _number(text, most=1)


def _two_or_more(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 2 <= int(text) <= 10**6):
        raise ValueError("must be a whole number from 2")
    return int(text)


def _people(found: Designs, *, sizes: bool) -> Iterator[Table | str]:
    if found.experiments:
        yield from _experiments(found)
    if not sizes:
        return
    yield Table(
        f"Topics needed, variance {found.variance.value:.6g}",
        COLUMNS,
        [
            (
                row.design,
                f"{row.alpha:g}",
                "–" if row.beta is None else f"{row.beta:g}",
                f"{row.mind:g}",
                str(row.m),
                row.topics,
            )
            for row in found.rows
        ],
        numbers=frozenset(COLUMNS[1:]),
    )
    yield (
        "mind is the difference to detect (of an interval: its expected width); m the number of "
        "runs."
    )


def _experiments(found: Designs) -> Iterator[Table | str]:
    rows: list[tuple[Value, ...]] = [
        (one.path.name, len(one.matrix.topics), len(one.matrix.runs), one.variance.degrees,
         number(one.variance.value, 8))
        for one in found.experiments
    ]  # fmt: skip
    pooled = found.variance
    if len(rows) > 1:
        rows.append(("pooled", "", "", pooled.degrees, number(pooled.value, 8)))
    columns = ("matrix", "topics", "runs", "degrees", "variance")
    yield Table("Residual variance", columns, rows, numbers=frozenset(columns[1:]))
    yield Table(
        "Power that the experiment had",
        ("matrix", "alpha", "difference", "paired-t", "anova", "expected width"),
        [
            (one.path.name, f"{alpha:g}", had.difference, had.paired_t, had.anova, had.width)
            for one in found.experiments
            for alpha, had in one.powers
        ],
        digits=4,
        numbers=frozenset(("alpha",)),
    )
    yield (
        "Power with the experiment's own topics and runs: first for the observed range of the run "
        "means, which says no more than the p-value does, then for the differences of --mind. "
        "Expected width is that of the interval of a difference."
    )
    yield ""
