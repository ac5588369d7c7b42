"""From one ledger into another: copied row by row with its digests, or merged label by label."""

from __future__ import annotations

from assay.ledger.store import TABLES, Store


def copied(source: Store, target: Store) -> None:
    """Write to ``target`` all rows of ``source`` that come after its own, within the transaction
    under way."""
    after = {
        table: target.execute(f"SELECT max({columns[0]}) FROM {table}").fetchone()[0] or 0  # noqa: S608
        for table, columns in TABLES.items()
    }
    for table, columns in TABLES.items():
        number = columns[0]
        rows = f"SELECT {','.join(columns)} FROM {table} WHERE {number} > ? ORDER BY {number}"  # noqa: S608
        target.fill(table, source.each(rows, [after[table]]))
    target.filled()
