"""``assay recalibrate``: confidences mended by what was seen on other questions."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import numpy as np
import orjson
import typer

from assay.api.run_manifest import write_manifest
from assay.cli.common import JsonOption, err, out, plain_table, print_json, safe
from assay.formats.confidence import ConfidenceRow, ConfidenceTable, read_confidence
from assay.formats.naming import clean
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.text import SourceText, read_text
from assay.model.csv_cells import csv_cell
from assay.model.errors import SettingsError
from assay.model.rag import AnswerRun
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
    remarks,
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
    rows = _seen(seen, run)
    p, correct = _arrays(rows)
    crossed = cross_validated(method, p, correct, folds=folds)
    effects = [effect("cross-validated", p, crossed, correct, bins=bins)]
    fitted = fit(method, p, correct)
    notes = remarks(fitted, p, correct)
    if apply_to is not None and output is not None:
        if apply_to.resolve() == output.resolve():
            raise SettingsError("The run that is mended is not overwritten: give another -o.")
        more, topics = _apply(fitted, apply_to, output, bins)
        effects += more
        again = len({row.topic for row in rows if row.scored} & topics)
        if again:
            notes.append(
                f"{again} of the {len(topics)} questions of {safe(apply_to)} are among those that "
                "the map was learnt from: what it does there says little about others."
            )
        write_manifest(
            output,
            "recalibrate",
            {"method": method, "run": rows[0].run, "parameters": fitted.parameters},
            inputs=[seen, apply_to],
            outputs=[output],
        )
    _say(method, fitted, effects, output, notes, as_json=as_json)


def _seen(path: Path, run: str | None) -> tuple[ConfidenceRow, ...]:
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
    return rows


def _arrays(rows: tuple[ConfidenceRow, ...]) -> tuple[Floats, Bools]:
    scored = [row for row in rows if row.scored]
    p = np.array([row.probability for row in scored], dtype=np.float64)
    return p, np.array([bool(row.correct) for row in scored], dtype=np.bool_)


def _apply(
    fitted: Map, source: Path, output: Path, bins: int
) -> tuple[list[Effect], frozenset[str]]:
    """Write the mended run; its effect where correctness is known, and the run's topics."""
    text = read_text(source)
    if clean(next((line for line in text.lines if clean(line)), "")).startswith("<"):
        run = read_ac_run(source).require().run
        write_bytes(output, _ac_run(text, run, fitted))
        return [], frozenset(run.answers)
    table = read_confidence(source).require()
    write_bytes(output, _table(table, fitted))
    effects = []
    for name in table.runs:
        p, correct = _arrays(table.of(name))
        if len(p):
            what = "applied" if len(table.runs) == 1 else f"applied to {name}"
            effects.append(effect(what, p, fitted(p), correct, bins=bins))
    return effects, frozenset(row.topic for row in table.rows)


def _ac_run(text: SourceText, run: AnswerRun, fitted: Map) -> bytes:
    """The same bytes but for the confidences, rounded to whole percentages."""
    lines = text.data.split(text.separator)
    for answer in run.answers.values():
        mapped = round(float(fitted(np.array([answer.confidence / 100]))[0]) * 100)
        line = lines[answer.line - 1]
        stated = line.rstrip()
        before = stated[: stated.rfind(b";") + 1]
        lines[answer.line - 1] = b"%b%d%b" % (before, mapped, line[len(stated) :])
    return text.separator.join(lines)


def _table(table: ConfidenceTable, fitted: Map) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("run", "topic", "confidence", "correct"))
    scale = 100 if table.percent else 1
    for row in table.rows:
        value = row.probability
        mapped = "" if value is None else repr(float(fitted(np.array([value]))[0]) * scale)
        correct = "" if row.correct is None else int(row.correct)
        writer.writerow((csv_cell(row.run), csv_cell(row.topic), mapped, correct))
    return text.getvalue().encode()


def _say(
    method: Calibration,
    fitted: Map,
    effects: list[Effect],
    output: Path | None,
    notes: list[str],
    *,
    as_json: bool,
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
                "notes": notes,
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
    for note in notes:
        err().print(f"Note: {note}", markup=False)
    if output is not None:
        out().print(f"Written: {safe(output)}", soft_wrap=True)
