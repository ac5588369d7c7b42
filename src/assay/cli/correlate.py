"""``assay correlate``: whether two tables of scores rank runs alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json
from assay.cli.statistics import (
    LEVEL,
    RESAMPLES,
    all_used,
    explained,
    no_interval,
    note,
    one_of,
    one_output,
    plot_file,
    shown,
    undefined_resamples,
    undefined_values,
)
from assay.formats.score_tables import ScoreTable, read_scores
from assay.model.errors import SettingsError
from assay.model.wording import counted, listed, printable
from assay.reports.statistics_plots import save_scatter
from assay.statistics.correlation import (
    CorrelationReport,
    Missing,
    Scores,
    correlate,
    correlate_runs,
)

HEADER = ("setting", "measure", "value", "low", "high", "n")
SETTINGS = ("runs", "topics-mean", "pairs")
MEASURES = ("tau", "rho", "ap", "rbo")

_SHOWN = 10
_NO_TOPICS = "a file has no scores of single topics"


@dataclass(frozen=True, slots=True)
class _Row:
    """A coefficient in one setting, why it or its interval is not there, and how many resamples
    the interval leaves out."""

    setting: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None
    undefined: int = 0

    @property
    def cells(self) -> tuple[str, str, float | None, float | None, float | None, int]:
        """As in :data:`HEADER`."""
        return (self.setting, self.measure, self.value, self.low, self.high, self.n)


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
    first, second = all_used(
        partial(read_scores, file, name) for file, name in zip((a, b), names, strict=True)
    )
    both = bool(first.by_topic) and bool(second.by_topic)
    try:
        if both:
            report = correlate(
                first.by_topic,
                second.by_topic,
                p=p,
                missing=cast("Missing", missing),
                level=LEVEL,
                resamples=RESAMPLES,
                seed=seed,
            )
        else:
            policy = cast("Missing", missing)
            report = correlate_runs(_whole(first), _whole(second), p=p, missing=policy)
    except ValueError as error:
        files = printable(f"{a} and {b}")
        raise SettingsError(f"{files}: {error}.{_cure(str(error))}") from None
    rows = _rows(report)
    if plot is not None:
        points = _points(report, first, second, missing) if both else []
        means = [(one.run, one.first, one.second) for one in report.run_means]
        axes = (f"{a.name}: {first.name}", f"{b.name}: {second.name}")
        save_scatter(plot, means, points, axes, _taus(report))
    if as_json:
        print_json(_document(report, rows, (first, second), (a, b), missing, p, seed))
    elif as_csv:
        for line in (*_findings(report, missing), *_undefined("Empty", report)):
            note(line)
        print_csv(HEADER, [row.cells for row in rows])
    else:
        _show(report, rows, (first, second), (a, b), missing, p, seed)
        if plot is not None:
            out().print(f"Plot: {printable(str(plot))}", markup=False, soft_wrap=True)


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


def _whole(table: ScoreTable) -> Mapping[str, float | None] | Scores:
    """One score a run where the file gives it, else the scores that it is the mean of."""
    return table.means if table.has_own_means else table.by_topic


def _cure(why: str) -> str:
    if "share none" in why:
        return " Topics are the same where their ids are; write these alike in both files."
    if "no topic is left" in why:
        return " Try --missing cells."
    if "no topic that both" in why:
        return " Write its topics alike in both files, or leave the run out."
    if "without a score" in why:
        return " Write the scores of these runs."
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


def _rows(report: CorrelationReport) -> list[_Row]:
    known = {(one.setting, one.measure): one for one in report.rows}
    rows: list[_Row] = []
    for setting in SETTINGS:
        for measure in MEASURES:
            one = known.get((setting, measure))
            if one is None:
                rows.append(_Row(setting, measure, None, None, None, 0, _NO_TOPICS))
            elif one.interval is None:
                lacks = no_interval(len(report.topics)) if report.topics else _NO_TOPICS
                reason = one.reason or lacks
                rows.append(_Row(setting, measure, one.value, None, None, one.n, reason))
            else:
                low, high, undefined = one.interval.low, one.interval.high, one.interval.undefined
                rows.append(_Row(setting, measure, one.value, low, high, one.n, None, undefined))
    return rows


def _undefined(mark: str, report: CorrelationReport) -> Iterator[str]:
    """What is undefined and why, and in how many resamples."""
    named = [(f"{one.setting} {one.measure}", one) for one in report.rows]
    yield from undefined_values(mark, ((name, one.reason) for name, one in named))
    yield from undefined_resamples(
        (name, one.interval.undefined if one.interval else 0) for name, one in named
    )


def _document(
    report: CorrelationReport,
    rows: Iterable[_Row],
    tables: tuple[ScoreTable, ScoreTable],
    files: tuple[Path, Path],
    missing: str,
    p: float,
    seed: int,
) -> dict[str, Any]:
    return {
        "rows": [
            explained(dict(zip(HEADER, row.cells, strict=True)), row.reason, row.undefined)
            for row in rows
        ],
        "files": {"A": str(files[0]), "B": str(files[1])},
        "scores": {"A": tables[0].name, "B": tables[1].name},
        "runs": [
            {"run": one.run, "A": one.first, "B": one.second, "topics": one.topics}
            for one in report.run_means
        ],
        "topics": report.topics,
        "runs_only_A": report.runs_only_first,
        "runs_only_B": report.runs_only_second,
        "runs_unscored_A": report.runs_unscored_first,
        "runs_unscored_B": report.runs_unscored_second,
        "topics_only_A": report.topics_only_first,
        "topics_only_B": report.topics_only_second,
        "missing": [{"run": run, "topic": topic} for run, topic in report.missing],
        "topics_left_out": report.topics_left_out,
        "settings": {
            "missing": missing,
            "rbo_p": p,
            "level": LEVEL,
            "resamples": RESAMPLES,
            "seed": seed,
        },
    }


def _show(
    report: CorrelationReport,
    rows: Iterable[_Row],
    tables: tuple[ScoreTable, ScoreTable],
    files: tuple[Path, Path],
    missing: str,
    p: float,
    seed: int,
) -> None:
    table = plain_table("Correlation")
    for name in HEADER:
        table.add_column(name, justify="left" if name in ("setting", "measure") else "right")
    for setting, measure, *numbers, n in (row.cells for row in rows):
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
) -> Iterator[str]:
    yield (
        f"A is {tables[0].name} of {printable(str(files[0]))} (the truth of ap), "
        f"B is {tables[1].name} of {printable(str(files[1]))}. RBO with p = {p:g}."
    )
    yield from _findings(report, missing)
    if len(report.topics) > 1:
        yield (
            f"{counted(len(report.topics), 'topic')} in both. Low and high: 95 % bootstrap over "
            f"topics, seed {seed}."
        )
    yield from _undefined("–", report)


def _findings(report: CorrelationReport, missing: str) -> Iterator[str]:
    """Runs, topics and intervals that the numbers leave out."""
    for side, runs, unscored, topics in (
        ("A", report.runs_only_first, report.runs_unscored_first, report.topics_only_first),
        ("B", report.runs_only_second, report.runs_unscored_second, report.topics_only_second),
    ):
        if runs:
            yield f"Runs in {side} only, left out ({len(runs)}): {_some(runs)}."
        if unscored:
            yield (
                f"Runs without a usable score in {side}, left out ({len(unscored)}): "
                f"{_some(unscored)}."
            )
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
    if not report.topics:
        yield f"Runs only: {_NO_TOPICS}, so there are no intervals and no other settings."
    elif len(report.topics) == 1:
        yield "No intervals: there is one topic only."


def _some(names: Sequence[str]) -> str:
    return listed(names, _SHOWN)
