"""Whether scores that were written are those of the labels that a ledger holds now."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

from assay.model.errors import AssayError
from assay.model.wording import counted, printable
from assay.protocols.folder import Folder
from assay.protocols.manifest import read_manifest


def labels_since(table: Path) -> str:
    """What to know of a file in the ``out/`` of an evaluation folder to whose ledger labels came
    after it was written; empty where none came, where the ledger cannot be asked, and of files
    that lie elsewhere."""
    head = read_manifest(table.parent).get("ledger")
    scored = head.get("labels") if isinstance(head, dict) else None
    if not isinstance(scored, int):
        return ""
    for place in table.absolute().parents[1:3]:  # of several protocols it is in out/PROTOCOL
        if (place / "assay.toml").is_file():
            with suppress(AssayError):
                return _later(table, place, scored)
            break
    return ""


def _later(table: Path, place: Path, scored: int) -> str:
    folder = Folder.open(place)
    if not folder.has_ledger():
        return ""
    with folder.open_ledger(create=False) as ledger:
        since = ledger.head().labels - scored
    if since <= 0:
        return ""
    came = f"{counted(since, 'label')} came to the ledger after it was written"
    command = printable(f"assay score {shlex.quote(str(place))}")
    return f"{printable(str(table))}: {came}. '{command}' takes in those that count."
