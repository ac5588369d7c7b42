"""``assay correlate``: whether two tables of scores rank runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.api.correlating import COLUMNS, Correlated, correlate_files
from assay.cli.common import forms, is_share, plot_option, present, remark, seed_option
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.reports.statistics_plots import save_scatter
from assay.statistics.shared_scores import Missing


@forms("json", "csv")
def correlate_command(
    a: Annotated[
        Path, Argument("A", "Scores (CSV or TSV: run, [topic,] score), taken as the truth.")
    ],
    b: Annotated[Path, Argument("B", "Scores of the same runs, taken as the estimate.")],
    score: Annotated[
        list[str] | None,
        Option(
            "The score's column or measure; A:NAME and B:NAME if the files use different names.",
            metavar="NAME",
        ),
    ] = None,
    missing: Annotated[
        Missing,
        Option(
            "Topics that some run lacks: 'topics' leaves them out for all runs, 'cells' for that "
            "run only; 'zero' counts them as 0."
        ),
    ] = "topics",
    p: Annotated[float, Option("Persistence parameter p of RBO.", flag="--rbo-p")] = 0.9,
    plot: Annotated[Path | None, plot_option("the scatter plot")] = None,
    seed: Annotated[int, seed_option("Seed of the bootstrap over topics.")] = 0,
) -> None:
    """Correlate two score tables: Kendall's tau-b, Spearman's rho, AP correlation, RBO.

    Computed in three settings: run means (runs), mean over topics (topics-mean), and all topic-run
    pairs (pairs). Higher scores are better. Intervals (95 %) resample topics.
    """
    is_share(p, "--rbo-p")
    found = correlate_files(
        (a, b), _names(score or []), missing=missing, p=p, seed=seed, note=remark
    )
    if plot is not None:
        means = [(one.run, one.first, one.second) for one in found.report.run_means]
        axes = [
            f"{file.name}: {table.name}" for file, table in zip((a, b), found.tables, strict=True)
        ]
        save_scatter(plot, means, list(found.points()), (axes[0], axes[1]), found.taus())
    present(
        found.document,
        _people(found, plot),
        (COLUMNS, found.rows()),
        (*found.findings(), *found.undefined("Empty")),
    )


def _names(given: Sequence[str]) -> tuple[str | None, str | None]:
    """The scores named by ``--score``, for A and for B."""
    names: dict[str, str] = {}
    for text in given:
        side, colon, name = text.partition(":")
        sides = [side] if colon and side in ("A", "B") else ["A", "B"]
        for one in sides:
            if one in names:
                raise typer.BadParameter(
                    f"names two scores for {one}; write --score A:NAME --score B:NAME",
                    param_hint="--score",
                )
            names[one] = name if len(sides) == 1 else text
    return names.get("A"), names.get("B")


def _people(found: Correlated, plot: Path | None) -> Iterator[Table | str]:
    topics = found.report.topics
    # Without topics there are no other settings; a remark below says so.
    rows = [row for row in found.rows() if row[0] == "runs" or topics]
    yield Table("Correlation", COLUMNS, rows, digits=4)
    a, b = (f"{one.name} of {file}" for one, file in zip(found.tables, found.files, strict=True))
    yield f"A is {a} (the truth for ap), B is {b}. RBO with p = {found.p:g}."
    yield from found.findings()
    if len(topics) > 1:
        yield (
            f"{counted(len(topics), 'topic')} in both. Low and high: 95 % bootstrap interval over "
            f"topics, seed {found.seed}."
        )
    yield from found.undefined("–")
    if plot is not None:
        yield f"Plot: {plot}"
