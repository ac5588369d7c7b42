"""Labellers that answer any question by chance that never changes: from a hash of what is asked.

They stand in ``assay.toml`` as ``tests.golden.oracle:judge``; :func:`second` and :func:`third` are
of other minds, :func:`patchy` has nothing to say to some questions and gives a verdict that does
not fit to others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Unit = Mapping[str, Any]
Verdict = dict[str, Any]

_GRADES = {"trec_rag.relevance": 4, "trec_rag.relevance_at_once": 5, "exam.thomas": 3}


class Dice:
    """Chance that hangs on nothing but the words it is made from."""

    def __init__(self, *words: str) -> None:
        self._state = hashlib.blake2b("\x1f".join(words).encode()).digest()
        self._left = int.from_bytes(self._state, "big")

    def below(self, most: int) -> int:
        """A whole number from 0."""
        if self._left < 2**64:
            self._state = hashlib.blake2b(self._state).digest()
            self._left = int.from_bytes(self._state, "big")
        self._left, number = divmod(self._left, most)
        return number

    def one(self, *values: Any) -> Any:
        return values[self.below(len(values))]


def decide(task: str, unit: Unit, seed: str = "") -> Verdict:
    """The verdict on a unit of any task whose verdicts are no free text."""
    dice = Dice(seed, task, json.dumps(unit, sort_keys=True))
    yes = dice.below(100)
    if task == "r2c2.entailment":
        return {"entailed": yes < 80}
    if task == "r2c2.answer":
        numbers = range(1, len(unit["nuggets"]) + 1)
        helped = [{"nugget": n, "helped": dice.below(100) < 50} for n in numbers]
        return {"correct": yes < 60, "nuggets": helped}
    if task == "r2c2.dialogue_act":
        return {"act": "answer"}
    if task in _GRADES:
        return {"grade": dice.below(_GRADES[task])}
    if task in ("r2c2.relevance", "trec_rag.relevance_yes_no", "exam.faggioli"):
        return {"relevant": yes < 40}
    if task == "trec_rag.relevance_counted":
        answered = [dice.below(100) < 30 for _ in unit["sub_narratives"]]
        return {"related": yes < 60, "off_topic": dice.one("little", "some"), "answered": answered}
    if task == "trec_rag.support":
        return {"support": dice.one("full", "full", "partial", "none")}
    if task == "trec_rag.assignment":
        labels = ("support", "support", "partial_support", "not_support")
        return {"labels": [dice.one(*labels) for _ in unit["nuggets"]]}
    if task == "trec_rag.importance":
        return {"labels": [dice.one("vital", "okay") for _ in unit["nuggets"]]}
    if task == "trec_rag.mapping":
        places = range(1, len(unit["nuggets"]) + 1)
        count = max(1, len(unit["sub_narratives"]))
        return {"mapping": [{"nugget": n, "sub_narrative": dice.below(count) + 1} for n in places]}
    if task == "trec_rag.nuggets":
        return {"nuggets": [one.split(".")[0][:60] for one in unit["documents"]][: unit["most"]]}
    if task == "exam.self_rating":
        return {"rating": dice.below(4) if yes < 94 else 4 + dice.below(2)}
    if task == "exam.answer":
        return {"answer": dice.one("unanswerable", "the moon", "the sun", "yeast", "gold")}
    if task == "sgss.preference":
        return {"preferred": dice.one("left", "right")}
    if task.startswith("sgss."):
        return {"label": dice.one("perfectly", "perfectly", "partially", "no")}
    if task.startswith("exam."):
        return {"correct": yes < 50}
    raise AssertionError(f"{task} was not to be asked")


def _labeller(seed: str, spoilt: int = 0) -> Callable[[str, Unit], Awaitable[Verdict | None]]:
    async def answer(task: str, unit: Unit) -> Verdict | None:
        if spoilt:
            chance = Dice("spoilt", task, json.dumps(unit, sort_keys=True)).below(100)
            if chance < spoilt:
                return None
            if chance < 2 * spoilt:
                return {"nonsense": True}
        return decide(task, unit, seed)

    answer.version = 1  # type: ignore[attr-defined]
    answer.concurrency = 64  # type: ignore[attr-defined]
    return answer


judge = _labeller("")
second = _labeller("second")
third = _labeller("third")
patchy = _labeller("", spoilt=8)
