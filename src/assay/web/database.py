"""The file ``workbench.sqlite``: its tables, and how all ask it.

A copy of the file lets nobody in (:mod:`assay.web.people`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from assay.ledger.opening import LONGEST_LOG, explained, transaction

FILE = "workbench.sqlite"

_VERSION = 2
_TABLES = files("assay.web").joinpath("tables.sql").read_text("utf-8")


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
