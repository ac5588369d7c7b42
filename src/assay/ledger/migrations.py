"""Numbered migrations of the ledger's tables. Add at the end; never edit one that was released."""

from __future__ import annotations

_SAID = """
    sample INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
    verdict TEXT,
    reason TEXT,
    error TEXT,
    overrules {},
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost REAL,
    seconds REAL,
    created TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '{{}}',
    CHECK ((status = 'ok') = (verdict IS NOT NULL))"""
"""What labels of the first two versions say; overruled uids are of another type in each."""


def _never_deleted(table: str, what: str) -> str:
    """Triggers by which the database refuses to change or delete rows."""
    return f"""
    CREATE TRIGGER {table}_keep BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never changed'); END;
    CREATE TRIGGER {table}_stay BEFORE DELETE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never deleted'); END;
    """


MIGRATIONS: tuple[str, ...] = (
    # 1: units, labellers, labels; updates and deletions are refused by the database itself.
    f"""
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
        {_SAID.format("TEXT")}
    );
    CREATE INDEX labels_key ON labels (key);
    CREATE INDEX labels_unit ON labels (unit);
    {_never_deleted("labels", "labels")}
    {_never_deleted("units", "units")}
    """,
    # 2: hashes as 16 bytes instead of 32 letters, units and tasks referred to by number: a label
    # takes two thirds of the room, and labels and their units lie in the same order.
    # A label whose unit is missing (a damaged file) breaks a rule and stops it: none is dropped.
    f"""
    DROP INDEX labels_key;
    DROP INDEX labels_unit;
    DROP INDEX units_task;
    DROP TRIGGER labels_keep;
    DROP TRIGGER labels_stay;
    DROP TRIGGER units_keep;
    DROP TRIGGER units_stay;
    ALTER TABLE labels RENAME TO labels_1;
    ALTER TABLE units RENAME TO units_1;
    CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    );
    CREATE TABLE units (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        task INTEGER NOT NULL REFERENCES tasks (id),
        content TEXT NOT NULL
    );
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY,
        uid BLOB NOT NULL,
        key BLOB NOT NULL,
        task INTEGER NOT NULL REFERENCES tasks (id),
        version TEXT NOT NULL,
        unit INTEGER NOT NULL REFERENCES units (id),
        labeller INTEGER NOT NULL REFERENCES labellers (id),
        {_SAID.format("BLOB")}
    );
    INSERT INTO tasks (name) SELECT task FROM units_1 UNION SELECT task FROM labels_1 ORDER BY 1;
    INSERT INTO units (hash, task, content)
        SELECT packed(hash), tasks.id, content FROM units_1 JOIN tasks ON tasks.name = units_1.task
        LEFT JOIN (SELECT unit, min(id) AS first FROM labels_1 GROUP BY unit) ON unit = hash
        ORDER BY first;
    INSERT INTO labels
        SELECT labels_1.id, packed(uid), packed(key), tasks.id, version, units.id, labeller, sample,
            status, verdict, reason, error, packed(overrules), tokens_in, tokens_out, cost, seconds,
            created, detail
        FROM labels_1 JOIN tasks ON tasks.name = labels_1.task
        LEFT JOIN units ON units.hash = packed(labels_1.unit) ORDER BY labels_1.id;
    DROP TABLE labels_1;
    DROP TABLE units_1;
    CREATE INDEX labels_key ON labels (key);
    CREATE INDEX labels_unit ON labels (unit);
    CREATE INDEX units_task ON units (task);
    {_never_deleted("labels", "labels")}
    {_never_deleted("units", "units")}
    """,  # noqa: S608 (constants)
    # 3: labels are looked up by unit and key, not by key alone. Keys are random, so that every
    # label of a large ledger changed another page of an index of keys; units come in order.
    """
    DROP INDEX labels_key;
    DROP INDEX labels_unit;
    CREATE INDEX labels_asked ON labels (unit, key, status);
    """,
    # 4: a running digest over the labels (assay.ledger.chain fills it in after this, which is why
    # a label without one may be changed).
    """
    ALTER TABLE labels ADD COLUMN digest BLOB;
    DROP TRIGGER labels_keep;
    CREATE TRIGGER labels_keep BEFORE UPDATE ON labels WHEN old.digest IS NOT NULL
        BEGIN SELECT RAISE (ABORT, 'labels are never changed'); END;
    """,
    # 5: what was drawn for people to label, with its probability (assay.ledger.draws).
    f"""
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
    {_never_deleted("draws", "draws")}
    {_never_deleted("drawn", "draws")}
    """,
)
