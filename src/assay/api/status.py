"""Status of an evaluation folder: what is there, what is missing, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.correcting import DrawProgress
from assay.api.opened import Opened
from assay.api.since_scored import changed_inputs, later_labels
from assay.api.trust import drawn_so_far
from assay.judging.progress import cache_savings
from assay.model.csv_cells import from_csv_cell
from assay.model.errors import AssayError, FormatError, LedgerError
from assay.model.secrets import safe_text
from assay.model.wording import counted
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.manifest import REPORT, read_manifest


@dataclass(frozen=True, slots=True)
class Stands:
    """The status of a folder: ``rows`` of what there is (name, description), ``lacks`` with what is
    missing, and ``next`` commands, each with what it does."""

    rows: tuple[tuple[str, str], ...]
    lacks: tuple[str, ...]
    next: tuple[tuple[str, str], ...]


def status(path: Path) -> Stands:
    """The status of an evaluation; asks nothing and writes nothing. Raises SettingsError if there
    is no readable ``assay.toml``."""
    folder = Folder.open(path)
    place = shlex.quote(str(folder.path))
    rows = [("protocol", ", ".join(folder.protocols))]
    try:
        opened = Opened.open(path)
    except FormatError as error:
        said = (
            f"{counted(len(error.faults), 'fault')} in the inputs, as {safe_text(error.faults[0])}"
        )
        every = f"assay judge {place} --dry-run", "lists all of them; asks nobody"
        return Stands(tuple(rows), (said,), (every,))
    except AssayError as error:
        return Stands(
            tuple(rows), (safe_text(error),), ((f"assay doctor {place}", "says what to do"),)
        )
    rows.append(("inputs", opened.inputs_in_words()))
    try:
        forecast = opened.look_ahead()
    except LedgerError as error:  # its message says what to do
        return Stands(tuple(rows), (safe_text(error),), ())
    except AssayError as error:
        ways = (
            (f"assay ui {place}", "people label in a browser"),
            (f"assay doctor {place}", "says who could label what"),
        )
        return Stands(tuple(rows), (safe_text(error),), ways)
    plans = [plan for _, plan in forecast.plans]
    ask = sum(len(plan.todo) for plan in plans)
    failed = sum(plan.known_failed for plan in plans)
    rows.append(
        ("labellers", ", ".join(dict.fromkeys(p.labeller.id.name for p in plans)) or "none")
    )
    rows.append(("labels", f"{sum(plan.known for plan in plans):,} known, {ask:,} to ask"))
    if spent := _spent(opened):
        rows.append(("cost", spent))
    drawn = drawn_so_far(opened)[-1:] if opened.folder.has_ledger() else []
    for one in drawn:
        said = f"{counted(one.units, 'unit')}, {one.labelled:,} labelled by people"
        rows.append(("draw", said))
    written = read_manifest(opened.folder.out)
    rows.append(("results", _results(opened, written)))
    several = len(folder.protocols) > 1
    for name in folder.protocols:
        basis = read_manifest(folder.for_protocol(name).out).get("stands_on")
        if basis:
            rows.append((f"{name} stands on" if several else "stands on", str(basis)))
    lacks = [f"{'about ' if forecast.note else ''}{counted(ask, 'label')} to ask"] if ask else []
    lacks += forecast.repeats
    lacks += [f"{counted(failed, 'label')} failed"] if failed else []
    following = _next(opened, place, ask, failed, bool(written), drawn)
    return Stands(tuple(rows), tuple(lacks), tuple(following))


def _spent(opened: Opened) -> str:
    """The cost of all labels in the ledger, including failed ones; empty if no label has a price or
    was read from a cache."""
    if not opened.folder.has_ledger():
        return ""
    with opened.ledger() as ledger:
        rows = ledger.stats()
    cost, saved, cached = (
        sum(row[name] or 0 for row in rows) for name in ("cost", "cache_saved", "cached")
    )
    said = [f"${cost:.4f}"] if cost else []
    if unpriced := sum(row["unpriced"] for row in rows):
        said.append(f"unknown for {counted(unpriced, 'label')}")
    if cached:
        said.append(f"{cached:,} tokens from a server's cache")
    if saved:
        said.append(cache_savings(saved))
    return "; ".join(said)


def _results(opened: Opened, written: Mapping[str, Any]) -> str:
    out = opened.folder.out
    if not written:
        return "none yet"
    said = [f"{out / REPORT}" if (out / REPORT).is_file() else f"{out}/, no report yet"]
    if since := later_labels(written, opened.folder):
        said.append(f"{counted(since, 'label')} added since")
    parts = opened.parts.values()
    changed = {one for of in parts for one in changed_inputs(of.folder.out, of.folder, of.files)}
    if changed:
        said.append(f"{counted(len(changed), 'input file')} changed since")
    if any(_has_other_settings(part, read_manifest(part.folder.out)) for part in parts):
        said.append("settings changed since")
    return "; ".join(said)


def _has_other_settings(part: Evaluation, manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest's settings differ from the evaluation's current ones."""
    before, now = manifest.get("settings"), part.settings.model_dump(mode="json")
    return isinstance(before, dict) and any(before.get(n, one) != one for n, one in now.items())


def _next(
    opened: Opened, place: str, ask: int, failed: int, written: bool, drawn: Sequence[DrawProgress]
) -> Iterator[tuple[str, str]]:
    left = sum(one.units - one.labelled for one in drawn)
    label = f"assay ui {place}", f"label what was drawn: {counted(left, 'unit')} left"
    if ask:
        yield f"assay judge {place} --dry-run", "what judging would ask and cost"
        yield f"assay evaluate {place}", "judge, score, report"
        if left:
            yield label
        return
    if failed:
        yield f"assay judge {place} --retry-failed", "ask again for unusable replies"
    out = opened.folder.out
    if not written or not (out / REPORT).is_file():
        yield f"assay report {place}", "write scores and a report from the existing labels"
        return
    yield f"assay report {place}", "write them again after a change"
    if not drawn:
        yield f"assay draw {place}", "draw a sample for people to check, to correct the judge"
        yield f"assay ui {place}", "people label in a browser"
    elif left:
        yield label
    else:
        yield f"assay trust {place}", "scores corrected with people's labels, with intervals"
    section = opened.folder.config.gate
    baseline = opened.folder.path / (section.baseline or "baseline.json")
    if not baseline.exists():
        run = "" if section.run is not None else _which_run(out)
        yield (
            f"assay gate {place} --save {shlex.quote(str(baseline))}{run}",
            "save a baseline for CI",
        )
    elif section.baseline is None:
        named = f"assay gate {place} --baseline {shlex.quote(str(baseline))}"
        yield named, "check whether the run may be released"
    else:
        yield f"assay gate {place}", "check whether the run may be released"


def _which_run(out: Path) -> str:
    """The option ``--run`` with a run's name if there are scores of several runs; else empty."""
    scores = out / "scores.csv"
    if not scores.is_file():  # reading a pipe would block
        return ""
    try:
        runs = pl.read_csv(scores, columns=["run"], infer_schema=False)["run"]
    except (OSError, pl.exceptions.PolarsError):
        return ""
    names = [from_csv_cell(name) for name in runs.drop_nulls().unique(maintain_order=True)]
    return f" --run {shlex.quote(names[0])}" if len(names) > 1 else ""
