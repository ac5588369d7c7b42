"""What labellers said, as remarks on cards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.model.labels import Label, Status
from assay.page.cards import Remark
from assay.page.wording import number, one_line
from assay.protocols.places import Place, WhereUsed

_PLACES = 5
"""Most other places of a label that are named; the rest are counted."""

_DETAILS = 12


def remarks(
    label: Label | None,
    overruled: Label | None,
    field: str,
    words: tuple[str, str],
    *,
    before: str = "",
) -> tuple[Remark, ...]:
    """What a label says about a yes-no ``field`` of its verdict, in ``words`` for yes and no, and
    what the label says that a person overruled."""
    pairs = ((label, False), (overruled, True))
    return tuple(_remark(one, field, words, before, struck) for one, struck in pairs if one)


def _remark(label: Label, field: str, words: tuple[str, str], before: str, struck: bool) -> Remark:
    if label.status is Status.FAILED:
        verdict, reason = "no usable label", label.error or "the labeller failed"
    else:
        yes = _yes(label, field)
        verdict = "verdict unreadable" if yes is None else words[0] if yes else words[1]
        reason = label.reason or str((label.verdict or {}).get("reason") or "")
    who = label.labeller
    return Remark(verdict, reason, who.name, who.is_human, _detail(label), struck, before)


def _yes(label: Label, field: str) -> bool | None:
    value = (label.verdict or {}).get(field)
    if isinstance(value, str):
        return {"yes": True, "true": True, "no": False, "false": False}.get(value.casefold())
    return value if isinstance(value, bool) else None


def used_elsewhere(label: Label | None, here: Place, where: WhereUsed) -> str:
    """Say where else a label is used, as units of equal content share one label."""
    if label is None:
        return ""
    others = [place for place in where.of(label.unit) if place != here]
    named = ", ".join(one_line(str(place)) for place in others[:_PLACES])
    more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
    return f"The same as {named}{more}, so they share one label." if others else ""


# -- how sure an embedded model was ---------------------------------------------------------------


def _detail(label: Label) -> str:
    """A label's margins or probabilities in words."""
    parts = []
    for probe in _rows(label, "probes"):
        if shown := _signed(probe.get("margin")):
            threshold = _signed(probe.get("threshold"))
            limit = f" (threshold {threshold})" if threshold else ""
            parts.append(f"{probe.get('probe') or ''}: margin {shown}{limit}".removeprefix(": "))
    parts += map(_probabilities, _rows(label, "rulings"))
    if label.sample:
        parts.append(f"sample {label.sample}")
    return "; ".join(parts[:_DETAILS])


def _rows(label: Label, name: str) -> list[Mapping[str, Any]]:
    """The objects in a list in a label's detail, ignoring what other tools may have put there."""
    rows = label.detail.get(name)
    return [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []


def _signed(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    shown = number(float(value), 2)
    return (shown if value < 0 and shown != "0.00" else f"+{shown}").replace("-", "−")


def _probabilities(ruling: Mapping[str, Any]) -> str:
    """The probabilities that the embedded judge gave for one question."""
    shown = [
        f"{name} {number(float(ruling[name]), 2)}"
        for name in ("yes", "partly", "no")
        if isinstance(ruling.get(name), int | float) and math.isfinite(ruling[name])
    ]
    return f"probability of {', '.join(shown)}" if shown else "unreadable"
