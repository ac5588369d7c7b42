"""Rows that lie at a PostgreSQL server until they are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from psycopg import errors

from assay.ledger.store import Row, Store
from assay.model.errors import LedgerError

_BLOCK = 2_000  # rows that are fetched at once
_TRIES = 10  # of the same rows while sessions are lost


class Cursors:
    """The cursors of a session. One that nobody reads on any more is closed when the next is made:
    not when Python finds out, which may be in the middle of something else."""

    def __init__(self, db: Store) -> None:
        self._db = db
        self._made = 0
        self.left: list[str] = []

    def each(self, sql: str, values: Row, *, holds: bool) -> Cursor:
        """The rows of a query; ``holds`` those that outlive a transaction."""
        left = self.left
        while left:
            self.close(left.pop())
        return Cursor(self, self._db, sql, values, holds)

    def declare(self, sql: str, values: Row, holds: bool) -> str:
        """The name of a new one."""
        self._made += 1
        name, how = f"each_{self._made}", "WITH HOLD" if holds else ""
        self._db.execute(f"DECLARE {name} NO SCROLL CURSOR {how} FOR {sql}", values)
        return name

    def close(self, name: str) -> None:
        """Close one that may have gone with its session."""
        with suppress(errors.InvalidCursorName):
            self._db.execute(f"CLOSE {name}")

    def forget(self) -> None:
        """Close nothing of a session that is gone: nor what of it is left by and by."""
        self.left = []


class Cursor:
    """See :class:`assay.ledger.store.Rows`. Where the session that it was of is lost, one that
    ``holds`` goes on in the next, where its query says in which order all rows are: what was
    written stays as it is, and new rows come last."""

    def __init__(self, of: Cursors, db: Store, sql: str, values: Row, holds: bool) -> None:
        self._of, self._db, self._holds = of, db, holds
        self._sql, self._values, self._had = sql, values, 0
        self._open = False
        self._declare(sql)
        self._open = True

    def _declare(self, sql: str) -> None:
        self._name = self._of.declare(sql, self._values, self._holds)
        self._left = self._of.left if self._holds else []

    def fetchmany(self, size: int, /) -> list[Any]:
        if not self._open:
            return []
        rows = self._fetched(size)
        self._had += len(rows)
        if len(rows) < size:
            self._open = False
            self._of.close(self._name)
        return rows

    def _fetched(self, size: int, left: int = _TRIES) -> list[Any]:
        try:
            return self._db.execute(f"FETCH FORWARD {size} FROM {self._name}").fetchall()
        except errors.InvalidCursorName:
            if not self._holds:
                raise
            if not left:
                raise LedgerError(
                    f"{self._db.name}: the session was ended {_TRIES} times while the same rows "
                    "were read. See in the server's log who ends it, and run again. What was "
                    "written is kept."
                ) from None
        self._declare(f"{self._sql} OFFSET {self._had}")
        return self._fetched(size, left - 1)

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
