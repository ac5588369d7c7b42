"""Where the labels of a folder are used, for ``assay labels``."""

from __future__ import annotations

from pathlib import Path

from assay.cli.common import err
from assay.cli.folders import open_folder
from assay.ledger import Ledger
from assay.model.errors import AssayError
from assay.protocols.places import WhereUsed

MANY = 300_000
"""Labels in a ledger from which on places are left out: scoring, which finds them, holds some four
thousand bytes a label."""


def where_used(path: Path, ledger: Ledger) -> WhereUsed:
    """Where each label of a folder is used under its policy; nowhere, with a note, where the
    inputs cannot be read."""
    if ledger.size() > MANY:
        err().print(f"Note: more than {MANY:,} labels: the places they are used at are left out.")
        return WhereUsed(())
    try:
        results = open_folder(path).score(ledger)
    except AssayError as error:
        err().print(f"Note: the places that labels are used at are left out: {error}", markup=False)
        return WhereUsed(())
    return WhereUsed(used for one in results.by_protocol.values() for used in one.used)
