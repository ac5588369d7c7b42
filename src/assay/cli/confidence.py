"""``assay confidence``: HMR and the calibration measures of a table of confidences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import typer

from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json, safe
from assay.cli.statistics import explained, note, undefined_values, used
from assay.formats.confidence import ConfidenceTable, read_confidence
from assay.measures.confidence import confidence_measures
from assay.reports.confidence import save_confidence_plot

MEASURES = ("HMR", "R_O", "R_U", "ECE", "MCE", "Brier", "KS", "AUROC", "Accuracy")
_CONTINUED = ("ECE", "MCE", "Brier", "KS", "AUROC")
_SCORES = tuple(name for name in MEASURES if name not in _CONTINUED)
_WIDE = 120  # columns of a screen on which all measures stand in one line
Row = tuple[str, str, str, float | None]
Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]


def confidence_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="Columns run, topic, confidence, correct.")
    ],
    bins: Annotated[int, typer.Option("--bins", min=1, help="Bins of ECE and MCE.")] = 10,
    left_closed: Annotated[
        bool, typer.Option("--left-closed", help="Bins closed on the left instead of the right.")
    ] = False,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            help="Topics that a run has no row for: 'all' counts them as incorrect with "
            "confidence 0 (R2C2's rule), 'answered' leaves them out.",
        ),
    ] = "all",
    per_topic: Annotated[
        bool,
        typer.Option(
            "--per-topic", help="Add each topic's Brier score, correctness and confidence."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw reliability and risk-coverage (.svg, .pdf or .png)."),
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """HMR, R_O, R_U, ECE, MCE, Brier, KS, AUROC and accuracy of each run.

    Confidences are 0-100. Rows with an empty confidence or correctness are counted, not scored.
    """
    if topics not in ("all", "qrels", "answered"):
        raise typer.BadParameter("must be 'all' or 'answered'", param_hint="--topics")
    table = used(read_confidence(file))
    rows: list[Row] = []
    counts: dict[str, tuple[int, int, int]] = {}
    data: dict[str, Arrays] = {}
    reasons: dict[str, str] = {}
    closed: Literal["right", "left"] = "left" if left_closed else "right"
    silent = _silent(table) if topics != "answered" else {}
    for run in table.runs:
        scored = [row for row in table.of(run) if row.scored]
        left_out = silent.get(run, ())
        p = np.array([row.probability for row in scored] + [0.0] * len(left_out), dtype=float)
        c = np.array([bool(row.correct) for row in scored] + [False] * len(left_out))
        counts[run] = (len(p), len(table.of(run)) - len(scored), len(left_out))
        values: dict[str, float | None] = dict.fromkeys(MEASURES)
        if len(p):
            values = confidence_measures(p, c, bins=bins, closed=closed)
            data[run] = (p, c)
        if None in values.values():
            reasons[run] = _reason(c)
        rows.extend((run, "all", name, values[name]) for name in MEASURES)
        if per_topic:
            ids = [row.topic for row in scored] + list(left_out)
            for topic, one_p, one_c in zip(ids, p, c, strict=True):
                rows.append((run, topic, "Brier", float((one_p - one_c) ** 2)))
                rows.append((run, topic, "Accuracy", float(one_c)))
                rows.append((run, topic, "Confidence", float(one_p)))
    if plot is not None:
        if not data:
            raise typer.BadParameter("no run has a scored row to draw", param_hint="--plot")
        save_confidence_plot(plot, data, bins)
    if as_json:
        names = ("run", "topic", "measure", "value")
        print_json(
            {
                "scores": [
                    explained(
                        dict(zip(names, row, strict=True)),
                        reasons[row[0]] if row[3] is None else None,
                    )
                    for row in rows
                ],
                "runs": {
                    run: {"scored": n, "missing": missing, "left_out": absent}
                    for run, (n, missing, absent) in counts.items()
                },
            }
        )
    elif as_csv:
        for line in undefined_values("Empty", _undefined(rows, reasons)):
            note(line)
        print_csv(("run", "topic", "measure", "value"), rows)
    else:
        _print_table(rows, counts, bins)
        for line in undefined_values("–", _undefined(rows, reasons)):
            out().print(line, markup=False, soft_wrap=True)
        if plot is not None:
            out().print(f"Plot: {safe(plot)}", soft_wrap=True)


def _silent(table: ConfidenceTable) -> dict[str, tuple[str, ...]]:
    """For each run the topics that other runs have and it has no row for."""
    topics = dict.fromkeys(row.topic for row in table.rows)
    absent = {}
    for run in table.runs:
        own = {row.topic for row in table.of(run)}
        absent[run] = tuple(topic for topic in topics if topic not in own)
    return absent


def _reason(correct: npt.NDArray[np.bool_]) -> str:
    """Why a run has an undefined measure: AUROC needs right and wrong answers, others any."""
    if not len(correct):
        return "no answer has both a confidence and a correctness"
    return f"all answers are {'right' if correct.all() else 'wrong'}"


def _undefined(rows: list[Row], reasons: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for run, _, name, value in rows:
        if value is None:
            yield f"{run} {name}", reasons[run]


def _print_table(
    rows: list[Row],
    counts: dict[str, tuple[int, int, int]],
    bins: int,
) -> None:
    values = {(run, name): value for run, topic, name, value in rows if topic == "all"}
    runs = sorted(counts, key=lambda run: -(values[run, "HMR"] or 0.0))
    kinds = [
        (place, name)
        for place, name in enumerate(("n", "missing", "left out"))
        if name == "n" or any(count[place] for count in counts.values())
    ]
    # A narrow screen has no room for all measures in one line, and numbers are never cut.
    narrow = out().width < _WIDE
    groups = (_SCORES, _CONTINUED) if narrow else (MEASURES,)
    for group in groups:
        table = plain_table("Confidence, continued" if group is _CONTINUED else "Confidence")
        table.add_column("run", overflow="fold", min_width=8)
        shown = () if group is _CONTINUED else tuple(kinds)
        for name in (*group, *(name for _, name in shown)):
            table.add_column(name, justify="right")
        for run in runs:
            numbers = (values[run, name] for name in group)
            cells = ["–" if value is None else f"{value:.4f}" for value in numbers]
            table.add_row(safe(run), *cells, *(str(counts[run][place]) for place, _ in shown))
        out().print(table)
    out().print(
        f"ECE and MCE over {bins} bins. 'missing' rows have no confidence or no correctness and "
        "are not scored; 'left out' topics count as incorrect with confidence 0."
    )
