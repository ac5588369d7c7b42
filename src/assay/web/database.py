"""The file ``workbench.sqlite``: its tables, and how all ask it.

A copy of the file lets nobody in (:mod:`assay.web.people`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

from assay.ledger.opening import LONGEST_LOG, explained, transaction

FILE = "workbench.sqlite"

_VERSION = 2
_TABLES = """
    CREATE TABLE IF NOT EXISTS people (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, made REAL NOT NULL
    );
    CREATE TABLE IF NOT EXISTS links (
        hash BLOB PRIMARY KEY, person INTEGER NOT NULL REFERENCES people (id), until REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sessions (
        hash BLOB PRIMARY KEY, person INTEGER NOT NULL REFERENCES people (id),
        csrf TEXT NOT NULL, made REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS entering (
        session BLOB PRIMARY KEY REFERENCES sessions (hash),
        link BLOB NOT NULL REFERENCES links (hash)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS topics (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, range REAL NOT NULL DEFAULT 0
    );
    CREATE TABLE IF NOT EXISTS units (
        id INTEGER PRIMARY KEY, task TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
        topic INTEGER NOT NULL REFERENCES topics (id), place INTEGER NOT NULL,
        content TEXT NOT NULL, passes INTEGER NOT NULL, labelled INTEGER NOT NULL DEFAULT 0,
        wanted INTEGER NOT NULL DEFAULT 1, machine TEXT NOT NULL DEFAULT '', sure REAL
    );
    CREATE INDEX IF NOT EXISTS units_open ON units (task, place)
        WHERE wanted AND labelled < passes;
    CREATE INDEX IF NOT EXISTS units_topic ON units (topic);
    DROP INDEX IF EXISTS units_counted;
    CREATE INDEX IF NOT EXISTS units_by_topic ON units (task, wanted, topic, passes, labelled);
    CREATE INDEX IF NOT EXISTS topics_range ON topics (range DESC);
    CREATE INDEX IF NOT EXISTS units_failed ON units (task, place)
        WHERE wanted AND machine = 'failed';
    CREATE INDEX IF NOT EXISTS units_sure ON units (task, sure, place)
        WHERE wanted AND sure IS NOT NULL;
    CREATE INDEX IF NOT EXISTS units_unknown ON units (topic, task, place)
        WHERE wanted AND labelled = 0 AND machine != 'ok';
    CREATE INDEX IF NOT EXISTS units_done ON units (task, place)
        WHERE wanted AND labelled >= passes;
    CREATE TABLE IF NOT EXISTS given (
        unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
        uid TEXT NOT NULL, row INTEGER NOT NULL, verdict TEXT NOT NULL, mode TEXT NOT NULL,
        at REAL NOT NULL, PRIMARY KEY (unit, person, mode)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS given_when ON given (person, at);
    CREATE TABLE IF NOT EXISTS reserved (
        unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
        until REAL NOT NULL, PRIMARY KEY (unit, person)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS asides (
        unit INTEGER NOT NULL REFERENCES units (id), person INTEGER NOT NULL REFERENCES people (id),
        kind TEXT NOT NULL, text TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (unit, person, kind)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS asides_kind ON asides (kind, person, unit);
    CREATE TABLE IF NOT EXISTS drawn (unit INTEGER PRIMARY KEY REFERENCES units (id));
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Database:
    """The open file; one thread. Raises LedgerError where it cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path):
            self.db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self.db.execute("PRAGMA trusted_schema = OFF")  # the file may be somebody else's
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = NORMAL")
            # Whoever moves the log waits for the disk: nobody who labels (assay.web.server).
            self.db.execute(f"PRAGMA wal_autocheckpoint = {LONGEST_LOG}")
            if self.db.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
                self.db.execute("DROP TABLE IF EXISTS given")  # found again in the ledger
                self.db.execute(f"PRAGMA user_version = {_VERSION}")
            self.db.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def execute(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """The rows of a statement. Raises LedgerError with what SQLite says and what to do, as all
        here."""
        with explained(self.path):
            return self.db.execute(query, values).fetchall()

    def one(self, query: str, *values: Any) -> Any:
        """The first row, or None."""
        return next(iter(self.execute(query, values)), None)

    def all(self, query: str, *values: Any) -> list[Any]:
        """All rows."""
        return self.execute(query, values)

    def fact(self, name: str) -> str | None:
        row = self.one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_fact(self, name: str, value: str) -> None:
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all of it, or nothing."""
        return transaction(self.db, self.path)

    @contextmanager
    def gathered(self, name: str, columns: Sequence[str]) -> Iterator[None]:
        """A table of this connection alone, so that nobody waits for what takes long."""
        self.execute(f"DROP TABLE IF EXISTS temp.{name}")
        self.execute(f"CREATE TEMP TABLE {name} ({', '.join(columns)})")
        try:
            yield
        finally:
            self.execute(f"DROP TABLE temp.{name}")

    def gather(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Put rows into such a table."""
        columns = len(self.all(f"PRAGMA temp.table_info({name})"))
        with transaction(self.db, self.path, "BEGIN"):
            self.db.executemany(
                f"INSERT INTO temp.{name} VALUES ({','.join('?' * columns)})",  # noqa: S608
                rows,
            )

    def made(self, name: str, query: str) -> None:
        """What a query finds, in a table of this connection alone."""
        self.execute(f"DROP TABLE IF EXISTS temp.{name}")
        self.execute(f"CREATE TEMP TABLE {name} AS {query}")
