"""``assay measure``: ranking measures of TREC runs, as a table, CSV, JSON or trec_eval's lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
    safe,
)
from assay.formats.parsed import listed
from assay.formats.trec import read_qrels
from assay.formats.trec_fast import read_runs
from assay.measures import Measure, parse_measure
from assay.measures.frames import RunScores, run_scores, to_judgements
from assay.measures.hits import Judgements
from assay.measures.order import TIES, Ties
from assay.model.errors import SettingsError

DEFAULTS = ("nDCG@20", "AP", "RR")
HEADER = ("run", "topic", "measure", "value")
_SEVERAL_CUTOFFS = re.compile(r"(?P<stem>[A-Za-z_]+)\.(?P<cutoffs>[0-9]+(?:,[0-9]+)*)")

Topics = Literal["qrels", "answered"]
Row = tuple[str, str, str, float | None]


@dataclass(frozen=True, slots=True)
class _Scored:
    """The scores of all runs, by the names that are shown."""

    runs: Mapping[str, RunScores]
    measures: Mapping[str, Measure]
    topics: Topics

    def rows(self, *, per_topic: bool, means: bool = True) -> Iterator[Row]:
        """Rows run by run and measure by measure: single topics if wanted, then the mean."""
        for run, scores in self.runs.items():
            for name, measure in self.measures.items():
                if per_topic:
                    values = scores.values[measure].tolist()
                    for topic, value, answered in zip(
                        scores.topics, values, scores.answered, strict=True
                    ):
                        if answered or self.topics == "qrels":
                            yield run, topic, name, value
                if means:
                    yield run, "all", name, scores.mean(measure, topics=self.topics)


def measure_command(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="Relevance grades, TREC qrels.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="TREC run files.")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="NAME",
            help="A measure, e.g. nDCG@20, 'Q(beta=1)@20', AP, or trec_eval's ndcg_cut_20, map; "
            f"may be given again. Without any: {', '.join(DEFAULTS)}.",
        ),
    ] = None,
    per_topic: Annotated[
        bool, typer.Option("--per-topic", "-q", help="Single topics too, not only the mean.")
    ] = False,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            help="What the mean is taken over: 'qrels' for all topics of the qrels, 0 where the "
            "run is silent; 'answered' for those that the run has, as trec_eval without -c.",
        ),
    ] = "qrels",
    ties: Annotated[
        str,
        typer.Option(
            "--ties",
            help="Equal scores: 'trec' compares 32-bit scores, then document ids, last first; "
            "'file' compares 64-bit scores, then keeps the file's order.",
        ),
    ] = "trec",
    g_max: Annotated[
        float | None,
        typer.Option("--g-max", metavar="G", help="Highest grade of the scale [the qrels' own]."),
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    as_trec: Annotated[
        bool, typer.Option("--trec", help="Print lines as trec_eval does: measure, topic, value.")
    ] = False,
) -> None:
    """Measure runs against relevance grades: nDCG, Q, AP, ERR, iRBU, RBP, P, RR and more.

    Files may be compressed with gzip or bzip2; columns are separated by tabs or spaces.
    """
    if topics not in ("qrels", "answered"):
        raise typer.BadParameter("must be 'qrels' or 'answered'", param_hint="--topics")
    if ties not in TIES:
        raise typer.BadParameter("must be 'trec' or 'file'", param_hint="--ties")
    if as_json + as_csv + as_trec > 1:
        raise typer.BadParameter("choose one of --json, --csv and --trec")
    wanted = _measures(measures or DEFAULTS)
    parsed = read_qrels(qrels)
    grades = parsed.require().grades
    for fault in parsed.warnings:
        _note(str(fault))
    try:
        judged = to_judgements(grades, g_max=g_max)
        found = _score(runs, judged, list(wanted.values()), ties)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    scored = _Scored(found, wanted, cast("Topics", topics))
    _notes(scored, judged)
    if as_json:
        _print_json(scored, judged, per_topic=per_topic, ties=ties)
    elif as_csv:
        print_csv(HEADER, scored.rows(per_topic=per_topic))
    elif as_trec:
        _print_trec(scored, per_topic=per_topic)
    else:
        _print_table(scored, judged, per_topic=per_topic, ties=ties)


def _measures(names: Sequence[str]) -> dict[str, Measure]:
    """Measures by the names that they were asked for by."""
    wanted: dict[str, Measure] = {}
    for given in names:
        for name in _spelt_out(given.strip()):
            try:
                wanted[name] = parse_measure(name)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint="-m") from None
    return wanted


def _spelt_out(name: str) -> list[str]:
    """``P.5,10`` of trec_eval's command line is printed as ``P_5`` and ``P_10``."""
    match = _SEVERAL_CUTOFFS.fullmatch(name)
    if match is None:
        return [name]
    return [f"{match['stem']}_{cutoff}" for cutoff in match["cutoffs"].split(",")]


