"""Agreement of people who labelled the same units, and the consensus of their labels."""

from __future__ import annotations

from pathlib import Path

from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.protocols.people import Overlap


def people_of(folder: Path, task: str = "") -> list[Overlap]:
    """Units of a folder labelled by several people, or by people and the machine, for each task and
    field. Raises the errors of :meth:`Opened.open`."""
    opened = Opened.open(folder)
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        return [one for one in overlaps_of(opened, ledger) if task in ("", one.task)]


def overlaps_of(opened: Opened, ledger: Ledger) -> list[Overlap]:
    """:func:`people_of` with an open ledger, for all tasks of the folder's protocols."""
    found: dict[tuple[str, str], Overlap] = {}
    for part in opened.quick().parts.values():
        for one in part.overlaps(part.book(ledger)):
            found.setdefault((one.task, one.field), one)
    return list(found.values())
