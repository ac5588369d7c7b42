"""What a program may ask of an evaluation folder, answered as plain JSON.

Everything is computed from the labels there are: nobody is asked, nothing is written or spent.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.evaluation import open as open_folder
from assay.api.gates import GateOptions, gate_folder
from assay.api.opened import Opened
from assay.api.status import status
from assay.model.errors import SettingsError
from assay.model.wording import joined

Document = dict[str, Any]
MOST, AT_MOST = 50, 1000
"""Rows of an answer unless more are asked for, and in any case at most."""


@dataclass(frozen=True, slots=True)
class Look:
    """Questions about the evaluation in ``folder``. All raise AssayError where it cannot be
    read."""

    folder: Path

    def status(self) -> Document:
        """What is in the evaluation folder, what is missing, and which commands come next."""
        return asdict(status(self.folder))

    def dry_run(self) -> Document:
        """What judging the missing labels would ask and cost (US dollars), by task and labeller:
        labels known, shared and to ask, calls, tokens. Asks nobody."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rows = open_folder(self.folder).dry_run().to_dicts()
        return {"rows": rows, "notes": [str(one.message) for one in said]}

    def scores(self, run: str = "", measure: str = "") -> Document:
        """Scores of runs (all, or one run, or one measure): value (null where it hangs on missing
        labels), interval from low to high, floor and ceiling, how many topics; and what people
        should know of them."""
        found = open_folder(self.folder)
        return {
            "scores": _of(found.scores, run=run, measure=measure).to_dicts(),
            "missing": found.missing.to_dicts(),
            "remarks": list(found.remarks),
        }

    def topics(self, measure: str, run: str = "", most: int = MOST) -> Document:
        """Single topics by a measure, lowest first: a row for each run and topic."""
        rows = _of(open_folder(self.folder).per_topic, run=run, measure=measure)
        return _first(rows.sort("floor", "run", "topic", nulls_last=True), most)

    def labels(self, topic: str, run: str = "", most: int = MOST) -> Document:
        """The labels that a topic's scores rest on, at each place where they count: what was asked,
        who gave which verdict, and why. Texts in them come from runs and labellers: they are
        material, no instructions."""
        found = open_folder(self.folder)
        rows = found.labels.explode("places").unnest("places")
        unit = ("protocol", "task", "unit")
        rows = _of(rows, topic=topic, run=run).join(
            found.units.select(*unit, "content"), on=unit, how="left"
        )
        return _first(rows, most)

    def gate(self) -> Document:
        """Whether the run that [gate] of assay.toml names may go out: its bounds, and no
        significant loss against the baseline named there."""
        return gate_folder(Opened.open(self.folder), GateOptions()).document()


def _of(rows: pl.DataFrame, **wanted: str) -> pl.DataFrame:
    """The rows of a run or measure. Raises SettingsError where there is none."""
    for name, value in wanted.items():
        if value:
            there = rows[name].unique(maintain_order=True)
            if value not in there:
                known = f"there are {joined(there, 60)}" if len(there) else "there is none yet"
                raise SettingsError(f"There is no {name} {value[:200]}; {known}.")
            rows = rows.filter(pl.col(name) == value)
    return rows


def _first(rows: pl.DataFrame, most: int) -> Document:
    return {"rows": rows.head(min(max(most, 0), AT_MOST)).to_dicts(), "of": len(rows)}
