"""``assay confidence``: HMR and the calibration measures of a table of confidences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import typer

from assay.cli.common import CsvOption, JsonOption, out, plain_table, print_csv, print_json, safe
from assay.cli.statistics import explained, note, undefined_values, used
from assay.formats.confidence import ConfidenceRow, ConfidenceTable, read_confidence
from assay.measures.confidence import LOWER_IS_BETTER
from assay.measures.confidence_ranges import confidence_ranges
from assay.measures.ranges import Range
from assay.page.wording import span
from assay.protocols.scores import VALUE_COLUMNS, Score, ranks, value_row
from assay.reports.confidence import save_confidence_plot
from assay.reports.leaderboards import rank_texts

MEASURES = ("HMR", "R_O", "R_U", "ECE", "MCE", "Brier", "KS", "AUROC", "Accuracy")
_CONTINUED = ("ECE", "MCE", "Brier", "KS", "AUROC")
_SCORES = tuple(name for name in MEASURES if name not in _CONTINUED)
_WIDE = 120  # columns of a screen on which all measures stand in one line
Row = tuple[str, str, str, Range | None]
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
            help="Topics that a run has no row for: 'all' counts them as incorrect with an unknown "
            "confidence (R2C2's rule), 'answered' leaves them, and rows that lack a value, out.",
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

    Confidences are 0-100. Where a confidence or correctness is empty, or a run has no row for a
    topic, scores run from floor (worst) to ceiling (best).
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
        every = [row for row in table.of(run) if topics != "answered" or row.scored]
        left_out = silent.get(run, ())
        scored = [row for row in every if row.scored]
        counts[run] = (len(scored), len(table.of(run)) - len(scored), len(left_out))
        ranges = _ranges(every, len(left_out), bins=bins, closed=closed)
        p = np.array([row.probability for row in scored], dtype=np.float64)
        c = np.array([bool(row.correct) for row in scored], dtype=bool)
        if scored:
            data[run] = (p, c)
        if None in ranges.values():
            reasons[run] = _reason(c)
        rows.extend((run, "all", name, ranges[name]) for name in MEASURES)
        if per_topic:
            for row in every:
                rows.extend((run, row.topic, *each) for each in _of_topic(row))
            for topic in left_out:
                rows.append((run, topic, "Brier", Range(1.0, 0.0)))
                rows.append((run, topic, "Accuracy", Range.certain(0.0)))
                rows.append((run, topic, "Confidence", None))
    if plot is not None:
        if not data:
            raise typer.BadParameter("no run has a scored row to draw", param_hint="--plot")
        save_confidence_plot(plot, data, bins)
    if as_json:
        print_json(
            {
                "scores": [
                    explained(
                        dict(zip(VALUE_COLUMNS, value_row(*row), strict=True)),
                        reasons.get(row[0]) if row[3] is None else None,
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
        print_csv(VALUE_COLUMNS, (value_row(*row) for row in rows))
    else:
        _print_table(rows, counts, bins)
        for line in undefined_values("–", _undefined(rows, reasons)):
            out().print(line, markup=False, soft_wrap=True)
        if plot is not None:
            out().print(f"Plot: {safe(plot)}", soft_wrap=True)


def _ranges(
    rows: Sequence[ConfidenceRow], left_out: int, *, bins: int, closed: Literal["right", "left"]
) -> dict[str, Range | None]:
    """Every measure of a run. A row without a correctness may be right or wrong. One without a
    confidence has any: at the ceiling 1 where it is right and 0 where it is wrong, at the floor
    what is worst. One without a confidence that is not right is as good as left out."""
    p = [row.probability for row in rows if row.probability is not None]
    c = [
        np.nan if row.correct is None else float(row.correct)
        for row in rows
        if row.probability is not None
    ]
    doubtful = [row for row in rows if row.probability is None and row.correct]
    left_out += len(rows) - len(p) - len(doubtful)
    if not rows and not left_out:
        return dict.fromkeys(MEASURES)
    sure = [float(bool(row.correct)) for row in doubtful]
    best = confidence_ranges(p + sure, c + sure, left_out=left_out, bins=bins, closed=closed)
    if not doubtful:
        return {name: None if ends is None else ends.range for name, ends in best.items()}
    timid = [1.0 - one for one in sure]
    worst = confidence_ranges(p + timid, c + sure, left_out=left_out, bins=bins, closed=closed)
    # In a bin, and in a running sum, errors of two kinds make up for each other.
    safe_floors = confidence_ranges(
        p, c, left_out=left_out + len(doubtful), bins=bins, closed=closed
    )
    found: dict[str, Range | None] = {}
    for name, ends in best.items():
        low = (safe_floors if name in ("ECE", "MCE", "KS") else worst)[name]
        whole = (1.0, 0.0) if name in LOWER_IS_BETTER else (0.0, 1.0)
        found[name] = Range(
            whole[0] if low is None else low.range.floor,
            whole[1] if ends is None else ends.range.ceiling,
        )
    return found


def _of_topic(row: ConfidenceRow) -> Iterator[tuple[str, Range | None]]:
    """A row's Brier score, correctness and confidence."""
    right = Range(0.0, 1.0) if row.correct is None else Range.certain(float(row.correct))
    if row.probability is None:
        yield from (("Brier", Range(1.0, 0.0)), ("Accuracy", right), ("Confidence", None))
        return
    errors = [(row.probability - one) ** 2 for one in right]
    yield "Brier", Range(max(errors), min(errors))
    yield "Accuracy", right
    yield "Confidence", Range.certain(row.probability)


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
    for run, _, name, ends in rows:
        if ends is None and name in MEASURES:
            yield f"{run} {name}", reasons[run]


def _print_table(
    rows: list[Row],
    counts: dict[str, tuple[int, int, int]],
    bins: int,
) -> None:
    values = {(run, name): ends for run, topic, name, ends in rows if topic == "all"}
    scores = {
        run: {
            "HMR": Score.undefined(run, "HMR")
            if (ends := values[run, "HMR"]) is None
            else Score.between(run, "HMR", ends, topics=counts[run][0])
        }
        for run in counts
    }
    runs = rank_texts(ranks(scores, "HMR"))
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
        table.add_column("#", justify="right")
        table.add_column("run", overflow="fold", min_width=8)
        shown = () if group is _CONTINUED else tuple(kinds)
        for name in (*group, *(name for _, name in shown)):
            table.add_column(name.replace(" ", "\n"), justify="right")
        for run, rank in runs.items():
            shown_values = (values[run, name] for name in group)
            cells = ["–" if one is None else span(*one, 4) for one in shown_values]
            table.add_row(rank, safe(run), *cells, *(str(counts[run][place]) for place, _ in shown))
        out().print(table)
    out().print(
        f"ECE and MCE over {bins} bins. 'missing' rows have no confidence or no correctness; 'left "
        "out' topics count as incorrect with an unknown confidence. Where either moves a score, it "
        "is shown from worst to best."
    )
