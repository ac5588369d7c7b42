"""What the workbench knows beside the labels: people, the units in their order, and who has which.

It stands in ``workbench.sqlite`` beside the ledger. Labels are in the ledger alone; what is said
of them here (``given``) is found again from there. Deleting the file loses invitations, skips,
flags and notes, and no label. A copy of the file lets nobody in: who sends a folder to somebody
must not be able to visit its workbench there.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from assay.ledger.opening import LONGEST_LOG, explained, transaction
from assay.model.errors import LedgerError

FILE = "workbench.sqlite"
_SOME = 500
"""Units that are looked up at once."""
_WRITTEN = 1000
"""Units that are written at once: some 20 ms."""
Each = Callable[[Iterable[Any]], Iterable[Any]]
"""Gives what there are many of one by one, and may let others go first."""

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


class Role(StrEnum):
    """What a person may do: give labels; settle disagreements, too; see and do everything."""

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


class Given(NamedTuple):
    """A person's label as the workbench notes it: the unit's hash, who gave it, the label's uid and
    number in the ledger, the verdict without reasons (JSON), how and when it was given."""

    hash: str
    person: str
    uid: str
    row: int
    verdict: str
    mode: str
    at: float


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit as the workbench holds it; ``content`` is JSON."""

    id: int
    task: str
    hash: str
    topic: str
    content: str
    passes: int
    labelled: int


def hashed(token: str) -> bytes:
    """What is stored of a link's token or a cookie."""
    return hashlib.sha256(token.encode()).digest()


def _place(path: Path) -> str:
    """Where a file is: this machine, and the file's number on it. Nobody elsewhere can guess it."""
    machine = str(uuid.getnode())
    with suppress(OSError):
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip() or machine
    return hashlib.sha256(f"{machine} {path.stat().st_ino}".encode()).hexdigest()


