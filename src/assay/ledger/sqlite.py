"""The ledger on SQLite in WAL mode: one file beside the evaluation, safe to kill at any moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from assay.ledger.migrations import MIGRATIONS
from assay.model.errors import LedgerError
from assay.model.labels import Label, LabellerId, Status
from assay.tasks.base import canonical, content_hash

_COLUMNS = (
    "uid, key, task, version, unit, labeller, status, verdict, reason, error, sample, overrules, "
    "tokens_in, tokens_out, cost, seconds, created, detail"
)
MAPPED = 1 << 30
"""Bytes of the file that are read through the address space, without a copy."""
_CACHE = 256 << 10
"""KiB of the file that SQLite holds in memory: indexes of millions of labels are read at random."""
_LABELLERS = 1000
_CHUNK = 500  # bound variables in one look-up; far below SQLite's limit


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label about to be written: a ``Label`` without uid and time, with its unit's content."""

    key: str
    task: str
    version: str
    unit: str
    content: Mapping[str, Any]
    labeller: LabellerId
    status: Status
    verdict: Mapping[str, Any] | None
    reason: str | None = None
    error: str | None = None
    sample: int = 0
    overrules: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    created: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def uid(self, created: str) -> str:
        """Identity of the label itself: equal labels imported twice are one label."""
        who = [self.labeller.name, self.labeller.kind, dict(self.labeller.params)]
        parts = [self.task, self.version, self.unit, who, self.status.value, self.verdict]
        return content_hash(canonical([*parts, self.reason, self.sample, self.overrules, created]))


