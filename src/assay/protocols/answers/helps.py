"""Which nuggets helped to find an answer, according to a label of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.model.rag import Answer

Helps = Mapping[int, tuple[bool, str | None]]
"""Maps the index of a nugget to whether it helped, and why."""


def helps_of_verdict(verdict: Mapping[str, Any]) -> Helps:
    """What a verdict says about nuggets, by their index in the question that was asked."""
    return {
        int(item["nugget"]) - 1: (bool(item["helped"]), item.get("reason") or None)
        for item in verdict.get("nuggets", ())
    }


def helps_in_answer(
    helps: Helps, answer: Answer, beside: Sequence[int], now: Sequence[int]
) -> Helps:
    """Convert ``helps`` from indexes in the question to indexes in ``answer``, which was judged
    with the nuggets at the indexes ``beside``. Other nuggets with the same text get the same,
    unless verdicts on that text differ. It is used for the nuggets that are entailed ``now``."""
    known = {beside[place]: one for place, one in helps.items() if 0 <= place < len(beside)}
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
