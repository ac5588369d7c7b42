"""What is asked about a pair, and how the task's verdict becomes yes, partly or no."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.formats.pairs import Pair, PairTask
from assay.labellers.base import Request
from assay.model.labels import Label
from assay.tasks.base import AnyTask, Unit
from assay.tasks.exam import SELF_RATING, RatingUnit
from assay.tasks.r2c2 import ANSWER, AnswerUnit
from assay.tasks.trec_rag import SUPPORT, SupportUnit

YES, PARTLY, NO = "yes", "partly", "no"
_ROUNDED = 1e-4
"""What probabilities are rounded to in labels."""
_SUPPORT = {"full": YES, "partial": PARTLY, "none": NO}


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of pairs is judged: the labelling task, its unit, and the level of a verdict."""

    task: AnyTask
    unit: Callable[[Pair], Unit]
    level: Callable[[Mapping[str, Any]], str]

    def request(self, pair: Pair) -> Request:
        """What is asked about ``pair``."""
        return Request(self.task, self.unit(pair))


def _support(pair: Pair) -> Unit:
    return SupportUnit(passage=pair.texts["passage"], sentence=pair.texts["claim"])


def _answers(pair: Pair) -> Unit:
    return RatingUnit(passage=pair.texts["passage"], question=pair.texts["question"])


def _correct(pair: Pair) -> Unit:
    return AnswerUnit(question=pair.texts["question"], answer=pair.texts["answer"], gold=pair.gold)


def _rated(verdict: Mapping[str, Any]) -> str:
    """4 (a small gap) and 5 are a yes, as in EXAM++; 2 and 3 answer in part."""
    rating = verdict["rating"]
    return YES if rating >= 4 else PARTLY if rating >= 2 else NO


KINDS: Mapping[PairTask, Kind] = {
    PairTask.SUPPORT: Kind(SUPPORT, _support, lambda verdict: _SUPPORT[verdict["support"]]),
    PairTask.ANSWERS: Kind(SELF_RATING, _answers, _rated),
    PairTask.CORRECT: Kind(ANSWER, _correct, lambda verdict: YES if verdict["correct"] else NO),
}


def probability(label: Label, level: str) -> float | None:
    """The probability of yes behind a label; None where its labeller gives none, or where a rule
    decided against it."""
    for ruling in label.detail.get("rulings", ())[:1]:
        return None if by_rule(label, level) else float(ruling["yes"])
    for probe in label.detail.get("probes", ())[:1]:
        return 1 / (1 + math.exp(-max(min(float(probe["margin"]), 700.0), -700.0)))
    return None


def by_rule(label: Label, level: str) -> bool:
    """Whether the embedded judge's rules on denials and refusals decided, not its network."""
    for ruling in label.detail.get("rulings", ())[:1]:
        beyond = ruling["yes"] - ruling["threshold"]
        return bool(abs(beyond) > _ROUNDED and (beyond > 0) != (level == YES))
    return False
