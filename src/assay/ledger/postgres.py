"""The ledger on PostgreSQL, for a team or a cluster: a schema in a shared database."""

from __future__ import annotations

import hashlib
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Self

import psycopg

from assay.ledger.address import Address
from assay.ledger.copying import copied
from assay.ledger.postgres_tables import Missing, migrate
from assay.ledger.postgres_values import adapted, cure, held, spoken
from assay.ledger.sqlite import SqliteStore
from assay.ledger.store import TABLES, Place, Row, Rows, Store, T
from assay.model.errors import LedgerError

PATIENCE = 60.0
"""Seconds to wait for a server that has gone away; it is not waited for again until it is back."""
_TRIES = 10  # attempts if connections are lost, the last ones a second apart
# Server and client notice after a minute that the other is gone. By default the claims of a dead
# client would last for two hours.
_SETTINGS = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "assay",
}
# These override settings of the server, the database or the role. Numbers come with all their
# digits, and long queries are not cancelled (as in pg_dump). Read committed: after waiting for a
# lock, what others wrote meanwhile must be visible.
_SESSION = {
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": "3",
    "idle_in_transaction_session_timeout": "0",  # labels on trial are scored within a transaction
    "jit": "off",
    "lock_timeout": "90s",  # longer than a dead client can hold one
    "statement_timeout": "0",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
_WHICH = "SELECT pg_backend_pid()"
_FREE_WITHIN = 2.0  # seconds in which a pooler provides another session
# objsubid 2 marks locks of two numbers. The second is the number of shards; 0, an exclusive claim,
# conflicts with every other.
_HOLDERS = (
    "SELECT application_name, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND objsubid = 2 AND classid = ?::int::oid AND pid <> "
    "pg_backend_pid() AND (objid::int = 0 OR objid::int <> ?::int OR ? = 0) AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"
)


# For each question, find its unit and then its label, by indexes. Without OFFSET 0, a server that
# has no statistics yet would read all labels instead.
_OF_ASKED = (
    "FROM asked CROSS JOIN LATERAL (SELECT * FROM units WHERE hash = asked_unit OFFSET 0) units "
    "CROSS JOIN LATERAL (SELECT * FROM labels WHERE labels.unit = units.id AND "
    "labels.key = asked_key OFFSET 0) labels"
)


class _Lost(LedgerError):
    """The connection was lost; it is unknown whether the last command was executed."""


class PostgresStore:
    """A connection to a schema. If the server goes away and comes back within :data:`PATIENCE`,
    reading and adding labels is only delayed."""

    place: Place
    remote = True

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._address = Address.of(url)
        self.place, self.name = url, self._address.name
        self._lock = threading.RLock()
        self._claims: dict[tuple[str, int], str] = {}
        self._within = False
        self._wrote = False
        self._listens = False
        self._changed = True
        self._gone = False  # the server did not come back: try it once, do not wait again
        with self.explained():
            self._connection = self._connect()  # do not wait for a server that was never there

        def begun(retried: bool) -> None:
            with self.explained():
                if not retried:
                    self._settle(self._connection)
                migrate(self, self._address, create=create)

        try:
            self.persistently(begun)
        except BaseException:
            self._connection.close()
            raise

    @staticmethod
    def exists(url: str) -> bool:
        """Whether there is a ledger. Raises LedgerError if the database cannot be reached."""
        try:
            PostgresStore(url, create=False).close()
        except Missing:
            return False
        return True

    # -- the connection --------------------------------------------------------------------------

    def _connect(self) -> psycopg.Connection[Any]:
        given: dict[str, Any] = {
            name: one for name, one in _SETTINGS.items() if name not in self._address.settings
        }
        given["application_name"] = f"assay {os.getpid()} {socket.gethostname()}"[:63]
        if self._address.password is not None:
            given["password"] = self._address.password
        return psycopg.connect(
            self._address.url, autocommit=True, prepare_threshold=None,
            cursor_factory=psycopg.RawCursor, **given,
        )  # fmt: skip

    def _settle(self, connection: psycopg.Connection[Any]) -> None:
        """Prepare a new session."""
        adapted(connection)
        connection.add_notify_handler(self._notified)
        given = {"search_path": self._address.schema, **_SESSION}
        each = (f"set_config('{name}', '{one}', false)" for name, one in given.items())
        ((self._number, *_),) = connection.execute(", ".join([_WHICH, *each]).encode()).fetchall()
        if self._number != connection.info.backend_pid and self._is_shared(connection):
            raise LedgerError(
                f"{self.name}: a connection pooler shares this connection's session between "
                "transactions, which would mix up ledgers. Configure it to give each session to "
                "one client (PgBouncer: pool_mode = session), or connect to the server itself."
            )

    def _is_shared(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether a connection pooler gives a second client the first one's session, or moves the
        first to another. If no session is left for a second client, each has its own."""
        with closing(self._connect()) as second:
            second.pgconn.send_query(_WHICH.encode())
            with selectors.DefaultSelector() as selector:
                selector.register(second, selectors.EVENT_READ)
                if not selector.select(_FREE_WITHIN):
                    return False
            found = second.pgconn.get_result()
            theirs = found and found.get_value(0, 0)
            ((now,),) = connection.execute(_WHICH.encode()).fetchall()
            return theirs == b"%d" % self._number or now != self._number

    def _notified(self, notice: psycopg.Notify) -> None:
        self._changed |= notice.pid != self._number

    def _reconnect(self) -> None:
        """Connect again and restore what this connection held. Raises LedgerError if the server
        does not come back."""
        until, pause = time.monotonic() + (0 if self._gone else PATIENCE), 0.05
        while True:
            try:
                with self.explained():
                    self._connection.close()
                    self._connection = self._connect()
                    self._settle(self._connection)
                    for (name, shards), what in self._claims.items():
                        self._take(name, shards, what)
                    if self._listens:
                        self._connection.execute(f'LISTEN "{self._channel}"'.encode())
                        self._changed = True
                self._gone = False
                return
            except LedgerError as error:
                if time.monotonic() >= until:
                    self._gone = True
                    # Not _Lost, which would make persistently() try again.
                    raise LedgerError(str(error)) from None
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def persistently(self, write: Callable[[bool], T]) -> T:
        if self._within:  # whoever began the transaction begins it again
            return write(False)
        with self._lock:
            for attempt in range(_TRIES):
                try:
                    return write(attempt > 0)
                except _Lost:
                    if attempt == _TRIES - 1:
                        raise
                self._reconnect()
                if attempt:  # give a connection that fails repeatedly more time
                    time.sleep(min(0.025 * 2**attempt, 1.0))
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._explained(error) from None
        except UnicodeEncodeError as error:
            raise LedgerError(f"{self.name}: {error}. What was written before is kept.") from error

    def _explained(self, error: psycopg.Error) -> LedgerError:
        text = error.diag.message_primary or str(error).strip() or type(error).__name__
        password = self._address.password
        if password:
            text = text.replace(password, "…")
        lines = (" ".join(one.split()) for one in text.splitlines() if one.strip())
        text = " ".join(one + "." * (one[-1] not in ".?:") for one in lines)
        connection: psycopg.Connection[Any] | None = getattr(self, "_connection", None)
        if connection is None and isinstance(error, psycopg.ProgrammingError):
            return LedgerError(f"{self.name}: {text} Change the URL.")
        if connection is None or connection.closed:
            return _Lost(
                f"{self.name}: {text} Check that the server runs and accepts you (a password "
                "comes from PGPASSWORD or ~/.pgpass), and run again. What was written is kept."
            )
        of = self._address.schema, connection.info.user
        return LedgerError(f"{self.name}: {text} {cure(error, *of)}")

    # -- queries ---------------------------------------------------------------------------------

    def execute(self, sql: str, values: Row = (), /) -> Rows:
        def asked(_retried: bool) -> Rows:
            try:
                return self._connection.execute(spoken(sql), values or None)
            except psycopg.Error as error:
                if not self._connection.closed:
                    raise
                raise self._explained(error) from None

        with self._lock:
            return self.persistently(asked)

    def blocks(
        self, sql: str, values: Row, size: int, /, errors: str | None = None
    ) -> Iterator[list[Any]]:
        # Separate queries, so that the server keeps no state that could be lost. They are limited
        # by number rather than by LIMIT: a server without statistics would sort all rows.
        *more, until, last = values
        while last < until:
            end = min(last + size, until)
            some = self.execute(sql, [*more, end, last]).fetchall()
            if not some:
                some = self.execute(f"{sql} LIMIT {size}", [*more, until, last]).fetchall()
                end = some[-1][0] if some else until
            if some:
                yield some
            last = end

    @property
    def in_transaction(self) -> bool:
        idle = psycopg.pq.TransactionStatus.IDLE
        connection = self._connection
        return not connection.closed and connection.info.transaction_status != idle

    def begin(self) -> None:
        # In one command, to save a round trip to the server.
        self._within_one(f"BEGIN; SELECT pg_advisory_xact_lock({self._key('writing')})")

    def _within_one(self, begin: str) -> None:
        self.execute(begin)
        self._within = True

    def commit(self) -> None:
        self.execute(f'NOTIFY "{self._channel}"; COMMIT' if self._wrote else "COMMIT")
        self._wrote = self._within = False

    def rollback(self) -> None:
        self._wrote = self._within = False
        if self.in_transaction:
            with suppress(psycopg.Error):  # a lost connection ends the transaction anyway
                self._connection.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._within:  # nobody else writes during a transaction of begin()
            yield
            return
        self._within_one("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            self.rollback()

    @contextmanager
    def separate_reader(self) -> Iterator[Self]:
        yield self

    @contextmanager
    def copy(self) -> Iterator[Store]:
        def made(_retried: bool) -> SqliteStore:
            store = SqliteStore.in_memory(self.place, self.name)
            try:
                with self.snapshot():
                    copied(self, store)
            except BaseException:
                store.close()
                raise
            return store

        with closing(self.persistently(made)) as store:
            yield store

    def question_query(self, pairs: Sequence[tuple[bytes, bytes | str]]) -> tuple[str, str, Row]:
        begin = (
            "WITH asked (asked_unit, asked_key) AS (SELECT * FROM unnest(?::bytea[], ?::bytea[]))"
        )
        units, keys = zip(*pairs, strict=True)
        return begin, _OF_ASKED, [list(units), list(map(held, keys))]

    # -- writing ---------------------------------------------------------------------------------

    def insert(self, units: Iterable[tuple[bytes, int, str]], labels: Iterable[Row]) -> None:
        given = list(units)
        if not given:
            return
        hashes, tasks, contents = (list(column) for column in zip(*given, strict=True))
        found = self.execute(
            "SELECT hash, id FROM noted(?::bytea[], ?::bigint[], ?::text[])",
            [hashes, tasks, contents],
        )
        numbers = dict(found.fetchall())
        at = TABLES["labels"].index("unit")
        # Build all rows before sending the first: during COPY the connection runs nothing else.
        self.fill("labels", [(*row[:at], numbers[row[at]], *row[at + 1 :]) for row in labels])

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        self._wrote = True
        into = f"COPY {table} ({','.join(TABLES[table])}) FROM STDIN"
        odd = [at for at, name in enumerate(TABLES[table]) if name in ("key", "overrules")]
        with self._connection.cursor() as cursor, cursor.copy(into) as copy:
            for row in rows:
                if any(type(row[at]) is str for at in odd):
                    row = list(row)
                    for at in odd:
                        row[at] = held(row[at]) if type(row[at]) is str else row[at]
                copy.write_row(row)

    def filled(self) -> None:
        for table in ("tasks", "labellers", "units"):
            self.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "  # noqa: S608 (constants)
                f"greatest(max(id), 1), max(id) IS NOT NULL) FROM {table}"
            )
        self.execute("ANALYZE")

    # -- what is there ---------------------------------------------------------------------------

    def version(self) -> int:
        return int(self.execute("SELECT max(number) FROM migrations").fetchone()[0] or 0)

    def structure(self, *, by_index: bool) -> Iterator[tuple[str, bool]]:
        missing = self.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
            "WHERE nspname = ? AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_trigger "
            "WHERE tgrelid = pg_class.oid AND tgname = 'stays' AND tgenabled IN ('O', 'A')) "
            "ORDER BY 1",
            [self._address.schema],
        )
        for (table,) in missing.fetchall():
            why = f"the rows of '{table}' could be changed: what protects them was removed (if it "
            enabling = f"ALTER TABLE {self._address.schema}.{table} ENABLE TRIGGER stays"
            yield f"{why}is only disabled: {enabling})", True

    def size(self) -> int:
        of = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND "
        found = self.execute(f"{of} relnamespace = ?::regnamespace", [self._address.schema])
        return int(found.fetchone()[0] or 0)

    def use_less_memory(self) -> None:
        pass  # the memory is the server's

    def flush(self) -> None:
        pass  # the server writes to disk on commit

    # -- others ----------------------------------------------------------------------------------

    @property
    def _channel(self) -> str:
        return f"assay_{self._address.schema}"

    def changed_elsewhere(self) -> bool:
        if not self._listens:
            self.execute(f'LISTEN "{self._channel}"')
            self._listens = self._changed = True
        self.execute("SELECT 1")  # receives pending notifications
        changed, self._changed = self._changed, False
        return changed

    def _key(self, name: str, size: int = 8) -> int:
        digest = hashlib.sha256(f"assay {self._address.schema} {name}".encode()).digest()
        return int.from_bytes(digest[:size], signed=True)

    @contextmanager
    def claim(self, name: str, what: str, *, shards: int = 0) -> Iterator[None]:
        if (name, shards) in self._claims:
            raise LedgerError(f"{what} by this process (number {os.getpid()}).")
        with self.explained():
            self._take(name, shards, what)
        self._claims[name, shards] = what
        try:
            yield
        finally:
            del self._claims[name, shards]
            if not self._connection.closed and not self.in_transaction:
                free = "SELECT pg_advisory_unlock_shared(?::int, ?)"
                with self.explained():
                    self.execute(free, [self._key(name, 4), shards])

    def _take(self, name: str, shards: int, what: str) -> None:
        """Take the session lock (name, shards), which others with the same number of ``shards`` may
        hold too; one with another number conflicts. A lock serialises looking and taking."""
        run = self._connection.execute
        with self._connection.transaction():
            run("SELECT pg_advisory_xact_lock($1::bigint)", [self._key(f"claim {name}")])
            found = run(spoken(_HOLDERS), [self._key(name, 4), shards, shards]).fetchone()
            if found is None:
                taken = [self._key(name, 4), shards]
                run("SELECT pg_advisory_lock_shared($1::int, $2::int)", taken)
                return
        number, _, host = found[0].removeprefix("assay ").partition(" ")
        # Only privileged roles see when another role's session began.
        since = f", since {found[1].astimezone():%H:%M:%S}" if found[1] else ""
        raise LedgerError(
            f"{what} by another process (number {number} on {host}{since}). Wait until it is "
            "done, or stop it, and run again: answers it received are kept and not asked for "
            "again."
        )
