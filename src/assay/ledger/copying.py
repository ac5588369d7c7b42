"""Copying a ledger row by row, numbers and digests included, so that both are identical."""

from __future__ import annotations

from assay.ledger.store import MOST, TABLES, Store, each
from assay.model.errors import LedgerError
from assay.model.progress import ProgressCallback, no_progress, with_progress

_NUMBERED = ("tasks", "labellers", "units")  # other tables refer to their rows by number


def copied(source: Store, target: Store, progress: ProgressCallback = no_progress) -> None:
    """Write to ``target`` all rows of ``source`` numbered after its own, in the current
    transaction. Raises LedgerError if rows with the same number differ."""
    after = {
        table: target.execute(f"SELECT max({columns[0]}) FROM {table}").fetchone()[0] or 0  # noqa: S608
        for table, columns in TABLES.items()
    }
    for table in _NUMBERED:
        both = f"SELECT {','.join(TABLES[table])} FROM {table} WHERE id <= ? AND id > ? ORDER BY id"  # noqa: S608
        sides = (map(tuple, each(store, both, [after[table], 0])) for store in (source, target))
        if any(one != other for one, other in zip(*sides, strict=True)):
            raise LedgerError(f"{target.name}: its {table} have different numbers. {OTHERWISE}")
    for table, columns in TABLES.items():
        number = columns[0]
        rows = f"SELECT {','.join(columns)} FROM {table} WHERE {number} <= ? AND {number} > ? "  # noqa: S608
        found = each(source, f"{rows} ORDER BY {number}", [MOST, after[table]])
        last = source.execute(f"SELECT max({number}) FROM {table}").fetchone()[0] or 0  # noqa: S608
        left = last - after[table] if number == "id" else None
        target.fill(table, with_progress(found, f"{table} copied", left, progress))
    target.filled()


OTHERWISE = "Copy into a new ledger; 'assay labels merge' adds what an existing one lacks."
