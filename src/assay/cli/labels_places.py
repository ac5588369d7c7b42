"""Where the labels of a folder are used, for ``assay labels``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.cli.common import err
from assay.cli.jobs import open_job
from assay.ledger import Ledger
from assay.model.errors import AssayError
from assay.protocols.places import Used, WhereUsed

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
        results = open_job(path).score(ledger)
    except AssayError as error:
        err().print(f"Note: the places that labels are used at are left out: {error}", markup=False)
        return WhereUsed(())
    return WhereUsed(_used(results.value))


def _used(value: Any) -> Iterable[Used]:
    """The labels of a protocol's result, or of those of several."""
    if isinstance(value, Mapping):
        return (one for results in value.values() for one in _used(results.value))
    used: Iterable[Used] = value.used
    return used