class State:
    """An open ``workbench.sqlite``; one thread. Raises LedgerError where it cannot be used."""

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
        here = _place(path)
        if self.fact("place") != here:
            with self.writing():
                for table in ("entering", "sessions", "links"):
                    self.execute(f"DELETE FROM {table}")  # noqa: S608 (constants)
                self.set_fact("place", here)

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

    # -- people ----------------------------------------------------------------------------------

    def person(self, name: str, role: Role | None = None) -> Person:
        """The person of this name, who is made where there is none, with another role if given."""
        self.execute(
            "INSERT INTO people (name, role, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (name, role or Role.LABELLER, time.time()),
        )
        if role is not None:
            self.execute("UPDATE people SET role = ? WHERE name = ?", (role, name))
        return self._person(self.one("SELECT id, name, role FROM people WHERE name = ?", name))

    def people(self) -> list[Person]:
        """Everybody, in the order of coming."""
        rows = self.all("SELECT id, name, role FROM people ORDER BY id")
        return [self._person(row) for row in rows]

    def _person(self, row: Sequence[Any]) -> Person:
        number, name, role = row
        if role not in set(Role):
            raise LedgerError(
                f"{self.path}: {name} has no role that there is ({role}). Move the file away: "
                "invitations, skips, flags and notes are lost with it, and no label."
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

    def enter(self, token: str) -> str | None:
        """The cookie of a new session for a link's token; None for a token that lets nobody in. The
        token is used up by the first session that does something (:meth:`session`): programs of
        mail and chat open links, too, to show what is behind them."""
        now = time.time()
        with self.writing():
            row = self.one(
                "SELECT person FROM links WHERE hash = ? AND until > ?", hashed(token), now
            )
            if row is None:
                return None
            self._forget("link IN (SELECT hash FROM links WHERE until <= ?)", now)
            cookie = secrets.token_urlsafe(32)
            self.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                (hashed(cookie), row[0], secrets.token_urlsafe(24), now),
            )
            self.execute("INSERT INTO entering VALUES (?, ?)", (hashed(cookie), hashed(token)))
        return cookie

    def session(self, cookie: str, *, looks: bool = False) -> tuple[Person, str] | None:
        """Who comes with a cookie, and the session's CSRF token. Unless the session only ``looks``,
        it is from now on the only one of its link."""
        row = self.one(
            "SELECT people.id, name, role, csrf, link, until FROM sessions "
            "JOIN people ON people.id = sessions.person "
            "LEFT JOIN entering ON session = sessions.hash "
            "LEFT JOIN links ON links.hash = link WHERE sessions.hash = ?",
            hashed(cookie),
        )
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
        """End the sessions of some links that did nothing yet."""
        of_these = f"SELECT session FROM entering WHERE {which}"  # noqa: S608 (constants)
        self.execute(f"DELETE FROM sessions WHERE hash IN ({of_these})", (value,))  # noqa: S608
        self.execute(f"DELETE FROM entering WHERE {which}", (value,))  # noqa: S608

    def leave(self, person: Person) -> None:
        """Let a person in no more, until there is another link."""
        self._forget("link IN (SELECT hash FROM links WHERE person = ?)", person.id)
        for table in ("sessions", "links"):
            self.execute(f"DELETE FROM {table} WHERE person = ?", (person.id,))  # noqa: S608

    # -- facts -----------------------------------------------------------------------------------

    def fact(self, name: str) -> str | None:
        row = self.one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_fact(self, name: str, value: str) -> None:
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    # -- units -----------------------------------------------------------------------------------

    def set_units(self, units: Iterable[Sequence[Any]], each: Each = iter) -> None:
        """Make these the units that labels are wanted of: task, hash, topic, place, content and
        passes. What was there before stays as it was, but is wanted no longer. Writes a part at a
        time, each once ``each`` gives it: others may write in between."""
        columns = ("task", "hash", "topic", "place", "content", "passes")
        with self._gathered("asked", ("hash",)), self._gathered("fresh", columns):
            # What is new is found before anybody is kept from writing.
            rest = iter(units)
            while some := list(islice(rest, _SOME)):
                self._gather("asked", ((unit[1],) for unit in some))
                known = self._known([unit[1] for unit in some])
                self._gather("fresh", (u for u in some if known.get(u[1]) != (u[2], u[5])))
            self._made(
                "gone",
                "SELECT id FROM units WHERE wanted AND hash NOT IN (SELECT hash FROM asked)",
            )
            with self.writing():
                self.execute("UPDATE units SET wanted = 0 WHERE id IN (SELECT id FROM gone)")
                self.execute(
                    "INSERT INTO topics (name) SELECT topic FROM fresh WHERE true "
                    "GROUP BY topic ORDER BY MIN(place) ON CONFLICT DO NOTHING"
                )
            self._by_parts(
                "fresh",
                "INSERT INTO units (task, hash, topic, place, content, passes) "
                "SELECT task, hash, topics.id, place, content, passes FROM fresh "
                "JOIN topics ON topics.name = topic WHERE fresh.rowid BETWEEN ? AND ? "
                "ORDER BY fresh.rowid ON CONFLICT (hash) DO UPDATE SET "
                "wanted = 1, passes = excluded.passes, topic = excluded.topic",
                each,
            )

    def _by_parts(self, table: str, statement: str, each: Each) -> None:
        """A statement on some rows of a table of this connection at a time."""
        last = self.one(f"SELECT coalesce(MAX(rowid), 0) FROM temp.{table}")[0]  # noqa: S608
        for start in each(range(1, last + 1, _WRITTEN)):
            with self.writing():
                self.execute(statement, (start, start + _WRITTEN - 1))

    def _known(self, hashes: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Topic and passes of those of these units that labels are wanted of already."""
        some = ",".join("?" * len(hashes))
        query = (
            "SELECT hash, name, passes FROM units JOIN topics ON topics.id = topic "  # noqa: S608
            f"WHERE wanted AND hash IN ({some})"
        )
        rows = self.all(query, *hashes)
        return {unit: (topic, passes) for unit, topic, passes in rows}

    def set_machines(
        self, found: Mapping[str, tuple[str, float | None]], each: Each = iter
    ) -> None:
        """What the folder's own labellers said: status and certainty by the unit's hash; written as
        :meth:`set_units` writes."""
        with self._gathered("said", ("hash", "status", "sure")):
            self._gather("said", ((unit, *said) for unit, said in found.items()))
            self._made(
                "other",
                """SELECT units.id, said.status, said.sure FROM said
                    JOIN units ON units.hash = said.hash
                    WHERE (units.machine, units.sure) IS NOT (said.status, said.sure)""",
            )
            self._by_parts(
                "other",
                "UPDATE units SET machine = other.status, sure = other.sure FROM other "
                "WHERE other.id = units.id AND other.rowid BETWEEN ? AND ?",
                each,
            )

    @contextmanager
    def _gathered(self, name: str, columns: Sequence[str]) -> Iterator[None]:
        """A table of this connection alone, so that nobody waits for what takes long."""
        self.execute(f"DROP TABLE IF EXISTS temp.{name}")
        self.execute(f"CREATE TEMP TABLE {name} ({', '.join(columns)})")
        try:
            yield
        finally:
            self.execute(f"DROP TABLE temp.{name}")

    def _gather(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Put rows into such a table."""
        columns = len(self.all(f"PRAGMA temp.table_info({name})"))
        with transaction(self.db, self.path, "BEGIN"):
            self.db.executemany(
                f"INSERT INTO temp.{name} VALUES ({','.join('?' * columns)})",  # noqa: S608
                rows,
            )

    def _made(self, name: str, query: str) -> None:
        """What a query finds, in a table of this connection alone."""
        self.execute(f"DROP TABLE IF EXISTS temp.{name}")
        self.execute(f"CREATE TEMP TABLE {name} AS {query}")

    def set_drawn(self, drawn: Iterable[tuple[str, str]]) -> None:
        """Make the units of these tasks, by topic or by hash, those of the random draw."""
        with self._gathered("asked", ("task", "name")):
            self._gather("asked", drawn)
            self._made(
                "chosen",
                "SELECT units.id FROM units JOIN topics ON topics.id = units.topic "
                "JOIN asked ON asked.task = units.task AND asked.name = topics.name UNION "
                "SELECT units.id FROM units JOIN asked ON asked.name = units.hash",
            )
            with self.writing():
                self.execute("DELETE FROM drawn WHERE unit NOT IN (SELECT id FROM chosen)")
                self.execute(
                    "INSERT INTO drawn SELECT id FROM chosen WHERE true ON CONFLICT DO NOTHING"
                )

    def set_ranges(self, found: Mapping[str, float]) -> None:
        """How far scores may still move on each topic."""
        with self.writing():
            self.db.executemany(
                "UPDATE topics SET range = ? WHERE name = ?",
                ((width, topic) for topic, width in found.items()),
            )

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all of it, or nothing."""
        return transaction(self.db, self.path)

    def queue(
        self,
        queue: str,
        task: str,
        person: Person,
        without: Sequence[int],
        count: int,
        gold: str = "",
        rests: Sequence[str] = (),
    ) -> list[UnitRow]:
        """The next units of a queue that nobody else has, and that the person has not labelled;
        with ``gold`` those that the person of that name has, for practice. What may tell labels of
        the tasks that it ``rests`` on comes once nobody is to be asked these of the same topic."""
        order = _QUEUES[queue][1]
        rows = self._queued(
            queue, task, person, without, gold, rests, f"ORDER BY {order} LIMIT :count", count
        )
        return [UnitRow(*row) for row in rows]

    def waits(
        self, queue: str, task: str, person: Person, gold: str = "", rests: Sequence[str] = ()
    ) -> bool:
        """Whether a queue has a unit for a person."""
        return bool(self._queued(queue, task, person, (), gold, rests, "LIMIT :count", 1))

    def told(
        self, unit: UnitRow, person: Person, rests: Sequence[str], tells: str = ""
    ) -> list[int]:
        """Units of its topic, of the tasks that a unit rests on, that others labelled (or of the
        task that it ``tells`` of, that a machine did) and the person did not: the unit may tell
        what they said."""
        rows = self.all(
            "SELECT id FROM units WHERE topic = (SELECT topic FROM units WHERE id = ?) "
            "AND task IN (SELECT value FROM json_each(?)) "
            "AND (labelled > 0 OR (machine = 'ok' AND task = ?)) AND NOT EXISTS "
            "(SELECT 1 FROM given WHERE given.unit = units.id AND person = ?) AND NOT EXISTS "
            "(SELECT 1 FROM asides WHERE asides.unit = units.id AND person = ? AND kind = 'seen')",
            unit.id, json.dumps(rests), tells, person.id, person.id,
        )  # fmt: skip
        return [row[0] for row in rows]

    def _queued(
        self,
        queue: str,
        task: str,
        person: Person,
        without: Sequence[int],
        gold: str,
        rests: Sequence[str],
        which: str,
        count: int,
    ) -> list[Any]:
        some = _QUEUES[queue][0]
        if gold:
            some = """EXISTS (SELECT 1 FROM given JOIN people ON people.id = person
                WHERE unit = units.id AND name = :gold)"""
        if gold:
            free = """
                AND NOT EXISTS (SELECT 1 FROM asides
                    WHERE unit = units.id AND person = :me AND kind IN ('skip', 'trained'))"""
        elif queue == "disagreements":
            free = """
                AND NOT EXISTS (SELECT 1 FROM reserved
                    WHERE unit = units.id AND person != :me AND until > :now)"""
        elif queue in {"flagged", "skipped"}:
            free = ""
        else:
            free = """
                AND NOT EXISTS (SELECT 1 FROM asides
                    WHERE unit = units.id AND person = :me AND kind IN ('skip', 'trained'))
                AND labelled + (SELECT COUNT(*) FROM reserved
                    WHERE unit = units.id AND person != :me AND until > :now) < passes"""
            free += _RESTS if rests else ""
        if queue != "disagreements":
            free += """
                AND NOT EXISTS (SELECT 1 FROM given WHERE unit = units.id AND person = :me)"""
        held = ",".join(str(int(one)) for one in without)
        return self.execute(
            f"{_BY_TOPIC if queue == 'widest' else _UNIT} "
            f"WHERE {'+' if queue in _FEW else ''}task = :task AND wanted AND {some} {free} "
            f"AND units.id NOT IN ({held}) {which}",
            {
                "task": task, "me": person.id, "now": time.time(), "count": count, "gold": gold,
                "rests": json.dumps(rests), "queue": queue,
            },
        )  # fmt: skip

    def unit(self, number: int) -> UnitRow | None:
        """The unit with this number."""
        row = self.one(f"{_UNIT} WHERE units.id = ?", number)
        return None if row is None else UnitRow(*row)

    def units(self, where: str, *values: Any) -> list[UnitRow]:
        """Units by a condition of the workbench's own."""
        return [UnitRow(*row) for row in self.all(f"{_UNIT} {where}", *values)]

    # -- labels that are given -------------------------------------------------------------------

    def set_given(self, labels: Iterable[Given]) -> None:
        """Note labels of the ledger: of a person's on a unit the newest of each mode, so that what
        is said later with others in sight hides nothing of what was said before. Those of units
        that the workbench does not know are passed over."""
        with self._gathered("said", Given._fields):
            self._gather("said", labels)
            self._made(
                "fresh",
                """SELECT units.id AS unit, said.* FROM said JOIN units ON units.hash = said.hash
                    LEFT JOIN people ON people.name = said.person
                    LEFT JOIN given ON given.unit = units.id AND given.person = people.id
                        AND given.mode = said.mode
                    WHERE given.row IS NULL OR given.row < said.row ORDER BY said.row""",
            )
            with self.writing():
                self.execute(
                    "INSERT INTO people (name, role, made) SELECT DISTINCT person, ?, ? FROM fresh "
                    "WHERE true ON CONFLICT DO NOTHING",
                    (Role.LABELLER, time.time()),
                )
                self.execute(
                    "INSERT OR REPLACE INTO given SELECT unit, people.id, uid, row, verdict, mode, "
                    "at FROM fresh JOIN people ON people.name = fresh.person ORDER BY row"
                )
                self.execute(
                    "UPDATE units SET labelled = (SELECT COUNT(DISTINCT person) FROM given "
                    "WHERE unit = units.id AND mode != 'adjudication') "
                    "WHERE id IN (SELECT unit FROM fresh)"
                )
                labelled = (
                    "(unit, person) IN "
                    "(SELECT unit, people.id FROM fresh JOIN people ON people.name = fresh.person)"
                )
                self.execute(f"DELETE FROM reserved WHERE {labelled}")  # noqa: S608
                self.execute(f"DELETE FROM asides WHERE kind = 'skip' AND {labelled}")  # noqa: S608

    def newest_given(self) -> Given | None:
        """The last label that is noted here; None where there is none."""
        row = self.one(
            "SELECT hash, name, uid, row, verdict, mode, at FROM given JOIN units "
            "ON units.id = unit JOIN people ON people.id = person ORDER BY row DESC LIMIT 1"
        )
        return None if row is None else Given(*row)

    def forget_given(self) -> None:
        """Note no label; those of the ledger are to be taken up anew."""
        with self.writing():
            self.execute("DELETE FROM given")
            self.execute("UPDATE units SET labelled = 0 WHERE labelled")

    def set_aside(self, unit: int, person: int, kind: str, text: str) -> None:
        """A skip, a flag or a note of a person on a unit; an empty flag or note takes it away."""
        if kind != "skip" and not text:
            self.execute(
                "DELETE FROM asides WHERE unit = ? AND person = ? AND kind = ?",
                (unit, person, kind),
            )
            return
        self.execute(
            "INSERT OR REPLACE INTO asides VALUES (?, ?, ?, ?, ?)",
            (unit, person, kind, text, time.time()),
        )
        if kind == "skip":
            self.execute("DELETE FROM reserved WHERE unit = ? AND person = ?", (unit, person))


_COLUMNS = "SELECT units.id, task, units.hash, topics.name, content, passes, labelled FROM "
_UNIT = f"{_COLUMNS} units JOIN topics ON topics.id = topic"
_BY_TOPIC = f"{_COLUMNS} topics CROSS JOIN units ON topics.id = topic"
_RESTS = """
    AND NOT EXISTS (SELECT 1 FROM units AS before
        WHERE before.topic = units.topic
        AND before.task IN (SELECT value FROM json_each(:rests))
        AND before.wanted AND before.labelled < before.passes
        AND (before.labelled > 0
            OR (:queue = 'drawn' AND before.id IN (SELECT unit FROM drawn)))
        AND NOT EXISTS (SELECT 1 FROM given WHERE unit = before.id AND person = :me)
        AND NOT EXISTS (SELECT 1 FROM asides
            WHERE unit = before.id AND person = :me AND kind = 'skip'))"""
"""Nothing that a unit rests on is half labelled (or drawn, among what is drawn) and this person's
to label: somebody who sees the unit may see what others said of that."""
_FEW = ("drawn", "flagged", "skipped")
"""Queues whose units are looked up by their numbers, not among all of the task."""

_OPEN = "labelled < passes"
_QUEUES = {
    "open": (_OPEN, "place"),
    "drawn": ("labelled < passes AND units.id IN (SELECT unit FROM drawn)", "place"),
    "failed": (f"{_OPEN} AND machine = 'failed'", "place"),
    "uncertain": (f"{_OPEN} AND sure IS NOT NULL", "sure, place"),
    "widest": (
        f"{_OPEN} AND machine != 'ok' AND labelled = 0",
        "range DESC, topics.id, place",  # as the indexes have them
    ),
    "flagged": (
        "units.id IN (SELECT unit FROM asides WHERE kind = 'flag')",
        "place",
    ),
    "skipped": (
        "units.id IN (SELECT unit FROM asides WHERE kind = 'skip' AND person = :me)",
        "place",
    ),
    "disagreements": (
        """labelled >= passes AND (SELECT COUNT(DISTINCT verdict) FROM given AS newest
            WHERE unit = units.id AND mode != 'adjudication' AND row = (SELECT MAX(row) FROM given
                WHERE unit = newest.unit AND person = newest.person AND mode != 'adjudication')) > 1
            AND NOT EXISTS (SELECT 1 FROM given WHERE unit = units.id AND mode = 'adjudication')""",
        "place",
    ),
}
"""Which units are in a queue, and in which order."""
