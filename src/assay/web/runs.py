"""Data for the pages of runs, topics and units: scores, and the labels behind them."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import polars as pl

from assay.api import frames
from assay.api.bank import item_analyses
from assay.api.opened import Opened
from assay.ledger.chain import Head
from assay.model.labels import WORKBENCH
from assay.page.page import Board
from assay.protocols.exam.items import ItemAnalysis
from assay.protocols.results import Result
from assay.reports.leaderboards import Drawn, drawn
from assay.web.desk import Desk
from assay.web.state import UnitRow, WorkbenchState
from assay.web.values import comparable, in_brief, reason_of

MOST_FOUND = 100


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard as in the report, with its measures under their names in ``scores``."""

    title: str
    measures: Sequence[str]
    drawn: Drawn

    @classmethod
    def of(cls, prefix: str, result: Result, board: Board) -> Leaderboard:
        """A leaderboard of ``result``, prefixed with the protocol if the folder has several."""
        measures = [f"{prefix}{one}" for one in board.measures]
        return cls(f"{prefix}{board.title}", measures, drawn(result.findings.scores, board))


@dataclass
class ScoredFolder:
    """A folder's scores as data frames, ``scores``, ``per_topic`` and ``labels`` with their places
    (described in :class:`assay.Evaluation`), its leaderboards, and whose labels they stand on."""

    head: Head | None
    scores: pl.DataFrame
    per_topic: pl.DataFrame
    labels: pl.DataFrame
    boards: Sequence[Leaderboard]
    stands_on: Sequence[str]
    missing: int
    items: Sequence[ItemAnalysis]
    seconds: float = 0.0
    runs: list[str] = field(init=False)
    topics: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.runs = self.per_topic["run"].unique(maintain_order=True).to_list()
        self.topics = sorted(self.per_topic["topic"].unique().to_list())

    @classmethod
    def of(cls, opened: Opened) -> ScoredFolder:
        """Score a folder and record how many seconds it took. Raises AssayError."""
        began = time.monotonic()
        with opened.ledger() as ledger:
            head = ledger.head()
            results = opened.score(ledger)
            boards = [
                Leaderboard.of(results.prefix(name), result.comparable, board)
                for name, result in results.by_protocol.items()
                for board in result.findings.boards
            ]
            return cls(
                head,
                frames.scores(results.comparable),
                frames.per_topic(results),
                frames.labels(results, ledger),
                boards,
                results.stands_on_in_words,
                sum(one.lacking for one in results.by_protocol.values()),
                [item for result in results.by_protocol.values() for item in item_analyses(result)],
                time.monotonic() - began,
            )

    def ranges(self) -> dict[str, float]:
        """Width of the score ranges on each topic, summed over runs, under the leaderboards' first
        measure with values by topic."""
        there = set(self.per_topic["measure"])
        measures = (one for board in self.boards for one in board.measures if one in there)
        width = pl.col("ceiling") - pl.col("floor")
        found = (
            self.per_topic.filter(pl.col("measure") == next(measures, ""))
            .group_by("topic")
            .agg(width.sum())
        )
        return dict(found.iter_rows())

    def open_ranges(self) -> tuple[str, dict[str, tuple[float, float]]]:
        """The first measure, with floor and ceiling of each run whose score depends on missing
        labels."""
        if not self.boards or not self.missing:
            return "", {}
        measure = self.boards[0].measures[0]
        return measure, ranges_in(self.scores, measure)

    def number(self, run: str) -> int:
        """The run's number in addresses."""
        return self.runs.index(run) if run in self.runs else -1

    def used(self, topic: str, runs: Sequence[str]) -> list[dict[str, Any]]:
        """The labels behind some runs' scores on a topic: a row for each place, with each run's
        label there, and whether they differ."""
        rows = (
            self.labels.explode("places")
            .unnest("places")
            .filter((pl.col("topic") == topic) & (pl.col("run").is_in([*runs, ""])))
        )
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for row in rows.iter_rows(named=True):
            task, position = place = row["task"], row["position"]
            entry = found.setdefault(place, {"task": task, "position": position, "cells": {}})
            for run in [row["run"]] if row["run"] else runs:
                entry["cells"][run] = row
        for entry in found.values():
            said = [
                comparable(orjson.loads(one["verdict"])) if one["verdict"] else ""
                for one in entry["cells"].values()
            ]
            entry["differs"] = len(runs) > 1 and (len(set(said)) > 1 or len(said) < len(runs))
        return list(found.values())


def ranges_in(scores: pl.DataFrame, measure: str) -> dict[str, tuple[float, float]]:
    """Floor and ceiling of each run whose score under a measure is a range."""
    rows = scores.filter((pl.col("measure") == measure) & (pl.col("ceiling") > pl.col("floor")))
    return {row["run"]: (row["floor"], row["ceiling"]) for row in rows.iter_rows(named=True)}


def history(desk: Desk, number: int) -> dict[str, Any]:
    """A unit's content and all its labels, oldest first."""
    row = desk.row(number)
    labels = [
        {
            "uid": one.uid, "who": one.labeller.name, "status": one.status.value,
            "verdict": in_brief(one.verdict) if one.verdict else one.error or "",
            "reason": reason_of(one),
            "created": one.created[:19].replace("T", " "),
            "overrules": (one.overrules or "")[:8],
            "how": dict(one.detail.get(WORKBENCH) or {}),
        }
        for one in desk.labels(row)
    ]  # fmt: skip
    asides = desk.state.all(
        "SELECT name, kind, text FROM asides JOIN people ON people.id = person WHERE unit = ? "
        "AND kind NOT IN ('trained', 'seen')",
        number,
    )
    return {"row": row, "content": orjson.loads(row.content), "labels": labels, "asides": asides}


def search(state: WorkbenchState, text: str) -> tuple[list[UnitRow], bool]:
    """Units whose texts contain all words of ``text``, and whether there are more."""
    words = unicodedata.normalize("NFKC", text).casefold().split()[:8]
    if not words:
        return [], False
    state.db.create_function("folded", 1, _folded, deterministic=True)
    where = " AND ".join(["instr(folded(content), ?)"] * len(words))
    rows = state.units(f"WHERE wanted AND {where} ORDER BY place LIMIT {MOST_FOUND + 1}", *words)
    return rows[:MOST_FOUND], len(rows) > MOST_FOUND


def _folded(content: str) -> str:
    """The case-folded texts of a unit, without field names."""
    texts = "\n".join(map(str, orjson.loads(content).values()))
    return unicodedata.normalize("NFKC", texts).casefold()
