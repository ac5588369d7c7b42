"""Recalibration of confidences, learned from other questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from assay.api.reading import Note
from assay.api.run_manifest import write_run_manifest
from assay.formats.confidence import ConfidenceRow, ConfidenceTable, read_confidence
from assay.formats.naming import clean
from assay.formats.r2c2_ac import read_ac_run
from assay.formats.text import SourceText, read_text
from assay.measures.arrays import Bools, Floats
from assay.measures.confidence import MOST_BINS
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.rag import AnswerRun
from assay.model.wording import natural_key, printable
from assay.protocols.output import csv_bytes, require_plain, write_bytes
from assay.systems.recalibration import (
    Calibration,
    Effect,
    Map,
    cross_validated,
    effect,
    fit,
    remarks,
)


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """A fitted map of confidences, its effects, and notes on it."""

    method: Calibration
    fitted: Map
    effects: Sequence[Effect]
    notes: Sequence[str]
    output: Path | None

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "method": self.method,
            "parameters": self.fitted.parameters,
            "effects": self.effects,
            "notes": self.notes,
            "output": None if self.output is None else str(self.output),
        }


def recalibrate(
    seen: Path,
    *,
    apply_to: Annotated[
        Path | None, Option("Run to recalibrate: an AC run, or a CSV like SEEN.", flag="--apply")
    ] = None,
    output: Path | None = None,
    method: Annotated[Calibration, Option("")] = Calibration.TEMPERATURE,
    run: Annotated[str | None, Option("Run of SEEN to fit on, if it holds several.")] = None,
    folds: Annotated[int, Option("Folds of the cross-validation.", least=2)] = 5,
    bins: Annotated[int, Option("Number of bins for ECE.", least=1, most=MOST_BINS)] = 10,
    note: Note,
) -> Recalibrated:
    """Fit a map on a run of ``seen``, apply it to the run ``apply_to`` and write the result to
    ``output``. Raises FormatError, and SettingsError for options that do not go together."""
    if (apply_to is None) != (output is None):
        raise SettingsError("--apply and -o must be given together.")
    if output is not None:
        require_plain(output)
    # Sorted, so that the folds do not depend on the order of the file.
    rows = sorted(_seen(seen, run, note), key=lambda row: natural_key(row.topic))
    p, correct = _arrays(rows)
    crossed = cross_validated(method, p, correct, folds=folds)
    effects = [effect("cross-validated", p, crossed, correct, bins=bins)]
    fitted = fit(method, p, correct)
    notes = remarks(fitted, p, correct)
    if apply_to is not None and output is not None:
        if apply_to.resolve() == output.resolve():
            raise SettingsError("The input run is not overwritten: choose another -o.")
        more, topics = _apply(fitted, apply_to, output, bins)
        effects += more
        in_both = len({row.topic for row in rows if row.scored} & topics)
        if in_both:
            notes.append(
                f"{in_both} of the {len(topics)} questions of {apply_to} were used for fitting: "
                "the result on them says little about others."
            )
        write_run_manifest(
            output,
            "recalibrate",
            {"method": method, "run": rows[0].run, "parameters": fitted.parameters},
            inputs=[seen, apply_to],
            outputs=[output],
        )
    return Recalibrated(method, fitted, effects, notes, output)


def _seen(path: Path, run: str | None, note: Note) -> tuple[ConfidenceRow, ...]:
    table = read_confidence(path).require()
    if run is None and len(table.runs) != 1:
        raise SettingsError(
            f"{path} holds {len(table.runs)} runs: say which one to fit on with --run "
            f"({', '.join(map(printable, table.runs[:10]))})."
        )
    rows = table.rows if run is None else table.of(run)
    if not rows:
        raise SettingsError(f"{path} has no run {printable(run or '')!r}.")
    missing = sum(not row.scored for row in rows)
    if missing:
        note(f"{missing} rows without confidence or correctness are not used.")
    return rows


def _arrays(rows: Sequence[ConfidenceRow]) -> tuple[Floats, Bools]:
    scored = [row for row in rows if row.scored]
    p = np.array([row.probability for row in scored], dtype=np.float64)
    return p, np.array([bool(row.correct) for row in scored], dtype=np.bool_)


def _apply(
    fitted: Map, source: Path, output: Path, bins: int
) -> tuple[list[Effect], frozenset[str]]:
    """Write the recalibrated run. Returns the effect, if correctness is known, and the run's
    topics."""
    text = read_text(source)
    if clean(next((line for line in text.lines if clean(line)), "")).startswith("<"):
        run = read_ac_run(source).require().run
        write_bytes(output, _ac_run(text, run, fitted))
        return [], frozenset(run.answers)
    table = read_confidence(source).require()
    write_bytes(output, csv_bytes(("run", "topic", "confidence", "correct"), _rows(table, fitted)))
    effects = []
    for name in table.runs:
        p, correct = _arrays(table.of(name))
        if len(p):
            what = "applied" if len(table.runs) == 1 else f"applied to {name}"
            effects.append(effect(what, p, fitted(p), correct, bins=bins))
    return effects, frozenset(row.topic for row in table.rows)


def _ac_run(text: SourceText, run: AnswerRun, fitted: Map) -> bytes:
    """The same bytes except for the confidences, which are rounded to whole percentages."""
    lines = text.data.split(text.separator)
    for answer in run.answers.values():
        mapped = round(float(fitted(np.array([answer.confidence / 100]))[0]) * 100)
        line = lines[answer.line - 1]
        stated = line.rstrip()
        before = stated[: stated.rfind(b";") + 1]
        lines[answer.line - 1] = b"%b%d%b" % (before, mapped, line[len(stated) :])
    return text.separator.join(lines)


def _rows(table: ConfidenceTable, fitted: Map) -> Iterator[tuple[object, ...]]:
    scale = 100 if table.percent else 1
    for row in table.rows:
        value = row.probability
        mapped = None if value is None else float(fitted(np.array([value]))[0]) * scale
        yield row.run, row.topic, mapped, None if row.correct is None else int(row.correct)
