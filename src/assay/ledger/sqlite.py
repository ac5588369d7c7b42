"""The ledger in an SQLite file in WAL mode, which survives a kill at any moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any, Self

from assay.ledger.claims import claim, claim_of_machine
from assay.ledger.opening import connect, explained, move_log, opened, roll_back, writable
from assay.ledger.store import TABLES, Place, Row, T
from assay.model.errors import LedgerError

_SMALL_CACHE = 4 << 10  # KiB
_MOVED_EVERY = 10.0  # seconds for which labels may be in the log alone
_SHOWN = 20  # faults of the structure that are reported at most
_COUNT, _NOT = "SELECT count(*) FROM labels {}", "NOT INDEXED"
_UTF_8 = "which writes UTF-8: 'sqlite3 OLD .dump | sqlite3 NEW' gives that back"
# In this order (CROSS JOIN says so): for each question its unit, then its label, by indexes.
_OF_ASKED = (
    "FROM asked CROSS JOIN units ON units.hash = asked_unit "
    "CROSS JOIN labels ON labels.unit = units.id AND labels.key = asked_key"
)
_UNIT = "(SELECT id FROM units WHERE hash = ?)"


def _into(table: str, **given: str) -> str:
    """The SQL that writes a row; ``given`` holds SQL for columns whose value must be looked up."""
    columns = TABLES[table]
    values = (given.get(column, "?") for column in columns)
    return f"INSERT INTO {table} ({','.join(columns)}) VALUES ({','.join(values)})"  # noqa: S608


def _file_at(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at ``path``."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


class SqliteStore(sqlite3.Connection):
    """A ledger in a file, or a copy of one in memory."""

    path: Path
    place: Place
    name: str
    remote = False
    _data_version = 0
    _moving: Timer | None = None
    _in_memory = False
    _machine: ExitStack | None = None
    _file: tuple[Path, tuple[int, int] | None] | None = None

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the ledger at a path for this machine; make or migrate it if needed. Raises
        LedgerError if another machine is using it."""
        with ExitStack() as machine:
            if writable(path) and os.access(path.parent, os.W_OK):
                machine.enter_context(claim_of_machine(path))
            store = connect(path, cls)._of(path)
            store._file = path.absolute(), _file_at(path)
            store._machine = machine.pop_all()
        return store

    def close(self) -> None:
        if self._moving is not None:
            self._moving.cancel()
        super().close()
        if self._machine is not None:
            self._machine.close()

    @classmethod
    def in_memory(cls, place: Place, name: str) -> Self:
        """An empty ledger in memory that stands for the one at ``place``."""
        store = connect(path := Path(":memory:"), cls)._of(path)
        store.place, store.name, store._in_memory = place, name, True
        return store

    def _of(self, path: Path) -> Self:
        self.path, self.place, self.name = path, path, str(path)
        return self

    def blocks(
        self, sql: str, values: Row, size: int, /, errors: str | None = None
    ) -> Iterator[list[Any]]:
        last = values
        try:
            rows = self.execute(sql, values)
            while some := rows.fetchmany(size):
                last = (*values[:-1], some[-1][0])
                yield some
        except (sqlite3.OperationalError, UnicodeDecodeError) as error:
            if errors is None or "decode" not in str(error):
                raise
            self.text_factory = lambda text: text.decode(errors=errors)
            try:
                yield from self.blocks(sql, last, size)
            finally:
                self.text_factory = str

    def persistently(self, write: Callable[[bool], T]) -> T:
        return write(False)

    def commit(self) -> None:
        if self._file is not None and _file_at(self._file[0]) != self._file[1]:
            raise LedgerError(
                f"{self.path}: the file was removed or replaced while this command had it open; "
                "labels that came since are lost with it. Put it back if you can, and run again."
            )
        super().commit()
        self._move_log()

    def _move_log(self) -> None:
        """Move the log into the file soon, so that a copy of the file alone is complete. A separate
        thread waits for the disk, so that nobody else has to."""
        if self._in_memory or self._moving is not None:
            return
        timer = Timer(_MOVED_EVERY, self._log_moved)
        timer.daemon = True
        with suppress(RuntimeError):  # no thread is available
            timer.start()
            self._moving = timer

    def _log_moved(self) -> None:
        self._moving = None  # what is written from here on is moved later
        with suppress(LedgerError):  # tried again later; nothing is lost
            move_log(self.path)

    def begin(self) -> None:
        self.execute("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        roll_back(self)

    def explained(self) -> AbstractContextManager[None]:
        return explained(self.path)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        # A savepoint outside a transaction begins one; within one it changes nothing.
        self.execute("SAVEPOINT snapshot")
        try:
            yield
        finally:
            self.execute("RELEASE snapshot")

    @contextmanager
    def separate_reader(self) -> Iterator[Self]:
        """A connection without memory mapping, as up to a gigabyte mapped would count as memory."""
        if self._in_memory:
            yield self
            return
        with closing(opened(self.path, type(self))._of(self.path)) as store:
            yield store

    @contextmanager
    def copy(self) -> Iterator[Self]:
        with closing(
            sqlite3.connect(":memory:", isolation_level=None, factory=type(self))
        ) as store:
            store.execute("PRAGMA temp_store = MEMORY")
            self.backup(store)
            store._in_memory = True
            yield store._of(self.path)

    def version(self) -> int:
        return int(self.execute("PRAGMA user_version").fetchone()[0])

    def question_query(self, pairs: Sequence[tuple[bytes, bytes | str]]) -> tuple[str, str, Row]:
        values = ",".join(["(?,?)"] * len(pairs))
        begin = f"WITH asked (asked_unit, asked_key) AS (VALUES {values})"
        return begin, _OF_ASKED, [value for pair in pairs for value in pair]

    def insert(self, units: Iterable[tuple[bytes, int, str]], labels: Iterable[Row]) -> None:
        self.executemany(
            "INSERT INTO units (hash, task, content) VALUES (?, ?, ?) "
            "ON CONFLICT (hash) DO NOTHING",
            units,
        )
        # Not OR IGNORE, which would silently drop rows that violate a constraint.
        self.executemany(_into("labels", unit=_UNIT), labels)

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        self.executemany(_into(table), rows)

    def filled(self) -> None:
        pass  # it numbers after the highest number there is

    def structure(self, *, by_index: bool) -> Iterator[tuple[str, bool]]:
        encoding = self.execute("PRAGMA encoding").fetchone()[0]
        if encoding != "UTF-8":
            yield f"the file is in {encoding}, so Assay did not write it ({_UTF_8})", False
        # The argument is either the most faults to report, or the one table to check.
        for what in (_SHOWN,) if by_index else ("tasks", "labellers"):
            for (text,) in self.execute(f"PRAGMA integrity_check({what})"):
                if text != "ok":
                    yield f"the file is damaged: {text}", True
        counts = {
            self.execute(_COUNT.format(how)).fetchone() for how in ("INDEXED BY labels_asked", _NOT)
        }
        if len(counts) > 1:
            yield "labels are missing or duplicated in the file", True

    def claim(self, name: str, what: str, *, shards: int = 0) -> AbstractContextManager[None]:
        real = self.path.resolve()  # several folders may share one by links
        return claim(
            real.with_name(f"{real.name}-asking-{name}"),
            f"{what} by another process",
            group=f"one of {shards} shards" if shards else "",
        )

    def size(self) -> int:
        pages, size = (
            int(self.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "page_size")
        )
        return pages * size

    def changed_elsewhere(self) -> bool:
        version = int(self.execute("PRAGMA data_version").fetchone()[0])
        before, self._data_version = self._data_version, version
        return version != before

    def flush(self) -> None:
        log = self.path.with_name(f"{self.path.name}-wal")
        with suppress(FileNotFoundError), log.open("r+b") as written:
            os.fsync(written.fileno())

    def use_less_memory(self) -> None:
        self.execute("PRAGMA mmap_size = 0")
        self.execute(f"PRAGMA cache_size = -{_SMALL_CACHE}")
