"""What was found of a unit's questions, and how a task makes its verdict of that."""

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
    """A ruling with the verdicts that follow from the calibrated thresholds; ``threshold`` is that
    of yes, ``first`` the ruling before people of the collection were heard, ``ability`` the
    one that it is of, and ``read`` whether the network was asked at all."""

    ruling: Ruling
    yes: bool
    partly: bool
    threshold: float
    first: Ruling
    ability: Ability
    read: bool

    def quoted(self, start: str) -> str:
        """``start`` and the sentence that counted most, in quotation marks."""
        sentence = self.ruling.sentence
        if not sentence:
            return "There is no text to judge by."
        if len(sentence) > REASON_LENGTH:
            sentence = sentence[: REASON_LENGTH - 1].rsplit(" ", 1)[0] + "…"
        return f"{start}: “{sentence}”"


@dataclass(frozen=True, slots=True)
class TaskQuestions:
    """How a task is done: the ``questions`` of a unit (none where it cannot be judged, as
    ``cannot`` then says), what is ``settled`` of their ``Levels``, and the verdict from that. The
    first ``deciding`` levels are what the verdict hangs on, all where it is None, and ``told`` what
    it tells apart: ``yes`` from less, ``partly`` or more from no, or both."""

    questions: Callable[[Any], list[JudgeQuestion]]
    verdict: Callable[[Any, Sequence[Levels]], Verdict]
    cannot: Callable[[Any], str | None] = lambda _unit: None
    settled: Callable[[Any, Sequence[Levels]], Sequence[Levels]] = lambda _unit, levels: levels
    deciding: int | None = None
    told: tuple[str, ...] = ("yes",)