def _score(
    paths: Sequence[Path], judged: Judgements, measures: Sequence[Measure], ties: Ties
) -> dict[str, RunScores]:
    """Scores by run; runs of one name get their files' names added."""
    names: list[str] = []
    scores: list[RunScores] = []
    for batch in read_runs(paths, judged, ties=ties):
        for warnings in batch.warnings:
            for fault in warnings:
                _note(str(fault))
        names += batch.names
        scores += run_scores(batch.hits, judged, measures, batch.unjudged)
    twice = {name for name in names if names.count(name) > 1}
    for number, path in enumerate(paths):
        if names[number] in twice:
            names[number] = f"{names[number]} ({path})"
    if twice:
        _note(
            f"Several files hold a run of the same name ({listed(sorted(twice), 5)}): "
            "their paths are added to the names."
        )
    if len(set(names)) < len(names):
        raise SettingsError("A run file is given twice: give each file once.")
    return dict(zip(names, scores, strict=True))


# --- what is shown -------------------------------------------------------------------------------


def _note(text: str) -> None:
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def _notes(scored: _Scored, judged: Judgements) -> None:
    """Say what the means stand on where it is not what one would expect."""
    total = len(judged.topics)
    if judged.without_relevant:
        count = len(judged.without_relevant)
        _note(
            f"{count} of {total} topics of the qrels have no relevant document (grade 1 or more); "
            f"no run can score there: {listed(judged.without_relevant, 10)}."
        )
    counted = "they count as 0" if scored.topics == "qrels" else "they are left out of the mean"
    for run, scores in scored.runs.items():
        if scores.missing:
            _note(
                f"Run {run} has no documents for {len(scores.missing)} of {total} topics of the "
                f"qrels, {counted}: {listed(scores.missing, 10)}."
            )
        if scores.unjudged:
            _note(
                f"Run {run} has {len(scores.unjudged)} topics that the qrels lack, they are not "
                f"scored: {listed(scores.unjudged, 10)}."
            )


def _print_json(scored: _Scored, judged: Judgements, *, per_topic: bool, ties: str) -> None:
    print_json(
        {
            "scores": [
                dict(zip(HEADER, row, strict=True)) for row in scored.rows(per_topic=per_topic)
            ],
            "runs": {
                run: {
                    "answered": len(scores.topics) - len(scores.missing),
                    "missing": scores.missing,
                    "unjudged": scores.unjudged,
                }
                for run, scores in scored.runs.items()
            },
            "measures": {name: str(measure) for name, measure in scored.measures.items()},
            "topics": scored.topics,
            "ties": ties,
            "g_max": judged.g_max,
            "without_relevant": judged.without_relevant,
        }
    )


def _print_trec(scored: _Scored, *, per_topic: bool) -> None:
    """Print all topics first and the means last, as trec_eval does; a block for each run."""
    for run, scores in scored.runs.items():
        lines = [] if len(scored.runs) == 1 else [f"runid\tall\t{run}"]
        one = _Scored({run: scores}, scored.measures, scored.topics)
        if per_topic:
            by_topic: dict[str, list[Row]] = {}
            for row in one.rows(per_topic=True, means=False):
                by_topic.setdefault(row[1], []).append(row)
            lines += [_trec_line(row) for rows in by_topic.values() for row in rows]
        lines += [_trec_line(row) for row in one.rows(per_topic=False)]
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _trec_line(row: Row) -> str:
    _, topic, name, value = row
    return f"{name}\t{topic}\t{'' if value is None else f'{value:.4f}'}"


def _print_table(scored: _Scored, judged: Judgements, *, per_topic: bool, ties: str) -> None:
    table = plain_table("Measures")
    table.add_column("run", overflow="fold")
    if per_topic:
        table.add_column("topic", overflow="fold")
    for name in scored.measures:
        table.add_column(safe(name), justify="right", overflow="fold")
    lines: dict[tuple[str, str], list[float | None]] = {}
    for run, topic, _, value in scored.rows(per_topic=per_topic):
        lines.setdefault((run, topic), []).append(value)
    for (run, topic), values in lines.items():
        shown = ["–" if value is None else f"{value:.4f}" for value in values]
        place = [safe(run), safe(topic)] if per_topic else [safe(run)]
        table.add_row(*place, *shown)
    out().print(table)
    over = "all topics of the qrels" if scored.topics == "qrels" else "the topics answered"
    out().print(
        f"Means over {over} ({len(judged.topics)} in the qrels). Equal scores: {ties}. "
        f"Highest grade: {judged.g_max:g}.",
        markup=False,
    )
