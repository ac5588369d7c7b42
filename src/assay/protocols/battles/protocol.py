"""The protocol ``battles``: pairs of answers, from verdicts to ratings of runs.

It stands alone, or beside other protocols in a folder, whose files have the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from assay.formats.battles import write_battles
from assay.labellers.base import Request
from assay.measures.bootstrap import ends_of
from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.battles import Battle, BattleVerdict
from assay.model.wording import counted
from assay.page.page import Board, Gap
from assay.page.parts import Grid, Part, Table, Value
from assay.protocols.base import Assumed, Protocol, Step
from assay.protocols.battles.inputs import ENTRIES, BattleCounts, BattleInputs, BattleSettings, load
from assay.protocols.battles.judged import (
    JudgedBattle,
    adaptive_battles,
    count,
    judge_battle,
    requests,
    requests_in_other_order,
)
from assay.protocols.contents import Content
from assay.protocols.definitions import glossary
from assay.protocols.labels import LabelBook
from assay.protocols.results import Findings
from assay.statistics.battles import BattleRatings, rate, win_rates
from assay.statistics.checks import defined
from assay.statistics.pairing import Match
from assay.tasks.base import AnyTask
from assay.tasks.battles import BATTLE

ROUNDS = 5
"""Rounds of adaptive choice; each uses the results of those before it."""


class BattleProtocol(Protocol[BattleSettings, BattleInputs]):
    """Battles between the answers of runs."""

    name = "battles"
    title = "Battles · which answer is better?"
    settings = BattleSettings
    entries = (*ENTRIES, "questions", "narratives", "topics")
    load = staticmethod(load)

    def tasks(self, settings: BattleSettings) -> Sequence[AnyTask]:
        return (BATTLE,)

    def steps(self, inputs: BattleInputs, settings: BattleSettings) -> Iterator[Step]:
        if inputs.sample:
            yield Step("battles", BATTLE, lambda _: requests(inputs, inputs.sample))
        if settings.adaptive:
            for number in range(1, ROUNDS + 1):
                title = f"most informative battles, {number} of {ROUNDS}"
                asked = partial(_adaptive, inputs, number)
                yield Step(title, BATTLE, asked, waits=True)
        if settings.orders == "both":
            yield Step(
                "the other order",
                BATTLE,
                lambda book: requests_in_other_order(inputs, _matches(inputs, book), book),
                waits=True,
                assumed=Assumed(
                    BATTLE,
                    lambda book: requests_in_other_order(inputs, _matches(inputs, book)),
                    "every battle is also judged in the other order",
                ),
                of_people=lambda _: (),  # nobody judges the same two things twice
            )

    def score(self, inputs: BattleInputs, settings: BattleSettings, book: LabelBook) -> Findings:
        every = [judge_battle(inputs, book, match) for match in _matches(inputs, book)]
        results = [one.result for one in every if one.result is not None]
        counts = count(inputs, results, (one.match for one in every if one.lacks))
        rated = rate(
            counts.table,
            counts.model,
            prior=settings.prior,
            win_rate=settings.win_rate,
            **settings.resampling,
        )
        twice = [one for one in every if len(one.judgments) > 1]
        disagree = sum(one.disagrees for one in twice)
        return Findings(
            topics=inputs.topics,
            scores=_scores(counts, rated),
            per_topic=_per_topic(counts, settings),
            boards=(
                Board(
                    "Runs",
                    ("Rating", "WinRate"),
                    _note(settings),
                    columns=_columns(counts, rated),
                ),
            ),
            definitions=glossary("battles"),
            facts=(
                ("Topics", f"{len(inputs.topics):,}"),
                ("Runs", f"{len(inputs.runs):,}"),
                ("Battles", f"{len(results):,} of {len(every):,}"),
            ),
            gaps=tuple(_gaps(rated, len(twice), disagree)),
            files={"battles.jsonl": write_battles(j for one in every for j in one.judgments)},
            commands=(_command(settings),),
            parts=lambda: tuple(_parts(counts, rated, every)),
            document=lambda: {
                "battles": len(results),
                "both_bad": sum(one.verdict is BattleVerdict.BOTH_BAD for one in results),
                "both_orders": len(twice),
                "disagree": disagree,
                "first_won": _first_won(every),
                "tie_parameter": rated.tie,
                "reason": rated.reason,
            },
            detail=counts,
        )

    def contents(self, inputs: BattleInputs, run: str) -> Mapping[str, Content]:
        return {
            topic: Content(question, answer=text or None, lines=[text] if text else [])
            for topic, question in inputs.questions.items()
            for text in [inputs.text(run, topic)]
        }

    def inputs_in_words(self, inputs: BattleInputs) -> str:
        runs, topics = counted(len(inputs.runs), "run"), counted(len(inputs.topics), "topic")
        return f"{topics}, {runs}, {counted(len(inputs.sample), 'battle')}"


BATTLES = BattleProtocol()


def _adaptive(inputs: BattleInputs, number: int, book: LabelBook) -> Iterator[Request]:
    upto = math.ceil(inputs.settings.adaptive * number / ROUNDS)
    return requests(inputs, adaptive_battles(inputs, book, upto)[1])


def _matches(inputs: BattleInputs, book: LabelBook) -> list[Match]:
    more, wanted = adaptive_battles(inputs, book)
    return [*inputs.sample, *(one.match for one in more), *wanted]


def _scores(counts: BattleCounts, rated: BattleRatings) -> dict[str, dict[str, Score]]:
    found: dict[str, dict[str, Score]] = {}
    for place, run in enumerate(counts.runs):
        own_battles = (counts.table.first == place) | (counts.table.second == place)
        fought_on = int(counts.table.counts[:, :, own_battles].any(axis=(1, 2)).sum())
        missing = int(counts.table.lacking[:, own_battles].any(axis=1).sum())
        rating, share = defined(rated.rating[place]), defined(rated.rate[place])
        ends = None if share is None else Range(share, float(rated.rate_ceiling[place]))
        found[run] = {
            "Rating": Score.undefined(run, "Rating", topics=fought_on, missing=missing)
            if rating is None
            else Score(
                run, "Rating", rating, *ends_of(rated.intervals[place]), fought_on, missing, rating,
                rating,
            ),
            "WinRate": Score.undefined(run, "WinRate")
            if ends is None
            else Score(
                run, "WinRate", ends.value, *ends_of(rated.rate_intervals[place]), fought_on,
                missing, *ends,
            ),
        }  # fmt: skip
    return found


def _per_topic(
    counts: BattleCounts, settings: BattleSettings
) -> dict[str, dict[str, dict[str, Range | None]]]:
    table = counts.table
    floor, ceiling = (
        win_rates(table, table.counts, settings.win_rate, table.lacking, won=won)
        for won in (False, True)
    )
    return {
        run: {
            "WinRate": {
                topic: Range(float(floor[number, place]), float(ceiling[number, place]))
                for number, topic in enumerate(counts.topics)
                if not np.isnan(floor[number, place])
            }
        }
        for place, run in enumerate(counts.runs)
    }


def _command(settings: BattleSettings) -> str:
    """The command that reproduces the ratings from the files."""
    theta = "" if settings.theta is None else f" --theta {settings.theta}"
    return (
        f"assay battles battles.jsonl --merge --model {settings.model}{theta} "
        f"--prior {settings.prior} --win-rate {settings.win_rate}"
    )


def _note(settings: BattleSettings) -> str:
    orders = (
        "Each battle is judged in both orders; if the two disagree, it is a tie."
        if settings.orders == "both"
        else "Each battle is judged in one order, which a hash chooses."
    )
    silent = (
        "A run that does not answer a topic loses its battles there."
        if settings.silent == "loses"
        else "Topics that a run does not answer are left out."
    )
    prior = f" Prior {settings.prior:g}." if settings.prior else ""
    return f"{settings.model}.{prior} {orders} {silent} Battles without a verdict do not count."


def _columns(counts: BattleCounts, rated: BattleRatings) -> dict[str, dict[str, str | int | None]]:
    fought_by = counts.table.fought
    active = np.flatnonzero(fought_by).tolist()
    ranks: dict[str, str | int | None] = {}
    if rated.ranks is not None:
        for place, best, worst in zip(active, rated.ranks.best, rated.ranks.worst, strict=True):
            ends = dict.fromkeys((int(best), int(worst)))
            ranks[counts.runs[place]] = "–".join(map(str, ends))
    battles: dict[str, str | int | None] = {
        run: int(fought_by[place]) for place, run in enumerate(counts.runs)
    }
    return {"battles": battles, "ranks": ranks}


def _first_won(every: Sequence[JudgedBattle]) -> float | None:
    """The share of decided judgments that the answer shown first won; None without any."""
    decided = [j for one in every for j in one.judgments if j.winner is not None and j.judge]
    return sum(j.winner == j.a for j in decided) / len(decided) if decided else None


def _gaps(rated: BattleRatings, twice: int, disagree: int) -> Iterator[Gap]:
    if rated.reason is not None:
        so = "Judge more battles, or set a prior."
        yield Gap(1, f"leaderboard has no ratings: {rated.reason}", so)
    if disagree:
        what = f"of {counted(twice, 'battle')} judged in both orders have two winners"
        yield Gap(disagree, what, "They are ties.", grave=False)


def _parts(
    counts: BattleCounts, rated: BattleRatings, every: Sequence[JudgedBattle]
) -> Iterator[Part]:
    runs = counts.runs
    order = np.argsort(-np.nan_to_num(rated.rating, nan=-np.inf), kind="stable").tolist()
    cells: list[list[float | None]] = [[None] * len(runs) for _ in runs]
    wins, ties, losses = counts.table.total
    for place, (i, j) in enumerate(zip(counts.table.first, counts.table.second, strict=True)):
        if n := wins[place] + ties[place] + losses[place]:
            share = float((wins[place] + ties[place] / 2) / n)
            cells[i][j], cells[j][i] = share, 1 - share
    names = tuple(runs[one] for one in order)
    grid = Grid(
        "Who beats whom",
        names,
        names,
        [[cells[row][column] for column in order] for row in order],
        note="The share of battles that the row’s run won against the column’s run; a tie counts "
        "half.",
        digits=2,
    )
    first = _first_won(every)
    note = (
        "" if first is None else f"The answer shown first won {first:.1%} of the decided judgments."
    )
    yield Part("Battles", note, (grid,), groups=tuple(_topics(counts.topics, every)))


def _topics(
    topics: Sequence[str], every: Sequence[JudgedBattle]
) -> Iterator[tuple[str, tuple[Table, ...]]]:
    """The judgments of each topic, with their reasons."""
    by_topic: dict[str, list[Battle]] = {topic: [] for topic in topics}
    for one in every:
        by_topic[one.match[0]] += one.judgments
    for topic, found in by_topic.items():
        if found:
            rows: list[tuple[Value, ...]] = [
                (j.a, j.b, str(j.verdict), j.judge, j.rationale.reason) for j in found
            ]
            columns = ("shown first", "shown second", "verdict", "who", "why")
            yield topic, (Table("", columns, rows, texts=frozenset({"why"})),)
