"""Labels in few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from assay.cli.common import err
from assay.formats.parsed import printable
from assay.ledger import Ledger, NewLabel
from assay.model.labels import Label
from assay.protocols.folder import Folder
from assay.tasks.registry import REGISTRY

_FEW = 4
"""Texts of a verdict that are shown; of longer lists only the number is."""

_NAMED = 5
"""Faults of a ledger that are told in a remark."""


@contextmanager
def shown_ledger(folder: Path) -> Iterator[Ledger]:
    """The folder's ledger to look at; what of it is not as it was written is told at the end."""
    with Folder.open(folder).open_ledger(create=False) as ledger:
        yield ledger
        remark = faults_in_words(ledger)
    if remark:
        err().print(f"Note: {remark}", markup=False, soft_wrap=True)


def faults_in_words(ledger: Ledger) -> str:
    """What of a ledger is not as it was written, as a remark; empty where all is."""
    faults = list(islice(ledger.faults(), _NAMED + 1))
    if not faults:
        return ""
    more = "; and more" if len(faults) > _NAMED else ""
    named = printable("; ".join(map(str, faults[:_NAMED])))
    return f"{named}{more}. No score uses this ledger. 'assay labels verify' tells all of it."


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
