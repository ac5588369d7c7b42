"""Verdicts in few words."""

from __future__ import annotations

from collections import Counter
from typing import Any

from assay.ledger import NewLabel
from assay.model.labels import Label
from assay.tasks.registry import REGISTRY

_FEW = 4
"""Texts of a verdict that are shown; of longer lists only the number is."""


def in_words(label: Label | NewLabel) -> str:
    """A verdict in a few characters."""
    if label.verdict is None:
        return "failed"
    parts = []
    known = REGISTRY.get(label.task)
    if known is not None and known.compared:
        whole = known.verdict.model_validate(label.verdict)
        parts.append(f"{known.compared} {getattr(whole, known.compared)}")
    for name, value in label.verdict.items():
        if name == "reason":
            continue
        if isinstance(value, bool):
            parts.append(f"{name} {'YES' if value else 'NO'}")
        elif isinstance(value, list):
            parts.append(_items(name, value))
        else:
            parts.append(str(value))
    return "; ".join(parts)


def _items(name: str, items: list[Any]) -> str:
    """A list within a verdict: how many items say what, or their texts, or their number."""
    if all(isinstance(one, dict) and "helped" in one for one in items):
        helped = [str(one["nugget"]) for one in items if one["helped"]]
        return f"helped {','.join(helped) or 'none'}"
    if all(isinstance(one, bool) for one in items):
        return f"{sum(items)} of {len(items)} {name}"
    if all(isinstance(one, str) and len(one.split()) == 1 for one in items):
        return ", ".join(f"{count} {word}" for word, count in Counter(items).items())
    if len(items) < _FEW and all(isinstance(one, dict) and "text" in one for one in items):
        return " / ".join(str(one["text"]) for one in items)
    return f"{len(items)} {name.replace('_', ' ')}"
