"""The interface to a ledger's database: an SQLite file or a PostgreSQL server.

Queries are written once, with ``?`` for each value, in SQL that both databases understand. SQL for
one of them alone is in its store (:mod:`assay.ledger.sqlite`, :mod:`assay.ledger.postgres`).
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
"""The tables of a ledger and their columns. A table refers only to those before it."""

Place = Path | str
"""A file, or the URL of a PostgreSQL database."""

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The lowest and highest possible row number."""
_BLOCK = 2_000  # rows read at once

Row = Sequence[Any]
T = TypeVar("T")


class Rows(Protocol):
    """The result of a query."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A database connection."""

    def execute(self, sql: str, values: Row = (), /) -> Rows: ...


class Store(Database, Protocol):
    """A connection to a ledger."""

    place: Place
    """Where the ledger is."""
    name: str
    """The place as shown to people, without secrets."""
    remote: bool
    """Whether writing waits for another machine."""

    def blocks(
        self, sql: str, values: Row, size: int, /, errors: str | None = None
    ) -> Iterator[list[Any]]:
        """Run a query with very many rows and yield at most ``size`` at a time, reading on in a new
        connection if one is lost. The first column must be the row number, ascending; the query's
        last two ``values`` are its inclusive upper and exclusive lower bound. Text that is not
        UTF-8 is an error, or is decoded as :meth:`bytes.decode` does with ``errors``."""

    @property
    def in_transaction(self) -> bool: ...

    def persistently(self, write: Callable[[bool], T]) -> T:
        """Return ``write(False)``. If the connection is lost, it is unknown whether the write was
        done: call ``write(True)`` in a new connection."""

    def begin(self) -> None:
        """Begin a transaction in which nobody else writes."""

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Roll back the current transaction, if there is one."""

    def close(self) -> None: ...

    def explained(self) -> AbstractContextManager[None]:
        """Turn database errors into a LedgerError that says what a person can do."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Hide what others write meanwhile."""

    def separate_reader(self) -> AbstractContextManager[Store]:
        """A connection to the same ledger for reading all of it once."""

    def copy(self) -> AbstractContextManager[Store]:
        """A copy in memory, for as long as the context lasts."""

    def version(self) -> int:
        """Number of the last migration applied."""

    def question_query(self, pairs: Sequence[tuple[bytes, bytes | str]]) -> tuple[str, str, Row]:
        """Parts of a query for pairs of a unit and a key (both packed): what comes before SELECT,
        the FROM clause with ``units`` and ``labels``, and the values."""

    def insert(self, units: Iterable[tuple[bytes, int, str]], labels: Iterable[Row]) -> None:
        """Write labels, and those units (hash, task number, content) that are new. Labels have the
        columns of ``TABLES``, with the unit's hash in place of its number."""

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Write rows unchanged, with the columns of ``TABLES``, numbers included."""

    def filled(self) -> None:
        """Continue numbering after the rows that :meth:`fill` wrote."""

    def structure(self, *, by_index: bool) -> Iterator[tuple[str, bool]]:
        """Faults in the structure, each with whether the ledger is still readable."""

    def claim(self, name: str, what: str, *, shards: int = 0) -> AbstractContextManager[None]:
        """Hold a name until the context or the process ends, alone or together with others that
        claim it for the same number of ``shards``. Raises LedgerError if somebody else holds it;
        ``what`` is what they are doing, for the message."""

    def size(self) -> int:
        """Size in bytes."""

    def changed_elsewhere(self) -> bool:
        """Whether anybody else has written since the last call."""

    def flush(self) -> None:
        """Force what was written to disk. Any thread may call it. Raises OSError."""

    def use_less_memory(self) -> None: ...


def each(db: Store, sql: str, values: Row) -> Iterator[Any]:
    """The rows of :meth:`Store.blocks`, one by one."""
    return chain.from_iterable(db.blocks(sql, values, _BLOCK))


def too_new(name: str, version: int, known: int) -> LedgerError:
    """The error for a ledger written by a newer Assay."""
    return LedgerError(
        f"{name}: written by a newer Assay (ledger version {version}; this Assay knows {known}). "
        "Update Assay; nothing was changed."
    )
