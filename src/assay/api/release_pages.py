"""The pages of a release: each team's, and one for all that shows no answers and no passages."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.api.corrected import family_of
from assay.api.opened import html_of
from assay.api.reading import Note
from assay.measures.ranges import Range
from assay.model.wording import listed
from assay.page.page import Board, LabelledTask, Page
from assay.page.parts import (
    Beside,
    Curves,
    Grid,
    LineChart,
    Panels,
    Part,
    Reliability,
    Scatter,
    Sentences,
    Table,
    Value,
)
from assay.page.wording import masked
from assay.protocols.results import Result
from assay.reports.leaderboards import ranked

PAGE_BYTES = 2_000_000
"""A public page is smaller than this; sections that would make it larger are left out."""

_NUMBERS = (Table, Grid, Scatter, Curves, Reliability, LineChart, Beside, Panels, Sentences)
"""What a public page may show: numbers, pictures, and sentences that Assay makes of them."""


def told_to_all(warnings: Sequence[str]) -> tuple[str, ...]:
    """Warnings for everybody: of each kind how many there are, without names, places and whatever
    they quote."""
    kinds = Counter(map(masked, warnings))
    return tuple(f"{count:,} × {kind}" if count > 1 else kind for kind, count in kinds.items())


def public_page(page: Page, place: str, seal: str, note: Note) -> tuple[Page, list[str]]:
    """The page without answers and passages, and the titles of sections it has no room for."""
    page = replace(page, warnings=told_to_all(page.warnings), labelled=_without_settings(page))
    remaining = [one for part in page.parts if (one := _without_texts(part)) is not None]
    sealed = f"Sealed: SHA-256 of the manifest {seal}."
    left: list[str] = []
    while True:
        said = [*page.lede, sealed]
        if left:
            said.append(f"In the dossier's report alone: {listed(left, 10)}.")
        public = replace(page, parts=tuple(remaining), lede=tuple(said), out=f"dossier/{place}")
        size = len(html_of(public))
        if size >= PAGE_BYTES and not remaining:
            note(f"The leaderboards alone make the public page {size / 1e6:.1f} MB.")
        if not remaining or size < PAGE_BYTES:
            return public, left
        sizes = [len(html_of(replace(public, parts=(part,)))) for part in remaining]
        left.append(remaining.pop(sizes.index(max(sizes))).title)


def _without_texts(part: Part) -> Part | None:
    """A section with its tables of numbers, grids and pictures; None where nothing is left. Tables
    with columns of texts, cards, answers and lists by query show what runs and passages say, and
    so may what is told of a grid's rows and columns."""
    items = tuple(
        replace(item, about={}) if isinstance(item, Grid) else item
        for item in part.items
        if isinstance(item, _NUMBERS) and not (isinstance(item, Table) and item.texts)
    )
    return replace(part, items=items, groups=()) if items else None


def _without_settings(page: Page) -> tuple[LabelledTask, ...]:
    """Who labelled, without where they are asked: addresses are an organiser's own."""
    return tuple(replace(one, model="") for one in page.labelled)


def runs_by_team(result: Result, teams: Mapping[str, str]) -> dict[str, list[str]]:
    """Runs by team, in the order of the leaderboards."""
    found: dict[str, list[str]] = {}
    for board in result.findings.boards:
        for run in ranked(result.findings.scores, board):
            own = found.setdefault(family_of(run, teams) or run, [])
            if run not in own:
                own.append(run)
    return found


def team_page(
    result: Result, page: Page, team: str, runs: Sequence[str], place: str, seal: str
) -> Page:
    """The leaderboards of the result's ``page``, the warnings that name a team's runs, and how each
    of these did topic by topic beside all runs."""
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(run)}(?![\w-])" for run in runs))
    parts = []
    for board in result.findings.boards:
        own = [run for run in runs if run in ranked(result.findings.scores, board)]
        for measure in board.measures if own else ():
            table = _topic_table(result, board, measure, own)
            if table is not None:
                parts.append(table)
    part = Part(
        f"Topic by topic: {team}",
        "Beside each topic the best, the median and the worst of all runs. A range hangs on labels "
        "that are missing.",
        tuple(parts),
    )
    return replace(
        page,
        title=f"{page.title} · {team}",
        lede=(*page.lede, f"Sealed: SHA-256 of the manifest {seal}."),
        warnings=tuple(one for one in page.warnings if named.search(one)),
        labelled=_without_settings(page),
        parts=(part,) if parts else (),
        out=f"dossier/{place}",
    )


def _topic_table(result: Result, board: Board, measure: str, own: Sequence[str]) -> Table | None:
    per_topic = result.findings.per_topic
    every = [
        per_topic[run][measure]
        for run in ranked(result.findings.scores, board)
        if measure in per_topic.get(run, {})
    ]
    mine = [run for run in own if measure in per_topic.get(run, {})]
    if not every or not mine:
        return None
    lower = measure in board.lower_is_better
    rows: list[tuple[Value, ...]] = []
    for topic in result.findings.topics:
        ends = [one for values in every if (one := values.get(topic)) is not None]
        if ends:
            rows.append(
                (
                    topic,
                    *_spread(ends, lower=lower),
                    *(per_topic[r][measure].get(topic) for r in mine),
                )
            )
    columns = ("topic", "best", "median", "worst", *mine)
    return Table(measure, columns, rows, folded=len(result.findings.topics) > 30, most=10_000)


def _spread(ends: Sequence[Range], *, lower: bool) -> tuple[Range, Range, Range]:
    """Best, median and worst of all runs, each from its floor to its ceiling: all three rise with
    every value, so that their ends are those of the runs' ends."""
    floors, ceilings = zip(*ends, strict=True)
    best, worst = (min, max) if lower else (max, min)
    return (
        Range(best(floors), best(ceilings)),
        Range(statistics.median(floors), statistics.median(ceilings)),
        Range(worst(floors), worst(ceilings)),
    )
