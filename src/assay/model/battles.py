"""Battles: the answers of two runs to one topic, compared side by side."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from assay.model.labels import NO_RATIONALE, Rationale


class BattleVerdict(StrEnum):
    """Outcome of a battle; ``A`` is the answer shown first."""

    A = "A"
    B = "B"
    TIE = "Tie"
    BOTH_BAD = "Tie (Both Bad)"

    @property
    def outcome(self) -> float:
        """1 if A won, 0 if B won, ½ for either kind of tie."""
        return {"A": 1.0, "B": 0.0}.get(self.value, 0.5)

    @property
    def swapped(self) -> BattleVerdict:
        """The verdict with the sides swapped."""
        return {BattleVerdict.A: BattleVerdict.B, BattleVerdict.B: BattleVerdict.A}.get(self, self)


class Battle(NamedTuple):
    """One judgment of a battle between runs ``a`` (shown first) and ``b``. ``verdict`` is None if
    judging failed, ``topic`` is None if the file has no topics, and ``judge`` is empty if the file
    does not say who judged."""

    topic: str | None
    a: str
    b: str
    verdict: BattleVerdict | None
    judge: str = ""
    line: int = 0
    rationale: Rationale = NO_RATIONALE

    @classmethod
    def from_silence(cls, topic: str, a: str, b: str, a_answered: bool, b_answered: bool) -> Battle:
        """The battle if at most one run answered: silence loses; if both are silent, both are
        bad."""
        if a_answered:
            verdict = BattleVerdict.A
        else:
            verdict = BattleVerdict.B if b_answered else BattleVerdict.BOTH_BAD
        return cls(topic, a, b, verdict, "", 0, Rationale("Silence loses."))

    @property
    def winner(self) -> str | None:
        """The run that won, or None for a tie or if judging failed."""
        if self.verdict is BattleVerdict.A:
            return self.a
        return self.b if self.verdict is BattleVerdict.B else None

    def outcome_for(self, run: str) -> float | None:
        """1 if ``run`` won, 0 if it lost, ½ for a tie, None without a verdict."""
        if self.verdict is None:
            return None
        return self.verdict.outcome if run == self.a else self.verdict.swapped.outcome


def group_by_pair(
    battles: Iterable[Battle],
) -> dict[tuple[str | None, str, str, str], list[Battle]]:
    """Battles grouped by topic, judge and pair of runs, whichever run was shown first."""
    groups: dict[tuple[str | None, str, str, str], list[Battle]] = {}
    for battle in battles:
        low, high = sorted((battle.a, battle.b))
        groups.setdefault((battle.topic, battle.judge, low, high), []).append(battle)
    return groups


def merge_battles(battles: Iterable[Battle]) -> list[Battle]:
    """One battle for each pair of runs, topic and judge: their common verdict, or else a tie.
    Battles without a topic are never merged."""
    merged_battles = []
    for (topic, *_), group in group_by_pair(battles).items():
        if topic is None:
            merged_battles += group
        elif all_agree(group):
            merged_battles.append(group[0])
        else:
            merged_battles.append(group[0]._replace(verdict=BattleVerdict.TIE))
    return merged_battles


def all_agree(battles: Iterable[Battle]) -> bool:
    """Whether all battles of one pair of runs have the same outcome."""
    every = list(battles)
    return len({battle.outcome_for(every[0].a) for battle in every}) == 1
