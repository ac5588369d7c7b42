"""``assay confidence``: HMR and the calibration measures of a table of confidences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.api.confidences import BINS_LIMIT, NAMES, ConfidenceScores, confidences
from assay.cli.common import Paragraph, forms, plot_option, present, remark
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.protocols.scores import VALUE_COLUMNS
from assay.protocols.sheets import Topics
from assay.reports.leaderboards import rank_texts
from assay.reports.statistics_plots import save_confidence_plot


@forms("json", "csv")
def confidence_command(
    file: Annotated[
        Path, Argument("FILE.csv", "CSV with columns run, topic, confidence, correct.")
    ],
    bins: Annotated[int, Option("Number of bins for ECE and MCE.", least=1, most=BINS_LIMIT)] = 10,
    left_closed: Annotated[bool, Option("Close bins on the left instead of the right.")] = False,
    topics: Annotated[
        Topics,
        Option(
            "How to treat topics for which a run has no row: 'all' counts them as incorrect with "
            "an unknown confidence (R2C2's rule); 'answered' leaves them out, along with rows "
            "that lack a value."
        ),
    ] = "all",
    per_topic: Annotated[
        bool, Option("Add each topic's Brier score, correctness and confidence.")
    ] = False,
    plot: Annotated[Path | None, plot_option("reliability and risk-coverage")] = None,
) -> None:
    """Compute HMR, R_O, R_U, ECE, MCE, Brier, KS, AUROC and accuracy of each run.

    Confidences are 0-100. If a confidence or correctness is empty, or a run has no row for a topic,
    scores are ranges from floor (worst) to ceiling (best).
    """
    closed: Literal["left", "right"] = "left" if left_closed else "right"
    found = confidences(
        file,
        bins=bins,
        closed=closed,
        answered=topics == "answered",
        per_topic=per_topic,
        note=remark,
    )
    if plot is not None:
        if not found.stated:
            raise typer.BadParameter("no run has a scored row to draw", param_hint="--plot")
        save_confidence_plot(plot, found.stated, bins, closed)
    present(
        found.document,
        _people(found, bins, plot),
        (VALUE_COLUMNS, found.rows()),
        found.undefined("Empty"),
    )


def _people(found: ConfidenceScores, bins: int, plot: Path | None) -> Iterator[Table | str]:
    values, counts = found.means, found.counts
    order = rank_texts(found.ranks())
    # Counts, except those that are 0 for all runs; n always.
    kinds = {"n": "scored", "missing": "missing", "left out": "left_out"}
    shown = {
        name: kind
        for name, kind in kinds.items()
        if name == "n" or any(getattr(one, kind) for one in counts.values())
    }
    yield Table(
        "Confidence",
        ("#", "run", *NAMES, *shown),
        [
            (
                rank,
                run,
                *(values[run][name] for name in NAMES),
                *(getattr(counts[run], kind) for kind in shown.values()),
            )
            for run, rank in order.items()
        ],
        digits=4,
        numbers=frozenset("#"),
    )
    yield Paragraph(
        f"ECE and MCE use {bins} bins. 'missing' rows have no confidence or no correctness; 'left "
        "out' topics count as incorrect with an unknown confidence. If either affects a score, it "
        "is shown as a range from worst to best."
    )
    yield from found.undefined("–")
    if plot is not None:
        yield f"Plot: {plot}"
