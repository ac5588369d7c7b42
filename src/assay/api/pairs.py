"""What is asked about a pair, and how the task's verdict becomes yes, partly or no."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.formats.pairs import FIELDS, GOLD, Pair, PairTask
from assay.labellers.base import Request
from assay.labellers.judge import NAME as JUDGE
from assay.labellers.judge.unread import unread
from assay.labellers.refusals import refusal_in
from assay.model.labels import Label, Status
from assay.tasks.base import AnyTask, Unit
from assay.tasks.exam import SELF_RATING, RatingUnit
from assay.tasks.r2c2 import ANSWER, AnswerUnit
from assay.tasks.trec_rag import SUPPORT, SupportUnit

YES, PARTLY, NO = "yes", "partly", "no"
_ROUNDED = 1e-4
"""What probabilities are rounded to in labels."""
_SUPPORT = {"full": YES, "partial": PARTLY, "none": NO}


@dataclass(frozen=True, slots=True)
class PairKind:
    """How a kind of pairs is judged: the labelling task, its unit, and the level of a verdict."""

    task: AnyTask
    unit: Callable[[Pair], Unit]
    level: Callable[[Mapping[str, Any]], str]

    def request(self, pair: Pair) -> Request:
        """What is asked about ``pair``."""
        return Request(self.task, self.unit(pair))


def _rated(verdict: Mapping[str, Any]) -> str:
    """4 (a small gap) and 5 are a yes, as in EXAM++; 2 and 3 answer in part."""
    rating = verdict["rating"]
    return YES if rating >= 4 else PARTLY if rating >= 2 else NO


KINDS: Mapping[PairTask, PairKind] = {
    PairTask.SUPPORT: PairKind(
        SUPPORT,
        lambda pair: SupportUnit(passage=pair.texts["passage"], sentence=pair.texts["claim"]),
        lambda verdict: _SUPPORT[verdict["support"]],
    ),
    PairTask.ANSWERS: PairKind(SELF_RATING, lambda pair: RatingUnit(**pair.texts), _rated),
    PairTask.CORRECT: PairKind(
        ANSWER,
        lambda pair: AnswerUnit(**pair.texts, gold=pair.gold),
        lambda verdict: YES if verdict["correct"] else NO,
    ),
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
    if label.detail.get("by_rule"):
        return True
    for ruling in label.detail.get("rulings", ())[:1]:
        beyond = ruling["yes"] - ruling["threshold"]
        return bool(abs(beyond) > _ROUNDED and (beyond > 0) != (level == YES))
    return False


_WORD = re.compile(r"\w")
NOT_ASKED = "no label: it was not asked, as judging stopped before it"
UNANSWERED = "no label: the labeller has nothing to say about it"


def warning(
    task: PairTask,
    kind: PairKind,
    pair: Pair,
    label: Label | None,
    level: str | None,
    *,
    stopped: bool,
) -> str | None:
    """All there is to say, in one line; None where there is nothing."""
    found: list[str] = []
    if label is None:
        found.append(NOT_ASKED if stopped else UNANSWERED)
    elif label.status is not Status.OK or level is None:
        found.append(f"no label: {label.error or 'the reply could not be used'}")
    elif by_rule(label, level):
        found.append("decided by the judge's rules on refusals and denials, not by its network")
        found[-1] += f": {label.detail['rule']}" if "rule" in label.detail else ""
    found += _of_texts(task, pair)
    if label is not None and level is not None:
        if label.detail.get("calibrated") is False and "rulings" not in label.detail:
            found.append("uncalibrated: no threshold was fitted for this question and model")
        if label.labeller.name == f"embedded:{JUDGE}":
            found += unread(kind.task, kind.unit(pair))
    return "; ".join(found) or None


def _of_texts(task: PairTask, pair: Pair) -> list[str]:
    found = []
    for name in FIELDS[task]:
        if name == GOLD:
            if not any(map(_WORD.search, pair.gold)):
                found.append("there is no gold answer to go by")
        elif not _WORD.search(pair.texts[name]):
            found.append(f"the {name} is empty" + _marks(pair.texts[name]))
        elif name in ("claim", "answer") and refusal_in(pair.texts[name]) is not None:
            found.append(f"the {name} declines to answer")
    return found


def _marks(text: str) -> str:
    return " but for marks" if text.strip() else ""