class Ledger:
    """An open ledger. Use as a context manager; one thread, any number of processes.

    Raises LedgerError where the file cannot be opened, written or understood.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._labellers: dict[int, LabellerId] = {}
        self._labeller_ids: dict[int, tuple[LabellerId, int]] = {}

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Self:
        """Open (and with ``create``, make) the ledger at ``path``, migrating it where needed."""
        if not create and not path.exists():
            raise LedgerError(f"{path}: there is no ledger yet. Run 'assay judge' first.")
        with explained(path):
            db = sqlite3.connect(path, timeout=30, isolation_level=None)
            try:
                db.execute(f"PRAGMA mmap_size = {MAPPED}")
                db.execute(f"PRAGMA cache_size = -{_CACHE}")
                _migrate(db, path)
            except BaseException:
                db.close()
                raise
        return cls(path, db)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------------

    def add(self, labels: Iterable[NewLabel]) -> list[str]:
        """Write labels in one transaction and return the uids of those that were new.

        When this returns, the labels survive a kill of the process.
        """
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                added = self._insert(labels)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                self._labeller_ids.clear()
                raise
        return added

    def _insert(self, labels: Iterable[NewLabel]) -> list[str]:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        units: dict[str, tuple[str, str, str]] = {}
        rows: dict[str, tuple[Any, ...]] = {}
        for label in labels:
            if label.unit not in units:
                text = canonical(label.content).decode()
                units[label.unit] = (label.unit, label.task, text)
            created = label.created or now
            uid = label.uid(created)
            rows[uid] = (
                uid,
                label.key,
                label.task,
                label.version,
                label.unit,
                self._labeller_id(label.labeller),
                label.status.value,
                None if label.verdict is None else orjson.dumps(label.verdict).decode(),
                label.reason,
                label.error,
                label.sample,
                label.overrules,
                label.tokens_in,
                label.tokens_out,
                label.cost,
                label.seconds,
                created,
                orjson.dumps(label.detail).decode(),
            )
        for uid in self._written(rows):
            del rows[uid]
        self._db.executemany(
            "INSERT INTO units (hash, task, content) VALUES (?, ?, ?) "
            "ON CONFLICT (hash) DO NOTHING",
            units.values(),
        )
        # Not OR IGNORE: that would drop rows that break a rule of the table in silence.
        self._db.executemany(
            f"INSERT INTO labels ({_COLUMNS}) "  # noqa: S608 (constant column list)
            "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            rows.values(),
        )
        return list(rows)

    def _written(self, uids: Iterable[str]) -> set[str]:
        """Those of ``uids`` that the ledger holds."""
        wanted = list(uids)
        found: set[str] = set()
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = self._db.execute(f"SELECT uid FROM labels WHERE uid IN ({marks})", chunk)  # noqa: S608
            found.update(uid for (uid,) in rows)
        return found

    def _labeller_id(self, labeller: LabellerId) -> int:
        known = self._labeller_ids.get(id(labeller))
        if known is not None:
            return known[1]
        params = canonical(dict(labeller.params))
        row = (labeller.name, labeller.kind, params.decode())
        self._db.execute(
            "INSERT INTO labellers (name, kind, params) VALUES (?, ?, ?) "
            "ON CONFLICT (name, kind, params) DO NOTHING",
            row,
        )
        found = self._db.execute(
            "SELECT id FROM labellers WHERE name = ? AND kind = ? AND params = ?", row
        ).fetchone()
        if len(self._labeller_ids) > _LABELLERS:  # some make a new object for every label
            self._labeller_ids.clear()
        # Kept with the object: as long as it lives, its id is its own.
        self._labeller_ids[id(labeller)] = (labeller, int(found[0]))
        return int(found[0])

    # -- reading ---------------------------------------------------------------------------

    def statuses(self, keys: Iterable[str]) -> dict[str, Status]:
        """What is known of each key: ``ok`` if any label under it is, else ``failed``; keys
        that were never asked are absent."""
        wanted = list(dict.fromkeys(keys))
        known: dict[str, Status] = {}
        with explained(self.path):
            for start in range(0, len(wanted), _CHUNK):
                chunk = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows = self._db.execute(
                    f"SELECT key, status FROM labels WHERE key IN ({marks})",  # noqa: S608
                    chunk,
                )
                for key, status in rows:
                    if known.get(key) is not Status.OK:
                        known[key] = Status(status)
        return known

    def labels(self, tasks: Iterable[str] | None = None) -> Iterator[Label]:
        """All labels, oldest first, of the named tasks or of all."""
        names = None if tasks is None else list(tasks)
        where = "" if names is None else f"WHERE task IN ({','.join('?' * len(names))})"
        yield from self._select(where, names or [])

    def by_key(self, keys: Iterable[str]) -> dict[str, Label]:
        """The newest label under each key, a usable one before failed ones; keys that were never
        asked are absent."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Label] = {}
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            for label in self._select(f"WHERE key IN ({','.join('?' * len(chunk))})", chunk):
                if label.status is Status.OK or label.key not in found:
                    found[label.key] = label
        return found

    def of_units(self, units: Iterable[str]) -> Iterator[Label]:
        """All labels of the units with these hashes; those of one unit oldest first."""
        wanted = list(dict.fromkeys(units))
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            yield from self._select(f"WHERE unit IN ({','.join('?' * len(chunk))})", chunk)

    def _select(self, where: str, values: Sequence[str]) -> Iterator[Label]:
        with explained(self.path):
            rows = self._db.execute(
                f"SELECT id, {_COLUMNS} FROM labels {where} ORDER BY id",  # noqa: S608
                values,
            )
            labellers = self.labellers()
            loads = orjson.loads
            statuses = {status.value: status for status in Status}
            nothing: dict[str, Any] = {}
            new = tuple.__new__  # what Label(...) comes to, without a call in between
            for (
                rowid,
                uid,
                key,
                task,
                version,
                unit,
                who,
                status,
                verdict,
                reason,
                error,
                sample,
                overrules,
                tokens_in,
                tokens_out,
                cost,
                seconds,
                created,
                detail,
            ) in rows:  # the hot loop of scoring
                yield new(Label, (
                    uid, key, task, version, unit, labellers[who], statuses[status],
                    None if verdict is None else loads(verdict), reason, error, sample,
                    overrules, tokens_in, tokens_out, cost, seconds, created,
                    nothing if detail == "{}" else loads(detail), rowid,
                ))  # fmt: skip

    def labellers(self) -> dict[int, LabellerId]:
        """Every labeller that ever wrote a label, by the number that rows refer to."""
        with explained(self.path):
            rows = self._db.execute("SELECT id, name, kind, params FROM labellers").fetchall()
        for number, name, kind, params in rows:
            if number not in self._labellers:
                self._labellers[number] = LabellerId(name, kind, orjson.loads(params))
        return self._labellers

    def units(self, tasks: Iterable[str] | None = None) -> dict[str, Mapping[str, Any]]:
        """Content of every unit, by hash, of the named tasks or of all."""
        names = None if tasks is None else list(tasks)
        where = "" if names is None else f"WHERE task IN ({','.join('?' * len(names))})"
        with explained(self.path):
            rows = self._db.execute(
                f"SELECT hash, content FROM units {where}",  # noqa: S608
                names or [],
            )
            return {unit: orjson.loads(content) for unit, content in rows}

    def find(self, uid_prefix: str) -> list[str]:
        """Uids that begin with ``uid_prefix``, at most ten."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT uid FROM labels WHERE substr(uid, 1, ?) = ? LIMIT 10",
                (len(uid_prefix), uid_prefix),
            )
            return [row[0] for row in rows]

    def stats(self) -> list[dict[str, Any]]:
        """Counts, tokens, cost (US dollars) and seconds for each task and labeller."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT task, version, name, status, COUNT(*), SUM(tokens_in), SUM(tokens_out), "
                "SUM(cost), SUM(seconds), MIN(created), MAX(created) FROM labels "
                "JOIN labellers ON labellers.id = labels.labeller "
                "GROUP BY task, version, name, status ORDER BY task, name, status"
            ).fetchall()
        names = ("task", "version", "labeller", "status", "labels", "tokens_in", "tokens_out")
        return [
            dict(zip((*names, "cost", "seconds", "first", "last"), row, strict=True))
            for row in rows
        ]

    def version(self) -> int:
        """Number of the last migration applied."""
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"{path}: written by a newer Assay (ledger version {version}, this one knows "
            f"{len(MIGRATIONS)}). Update Assay; nothing was changed."
        )
    db.execute("PRAGMA journal_mode = WAL")
    # NORMAL in WAL mode: a killed process loses nothing; only a power cut can lose the last rows.
    db.execute("PRAGMA synchronous = NORMAL")
    # Keys are random: the same index pages change again and again. Moving them from the log into
    # the file at every 64 MB, not every 4, doubles the labels that can be written a second.
    db.execute("PRAGMA wal_autocheckpoint = 16384")
    if version == len(MIGRATIONS):
        return
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version == 0 and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise LedgerError(f"{path}: an SQLite file, but not a ledger of Assay's.")
        for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
            for statement in _statements(script):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """Split a script at the semicolons that end statements (triggers hold semicolons too)."""
    pending = ""
    for part in script.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending) and part.strip():
            yield pending
            pending = ""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what a person can do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "readonly" in text or "unable to open" in text:
            cure = "Check that the folder exists and that you may write to it."
        elif "full" in text:
            cure = "The disk is full; make room and run again. What was written is kept."
        elif "locked" in text:
            cure = "Another process has held it for over 30 s; wait for it, then run again."
        elif "malformed" in text or "not a database" in text:
            cure = (
                "The file is damaged or no ledger. Keep a copy; 'sqlite3 FILE .recover' can "
                "rescue rows, or move it away to start afresh."
            )
        else:
            cure = "What was written before is kept."
        raise LedgerError(f"{path}: {text}. {cure}") from error
