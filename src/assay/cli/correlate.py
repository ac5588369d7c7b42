"""``assay correlate``: whether two tables of scores rank runs alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json
from assay.cli.statistics import LEVEL, note, one_of, one_output, plot_file, shown, used
from assay.formats.parsed import listed, printable
from assay.formats.score_tables import ScoreTable, read_scores
from assay.model.errors import SettingsError
from assay.reports.statistics_plots import save_scatter
from assay.reports.text import counted
from assay.statistics.correlation import CorrelationReport, Missing, correlate, correlate_runs

HEADER = ("setting", "measure", "value", "low", "high", "n")
SETTINGS = ("runs", "topics-mean", "pairs")
MEASURES = ("tau", "rho", "ap", "rbo")
Row = tuple[str, str, float | None, float | None, float | None, int]

_SHOWN = 10


def correlate_command(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="Scores (CSV or TSV: run, [topic,] score): truth.")
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Scores of the same runs: estimate.")],
    score: Annotated[
        list[str] | None,
        typer.Option(
            "--score",
            metavar="NAME",
            help="The score's column or measure; A:NAME and B:NAME where the files' differ.",
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="Topics that some run lacks: 'topics' leaves them out for all runs, 'cells' for "
            "that run, 'zero' counts 0.",
        ),
    ] = "topics",
    p: Annotated[float, typer.Option("--rbo-p", help="Persistence of RBO.")] = 0.9,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the scatter plot (.svg, .pdf or .png).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap over topics.")] = 0,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Correlation of two score tables: Kendall's tau-b, Spearman's rho, AP correlation, RBO.

    In three settings: run means (runs), mean over topics (topics-mean), all topic-run pairs
    (pairs). Higher scores are better. Intervals (95 %) resample topics.
    """
    one_output(as_json=as_json, as_csv=as_csv)
    one_of(missing, get_args(Missing), "--missing")
    if not 0 < p < 1:
        raise typer.BadParameter("must be between 0 and 1", param_hint="--rbo-p")
    plot_file(plot)
    names = _names(score or [])
    first, second = used(read_scores(a, names[0])), used(read_scores(b, names[1]))
    both = bool(first.by_topic) and bool(second.by_topic)
    try:
        if both:
            report = correlate(
                first.by_topic,
                second.by_topic,
                p=p,
                missing=cast("Missing", missing),
                level=LEVEL,
                seed=seed,
            )
        else:
            report = correlate_runs(first.run_scores(), second.run_scores(), p=p)
    except ValueError as error:
        raise SettingsError(f"{a} and {b}: {error}.{_cure(str(error))}") from None
    rows = _rows(report)
    if plot is not None:
        points = _points(report, first, second, missing) if both else []
        means = [(one.run, one.first, one.second) for one in report.run_means]
        axes = (f"{a.name}: {first.name}", f"{b.name}: {second.name}")
        save_scatter(plot, means, points, axes, _taus(report))
    if as_json:
        print_json(_document(report, rows, (first, second), (a, b), missing, p, seed))
    elif as_csv:
        for line in _findings(report, missing):
            note(line)
        print_csv(HEADER, rows)
    else:
        _show(report, rows, (first, second), (a, b), missing, p, seed)
        if plot is not None:
            out().print(f"Plot: {plot}", markup=False, soft_wrap=True)


def _names(given: Sequence[str]) -> tuple[str | None, str | None]:
    """The scores that ``--score`` names for A and for B."""
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


def _cure(why: str) -> str:
    if "no topic is left" in why:
        return " Try --missing cells."
    if "at least 2 are needed" in why:
        return " Runs are the same where their names are; write these alike in both files."
    return ""


def _points(
    report: CorrelationReport, first: ScoreTable, second: ScoreTable, missing: str
) -> list[tuple[float, float]]:
    """The two scores of every topic and run that the correlation rests on."""
    points = []
    for one in report.run_means:
        for topic in report.topics:
            x = first.by_topic[one.run].get(topic)
            y = second.by_topic[one.run].get(topic)
            if missing == "zero":
                x, y = x or 0.0, y or 0.0
            if x is not None and y is not None:
                points.append((x, y))
    return points


def _taus(report: CorrelationReport) -> list[str]:
    """Kendall's tau in each setting, as the plot shows it."""
    names = {"runs": "runs", "topics-mean": "mean of topics", "pairs": "topic–run pairs"}
    return [
        f"τ {names[one.setting]}: {shown(one.value, 3)}"
        for one in report.rows
        if one.measure == "tau"
    ]


