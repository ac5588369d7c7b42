"""The tables of a ledger's file. A change of them is one more script, which brings those of the
version before up to date; never edit one that was released."""

from __future__ import annotations

from collections.abc import Mapping


def _never_deleted(table: str, what: str) -> str:
    """Triggers by which the database refuses to change or delete rows."""
    return f"""
    CREATE TRIGGER {table}_keep BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never changed'); END;
    CREATE TRIGGER {table}_stay BEFORE DELETE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never deleted'); END;
    """


MIGRATIONS: Mapping[int, str] = {
    # Units come in order, and have few labels each: an index of keys alone, which are random, would
    # have every label of a large ledger change another page.
    5: f"""
    CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    );
    CREATE TABLE labellers (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        params TEXT NOT NULL,
        UNIQUE (name, kind, params)
    );
    CREATE TABLE units (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        task INTEGER NOT NULL REFERENCES tasks (id),
        content TEXT NOT NULL
    );
    CREATE INDEX units_task ON units (task);
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY,
        uid BLOB NOT NULL,
        key BLOB NOT NULL,
        task INTEGER NOT NULL REFERENCES tasks (id),
        version TEXT NOT NULL,
        unit INTEGER NOT NULL REFERENCES units (id),
        labeller INTEGER NOT NULL REFERENCES labellers (id),
        sample INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
        verdict TEXT,
        reason TEXT,
        error TEXT,
        overrules BLOB,
        tokens_in INTEGER,
        tokens_out INTEGER,
        cost REAL,
        seconds REAL,
        created TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '{{}}',
        digest BLOB,
        CHECK ((status = 'ok') = (verdict IS NOT NULL))
    );
    CREATE INDEX labels_asked ON labels (unit, key, status);
    CREATE TABLE draws (
        id INTEGER PRIMARY KEY,
        uid BLOB NOT NULL UNIQUE,
        design TEXT NOT NULL,
        tasks TEXT NOT NULL,
        size INTEGER NOT NULL,
        seed INTEGER NOT NULL,
        created TEXT NOT NULL
    );
    CREATE TABLE drawn (
        draw INTEGER NOT NULL REFERENCES draws (id),
        name TEXT NOT NULL,
        pi REAL NOT NULL CHECK (pi >= 0 AND pi <= 1),
        drawn INTEGER NOT NULL CHECK (drawn IN (0, 1)),
        PRIMARY KEY (draw, name)
    ) WITHOUT ROWID;
    {_never_deleted("units", "units")}
    {_never_deleted("labels", "labels")}
    {_never_deleted("draws", "draws")}
    {_never_deleted("drawn", "draws")}
    """,
}
"""By the version that each makes; ledgers older than the first are not read."""
NEWEST = max(MIGRATIONS)
