"""The pages of a release: one per team, and a public one without answers and passages."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.api.corrected import family_of
from assay.api.opened import html_of
from assay.api.reading import Note
from assay.ledger.policy import WITHOUT
from assay.measures.ranges import Range
from assay.model.wording import counted, joined
from assay.page.page import Board, Page
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
from assay.protocols.pages import policy_in_words
from assay.protocols.results import Result
from assay.reports.leaderboards import ranked

PAGE_BYTES = 2_000_000
"""Size limit of a public page; sections that would exceed it are left out."""

_PERSON = "human:"
_NUMBERS = (Table, Grid, Scatter, Curves, Reliability, LineChart, Beside, Panels, Sentences)
"""Parts allowed on a public page: numbers, figures, and sentences that Assay makes of them."""


def told_to_all(warnings: Sequence[str]) -> tuple[str, ...]:
    """Warnings for the public: the count of each kind, without names, places or quoted text."""
    kinds = Counter(map(masked, warnings))
    return tuple(f"{count:,} × {kind}" if count > 1 else kind for kind, count in kinds.items())


def public_page(page: Page, place: str, seal: str, note: Note) -> tuple[Page, list[str]]:
    """The page without answers and passages, and the titles of sections that did not fit."""
    page = replace(without_names(page), warnings=told_to_all(page.warnings))
    first = list(page.first)
    remaining = [one for part in page.parts if (one := _without_texts(part)) is not None]
    sealed = f"Sealed: SHA-256 of the manifest {seal}."
    left: list[str] = []
    while True:
        said = [*page.lede, sealed]
        if left:
            said.append(f"Only in the dossier's report: {joined(left, 10)}.")
        public = replace(page, first=tuple(first), parts=tuple(remaining), lede=tuple(said),
                         out=f"dossier/{place}")  # fmt: skip
        size = len(html_of(public))
        goes = remaining or first  # corrected scores are in tables/ too, so they come last
        if size >= PAGE_BYTES and not goes:
            note(f"The leaderboards alone make the public page {size / 1e6:.1f} MB: too large.")
        if not goes or size < PAGE_BYTES:
            return public, left
        sizes = [len(html_of(replace(public, first=(), parts=(part,)))) for part in goes]
        left.append(goes.pop(sizes.index(max(sizes))).title)


def _without_texts(part: Part) -> Part | None:
    """A section reduced to numeric tables, grids and figures, or None if nothing is left. Tables
    with text columns, cards, answers and lists by query show what runs and passages say; so may the
    notes on a grid's rows and columns. How each person labelled is private."""
    if part.of_people:
        return None
    items = tuple(
        replace(item, about={}) if isinstance(item, Grid) else item
        for item in part.items
        if isinstance(item, _NUMBERS) and not (isinstance(item, Table) and item.texts)
    )
    return replace(part, items=items, groups=()) if items else None


def without_names(page: Page) -> Page:
    """The page without the names of people who labelled, and without the machines' endpoints, whose
    addresses are the organiser's own."""
    labelled, policy = [], policy_without_names(page.policy)
    for one in page.labelled:
        people = [name for name in one.counted if name.startswith(_PERSON)]
        machines = {name: n for name, n in one.counted.items() if name not in people}
        count = sum(one.counted[name] for name in people)
        by = {counted(len(people), "person", "people"): count} if people else {}
        labeller = _PERSON + "…" if one.labeller.startswith(_PERSON) else one.labeller
        labelled.append(replace(one, model="", labeller=labeller, counted=by | machines))
    return replace(
        page,
        policy=policy,
        policy_says=page.policy_says if policy == page.policy else policy_in_words(policy),
        settings={k: policy if k == "policy" else v for k, v in page.settings.items()},
        labelled=tuple(labelled),
    )


def policy_without_names(policy: str) -> str:
    """A policy without the names of people whom it leaves out or uses alone."""
    rule, *left_out = policy.split(WITHOUT)
    if rule.startswith(f"only:{_PERSON}"):
        rule = f"only:{_PERSON}…"
    return rule + f"{WITHOUT}…" * len(left_out)


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
    """A team's page: its ``runs`` on the leaderboards of ``page`` with their ranks among all runs,
    the warnings that name them, and their results topic by topic beside those of all. No other run
    is named."""
    ranks = [ranked(result.findings.scores, board) for board in result.findings.boards]
    every = sorted({run for order in ranks for run in order} | {*runs}, key=len, reverse=True)
    name = re.compile("|".join(rf"(?<![\w-]){re.escape(run)}(?![\w-])" for run in every))

    def told(text: str) -> str:
        return name.sub(lambda found: found[0] if found[0] in runs else "another run", text)

    parts = []
    for board in result.findings.boards:
        own = [run for run in runs if run in ranked(result.findings.scores, board)]
        for measure in board.measures if own else ():
            table = _topic_table(result, board, measure, own)
            if table is not None:
                parts.append(table)
    part = Part(
        f"Topic by topic: {team}",
        "Each topic is shown with the best, the median and the worst of all runs. A value is a "
        "range if it depends on labels that are missing.",
        tuple(parts),
    )
    boards = [
        replace(one, note=told(one.note), below=f"{told(one.below)} Ranked among {len(order):,}.")
        for one, order in zip(page.boards, ranks, strict=True)
        if not order.keys().isdisjoint(runs)
    ]
    return replace(
        without_names(page),
        title=f"{page.title} · {team}",
        lede=(*map(told, page.lede), f"Sealed: SHA-256 of the manifest {seal}."),
        boards=tuple(boards),
        only=frozenset(runs),
        gaps=tuple(replace(one, what=told(one.what), so=told(one.so)) for one in page.gaps),
        warnings=tuple(
            told(one) for one in page.warnings if any(run in runs for run in name.findall(one))
        ),
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
    """Best, median and worst of all runs, each as a range. All three are monotone in the values, so
    that their floors and ceilings are those of the runs' floors and ceilings."""
    floors, ceilings = zip(*ends, strict=True)
    best, worst = (min, max) if lower else (max, min)
    return (
        Range(best(floors), best(ceilings)),
        Range(statistics.median(floors), statistics.median(ceilings)),
        Range(worst(floors), worst(ceilings)),
    )
