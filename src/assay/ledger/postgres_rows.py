"""Rows that lie at a PostgreSQL server until they are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.ledger.store import Database, Row

_BLOCK = 2_000  # rows that are fetched at once


class Cursors:
    """The cursors of a session. One that nobody reads on any more is closed when the next is made:
    not when Python finds out, which may be in the middle of something else."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._made = 0
        self._left: list[str] = []

    def each(self, sql: str, values: Row, *, holds: bool) -> Cursor:
        """The rows of a query; ``holds`` those that outlive a transaction."""
        left = self._left
        while left:
            self._db.execute(f"CLOSE {left.pop()}")
        self._made += 1
        name = f"each_{self._made}"
        how = "WITH HOLD" if holds else ""
        self._db.execute(f"DECLARE {name} NO SCROLL CURSOR {how} FOR {sql}", values)
        return Cursor(self._db, name, self._left if holds else [])

    def forget(self) -> None:
        """Close nothing of a session that is gone: nor what of it is left by and by."""
        self._left = []


class Cursor:
    """See :class:`assay.ledger.store.Rows`."""

    def __init__(self, db: Database, name: str, left: list[str]) -> None:
        self._db, self._name, self._left = db, name, left
        self._open = True

    def fetchmany(self, size: int, /) -> list[Any]:
        if not self._open:
            return []
        rows = self._db.execute(f"FETCH FORWARD {size} FROM {self._name}").fetchall()
        if len(rows) < size:
            self._open = False
            self._db.execute(f"CLOSE {self._name}")
        return rows

    def fetchone(self) -> Any:
        return next(iter(self.fetchmany(1)), None)

    def fetchall(self) -> list[Any]:
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        while rows := self.fetchmany(_BLOCK):
            yield from rows

    def __del__(self) -> None:
        if self._open:
            self._left.append(self._name)
