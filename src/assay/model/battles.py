"""Battles: two runs' answers to one topic, beside each other, and who won."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from assay.model.labels import NO_REASON, Why


class BattleVerdict(StrEnum):
    """What comes of a battle; ``A`` is the answer shown first."""

    A = "A"
    B = "B"
    TIE = "Tie"
    BOTH_BAD = "Tie (Both Bad)"

    @property
    def outcome(self) -> float:
        """1 where A won, 0 where B did, ½ for both kinds of tie."""
        return {"A": 1.0, "B": 0.0}.get(self.value, 0.5)

    @property
    def turned(self) -> BattleVerdict:
        """The verdict with the sides exchanged."""
        return {BattleVerdict.A: BattleVerdict.B, BattleVerdict.B: BattleVerdict.A}.get(self, self)


class Battle(NamedTuple):
    """A judgment of a battle. ``verdict`` is None where judging failed; ``topic`` is None where the
    file has no topics; ``judge`` is empty where it does not say who judged."""

    topic: str | None
    a: str
    b: str
    verdict: BattleVerdict | None
    judge: str = ""
    line: int = 0
    why: Why = NO_REASON

    @classmethod
    def of_silence(cls, topic: str, a: str, b: str, a_says: bool, b_says: bool) -> Battle:
        """What comes of a battle in which not both say something: silence loses, and two silences
        are both bad."""
        verdict = (
            BattleVerdict.A if a_says else BattleVerdict.B if b_says else BattleVerdict.BOTH_BAD
        )
        return cls(topic, a, b, verdict, "", 0, Why("Silence loses."))

    @property
    def winner(self) -> str | None:
        """The run that won; None for a tie, or where judging failed."""
        if self.verdict is BattleVerdict.A:
            return self.a
        return self.b if self.verdict is BattleVerdict.B else None

    def outcome_for(self, run: str) -> float | None:
        """1 where a run of the battle won, 0 where it lost, ½ for a tie; None without a verdict."""
        if self.verdict is None:
            return None
        return self.verdict.outcome if run == self.a else self.verdict.turned.outcome


def by_pair(battles: Iterable[Battle]) -> dict[tuple[str | None, str, str, str], list[Battle]]:
    """Battles by topic, judge and pair of runs, whichever was shown first."""
    found: dict[tuple[str | None, str, str, str], list[Battle]] = {}
    for one in battles:
        low, high = sorted((one.a, one.b))
        found.setdefault((one.topic, one.judge, low, high), []).append(one)
    return found


def merged(battles: Iterable[Battle]) -> list[Battle]:
    """One battle of all those of a pair, topic and judge: the verdict on which all agree, whichever
    side was shown first, else a tie. Battles without a topic are never the same."""
    merged_battles = []
    for (topic, *_), found in by_pair(battles).items():
        if topic is None:
            merged_battles += found
        elif agreed(found):
            merged_battles.append(found[0])
        else:
            merged_battles.append(found[0]._replace(verdict=BattleVerdict.TIE))
    return merged_battles


def agreed(battles: Iterable[Battle]) -> bool:
    """Whether battles of one pair all come out alike."""
    every = list(battles)
    return len({one.outcome_for(every[0].a) for one in every}) == 1
