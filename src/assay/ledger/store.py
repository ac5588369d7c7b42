"""What holds a ledger's rows: a file of SQLite's or a server of PostgreSQL's, seen alike.

Queries are written once, with ``?`` for each value, in what both databases speak; what only one of
them says stands in its store (:mod:`assay.ledger.sqlite`, :mod:`assay.ledger.postgres`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from assay.model.errors import LedgerError

TABLES: Mapping[str, tuple[str, ...]] = {
    "tasks": ("id", "name"),
    "labellers": ("id", "name", "kind", "params"),
    "units": ("id", "hash", "task", "content"),
    "labels": (
        "id", "uid", "key", "task", "version", "unit", "labeller", "status", "verdict", "reason",
        "error", "sample", "overrules", "tokens_in", "tokens_out", "cost", "seconds", "created",
        "detail", "digest",
    ),
    "draws": ("id", "uid", "design", "tasks", "size", "seed", "created"),
    "drawn": ("draw", "name", "pi", "drawn"),
}  # fmt: skip
"""The tables of a ledger with their columns; each refers to those before it."""

Place = Path | str
"""A file, or the URL of a database of PostgreSQL's."""

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The numbers that a row can have."""
_BLOCK = 2_000  # rows that are read at once

Row = Sequence[Any]
T = TypeVar("T")


class Rows(Protocol):
    """What a query gave."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection."""

    def execute(self, sql: str, values: Row = (), /) -> Rows: ...


class Store(Database, Protocol):
    """A connection to a ledger."""

    place: Place
    """Where it is."""
    name: str
    """The same in words; holds no secret."""
    remote: bool
    """Whether writing waits for another machine."""

    def blocks(
        self, sql: str, values: Row, size: int, /, errors: str | None = None
    ) -> Iterator[list[Any]]:
        """As ``execute``, of which there may be very many rows, so many at a time at most; where a
        connection is lost, they are read on in the next. The first column is their number,
        ascending, which is to be at most the last but one of ``values``, and above the last. A text
        that is no UTF-8 is an error, or read as :meth:`bytes.decode` does with ``errors``."""

    @property
    def in_transaction(self) -> bool: ...

    def persistently(self, write: Callable[[bool], T]) -> T:
        """What ``write`` returns, which is begun again with True where the connection was lost, so
        that nobody knows whether it was done."""

    def begin(self) -> None:
        """Begin a transaction in which nobody else writes."""

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Take back the transaction under way, if there is one."""

    def close(self) -> None: ...

    def explained(self) -> AbstractContextManager[None]:
        """Turn what the database says into a LedgerError that says what a person can do."""

    def snapshot(self) -> AbstractContextManager[None]:
        """See nothing that others write meanwhile."""

    def apart(self) -> AbstractContextManager[Store]:
        """The same ledger, for one reading of all of it."""

    def copy(self) -> AbstractContextManager[Store]:
        """A copy in memory alone, as long as the context lasts."""

    def version(self) -> int:
        """Number of the last migration applied."""

    def asking(self, pairs: Sequence[tuple[bytes, bytes | str]]) -> tuple[str, str, Row]:
        """What a query about pairs of a unit and a key (packed) begins with, where it has ``units``
        and ``labels`` from, and its values."""

    def insert(self, units: Iterable[tuple[bytes, int, str]], labels: Iterable[Row]) -> None:
        """Write units (hash, number of the task, content) that are not there yet, and labels, whose
        columns are those of ``TABLES`` but for the unit, which is given by its hash."""

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Write rows as they are, with the columns of ``TABLES``."""

    def filled(self) -> None:
        """Go on numbering after the rows that were written as they are."""

    def structure(self, *, by_index: bool) -> Iterator[tuple[str, bool]]:
        """What of its structure is not as it should be, and whether it can be read on."""

    def claim(self, name: str, what: str, *, shards: int = 0) -> AbstractContextManager[None]:
        """Hold a name until the context or the process ends, alone or with all others that hold it
        for as many ``shards``. Raises LedgerError where somebody else does: ``what`` is being done
        by them."""

    def size(self) -> int:
        """Bytes that it takes."""

    def changed_elsewhere(self) -> bool:
        """Whether anybody else wrote since this was last asked."""

    def flush(self) -> None:
        """Have the disk keep what was written. Any thread may call it. Raises OSError."""

    def use_less_memory(self) -> None: ...


def each(db: Store, sql: str, values: Row) -> Iterator[Any]:
    """Rows as :meth:`Store.blocks` reads them, one by one."""
    return chain.from_iterable(db.blocks(sql, values, _BLOCK))


def too_new(name: str, version: int, known: int) -> LedgerError:
    """What is said of a ledger by a later Assay."""
    return LedgerError(
        f"{name}: written by a newer Assay (ledger version {version}; this Assay knows {known}). "
        "Update Assay; nothing was changed."
    )
