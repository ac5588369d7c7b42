"""Explains why questions are asked again although they look the same as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from assay.judging.engine import Plan
from assay.judging.other_tasks import left_open
from assay.judging.todo import chunks
from assay.ledger import Ledger
from assay.model.wording import printable

PROMPT = "the prompt was changed"
SETTINGS = "the labeller's settings changed"
VERSION = "the task has a new version"
_MOST = 40  # characters of a setting that are shown


def why_repeated(ledger: Ledger, plan: Plan) -> Mapping[tuple[str, str], int]:
    """Count the plan's requests that the same labeller has answered under another key, or under a
    similar task that leaves this question open, by (task, reason).

    Other labellers' labels do not count, nor do failed labels that are asked again.
    """
    counts: Counter[tuple[str, str]] = Counter()
    if not ledger.size():
        return counts
    for part, some in ((each, some) for each in plan.parts for some in chunks(each.todo)):
        own = part.labeller.id
        units = {request.unit_hash: request for _, request in some}
        keys = {key for key, _ in some}
        reasons: dict[str, str] = {}
        for label in ledger.of_units(units):
            request = units[label.unit]
            if label.key in keys or label.labeller.name != own.name:
                continue
            if label.sample != request.sample:
                continue
            if label.version != request.task.version:
                why = VERSION
            elif label.labeller == own:
                why = PROMPT
            else:
                why = f"{SETTINGS} ({_changed(label.labeller.params, own.params)})"
            reasons[label.unit] = why  # the newest label decides
        counts.update((units[unit].task.name, why) for unit, why in reasons.items())
        new = {key: request for key, request in some if request.unit_hash not in reasons}
        counts.update(left_open(ledger, part.labeller, new))
    return counts


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The difference of two settings in words: ``temperature .7, now 0``."""
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    changes = (f"{name} {_short(before, name)}, now {_short(now, name)}" for name in names)
    return "; ".join(changes) or "its kind"


def _short(params: Mapping[str, Any], name: str) -> str:
    text = printable(str(params[name])) if name in params else "none"
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
