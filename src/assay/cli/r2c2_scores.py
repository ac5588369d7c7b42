"""Scores, files and report of R2C2 for the commands of an evaluation folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from assay import __version__
from assay.cli.jobs import Results
from assay.ledger import Ledger
from assay.ledger.lines import read_lines
from assay.ledger.policy import Policy
from assay.measures.ranges import Range
from assay.protocols.aside import Aside
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.labels import SHARED
from assay.protocols.r2c2.output import write_outputs
from assay.protocols.r2c2.results import R2C2Result
from assay.protocols.r2c2.score import NUMBERS, score
from assay.tasks.r2c2 import TASKS


def numbers_aside(*, start: bool) -> Aside:
    """What computes the numbers, with ``start`` in a process of its own."""
    return Aside(NUMBERS, start=start)


def scored(
    folder: Folder, inputs: Inputs, ledger: Ledger, policy: Policy, settings: R2C2Settings
) -> Results:
    """All scores, with what a report shows."""
    with numbers_aside(start=False) as aside:
        return _results(score(folder, inputs, ledger, policy, settings, whole=True, aside=aside))


def written(
    folder: Folder,
    inputs: Inputs,
    ledger: Ledger,
    policy: Policy,
    settings: R2C2Settings,
    aside: Aside,
    *,
    brief: bool,
    large: bool,
) -> tuple[Results, list[Path]]:
    """All scores, and the files in ``out/``. ``aside`` computes the numbers."""
    result = score(
        folder,
        inputs,
        ledger,
        policy,
        settings,
        whole=not brief,
        large=large,
        aside=aside,
    )
    head = ledger.checked()  # before anything is written
    lines = read_lines(ledger.path, [task.name for task in (*TASKS, *SHARED)])
    files = write_outputs(folder, inputs, ledger.path, head, lines, result, aside)
    return _results(result), files


def report(results: Results) -> str:
    """The report as HTML."""
    reports = import_module("assay.reports.r2c2")  # late: what templates need takes a while
    text: str = reports.render_report(results.value, generated_by=f"Assay {__version__}")
    return text


def _tables(result: R2C2Result) -> Sequence[RenderableType]:
    tables: Sequence[RenderableType] = import_module("assay.reports.tables").leaderboard_tables(
        result
    )
    return tables


def _results(result: R2C2Result) -> Results:
    return Results(
        value=result,
        policy=result.policy,
        labellers={
            task: None if who is None else who.name for task, who in result.labellers.items()
        },
        scores=[
            one
            for table in (result.scores, result.pr_scores)
            for scores in table.values()
            for one in scores.values()
        ],
        tables=partial(_tables, result),
        missing=_missing(result),
        missing_what="answers, nuggets or passages",
        warnings=result.warnings,
        more={
            "attempted": [asdict(s) for t in result.attempted.values() for s in t.values()],
            "abstention": {
                name: _named(asdict(found)) for name, found in result.abstention.items()
            },
            "runs": {name: asdict(notes) for name, notes in result.notes.items()},
            "juries": [asdict(jury) for jury in result.juries],
        },
    )


def _named(value: Any) -> Any:
    """``value`` with each range as an object: value (null where it is none), floor, ceiling."""
    if isinstance(value, Range):
        return {"value": value.value, "floor": value.floor, "ceiling": value.ceiling}
    if isinstance(value, dict):
        return {key: _named(one) for key, one in value.items()}
    return [_named(one) for one in value] if isinstance(value, (list, tuple)) else value


def _missing(result: R2C2Result) -> int:
    """How many answers, nuggets and checked passages have no usable label."""
    passages = result.relevance.missing if result.relevance else 0
    return passages + sum(
        notes.missing_answers + notes.failed_answers + notes.unmarked_nuggets
        for notes in result.notes.values()
    )
