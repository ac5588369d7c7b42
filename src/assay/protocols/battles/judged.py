"""From labels to battles: which were judged, their results over both orders, and which are next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.labellers.base import Request
from assay.model.battles import Battle, BattleVerdict, merge_battles
from assay.model.labels import Rationale
from assay.protocols.battles.inputs import BattleCounts, BattleInputs
from assay.protocols.labels import LabelBook
from assay.protocols.places import Place
from assay.statistics.battle_counts import tally
from assay.statistics.pairing import Match, next_battles
from assay.tasks.battles import BATTLE


@dataclass(frozen=True, slots=True)
class JudgedBattle:
    """A battle with the judgments that count, in one or both orders; none if it is still to be
    judged. ``lacks``: a judgment that it needs is missing or failed."""

    match: Match
    judgments: tuple[Battle, ...]
    lacks: bool

    @property
    def result(self) -> Battle | None:
        """The result over both orders: a tie if they disagree, None if a judgment lacks."""
        return (
            None
            if self.lacks
            else merge_battles(one._replace(judge="") for one in self.judgments)[0]
        )

    @property
    def disagrees(self) -> bool:
        """Whether it was judged in both orders, with different winners."""
        outcomes = {one.outcome_for(self.match[1]) for one in self.judgments}
        return len(self.judgments) > 1 and len(outcomes) > 1


def judge_battle(
    inputs: BattleInputs, book: LabelBook, match: Match, *, count: bool = True
) -> JudgedBattle:
    """A battle with its judgments. If a person judged one order the other is not needed, as nobody
    judges the same two answers twice. With ``count``, the labels that count and those that are
    missing are noted."""
    known = inputs.known(match)
    if known is not None:
        return JudgedBattle(match, (known,), False)
    topic, orders = match[0], inputs.orders(match)
    asked = [
        (inputs.unit(topic, *order), Place(order[0], topic, f"against {order[1]}"))
        for order in orders
    ]
    usable, lacks = book.in_both_orders(BATTLE, asked, count=count)
    judgments = tuple(
        Battle(
            topic, *orders[at], BattleVerdict(verdict["verdict"]), label.labeller.name, 0,
            Rationale(label.reason or ""),
        )
        for at, label, verdict in usable
    )  # fmt: skip
    return JudgedBattle(match, judgments, lacks)


def requests(inputs: BattleInputs, matches: Iterable[Match]) -> Iterator[Request]:
    """What is asked about battles, each in the order that is drawn for it."""
    for match in matches:
        if inputs.known(match) is None:
            yield Request(BATTLE, inputs.unit(match[0], *inputs.orders(match)[0]))


def requests_in_other_order(
    inputs: BattleInputs, matches: Iterable[Match], book: LabelBook | None = None
) -> Iterator[Request]:
    """The same battles in the other order; given a ``book``, only those judged by a machine."""
    for match in matches:
        if inputs.known(match) is None:
            first, second = (inputs.unit(match[0], *order) for order in inputs.orders(match))
            if book is None or book.judged_by_machine(BATTLE, first):
                yield Request(BATTLE, second)


def count(
    inputs: BattleInputs, results: Iterable[Battle], lacking: Iterable[Match] = ()
) -> BattleCounts:
    """The battles as arrays, including those ``lacking`` a judgment."""
    run_number = {run: place for place, run in enumerate(inputs.runs)}
    topic_number = {topic: place for place, topic in enumerate(inputs.topics)}
    every = [(one.a, one.b, one.topic or "", one.outcome_for(one.a)) for one in results]
    every += [(a, b, topic, None) for topic, a, b in lacking]
    table = tally(
        [run_number[a] for a, *_ in every],
        [run_number[b] for _, b, *_ in every],
        [np.nan if outcome is None else outcome for *_, outcome in every],
        [topic_number[topic] for _, _, topic, _ in every],
        runs=len(run_number),
        topics=len(topic_number),
    )
    settings = inputs.settings
    return BattleCounts(inputs.runs, inputs.topics, table, settings.chosen, settings.prior)


def adaptive_battles(
    inputs: BattleInputs, book: LabelBook, upto: int | None = None
) -> tuple[list[JudgedBattle], list[Match]]:
    """Battles outside the sample that were judged, and those to judge next, the most informative
    first. They are as many together as the setting ``adaptive`` says, or ``upto``."""
    wanted = inputs.settings.adaptive if upto is None else upto
    if not wanted:
        return [], []
    sample = set(inputs.sample)
    every = [judge_battle(inputs, book, one, count=False) for one in inputs.possible]
    more = [one for one in every if one.match not in sample and one.judgments]
    judged = [merge_battles(one.judgments)[0] for one in every if one.judgments]
    more = [one for one in more if inputs.known(one.match) is None]
    left = wanted - len(more)
    if left <= 0:
        return more, []
    table = count(inputs, judged).table
    open_ones: dict[tuple[str, str], list[int]] = {}
    numbers = {topic: place for place, topic in enumerate(inputs.topics)}
    fights = np.zeros(len(numbers), dtype=np.int64)
    for one in every:
        topic, a, b = one.match
        if one.judgments or one.match in sample:
            fights[numbers[topic]] += 1
        else:
            open_ones.setdefault((a, b), []).append(numbers[topic])
    for topics in open_ones.values():
        topics.sort(key=lambda topic: (fights[topic], topic))  # topics with few battles first

    def possible(i: int, j: int) -> Sequence[int]:
        low, high = sorted((inputs.runs[i], inputs.runs[j]))
        return open_ones.get((low, high), ())

    found = next_battles(table, left, possible=possible)
    picked = [(inputs.topics[topic], inputs.runs[i], inputs.runs[j]) for topic, i, j in found]
    return more, picked
