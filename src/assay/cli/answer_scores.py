"""What ``assay nuggets`` and ``assay support`` share: scores of label files, shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.table import Table

from assay.cli.common import err, out, print_csv, print_json, safe
from assay.formats.parsed import Parsed
from assay.measures.ranges import Range
from assay.model.errors import Fault, FormatError
from assay.model.wording import counted, listed
from assay.page.wording import span
from assay.protocols.scores import VALUE_COLUMNS, Score, ranks, value_row
from assay.protocols.trec_rag.scoring import Sheet, Topics, means
from assay.reports.leaderboards import rank_texts
from assay.reports.terminal import leaderboard, run_cell

T = TypeVar("T")

_RANGES = 3
"""Measures that a table of 80 columns has room for where some score is a range."""

TOPICS_HELP = (
    "What the mean is taken over: 'all' topics of the label files, 0 where the run is silent, or "
    "the topics 'answered' by the run."
)
_ALL = ("all", "qrels")


def chosen_topics(value: str) -> Topics:
    """``--topics`` as checked; ``qrels`` is ``all`` here."""
    if value in _ALL:
        return "all"
    if value != "answered":
        raise typer.BadParameter("must be 'all' or 'answered'", param_hint="--topics")
    return "answered"


def read_all(paths: Sequence[Path], read: Callable[[Path], Parsed[tuple[T, ...]]]) -> list[T]:
    """All records of the files; raises FormatError with the faults of *all* files."""
    faults: list[Fault] = []
    found: list[T] = []
    for path in paths:
        try:
            parsed = read(path)
        except FormatError as error:
            faults += error.faults
            continue
        faults += parsed.errors
        for fault in parsed.warnings:
            note(str(fault))
        found += parsed.value or ()
    if faults:
        raise FormatError(faults)
    return found


def refuse_twice(records: Sequence[Any], paths: Sequence[Path]) -> None:
    """Raise FormatError where two files hold the same run's answer to the same topic."""
    seen: set[tuple[str, str]] = set()
    for record in records:
        key = (record.run, record.topic)
        if key in seen:
            cure = "Give each answer in one file only."
            why = f"The answer of run {record.run} to this topic stands in two of the files."
            raise FormatError([Fault(str(paths[-1]), 0, record.topic, why, cure)])
        seen.add(key)


def note(text: str) -> None:
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def tell(sheet: Sheet, topics: Topics) -> None:
    """Say what the means stand on where it is not what one would expect."""
    all_topics = counted(len(sheet.topics), "topic")
    for measure in sheet.measures:
        without = sheet.without(measure)
        if without and len(without) < len(sheet.topics):
            note(
                f"{measure} is undefined in {len(without)} of {all_topics}, which "
                f"leave its mean for every run: {listed(sorted(without), 10)}."
            )
    so = "counted as 0" if topics == "all" else "left out of the mean"
    for run in sheet.values:
        silent = sheet.silent(run)
        if silent:
            note(
                f"Run {run} has no answer to {len(silent)} of {all_topics}, "
                f"{so}: {listed(silent, 10)}."
            )
        unjudged = sheet.unjudged(run)
        if unjudged:
            note(
                f"All that run {run} cites is unjudged (-1) in "
                f"{counted(len(unjudged), 'topic')}, left out of its means: {listed(unjudged, 10)}."
            )
        lacking = sheet.lacking(run)
        if lacking:
            note(
                f"Run {run} lacks labels in {counted(len(lacking), 'topic')}: the scores that need "
                f"them lie between two ends: {listed(lacking, 10)}."
            )


