"""Number of topics an experiment needs, and the power of a finished one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.api.compared import Comparable, confidence_measure, read_table
from assay.api.reading import Note, all_used
from assay.formats.confidence_matrices import ConfidenceMatrix
from assay.formats.score_matrices import ScoreMatrix
from assay.model.errors import SettingsError
from assay.model.wording import printable
from assay.statistics.confidence_sizes import Pilot, SimulatedRow, Simulation, simulated_sizes
from assay.statistics.samplesize import (
    AchievedPower,
    SizeRow,
    Variance,
    achieved_power,
    pooled_variance,
    residual_variance,
    size_table,
)

COLUMNS = ("design", "alpha", "beta", "mind", "m", "topics")
POWER_COLUMNS = ("matrix", "alpha", "mind", "m", "topics", "paired_t", "anova", "width")
SIMULATED = ("design", "alpha", "beta", "mind", "topics", "worst")


@dataclass(frozen=True, slots=True)
class Experiment:
    """A finished experiment: its scores, their residual variance, and pairs of a level and the
    power achieved at it; first for the observed range of run means, unless that is 0."""

    path: Path
    matrix: ScoreMatrix
    variance: Variance
    powers: tuple[tuple[float, AchievedPower], ...]

    def power_rows(self) -> Iterator[tuple[object, ...]]:
        """The cells under :data:`POWER_COLUMNS`."""
        for alpha, had in self.powers:
            yield (
                str(self.path), alpha, had.difference, had.runs, had.topics, had.paired_t,
                had.anova, had.width,
            )  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        names = ("alpha", "mind", "paired_t", "anova", "width")
        powers = (dict(zip(POWER_COLUMNS, row, strict=True)) for row in self.power_rows())
        return {
            **_about(self.path, self.matrix, score=self.matrix.name),
            "variance": self.variance.value,
            "degrees": self.variance.degrees,
            "power": [{name: row[name] for name in names} for row in powers],
        }


@dataclass(frozen=True, slots=True)
class Designs:
    """Numbers of topics, from the variance of experiments (``estimated``) or a given one."""

    rows: Sequence[SizeRow]
    experiments: Sequence[Experiment]
    variance: Variance
    estimated: bool

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "rows": self.rows,
            "variance": self.variance.value,
            "degrees": self.variance.degrees if self.estimated else None,
            "matrices": [one.document() for one in self.experiments],
        }


def _about(path: Path, matrix: Comparable, **more: str) -> dict[str, Any]:
    """A file of scores, as JSON."""
    return {
        "file": str(path),
        **more,
        "topics": len(matrix.topics),
        "runs": len(matrix.runs),
        "topics_left_out": matrix.left_out,
        "runs_left_out": matrix.runs_left_out,
    }


class SimulatedPower(NamedTuple):
    """Power of a pilot to detect a difference ``mind``, see
    :class:`assay.statistics.confidence_sizes.Forecast`."""

    matrix: str
    alpha: float
    mind: float
    m: int
    topics: int
    power: float
    least_power: float
    width: float
    run_width: float


@dataclass(frozen=True, slots=True)
class SimulatedDesigns:
    """Numbers of topics for a measure of confidence, simulated from pilots with their power."""

    measure: str
    rows: Sequence[SimulatedRow]
    pilots: Sequence[tuple[Path, ConfidenceMatrix]]
    powers: Sequence[SimulatedPower]
    draws: int
    seed: int

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "measure": self.measure,
            "rows": self.rows,
            "matrices": [
                {
                    **_about(path, matrix),
                    "power": [
                        {name: value for name, value in row._asdict().items() if name != "matrix"}
                        for row in self.powers
                        if row.matrix == str(path)
                    ],
                }
                for path, matrix in self.pilots
            ],
            "settings": {"draws": self.draws, "seed": self.seed},
        }


@dataclass(frozen=True, slots=True)
class Demands:
    """Requirements on the number of topics: levels, risks of missing the difference, differences
    to detect, numbers of runs (for scores by topic) and widths of intervals."""

    alphas: Sequence[float]
    betas: Sequence[float]
    minds: Sequence[float]
    runs: Sequence[int]
    widths: Sequence[float]


def designs(
    files: Sequence[Path],
    score: str | None,
    demands: Demands,
    *,
    variance: float | None,
    sizes: bool,
    draws: int,
    seed: int,
    note: Note,
) -> Designs | SimulatedDesigns:
    """Numbers of topics needed (only with ``sizes``), and the power of the experiments in
    ``files``; for a measure of confidence by simulation (``draws``, ``seed``). Raises FormatError
    with the faults of all files, SettingsError for unusable scores or values."""
    read = (partial(read_table, path, score, "--score") for path in files)
    tables: list[Comparable] = all_used(read, note)
    matrices = [one for one in tables if isinstance(one, ScoreMatrix)]
    pilots = [one for one in tables if isinstance(one, ConfidenceMatrix)]
    if matrices and pilots:
        raise SettingsError(
            f"Some files hold {score} of single topics, others confidences: give only one kind."
        )
    try:
        if pilots:
            return _simulated(files, pilots, demands, sizes=sizes, draws=draws, seed=seed)
        done = [
            _experiment(path, matrix, demands.alphas, demands.minds)
            for path, matrix in zip(files, matrices, strict=True)
        ]
        pooled = (
            pooled_variance(one.variance for one in done)
            if variance is None
            else Variance(variance, 1)
        )
        rows = size_table(
            pooled.value,
            alphas=demands.alphas,
            betas=demands.betas,
            differences=demands.minds,
            runs=demands.runs,
            widths=demands.widths,
        )
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    return Designs(rows if sizes else [], done, pooled, variance is None)


def _simulated(
    files: Sequence[Path],
    tables: Sequence[ConfidenceMatrix],
    demands: Demands,
    *,
    sizes: bool,
    draws: int,
    seed: int,
) -> SimulatedDesigns:
    measure = confidence_measure(tables[0].name) or tables[0].name
    pilots = [Pilot.of(one.confidences, one.correct) for one in tables]
    powers: list[SimulatedPower] = []
    for path, table, pilot in zip(files, tables, pilots, strict=True):
        n, m = len(table.topics), len(table.runs)
        had = Simulation([pilot], measure, draws=draws, seed=seed)
        for alpha in demands.alphas:
            power, least, width, run_width = had.forecast(n, alpha, demands.minds)
            powers += (
                SimulatedPower(
                    str(path), alpha, mind, m, n, float(one), float(two), width, run_width
                )
                for mind, one, two in zip(demands.minds, power, least, strict=True)
            )
    rows: list[SimulatedRow] = []
    if sizes:
        rows = simulated_sizes(
            Simulation(pilots, measure, draws=draws, seed=seed),
            alphas=demands.alphas,
            betas=demands.betas,
            differences=demands.minds,
            widths=demands.widths,
        )
    pairs = list(zip(files, tables, strict=True))
    return SimulatedDesigns(tables[0].name, rows, pairs, powers, draws, seed)


def _experiment(
    path: Path, matrix: ScoreMatrix, alphas: Sequence[float], minds: Sequence[float]
) -> Experiment:
    powers = [
        (alpha, achieved_power(matrix.scores, alpha=alpha, min_difference=mind))
        for alpha in alphas
        for mind in (None, *minds)
    ]
    known = tuple((alpha, power) for alpha, power in powers if power is not None)
    if not known:
        raise SettingsError(
            f"{printable(str(path))}: the residual variance is 0, because runs differ by the same "
            "amount on every topic. Any number of topics is then enough. Is this a matrix of "
            "scores?"
        )
    return Experiment(path, matrix, residual_variance(matrix.scores), known)
