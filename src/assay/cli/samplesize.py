"""``assay samplesize``: how many topics an experiment needs, and what power one had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from assay.api.samplesizes import (
    COLUMNS,
    POWER_COLUMNS,
    SIMULATED,
    Demands,
    Designs,
    SimulatedDesigns,
    SimulatedPower,
    designs,
)
from assay.cli.common import forms, present, remark, seed_option
from assay.model.options import Argument, Option
from assay.page.tables import Table, Value
from assay.page.wording import number
from assay.statistics.confidence_sizes import MOST_QUESTIONS, SimulatedRow
from assay.statistics.samplesize import SizeRow

T = TypeVar("T")

_MIND = (0.05, 0.1, 0.2)
_RUNS = (2, 5, 10, 20, 50, 100)


@forms("json", "csv")
def samplesize_command(
    matrices: Annotated[
        list[Path] | None,
        Argument(
            "MATRIX.csv...",
            "Scores of topics x runs: one column per run, or run,topic,score; for a confidence "
            "measure run,topic,confidence,correct, or per_topic.csv.",
        ),
    ] = None,
    variance: Annotated[float | None, Option("Use this variance instead of a matrix.")] = None,
    alpha: Annotated[list[str] | None, Option("Significance levels (default: 0.05).")] = None,
    beta: Annotated[
        list[str] | None, Option("Risks of missing the difference (default: 0.2).")
    ] = None,
    mind: Annotated[
        list[str] | None, Option("Smallest differences to detect (default: 0.05,0.1,0.2).")
    ] = None,
    m: Annotated[
        list[str] | None, Option("Numbers of runs to compare (default: 2,5,10,20,50,100).")
    ] = None,
    width: Annotated[
        list[str] | None, Option("Widths of the interval (default: those of --mind).")
    ] = None,
    score: Annotated[
        str | None,
        Option(
            "Which score of a table run,topic,score to use; or HMR, R_O, ECE, ... for confidences.",
            metavar="NAME",
        ),
    ] = None,
    power: Annotated[
        bool, Option("Show only the power that the experiments had with their own topics.")
    ] = False,
    draws: Annotated[
        int, Option("Simulated samples for HMR and similar measures.", least=100)
    ] = 2000,
    seed: Annotated[int, seed_option("Seed of these samples.")] = 0,
) -> None:
    """Compute how many topics are needed, by Sakai's three designs, from the residual variance.

    paired-t: power of a paired t-test. anova: power of a one-way ANOVA over m runs. interval:
    expected width of the interval of a difference (the column mind holds this width). You can
    repeat an option or give it a list: --mind 0.05,0.1.

    HMR and similar measures are not means over topics. With --score HMR, topics of a pilot are
    resampled instead. paired: a difference is found. interval, interval-run: the width of the
    interval of a difference or of a single run. worst: for the pair of runs that needs most topics.
    """
    files = matrices or []
    if power and not files:
        raise typer.BadParameter("needs the matrix of an experiment", param_hint="--power")
    if variance is not None and files:
        raise typer.BadParameter("give either matrices or --variance", param_hint="--variance")
    if variance is None and not files:
        raise typer.BadParameter("give at least one matrix, or --variance", param_hint="MATRIX.csv")
    minds = _values(mind, "--mind", _number, _MIND)
    demands = Demands(
        alphas=_values(alpha, "--alpha", _share, (0.05,)),
        betas=_values(beta, "--beta", _share, (0.2,)),
        minds=minds,
        runs=_values(m, "--m", _two_or_more, _RUNS),
        widths=_values(width, "--width", _number, minds),
    )
    found = designs(
        files,
        score,
        demands,
        variance=variance,
        sizes=not power,
        draws=draws,
        seed=seed,
        note=remark,
    )
    if isinstance(found, SimulatedDesigns):
        shown = _simulated(found, sizes=not power)
        columns: Sequence[str] = SIMULATED
        power_columns: Sequence[str] = SimulatedPower._fields
        powers: Iterable[tuple[object, ...]] = found.powers
    else:
        shown = _people(found, sizes=not power)
        columns, power_columns = COLUMNS, POWER_COLUMNS
        powers = (row for one in found.experiments for row in one.power_rows())
    rows = (tuple(getattr(row, name) for name in columns) for row in found.rows)
    present(found.document, shown, (power_columns, powers) if power else (columns, rows))


def _values(
    given: Sequence[str] | None,
    option: str,
    read: Callable[[str], T],
    default: Sequence[T],
) -> tuple[T, ...]:
    """The values of an option that can be repeated and can contain lists."""
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
    """Parse a number strictly between two bounds."""
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
        raise ValueError("must be a whole number of at least 2")
    return int(text)


def _people(found: Designs, *, sizes: bool) -> Iterator[Table | str]:
    if found.experiments:
        yield from _experiments(found)
    if not sizes:
        return
    yield _needed(f"Topics needed, variance {found.variance.value:.6g}", COLUMNS, found.rows)
    yield (
        "mind is the difference to detect (for an interval: its expected width); m is the number "
        "of runs."
    )


def _needed(title: str, columns: tuple[str, ...], rows: Sequence[SizeRow | SimulatedRow]) -> Table:
    """The number of topics that each design needs."""

    def cell(row: SizeRow | SimulatedRow, name: str) -> Value:
        value = getattr(row, name)
        if name in ("alpha", "beta", "mind"):
            return "–" if value is None else f"{value:g}"
        if name == "worst" and row.beta is None:
            return "–"
        return value or f"> {MOST_QUESTIONS:,}" if name in ("topics", "worst") else str(value)

    cells = [tuple(cell(row, name) for name in columns) for row in rows]
    return Table(title, columns, cells, numbers=frozenset(columns[1:]))


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


def _simulated(found: SimulatedDesigns, *, sizes: bool) -> Iterator[Table | str]:
    columns = ("matrix", "topics", "runs", "alpha", "mind", "power", "least", "width", "single")
    yield Table(
        f"What the pilot could show for {found.measure}",
        columns,
        [
            (
                Path(one.matrix).name,
                one.topics,
                one.m,
                f"{one.alpha:g}",
                f"{one.mind:g}",
                one.power,
                one.least_power,
                one.width,
                one.run_width,
            )
            for one in found.powers
        ],
        digits=4,
        numbers=frozenset(columns[1:]),
    )
    yield (
        "power: how often a difference of mind between two runs is found, on average over all "
        "pairs; least: for the pair that varies most. width: of the interval of a difference; "
        "single: of the interval of a single run."
    )
    if not sizes:
        return
    yield ""
    title = f"Topics needed for {found.measure}, simulated from the pilot's"
    yield _needed(title, SIMULATED, found.rows)
    yield (
        "mind is the difference to detect (for an interval: its width); worst is the pair of runs "
        "that needs most topics. Accurate to a few per cent if future topics are like those of "
        f"the pilot: {found.draws:,} samples, seed {found.seed}."
    )
