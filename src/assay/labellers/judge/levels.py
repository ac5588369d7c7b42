"""Levels of the answers to a unit's questions, and how a task turns them into a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.labellers.judge.model import JudgeQuestion, Ruling
from assay.labellers.judge.texts import Ability
from assay.tasks.base import Verdict

REASON_LENGTH = 240


@dataclass(frozen=True, slots=True)
class Levels:
    """A ruling with its verdicts by the calibrated thresholds. ``threshold`` is that of yes.
    ``first`` is the ruling before the local calibration. ``read`` says whether the network was
    asked at all."""

    ruling: Ruling
    yes: bool
    partly: bool
    threshold: float
    first: Ruling
    ability: Ability
    read: bool

    def quoted(self, start: str) -> str:
        """``start`` and the most important sentence, in quotation marks."""
        sentence = self.ruling.sentence
        if not sentence:
            return "There is no text to judge by."
        if len(sentence) > REASON_LENGTH:
            sentence = sentence[: REASON_LENGTH - 1].rsplit(" ", 1)[0] + "…"
        return f"{start}: “{sentence}”"


@dataclass(frozen=True, slots=True)
class TaskQuestions:
    """How to do a task. ``questions`` gives the questions of a unit; ``cannot`` says why a unit
    cannot be judged, or None. ``settled`` combines the levels of the answers, and ``verdict`` makes
    the verdict from them. The verdict depends on the first ``deciding`` levels (None: all) and
    distinguishes the levels in ``distinguished``: ``yes`` from less, ``partly`` or more from no, or
    both."""

    questions: Callable[[Any], list[JudgeQuestion]]
    verdict: Callable[[Any, Sequence[Levels]], Verdict]
    cannot: Callable[[Any], str | None] = lambda _unit: None
    settled: Callable[[Any, Sequence[Levels]], Sequence[Levels]] = lambda _unit, levels: levels
    deciding: int | None = None
    distinguished: tuple[str, ...] = ("yes",)
