"""What a person should know of a pair's label before trusting it."""

from __future__ import annotations

import re

from assay.api.pairs import Kind, by_rule
from assay.formats.pairs import FIELDS, GOLD, Pair, PairTask
from assay.labellers.judge import NAME as JUDGE
from assay.labellers.judge.unread import unread
from assay.labellers.refusals import refusal_in
from assay.model.labels import Label, Status

_WORD = re.compile(r"\w")
NOT_ASKED = "no label: it was not asked, as judging stopped before it"
UNANSWERED = "no label: the labeller has nothing to say about it"


def warning(
    task: PairTask, kind: Kind, pair: Pair, label: Label | None, level: str | None, *, stopped: bool
) -> str | None:
    """All there is to say, in one line; None where there is nothing."""
    found: list[str] = []
    if label is None:
        found.append(NOT_ASKED if stopped else UNANSWERED)
    elif label.status is not Status.OK or level is None:
        found.append(f"no label: {label.error or 'the reply could not be used'}")
    elif by_rule(label, level):
        found.append("decided by the judge's rules on refusals and denials, not by its network")
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
