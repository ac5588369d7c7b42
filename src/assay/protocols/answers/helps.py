"""Which nuggets helped to find an answer, as a label of the answer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.model.rag import Answer

Helps = Mapping[int, tuple[bool, str | None]]
"""By the nugget's place, from 0: whether it helped, and why."""


def helps_said(verdict: Mapping[str, Any]) -> Helps:
    """What a verdict says of nuggets, by the place that each has in the question."""
    return {
        int(item["nugget"]) - 1: (bool(item["helped"]), item.get("reason") or None)
        for item in verdict.get("nuggets", ())
    }


def helps_among(said: Helps, answer: Answer, beside: Sequence[int], now: Sequence[int]) -> Helps:
    """What is said of the nuggets of ``answer``, by their places in it; it was judged ``beside``
    those at these places. Of others of the same wording the same holds, unless different things
    are said of that. It is of use for those that are entailed ``now``."""
    known = {beside[place]: one for place, one in said.items() if 0 <= place < len(beside)}
    if beside == now and len(known) == len(now):
        return known
    by_text: dict[str, dict[bool, str | None]] = {}
    for at, (helped, why) in known.items():
        by_text.setdefault(answer.nuggets[at].text, {})[helped] = why
    others = {
        at: next(iter(by_text[one.text].items()))
        for at, one in enumerate(answer.nuggets)
        if len(by_text.get(one.text, ())) == 1
    }
    return others | known
