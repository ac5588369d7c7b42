"""The battle: which of two answers to a question is better? Answers of any protocol can be
compared, and the unit does not say who handed them in."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from assay.model.battles import BattleVerdict as Outcome
from assay.tasks.base import AnyTask, Task, Unit, Verdict

_WORDS = {
    **{one.value.casefold(): one for one in Outcome},
    "both bad": Outcome.BOTH_BAD,
    "both_bad": Outcome.BOTH_BAD,
    "tie (bothbad)": Outcome.BOTH_BAD,
}
_BRACKETED = re.compile(r"\[\[(.*)\]\]", re.DOTALL)


class BattleUnit(Unit):
    """A question and two answers to it, as they are shown."""

    question: str
    answer_a: str
    answer_b: str


def _outcome(value: object) -> object:
    """Read ``[[A]]``, ``both_bad`` and the like as the four verdicts."""
    if not isinstance(value, str):
        return value
    inner = _BRACKETED.fullmatch(value.strip())
    return _WORDS.get((inner[1] if inner else value).strip().casefold(), value)


class BattleVerdict(Verdict):
    """The better answer, or a tie if there is little between them or neither is good enough."""

    reason: str = ""
    verdict: Annotated[Outcome, BeforeValidator(_outcome)]


def _plain(_unit: BattleUnit, reply: str) -> BattleVerdict | None:
    """Read a reply that is only a verdict in brackets, as RAGDoll's judge gives it."""
    found = _outcome(reply)
    bracketed = _BRACKETED.fullmatch(reply.strip()) is not None
    return BattleVerdict(verdict=found) if bracketed and isinstance(found, Outcome) else None


BATTLE: AnyTask = Task(
    name="battles.battle",
    title="Battle: which of two answers is better?",
    unit=BattleUnit,
    verdict=BattleVerdict,
    plain=_plain,
    judged=("answer_a", "answer_b"),
    sides=(("answer_a", "answer_b"), (Outcome.A.value, Outcome.B.value)),
    max_tokens=250,
)

TASKS: tuple[AnyTask, ...] = (BATTLE,)
