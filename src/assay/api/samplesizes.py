"""How many topics an experiment needs, and what power one had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.api.reading import Note, all_used
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

COLUMNS = ("design", "alpha", "beta", "mind", "m", "topics")
POWER_COLUMNS = ("matrix", "alpha", "mind", "m", "topics", "paired_t", "anova", "width")


@dataclass(frozen=True, slots=True)
class Experiment:
    """A finished experiment: its scores, their residual variance, and the power it had, with the
    level of each; first for the observed range of run means, unless that is 0."""

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
        """As JSON has it."""
        names = ("alpha", "mind", "paired_t", "anova", "width")
        powers = (dict(zip(POWER_COLUMNS, row, strict=True)) for row in self.power_rows())
        return {
            "file": str(self.path),
            "score": self.matrix.name,
            "topics": len(self.matrix.topics),
            "runs": len(self.matrix.runs),
            "topics_left_out": self.matrix.left_out,
            "runs_left_out": self.matrix.runs_left_out,
            "variance": self.variance.value,
            "degrees": self.variance.degrees,
            "power": [{name: row[name] for name in names} for row in powers],
        }


@dataclass(frozen=True, slots=True)
class Designs:
    """Numbers of topics, from the variance of experiments or a given one (``estimated`` is not)."""

    rows: Sequence[SizeRow]
    experiments: Sequence[Experiment]
    variance: Variance
    estimated: bool

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "variance": self.variance.value,
            "degrees": self.variance.degrees if self.estimated else None,
            "matrices": [one.document() for one in self.experiments],
        }


def designs(
    files: Sequence[Path],
    score: str | None,
    *,
    variance: float | None,
    sizes: bool,
    alphas: Sequence[float],
    betas: Sequence[float],
    minds: Sequence[float],
    runs: Sequence[int],
    widths: Sequence[float],
    note: Note,
) -> Designs:
    """How many topics are needed (not without ``sizes``), and the power that the experiments of
    ``files`` had. Raises FormatError with the faults of all files, SettingsError for scores or
    values that say nothing."""
    tables = all_used((partial(read_matrix, path, score) for path in files), note)
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
        rows = size_table(
            pooled.value, alphas=alphas, betas=betas, differences=minds, runs=runs, widths=widths
        )
    except ValueError as error:
        raise SettingsError(f"{error}.") from None
    return Designs(rows if sizes else [], done, pooled, variance is None)


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
            f"{printable(str(path))}: the residual variance is 0: all runs differ by the same on "
            "every topic, so that any number of topics is enough. Is this a matrix of scores?"
        )
    return Experiment(path, matrix, residual_variance(matrix.scores), known)