# --- output --------------------------------------------------------------------------------------


def _rows(report: CorrelationReport) -> list[Row]:
    known = {(one.setting, one.measure): one for one in report.rows}
    rows: list[Row] = []
    for setting in SETTINGS:
        for measure in MEASURES:
            one = known.get((setting, measure))
            if one is None:
                rows.append((setting, measure, None, None, None, 0))
                continue
            low = one.interval.low if one.interval else None
            high = one.interval.high if one.interval else None
            rows.append((setting, measure, one.value, low, high, one.n))
    return rows


def _document(
    report: CorrelationReport,
    rows: Iterable[Row],
    tables: tuple[ScoreTable, ScoreTable],
    files: tuple[Path, Path],
    missing: str,
    p: float,
    seed: int,
) -> dict[str, Any]:
    return {
        "rows": [dict(zip(HEADER, row, strict=True)) for row in rows],
        "files": {"A": str(files[0]), "B": str(files[1])},
        "scores": {"A": tables[0].name, "B": tables[1].name},
        "runs": [
            {"run": one.run, "A": one.first, "B": one.second, "topics": one.topics}
            for one in report.run_means
        ],
        "topics": report.topics,
        "runs_only_A": report.runs_only_first,
        "runs_only_B": report.runs_only_second,
        "topics_only_A": report.topics_only_first,
        "topics_only_B": report.topics_only_second,
        "missing": [{"run": run, "topic": topic} for run, topic in report.missing],
        "topics_left_out": report.topics_left_out,
        "settings": {"missing": missing, "rbo_p": p, "level": LEVEL, "seed": seed},
    }


def _show(
    report: CorrelationReport,
    rows: Iterable[Row],
    tables: tuple[ScoreTable, ScoreTable],
    files: tuple[Path, Path],
    missing: str,
    p: float,
    seed: int,
) -> None:
    table = plain_table("Correlation")
    for name in HEADER:
        table.add_column(name, justify="left" if name in ("setting", "measure") else "right")
    for setting, measure, *numbers, n in rows:
        if setting == "runs" or report.topics:  # else it needs topics, which is said below
            table.add_row(setting, measure, *map(shown, numbers), f"{n:,}")
    out().print(table)
    for line in _remarks(report, tables, files, missing, p, seed):
        out().print(line, markup=False, soft_wrap=True)


def _remarks(
    report: CorrelationReport,
    tables: tuple[ScoreTable, ScoreTable],
    files: tuple[Path, Path],
    missing: str,
    p: float,
    seed: int,
) -> Iterable[str]:
    yield (
        f"A is {tables[0].name} of {printable(str(files[0]))} (the truth of ap), "
        f"B is {tables[1].name} of {printable(str(files[1]))}. RBO with p = {p:g}."
    )
    yield from _findings(report, missing)
    if not report.topics:
        yield (
            "Runs only: a file has no scores of single topics, so there are no intervals and no "
            "other settings."
        )
    elif len(report.topics) == 1:
        yield "No intervals: there is one topic only."
    else:
        yield (
            f"{counted(len(report.topics), 'topic')} in both. Low and high: 95 % bootstrap over "
            f"topics, seed {seed}."
        )
    if any(row.value is None for row in report.rows):
        yield "– is undefined: all scores of a table are equal there."


def _findings(report: CorrelationReport, missing: str) -> Iterable[str]:
    """Runs and topics that the numbers leave out."""
    for side, runs, topics in (
        ("A", report.runs_only_first, report.topics_only_first),
        ("B", report.runs_only_second, report.topics_only_second),
    ):
        if runs:
            yield f"Runs in {side} only, left out ({len(runs)}): {_some(runs)}."
        if topics:
            yield f"Topics in {side} only, left out ({len(topics)}): {_some(topics)}."
    if report.missing:
        pairs = [f"{run} {topic}" for run, topic in report.missing]
        topics_left_out = counted(len(report.topics_left_out), "topic")
        what = {
            "topics": f"{topics_left_out} left out for all runs",
            "cells": "left out for these runs",
            "zero": "counted as 0",
        }
        yield f"Missing scores ({len(pairs)}): {_some(pairs)}; {what[missing]}."


def _some(names: Sequence[str]) -> str:
    return listed(names, _SHOWN)
