"""Opening a ledger file: settings, migrations, checks, and readable messages for SQLite errors."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from assay.ledger.chain import digest_of, newest
from assay.ledger.store import too_new
from assay.model.errors import LedgerError
from assay.model.wording import printable


def _never_deleted(table: str, what: str) -> str:
    """Triggers with which the database refuses to change or delete rows."""
    return f"""
    CREATE TRIGGER {table}_keep BEFORE UPDATE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never changed'); END;
    CREATE TRIGGER {table}_stay BEFORE DELETE ON {table}
        BEGIN SELECT RAISE (ABORT, '{what} are never deleted'); END;
    """


# To change the tables, add a script that migrates those of the version before. Never edit a
# released one.
MIGRATIONS: Mapping[int, str] = {
    # Units come in order, and have few labels each: an index of keys alone, which are random, would
    # have every label of a large ledger change another page.
    5: f"""
    CREATE TABLE tasks (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    );
    CREATE TABLE labellers (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        params TEXT NOT NULL,
        UNIQUE (name, kind, params)
    );
    CREATE TABLE units (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        task INTEGER NOT NULL REFERENCES tasks (id),
        content TEXT NOT NULL
    );
    CREATE INDEX units_task ON units (task);
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY,
        uid BLOB NOT NULL,
        key BLOB NOT NULL,
        task INTEGER NOT NULL REFERENCES tasks (id),
        version TEXT NOT NULL,
        unit INTEGER NOT NULL REFERENCES units (id),
        labeller INTEGER NOT NULL REFERENCES labellers (id),
        sample INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
        verdict TEXT,
        reason TEXT,
        error TEXT,
        overrules BLOB,
        tokens_in INTEGER,
        tokens_out INTEGER,
        cost REAL,
        seconds REAL,
        created TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '{{}}',
        digest BLOB,
        CHECK ((status = 'ok') = (verdict IS NOT NULL))
    );
    CREATE INDEX labels_asked ON labels (unit, key, status);
    CREATE TABLE draws (
        id INTEGER PRIMARY KEY,
        uid BLOB NOT NULL UNIQUE,
        design TEXT NOT NULL,
        tasks TEXT NOT NULL,
        size INTEGER NOT NULL,
        seed INTEGER NOT NULL,
        created TEXT NOT NULL
    );
    CREATE TABLE drawn (
        draw INTEGER NOT NULL REFERENCES draws (id),
        name TEXT NOT NULL,
        pi REAL NOT NULL CHECK (pi >= 0 AND pi <= 1),
        drawn INTEGER NOT NULL CHECK (drawn IN (0, 1)),
        PRIMARY KEY (draw, name)
    ) WITHOUT ROWID;
    {_never_deleted("units", "units")}
    {_never_deleted("labels", "labels")}
    {_never_deleted("draws", "draws")}
    {_never_deleted("drawn", "draws")}
    """,
}
"""By the version that each makes; ledgers older than the first are not read."""
NEWEST = max(MIGRATIONS)


C = TypeVar("C", bound=sqlite3.Connection)

_REFUSES = re.compile(
    r"CREATE TRIGGER \w+ BEFORE (?:UPDATE|DELETE) ON \w+ (?:WHEN old\.digest IS NOT NULL )?"
    r"BEGIN SELECT RAISE \(ABORT, '[^']*'\); END"
)
"""A trigger that can do nothing but refuse a change, as ours do (0.1 wrote the condition)."""

_MAPPED = 1 << 30
"""Bytes of the file that are read through the address space, without a copy."""
_NAMES = bytes.fromhex("d9d505f920a163d7")
"""The end of a journal that names another file (SQLite's file format, 3)."""
_DAMAGED = ("malformed", "not a database", "decode", "no such", "BLOB", "datatype mismatch")
"""What SQLite says of a file that was damaged."""
_MAY_WRITE = "Check that the folder exists and that you may write to it."
_CURES = {
    "readonly": _MAY_WRITE,
    "unable to open": _MAY_WRITE,
    "full": "The disk is full; free some space and run again. What was written is kept.",
    "I/O": (
        "The disk does not work as it should: is it full, over a quota or a file size limit, or "
        "disconnected? What was written is kept."
    ),
    "locked": "Another process has locked it for over 30 s; wait for it to finish, then run again.",
}
"""What to do, by what SQLite says."""
_LOOKS = 3
"""Looks at a file that another process may be writing that moment."""
_LONGEST_PATH = 500  # bytes, with what SQLite puts behind it
PATIENCE = 30.0
"""Seconds for which a file that another process holds is waited for."""
LONGEST_LOG = 32768
"""Pages in the log at which whoever writes has to move them into the file."""
_CACHE = 256 << 10
"""KiB of the file that SQLite holds in memory: indexes of millions of labels are read at random."""


def connect(path: Path, kind: type[C]) -> C:
    """Open the ledger at ``path``; make or migrate it if needed."""
    with explained(path):
        db = opened(path, kind)
        try:
            db.execute(f"PRAGMA mmap_size = {_MAPPED}")
            db.execute(f"PRAGMA cache_size = -{_CACHE}")
            if writable(path):
                _migrate(db, path)
            elif not _version_of(db, path):
                raise LedgerError(
                    f"{path}: is not a ledger yet, and cannot be written. Copy the folder to a "
                    "place where you may write."
                )
        except BaseException:
            db.close()
            raise
    return db


def opened(path: Path, kind: type[C]) -> C:
    """A connection to the file at ``path``, read-only if the file cannot be written."""
    check_journal(path)
    _check_log(path)
    where, is_uri = str(path), False
    if not writable(path):
        # Without a log the file is complete. If there is one, SQLite must read it too.
        log, shared = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
        alone = not shared.exists() and not _size(log)
        where, is_uri = f"{path.absolute().as_uri()}?{'immutable=1' if alone else 'mode=ro'}", True
    return sqlite3.connect(where, timeout=PATIENCE, isolation_level=None, uri=is_uri, factory=kind)


def check_journal(path: Path) -> None:
    """Raise LedgerError if a rollback journal beside the file would make SQLite delete another
    file: it deletes whatever file the journal's end names. Journals written by Assay name none, but
    a folder received from others could hold one that does."""
    real = path.resolve()
    journal = real.with_name(f"{real.name}-journal")
    if journal.exists() and not journal.is_file():
        raise LedgerError(f"{journal}: is not a file, and SQLite would wait for it. Remove it.")
    with suppress(OSError), journal.open("rb") if journal.is_file() else nullcontext() as file:
        if file is not None and file.seek(-len(_NAMES), os.SEEK_END) and file.read() == _NAMES:
            raise LedgerError(
                f"{journal}: this journal names a file that SQLite would delete. Assay writes no "
                "such journal: find out who did, and remove it."
            )


def _check_log(path: Path) -> None:
    """Raise LedgerError if the log beside the file does not continue it. SQLite does not check, and
    would overwrite a restored backup with a log that a killed process left."""
    real = path.resolve()
    log = real.with_name(f"{real.name}-wal")
    if not _size(log):
        return
    uri = real.as_uri()
    # A file without tables, or one that cannot be read, has nothing that could be lost here.
    with (
        suppress(sqlite3.DatabaseError),
        closing(sqlite3.connect(f"{uri}?immutable=1", uri=True)) as alone,
        closing(sqlite3.connect(f"{uri}?mode=ro", PATIENCE, uri=True)) as both,
    ):
        for _ in range(_LOOKS):
            last = newest(alone)
            if digest_of(both, last.labels) == last.digest:
                return
        raise LedgerError(
            f"{log} does not continue {path.name}, and SQLite would overwrite it with this log: "
            f"it is from another ledger, or older. To continue with {path.name}, move it and "
            f"{real.name}-shm away; the labels it holds are in the file it was left beside."
        )


def _size(path: Path) -> int:
    """The size of a file in bytes, 0 if it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.stat().st_size
    return 0


def writable(path: Path) -> bool:
    """Whether the file, and its log beside it, can be written, or the file does not exist yet."""
    return not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _version_of(db: sqlite3.Connection, path: Path) -> int:
    """The version of the ledger's tables, 0 if there are none yet. Raises LedgerError if this Assay
    cannot read it."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > NEWEST:
        raise too_new(str(path), version, NEWEST)
    if 0 < version < min(MIGRATIONS):
        raise LedgerError(
            f"{path}: has ledger version {version}, which this version of Assay cannot read. "
            "Export the labels with the older Assay that wrote it ('assay labels export'), move "
            "it away, and import them. If no Assay wrote it, the file is damaged: restore it from "
            "a backup."
        )
    return version


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version = _version_of(db, path)
    _log_ahead(db)
    # NORMAL in WAL mode: a killed process loses nothing; only a power cut can lose the last rows.
    db.execute("PRAGMA synchronous = NORMAL")
    # Keys are random, so the same index pages change again and again. Moving them from the log to
    # the file every 128 MB instead of every 4 doubles the labels written per second.
    db.execute(f"PRAGMA wal_autocheckpoint = {LONGEST_LOG}")
    if version == NEWEST:
        _check_programs(db, path)
        return
    with transaction(db, path, "BEGIN EXCLUSIVE"):
        version = _version_of(db, path)  # another process may have been faster
        if version == 0 and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise LedgerError(f"{path}: an SQLite file, but not an Assay ledger.")
        for number, script in MIGRATIONS.items():
            if number > version:
                for statement in _statements(script):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")


def _check_programs(db: sqlite3.Connection, path: Path) -> None:
    """Raise LedgerError if the file has triggers or conflict clauses that Assay did not make: in a
    file received from others they could silently drop labels that were paid for. Restore the
    triggers that refuse changes if they were removed."""
    programs = (
        "SELECT type, name, sql FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '%conflict%'"
    )
    for what, name, sql in db.execute(programs):
        if not _REFUSES.fullmatch(" ".join(sql.split())):
            raise LedgerError(
                f"{path}: its {what} {printable(name)} was not made by Assay, and may drop what "
                "is written. Ask whoever made the file to export the labels ('assay labels "
                "export'), and import that. If the trigger is your own, you can drop it."
            )
    for statement in _statements(MIGRATIONS[NEWEST]):
        if "CREATE TRIGGER" in statement:
            db.execute(statement.replace("TRIGGER", "TRIGGER IF NOT EXISTS", 1))


def _log_ahead(db: sqlite3.Connection) -> None:
    """Switch SQLite to a write-ahead log. SQLite does not wait by itself if another process is also
    opening the file for the first time."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def move_log(path: Path) -> None:
    """Move the content of the log at ``path`` into the file, as far as nobody is using it. This may
    wait some seconds for a busy disk, but does not make other writers wait."""
    uri = f"{path.absolute().as_uri()}?mode=rw"  # do not create a file that is gone
    with explained(path), closing(sqlite3.connect(uri, uri=True)) as db:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")


@contextmanager
def transaction(
    db: sqlite3.Connection, path: Path, begin: str = "BEGIN IMMEDIATE"
) -> Iterator[None]:
    """A transaction. Raises LedgerError as :func:`explained` does."""
    with explained(path):
        db.execute(begin)
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            roll_back(db)
            raise


def roll_back(db: sqlite3.Connection) -> None:
    """Roll back the current transaction, if there still is one: on a full disk, SQLite has already
    rolled back."""
    if db.in_transaction:
        db.execute("ROLLBACK")


def _statements(script: str) -> Iterator[str]:
    """Split a script at the semicolons that end statements (triggers hold semicolons too)."""
    pending = ""
    for part in script.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending) and part.strip():
            yield pending
            pending = ""


def is_damage(error: Exception) -> bool:
    """Whether an SQLite error means damage to the file, and not a failed read or write."""
    return any(sign in str(error) for sign in _DAMAGED)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite errors into a LedgerError that says what a person can do."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        text = str(error)
        cure = next((cure for sign, cure in _CURES.items() if sign in text), "")
        if "unable to open" in text and len(os.fsencode(path.absolute())) > _LONGEST_PATH:
            cure = "Its path is too long for SQLite; move the folder higher up."
        elif not cure and is_damage(error):
            cure = (
                "The file is damaged or not a ledger. Keep a copy. 'sqlite3 FILE .recover' can "
                "rescue rows; or move the file away to start again."
            )
        cure = cure or "What was written before is kept."
        raise LedgerError(f"{path}: {text}. {cure}") from error
