"""Battles: two runs' answers to one topic, beside each other, and who won."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
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
    def turned(self) -> Verdict:
        """The verdict with the sides exchanged."""
        return {Verdict.A: Verdict.B, Verdict.B: Verdict.A}.get(self, self)


class Battle(NamedTuple):
    """A judgment of a battle. ``verdict`` is None where judging failed; ``topic`` is None where the
    file has no topics; ``judge`` is empty where it does not say who judged."""

    topic: str | None
    a: str
    b: str
    verdict: Verdict | None
    judge: str = ""
    line: int = 0

    @property
    def winner(self) -> str | None:
        """The run that won; None for a tie, or where judging failed."""
        if self.verdict is Verdict.A:
            return self.a
        return self.b if self.verdict is Verdict.B else None
