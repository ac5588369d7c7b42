"""How much more labels would narrow the scores' ranges: simulated if scores depend on missing
labels, and otherwise planned, for people's labels of a random draw.

In a copy of the ledger, the next units of the queue for missing labels are labelled and scored:
once with the lowest verdicts, once with the highest, and with random ones. What people would say is
unknown, so the result is a smallest and a largest width.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.api import frames
from assay.api.opened import Opened
from assay.api.planning import Aim, LabelPlan, plan_labels
from assay.ledger import Ledger, NewLabel
from assay.ledger.exchange import person, person_label
from assay.model.errors import AssayError
from assay.model.labels import WORKBENCH
from assay.model.paths import path_inside
from assay.tasks.base import AnyTask
from assay.web import forms
from assay.web.people import FILE
from assay.web.runs import ScoredFolder, ranges_in
from assay.web.state import UnitRow, WorkbenchState
from assay.web.values import Json

MORE = 50
"""Number of additional labels assumed."""
_SECONDS = 10.0  # time limit for all outcomes
_MOST_BYTES = 512 << 20  # largest ledger, as the copy is held in memory
_ATTEMPTS = 8  # random attempts if a verdict does not fit its unit

Pick = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Prospects:
    """The effect of ``labels`` more under several ``outcomes``: the smallest and largest width of
    each run's range; the ``plan`` if no label is missing; or ``why`` there is no result."""

    labels: int = 0
    outcomes: int = 0
    widths: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    why: str = ""
    plan: LabelPlan | None = None


def look_ahead(opened: Opened, now: ScoredFolder, stopped: Callable[[], bool] = bool) -> Prospects:
    """Widths of the ranges open ``now`` after :data:`MORE` labels. If ``stopped``, it ends after
    the current outcome."""
    if now.seconds > _SECONDS:
        return Prospects(why=f"scoring the folder once takes {now.seconds:.0f} seconds")
    measure, runs = now.open_ranges()
    try:
        if not runs:
            return Prospects(plan=plan_labels(opened, Aim(n=MORE)))
        with (
            opened.ledger() as ledger,
            WorkbenchState(path_inside(opened.folder.path, FILE, "The workbench")) as state,
        ):
            rows = _next(state, [task.name for task in opened.tasks()])
            if ledger.file_size() > _MOST_BYTES:
                return Prospects(why=f"the ledger is larger than {_MOST_BYTES >> 20} MiB")
            with ledger.copy() as copy:
                return _tried(opened, copy, rows, measure, list(runs), stopped)
    except (AssayError, OSError, MemoryError, sqlite3.Error) as error:
        return Prospects(why=str(error).rstrip(".") or type(error).__name__)


def _next(state: WorkbenchState, tasks: Sequence[str]) -> list[UnitRow]:
    """The next unlabelled units, from the topics whose scores have the widest ranges."""
    places = ",".join("?" * len(tasks))
    return state.units(
        "WHERE wanted AND labelled = 0 AND machine != 'ok' "
        f"AND task IN ({places}) ORDER BY range DESC, topics.id, place LIMIT {MORE}",
        *tasks,
    )


def _tried(
    opened: Opened, ledger: Ledger, rows: Sequence[UnitRow], measure: str, runs: Sequence[str],
    stopped: Callable[[], bool],
) -> Prospects:  # fmt: skip
    began = time.monotonic()
    found: list[Mapping[str, tuple[float, float]]] = []
    labels = 0
    for pick in _outcomes(opened.folder.config.ui.seed):
        assumed = list(_labels(opened, rows, pick))
        with ledger.trial() as trial:
            labels = len(assumed)
            trial.add(assumed)
            scores = frames.scores(opened.score(ledger).comparable)
        found.append(ranges_in(scores, measure))
        if not labels or stopped() or time.monotonic() - began > _SECONDS:
            break
    widths = {
        run: [high - low for low, high in (one.get(run, (0.0, 0.0)) for one in found)]
        for run in runs
    }
    return Prospects(
        labels, len(found), {run: (min(all_), max(all_)) for run, all_ in widths.items()}
    )


def _outcomes(seed: int) -> Iterator[Pick]:
    """Functions that choose a value from a scale ordered from low to high."""
    yield lambda scale: scale[0]
    yield lambda scale: scale[-1]
    for number in range(3):
        yield random.Random(f"{seed} {number}").choice  # noqa: S311 (nothing is kept secret)


def _labels(opened: Opened, rows: Sequence[UnitRow], pick: Pick) -> Iterator[NewLabel]:
    """Labels for all units whose verdicts are choices; free text cannot be predicted."""
    tasks = {task.name: task for task in opened.tasks()}
    only = (one.policy.only or "" for one in opened.parts.values())
    who = person(next((one for one in only if one.startswith("human:")), "human:somebody"))
    detail = {WORKBENCH: {"mode": opened.folder.config.ui.mode}}
    for row in rows:
        task = tasks[row.task]
        unit = task.unit.model_validate_json(row.content)
        verdict = _verdict(task, unit, pick)
        if verdict is not None:
            content = unit.model_dump(mode="json")
            yield person_label(who, task, content, verdict, detail=detail)


def _verdict(task: AnyTask, unit: Any, pick: Pick) -> Json | None:
    """A verdict by ``pick``, or a random one if that is invalid; None if none is valid."""
    controls = forms.controls(task, unit)
    if not all(one["kind"] in {"choice", "items", "rows", "order"} for one in controls):
        return None
    chance = random.Random(0)  # noqa: S311
    for one in (pick, *[chance.choice] * _ATTEMPTS):
        given = {control["field"]: _assumed(control, one) for control in controls}
        verdict, _ = forms.verdict_of(task, unit, given)
        if verdict is not None:
            return verdict
    return None


def _assumed(control: Json, pick: Pick) -> Any:
    """A possible answer to a control."""
    scale = [one["value"] for one in control.get("options", ())]
    items = control.get("items", ())
    if control["kind"] == "choice":
        return pick(scale)
    if control["kind"] == "items" and control["shape"] == "list":
        return [pick(scale) for _ in items]
    if control["kind"] == "items":
        return {str(n): {control["inner"]: pick(scale)} for n, _ in enumerate(items, 1)}
    if control["kind"] == "rows":
        return {
            str(n): {one["field"]: _assumed(one, pick) for one in control["columns"]}
            for n, _ in enumerate(items, 1)
        }
    return list(range(1, len(items) + 1)) if control["kind"] == "order" else ""
