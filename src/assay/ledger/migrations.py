"""Numbered migrations of the ledger's tables. Add at the end; never edit one that was released."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    # 1: units, labellers, labels; updates and deletions are refused by the database itself.
    """
    CREATE TABLE units (
        hash TEXT PRIMARY KEY,
        task TEXT NOT NULL,
        content TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX units_task ON units (task);
    CREATE TABLE labellers (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        params TEXT NOT NULL,
        UNIQUE (name, kind, params)
    );
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        key TEXT NOT NULL,
        task TEXT NOT NULL,
        version TEXT NOT NULL,
        unit TEXT NOT NULL REFERENCES units (hash),
        labeller INTEGER NOT NULL REFERENCES labellers (id),
        sample INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
        verdict TEXT,
        reason TEXT,
        error TEXT,
        overrules TEXT,
        tokens_in INTEGER,
        tokens_out INTEGER,
        cost REAL,
        seconds REAL,
        created TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '{}',
        CHECK ((status = 'ok') = (verdict IS NOT NULL))
    );
    CREATE INDEX labels_key ON labels (key);
    CREATE INDEX labels_unit ON labels (unit);
    CREATE TRIGGER labels_keep BEFORE UPDATE ON labels
        BEGIN SELECT RAISE (ABORT, 'labels are never changed'); END;
    CREATE TRIGGER labels_stay BEFORE DELETE ON labels
        BEGIN SELECT RAISE (ABORT, 'labels are never deleted'); END;
    CREATE TRIGGER units_keep BEFORE UPDATE ON units
        BEGIN SELECT RAISE (ABORT, 'units are never changed'); END;
    CREATE TRIGGER units_stay BEFORE DELETE ON units
        BEGIN SELECT RAISE (ABORT, 'units are never deleted'); END;
    """,
)
