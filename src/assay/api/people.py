"""How far people who labelled the same units agree, and what their labels come to together."""

from __future__ import annotations

from pathlib import Path

from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.protocols.people import Overlap


def people_of(folder: Path, task: str = "") -> list[Overlap]:
    """What people labelled twice or more in a folder, or beside the machine, task by task and field
    by field. Raises as opening a folder does."""
    opened = Opened.open(folder)
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        return [one for one in overlaps_of(opened, ledger) if task in ("", one.task)]


def overlaps_of(opened: Opened, ledger: Ledger) -> list[Overlap]:
    """The same with a ledger that is open, under all tasks of the folder's protocols."""
    found: dict[tuple[str, str], Overlap] = {}
    for part in opened.quick().parts.values():
        for one in part.overlaps(part.book(ledger)):
            found.setdefault((one.task, one.field), one)
    return list(found.values())