def show(
    title: str,
    sheet: Sheet,
    topics: Topics,
    *,
    per_topic: bool,
    as_json: bool,
    as_csv: bool,
    said: str,
    document: dict[str, Any],
    counts: Callable[[str], Sequence[tuple[str, str]]],
) -> None:
    """Print the scores; exit status 1 where labels are missing. ``counts`` are columns
    of a run beside its scores, ``document`` what the JSON says beside them."""
    table = means(sheet, topics=topics)
    missing = sum(one.missing for by_measure in table.values() for one in by_measure.values())
    if as_json:
        print_json(
            {
                "scores": list(_json_rows(sheet, table, topics, per_topic)),
                "topics": topics,
                "runs": {
                    run: {
                        "answered": len(sheet.values[run][sheet.measures[0]]),
                        "silent": sheet.silent(run),
                        "unjudged": sheet.unjudged(run),
                    }
                    for run in sheet.values
                },
                "undefined": {name: sorted(sheet.without(name)) for name in sheet.measures},
                "missing": missing,
                **document,
            }
        )
    elif as_csv:
        rows = (
            value_row(s.run, "all", s.measure, s.ends) for by in table.values() for s in by.values()
        )
        print_csv(VALUE_COLUMNS, (*rows, *(_topic_rows(sheet, topics) if per_topic else ())))
    else:
        _print_table(title, sheet, table, topics, per_topic, counts)
        over = f"all topics of the labels ({len(sheet.topics)}), 0 where a run is silent"
        if topics == "answered":
            over = "the topics that each run answers"
        out().print(f"Means over {over}. {said}", markup=False)
    if missing:
        raise typer.Exit(1)


def _topic_rows(sheet: Sheet, topics: Topics) -> Iterator[tuple[object, ...]]:
    for run in sheet.values:
        for measure, values in sheet.completed(run, topics).items():
            for topic, ends in values.items():
                yield value_row(run, topic, measure, ends)


def _json_rows(
    sheet: Sheet, table: dict[str, dict[str, Score]], topics: Topics, per_topic: bool
) -> Iterator[dict[str, Any]]:
    for scores in table.values():
        for one in scores.values():
            yield {
                "run": one.run,
                "topic": "all",
                "measure": one.measure,
                "value": one.value,
                "floor": one.floor,
                "ceiling": one.ceiling,
                "low": one.low,
                "high": one.high,
                "counted": one.topics,
                "missing": one.missing,
            }
    if per_topic:
        for row in _topic_rows(sheet, topics):
            yield dict(zip(VALUE_COLUMNS, row, strict=True))


def _print_table(
    title: str,
    sheet: Sheet,
    table: dict[str, dict[str, Score]],
    topics: Topics,
    per_topic: bool,
    counts: Callable[[str], Sequence[tuple[str, str]]],
) -> None:
    first = sheet.measures[0]
    order = rank_texts(ranks(table, first))
    every = (one for by_measure in table.values() for one in by_measure.values())
    known = all(one.value is not None or one.floor is None for one in every)
    # Ranges are wide: two tables then, as no number is ever cut.
    size = len(sheet.measures) if known else _RANGES
    for at in range(0, len(sheet.measures), size):
        measures = sheet.measures[at : at + size]
        out().print(
            _table(f"{title}, continued" if at else title, measures, sheet, table, order, topics,
                   per_topic, (lambda _: ()) if at else counts)
        )  # fmt: skip


def _table(
    title: str,
    measures: Sequence[str],
    sheet: Sheet,
    table: dict[str, dict[str, Score]],
    order: Mapping[str, str],
    topics: Topics,
    per_topic: bool,
    counts: Callable[[str], Sequence[tuple[str, str]]],
) -> Table:
    shown = leaderboard(title)
    if per_topic:
        shown.add_column("topic", overflow="fold")
    for name in measures:
        shown.add_column(name.replace("_", "\n"), justify="right")
    for name, _ in counts(next(iter(order))) if order and not per_topic else ():
        shown.add_column(name, justify="right")
    for run, rank in order.items():
        values = [table[run][name].ends for name in measures]
        ends = [] if per_topic else [value for _, value in counts(run)]
        shown.add_row(
            rank, run_cell(run), *(["all"] if per_topic else []), *map(_number, values), *ends
        )
        if per_topic:
            completed = sheet.completed(run, topics)
            for topic in completed[sheet.measures[0]]:
                cells = (_number(completed[name][topic]) for name in measures)
                shown.add_row("", "", safe(topic), *cells)
    return shown


def _number(ends: Range | None) -> str:
    return "–" if ends is None else span(*ends, 4)
