"""Whether scores that were written are those of the labels that a ledger holds now."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from assay.model.errors import AssayError
from assay.model.wording import counted, printable
from assay.protocols.folder import Folder
from assay.protocols.manifest import read_manifest


def labels_since(table: Path) -> str:
    """What to know of a file in the ``out/`` of an evaluation folder to whose ledger labels came
    after it was written; empty where none came, where the ledger cannot be asked, is another one
    or a server's (which may take long to answer), and of files that lie elsewhere, such as a copy
    of ``out/``."""
    for place in table.absolute().parents[1:3]:  # of several protocols it is in out/PROTOCOL
        if (place / "assay.toml").is_file():
            with suppress(AssayError):
                folder = Folder.open(place)
                is_own = table.absolute().is_relative_to((folder.path / "out").absolute())
                if is_own and isinstance(folder.ledger_place, Path):
                    return _since(table, folder)
            break
    return ""


def _since(table: Path, folder: Folder) -> str:
    count = later_labels(read_manifest(table.parent), folder)
    if not count:
        return ""
    came = f"{counted(count, 'label')} came to the ledger after it was written"
    command = printable(f"assay score {shlex.quote(str(folder.path))}")
    return f"{printable(str(table))}: {came}. '{command}' takes in those that count for scores."


def later_labels(manifest: Mapping[str, Any], folder: Folder) -> int:
    """How many labels the folder's ledger has beyond the newest that a manifest knows of; 0 where
    it is not the ledger that the manifest is of. Raises AssayError where it cannot be asked."""
    head = manifest.get("ledger")
    scored = head.get("labels") if isinstance(head, dict) else None
    if not isinstance(scored, int) or not folder.has_ledger():
        return 0
    with folder.open_ledger(create=False) as ledger:
        if ledger.faulty_head(head):
            return 0
        return ledger.head().labels - scored
