"""The file ``workbench.sqlite``, and access to the workbench: people, roles, links and cookies.

Links and cookies are stored as hashes. A copy of the file lets nobody in, so that whoever sends a
folder to others cannot visit their workbench.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Self

from assay.ledger.opening import LONGEST_LOG, check_journal, explained, transaction
from assay.model.errors import LedgerError
from assay.model.wording import printable

FILE = "workbench.sqlite"

SESSION = 90 * 86400
"""Seconds for which a cookie is valid."""

_MOST_BEGUN = 20
"""Sessions of one link that did nothing yet: then they end, and the next is the only one."""

_TABLES = files("assay.web").joinpath("tables.sql").read_text("utf-8")


class Database:
    """The open file; one thread. Raises LedgerError where it cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_journal(path)
        with explained(path):
            self.db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self.db.execute("PRAGMA trusted_schema = OFF")  # the file may be somebody else's
            self._refuse_programs()
            self.db.execute("PRAGMA journal_mode = WAL")
            self.db.execute("PRAGMA synchronous = NORMAL")
            # Whoever moves the log waits for the disk: nobody who labels (assay.web.server).
            self.db.execute(f"PRAGMA wal_autocheckpoint = {LONGEST_LOG}")
            self.db.executescript(_TABLES)

    def _refuse_programs(self) -> None:
        """Raise LedgerError if the file has triggers or views: a file sent with a folder could let
        somebody in."""
        programs = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
        for what, name in self.db.execute(programs):
            raise LedgerError(
                f"{self.path}: holds a {what} ({printable(name)}), so it was not made by Assay. "
                "Move the file away: invitations, skips, flags and notes are lost with it, but no "
                "label."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    def execute(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """The rows of a statement. Like all methods here, raises LedgerError with SQLite's message
        and what to do."""
        with explained(self.path):
            return self.db.execute(query, values).fetchall()

    def one(self, query: str, *values: Any) -> Any:
        """The first row, or None."""
        return next(iter(self.execute(query, values)), None)

    def all(self, query: str, *values: Any) -> list[Any]:
        """All rows."""
        return self.execute(query, values)

    def writing(self) -> AbstractContextManager[None]:
        """A transaction."""
        return transaction(self.db, self.path)

    @contextmanager
    def gathered(self, name: str, columns: Sequence[str]) -> Iterator[None]:
        """A temporary table of this connection, so that slow work keeps nobody waiting."""
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


class Role(StrEnum):
    """What a person may do: label; also adjudicate disagreements; see and do everything."""

    LABELLER = "labeller"
    ADJUDICATOR = "adjudicator"
    ORGANISER = "organiser"


class Person(NamedTuple):
    """Somebody who labels; ``human:NAME`` in the ledger."""

    id: int
    name: str
    role: Role

    @property
    def adjudicates(self) -> bool:
        return self.role is not Role.LABELLER

    @property
    def organises(self) -> bool:
        return self.role is Role.ORGANISER


def hashed(token: str) -> bytes:
    """The hash stored for a link's token or a cookie."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def _place(path: Path) -> str:
    """Where a file is: this machine, and the file's number on it. Nobody elsewhere can guess it."""
    machine = ""
    # Containers have no id of their own, and often no card whose number getnode could give: it
    # makes up another one in each process then, so that whoever was in was out after a restart.
    for name in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with suppress(OSError):
            machine = machine or Path(name).read_text(encoding="ascii").strip()
    machine = machine or str(uuid.getnode())
    return hashlib.sha256(f"{machine} {path.stat().st_ino}".encode()).hexdigest()


class People(Database):
    """The people of a workbench. Raises LedgerError where the file cannot be used."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        here = _place(path)
        if self.one("SELECT value FROM facts WHERE name = 'place'") != (here,):
            # It may have been made by whoever sent the folder, tables and all.
            for table in ("entering", "sessions", "links", "facts"):
                self.execute(f"DROP TABLE {table}")
            with explained(path):
                self.db.executescript(_TABLES)
            self.execute("UPDATE people SET role = ?", (Role.LABELLER,))
            self.execute("INSERT INTO facts VALUES ('place', ?)", (here,))

    def person(self, name: str, role: Role | None = None) -> Person:
        """The person of this name, created if there is none; ``role``, if given, is set."""
        self.execute(
            "INSERT INTO people (name, role, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (name, role or Role.LABELLER, time.time()),
        )
        if role is not None:
            self.execute("UPDATE people SET role = ? WHERE name = ?", (role, name))
        return self._person(self.one("SELECT id, name, role FROM people WHERE name = ?", name))

    def people(self) -> list[Person]:
        """Everybody, in order of arrival."""
        rows = self.all("SELECT id, name, role FROM people ORDER BY id")
        return [self._person(row) for row in rows]

    def done(self) -> dict[int, tuple[int, float]]:
        """How many units each person labelled, and when last."""
        rows = self.all("SELECT person, COUNT(DISTINCT unit), MAX(at) FROM given GROUP BY person")
        return {person: (units, last) for person, units, last in rows}

    def practised(self) -> dict[int, tuple[int, int]]:
        """For each person, the number of practice units that agree with gold, and of all."""
        rows = self.all(
            "SELECT person, SUM(text = 'right'), COUNT(*) FROM asides WHERE kind = 'trained' "
            "GROUP BY person"
        )
        return {person: (right, units) for person, right, units in rows}

    def coming(self) -> list[Person]:
        """The people with a valid link or cookie."""
        now = time.time()
        rows = self.all(
            "SELECT id, name, role FROM people WHERE id IN (SELECT person FROM links "
            "WHERE until > ? UNION SELECT person FROM sessions WHERE made > ?) ORDER BY id",
            now, now - SESSION,
        )  # fmt: skip
        return [self._person(row) for row in rows]

    def _person(self, row: Sequence[Any]) -> Person:
        number, name, role = row
        if role not in set(Role):
            raise LedgerError(
                f"{self.path}: {name} has an unknown role ({role}). Move the file away: "
                "invitations, skips, flags and notes are lost with it, but no label."
            )
        return Person(number, name, Role(role))

    def link(self, person: Person, *, hours: float) -> str:
        """A token that lets one session in, as ``person``."""
        token = secrets.token_urlsafe(24)
        self.execute(
            "INSERT INTO links VALUES (?, ?, ?)",
            (hashed(token), person.id, time.time() + hours * 3600),
        )
        return token

    def invited(self, token: str) -> Person | None:
        """The person of a link's token, or None if it is not valid."""
        row = self.one(
            "SELECT people.id, name, role FROM links JOIN people ON people.id = person "
            "WHERE hash = ? AND until > ?", hashed(token), time.time(),
        )  # fmt: skip
        return None if row is None else self._person(row)

    def enter(self, token: str) -> str | None:
        """The cookie of a new session for a link's token, or None if it is not valid. The token is
        used up only by the first session that does something (:meth:`session`), as mail and chat
        programs also open links, for previews."""
        now = time.time()
        with self.writing():
            person = self.invited(token)
            if person is None:
                return None
            self.execute("DELETE FROM sessions WHERE made < ?", (now - SESSION,))
            self._forget("link IN (SELECT hash FROM links WHERE until <= ?)", now)
            begun = self.one("SELECT COUNT(*) FROM entering WHERE link = ?", hashed(token))[0]
            if begun >= _MOST_BEGUN:
                self._forget("link = ?", hashed(token))
            cookie = secrets.token_urlsafe(32)
            self.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                (hashed(cookie), person.id, secrets.token_urlsafe(24), now),
            )
            self.execute("INSERT INTO entering VALUES (?, ?)", (hashed(cookie), hashed(token)))
        return cookie

    def session(self, cookie: str, *, looks: bool = False) -> tuple[Person, str] | None:
        """The person of a cookie, and the session's CSRF token. Unless the session only ``looks``,
        it becomes the only one of its link."""
        row = self.one(
            "SELECT people.id, name, role, csrf, link, until FROM sessions "
            "JOIN people ON people.id = sessions.person "
            "LEFT JOIN entering ON session = sessions.hash "
            "LEFT JOIN links ON links.hash = link "
            "WHERE sessions.hash = ? AND sessions.made > ?",
            hashed(cookie), time.time() - SESSION,
        )  # fmt: skip
        if row is None:
            return None
        link, until = row[4:]
        if link is not None and until <= time.time():
            return None
        if link is not None and not looks:
            with self.writing():
                self.execute("DELETE FROM entering WHERE session = ?", (hashed(cookie),))
                self._forget("link = ?", link)
                self.execute("DELETE FROM links WHERE hash = ?", (link,))
        return self._person(row[:3]), row[3]

    def _forget(self, which: str, value: object) -> None:
        """End the sessions of some links that have not done anything yet."""
        of_these = f"SELECT session FROM entering WHERE {which}"  # noqa: S608 (constants)
        self.execute(f"DELETE FROM sessions WHERE hash IN ({of_these})", (value,))  # noqa: S608
        self.execute(f"DELETE FROM entering WHERE {which}", (value,))  # noqa: S608

    def leave(self, person: Person) -> None:
        """End a person's access, until there is another link."""
        self._forget("link IN (SELECT hash FROM links WHERE person = ?)", person.id)
        for table in ("sessions", "links"):
            self.execute(f"DELETE FROM {table} WHERE person = ?", (person.id,))  # noqa: S608
