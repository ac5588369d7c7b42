"""``assay recalibrate``: confidences mended by what was seen on other questions."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson
import typer

from assay.cli.common import JsonOption, err, out, plain_table, print_json, safe
from assay.formats.confidence import ConfidenceRow, ConfidenceTable, read_confidence
from assay.formats.r2c2_ac import AnswerRunFile, read_ac_run
from assay.model.errors import SettingsError
from assay.protocols.output import write_bytes
from assay.systems.recalibration import (
    MEASURES,
    Bools,
    Calibration,
    Effect,
    Floats,
    Map,
    cross_validated,
    effect,
    fit,
)


def recalibrate_command(
    seen: Annotated[
        Path,
        typer.Argument(
            metavar="SEEN.csv", help="Columns run, topic, confidence, correct: what is learnt from."
        ),
    ],
    apply_to: Annotated[
        Path | None,
        typer.Option("--apply", help="Run to mend: an AC run or a CSV as SEEN."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The run with other confidences.")
    ] = None,
    method: Annotated[Calibration, typer.Option("--method")] = Calibration.TEMPERATURE,
    run: Annotated[
        str | None, typer.Option("--run", help="Run of SEEN to learn from, if it holds several.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Of the cross-validation.")] = 5,
    bins: Annotated[int, typer.Option("--bins", min=1, help="Bins of ECE.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Fit a map of confidences on one question set and apply it to another run.

    The effect on SEEN is cross-validated: no question's confidence is mapped by a map that saw it.
    Where the other run's correctness is known too, the effect on it is shown beside.
    """
    if (apply_to is None) != (output is None):
        raise SettingsError("--apply and -o go together.")
    p, correct = _seen(seen, run)
    effects = [
        effect(
            "cross-validated",
            p,
            cross_validated(method, p, correct, folds=folds),
            correct,
            bins=bins,
        )
    ]
    fitted = fit(method, p, correct)
    if apply_to is not None and output is not None:
        if apply_to.resolve() == output.resolve():
            raise SettingsError("The run that is mended is not overwritten: give another -o.")
        effects += _apply(fitted, apply_to, output, bins)
    _say(method, fitted, effects, output, as_json=as_json)


def _seen(path: Path, run: str | None) -> tuple[Floats, Bools]:
    table = read_confidence(path).require()
    if run is None and len(table.runs) != 1:
        raise SettingsError(
            f"{path} holds {len(table.runs)} runs: say which to learn from with --run "
            f"({', '.join(map(safe, table.runs[:10]))})."
        )
    rows = table.rows if run is None else table.of(run)
    if not rows:
        raise SettingsError(f"{path} has no run {safe(run)!r}.")
    missing = sum(not row.scored for row in rows)
    if missing:
        err().print(f"Note: {missing} rows without confidence or correctness are not used.")
    return _arrays(rows)


def _arrays(rows: tuple[ConfidenceRow, ...]) -> tuple[Floats, Bools]:
    scored = [row for row in rows if row.scored]
    p = np.array([row.probability for row in scored], dtype=np.float64)
    return p, np.array([bool(row.correct) for row in scored], dtype=np.bool_)


def _apply(fitted: Map, source: Path, output: Path, bins: int) -> list[Effect]:
    """Write the mended run; its effect where correctness is known."""
    first = source.read_bytes()[:3] if source.is_file() else b""
    if first.lstrip(b"\xef\xbb\xbf").startswith(b"<"):
        file = read_ac_run(source).require()
        write_bytes(output, _ac_run(file, fitted))
        return []
    table = read_confidence(source).require()
    write_bytes(output, _table(table, fitted))
    effects = []
    for name in table.runs:
        p, correct = _arrays(table.of(name))
        if len(p):
            what = "applied" if len(table.runs) == 1 else f"applied to {name}"
            effects.append(effect(what, p, fitted(p), correct, bins=bins))
    return effects


def _ac_run(file: AnswerRunFile, fitted: Map) -> bytes:
    """The same bytes but for the confidences, rounded to whole percentages."""
    lines = file.data.split(b"\n")
    for answer in file.run.answers.values():
        mapped = round(float(fitted(np.array([answer.confidence / 100]))[0]) * 100)
        line = lines[answer.line - 1]
        lines[answer.line - 1] = re.sub(rb"[^;]*?(\s*)$", rb"%d\1" % mapped, line, count=1)
    return b"\n".join(lines)


def _table(table: ConfidenceTable, fitted: Map) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("run", "topic", "confidence", "correct"))
    scale = 100 if table.percent else 1
    for row in table.rows:
        value = row.probability
        mapped = "" if value is None else repr(float(fitted(np.array([value]))[0]) * scale)
        correct = "" if row.correct is None else int(row.correct)
        writer.writerow((row.run, row.topic, mapped, correct))
    return text.getvalue().encode()


def _say(
    method: Calibration, fitted: Map, effects: list[Effect], output: Path | None, *, as_json: bool
) -> None:
    if as_json:
        print_json(
            {
                "method": method,
                "parameters": fitted.parameters,
                "effects": [
                    {"what": e.what, "n": e.n, "before": e.before, "after": e.after}
                    for e in effects
                ],
                "output": None if output is None else str(output),
            }
        )
        return
    for each in effects:
        table = plain_table(f"{method.capitalize()}, {safe(each.what)}, {each.n} answers")
        table.add_column("")
        for name in MEASURES:
            table.add_column(name, justify="right")
        for word, values in (("before", each.before), ("after", each.after)):
            shown = ["–" if values[n] is None else f"{values[n]:.4f}" for n in MEASURES]
            table.add_row(word, *shown)
        out().print(table)
    if method is not Calibration.ISOTONIC:
        out().print(safe(orjson.dumps(fitted.parameters).decode()))
    if output is not None:
        out().print(f"Written: {safe(output)}", soft_wrap=True)
