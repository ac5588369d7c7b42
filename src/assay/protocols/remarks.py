"""What labellers said, as remarks beside what it is about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.model.labels import Label, Status
from assay.page.cards import Remark
from assay.page.wording import number, one_line
from assay.protocols.places import Place, WhereUsed

_PLACES = 5
"""Other places of a label that are named; of more only the number is."""

_DETAILS = 12


def remarks(
    label: Label | None,
    overruled: Label | None,
    field: str,
    words: tuple[str, str],
    *,
    before: str = "",
) -> tuple[Remark, ...]:
    """What a label says of a yes-no ``field`` of its verdict, in ``words`` for yes and no, and what
    one says that a person overruled."""
    pairs = ((label, False), (overruled, True))
    return tuple(_remark(one, field, words, before, struck) for one, struck in pairs if one)


def _remark(label: Label, field: str, words: tuple[str, str], before: str, struck: bool) -> Remark:
    if label.status is Status.FAILED:
        verdict, reason = "no usable label", label.error or "the labeller failed"
    else:
        said = _yes(label, field)
        verdict = "verdict unreadable" if said is None else words[0] if said else words[1]
        reason = label.reason or str((label.verdict or {}).get("reason") or "")
    who = label.labeller
    return Remark(verdict, reason, who.name, who.is_human, _detail(label), struck, before)


def _yes(label: Label, field: str) -> bool | None:
    value = (label.verdict or {}).get(field)
    if isinstance(value, str):
        return {"yes": True, "true": True, "no": False, "false": False}.get(value.casefold())
    return value if isinstance(value, bool) else None


def used_elsewhere(label: Label | None, here: Place, where: WhereUsed) -> str:
    """Say where else a label is used: what is equal has one label."""
    if label is None:
        return ""
    others = [place for place in where.of(label.unit) if place != here]
    named = ", ".join(one_line(str(place)) for place in others[:_PLACES])
    more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
    return f"Equal, so one label with {named}{more}." if others else ""


# -- how sure an embedded model was ---------------------------------------------------------------


def _detail(label: Label) -> str:
    """A label's margins or probabilities in words."""
    parts = []
    for name, margin, threshold in _margins(label.detail):
        if shown := _signed(margin):
            limit = f" (threshold {_signed(threshold)})" if _signed(threshold) else ""
            named = f"{name}: " if name and name != "margin" else ""
            parts.append(f"{named}margin {shown}{limit}")
    parts += [_probabilities(ruling) for ruling in label.detail.get("rulings", ())]
    if label.sample:
        parts.append(f"sample {label.sample}")
    return "; ".join(parts[:_DETAILS])


def _margins(value: object, depth: int = 0) -> Iterator[tuple[str, Any, Any]]:
    """(name, margin, threshold) wherever a label's detail holds a margin."""
    if isinstance(value, Mapping):
        if "margin" in value:
            name = value.get("nugget") or value.get("probe") or ""
            yield str(name), value["margin"], value.get("threshold")
        if depth < 3:
            for key, inner in value.items():
                if isinstance(inner, Mapping | list | tuple):
                    for name, margin, threshold in _margins(inner, depth + 1):
                        yield (name or str(key)), margin, threshold
    elif isinstance(value, list | tuple) and depth < 3:
        for inner in value:
            yield from _margins(inner, depth + 1)


def _signed(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    shown = number(float(value), 2)
    return (shown if value < 0 and shown != "0.00" else f"+{shown}").replace("-", "−")


def _probabilities(ruling: object) -> str:
    """What the embedded judge's label holds of one question."""
    if not isinstance(ruling, Mapping):
        return "unreadable"
    shown = [
        f"{name} {number(float(ruling[name]), 2)}"
        for name in ("yes", "partly", "no")
        if isinstance(ruling.get(name), int | float) and math.isfinite(ruling[name])
    ]
    return f"probability of {', '.join(shown)}" if shown else "unreadable"
