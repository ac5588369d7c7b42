"""Why something is asked that looks as if it had been asked before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from assay.judging.engine import Plan
from assay.judging.shared import left_open
from assay.judging.todo import in_parts
from assay.ledger import Ledger
from assay.model.wording import printable

PROMPT = "the prompt was changed"
SETTINGS = "the labeller's settings changed"
VERSION = "the task has a new version"
_MOST = 40  # characters of a setting that are shown


def why_repeated(ledger: Ledger, plan: Plan) -> Mapping[tuple[str, str], int]:
    """How many of the plan's requests have a label under another key by the same labeller, by
    (task, reason), or one under a task that is like it but leaves this open. Other labellers'
    labels are no reason, nor are failed ones asked again."""
    found: Counter[tuple[str, str]] = Counter()
    if not ledger.size():
        return found
    for part, some in ((one, some) for one in plan.asked for some in in_parts(one.todo)):
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
            reasons[label.unit] = why  # the newest label's
        found.update((units[unit].task.name, why) for unit, why in reasons.items())
        new = {key: one for key, one in some if one.unit_hash not in reasons}
        found.update(left_open(ledger, part.labeller, new))
    return found


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What of a labeller's settings is another: ``temperature .7, now 0``."""
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    said = (f"{name} {_short(before, name)}, now {_short(now, name)}" for name in names)
    return "; ".join(said) or "its kind"


def _short(params: Mapping[str, Any], name: str) -> str:
    text = printable(str(params[name])) if name in params else "none"
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
