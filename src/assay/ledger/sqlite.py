"""The ledger on SQLite in WAL mode: one file beside the evaluation, safe to kill at any moment."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from assay.ledger.chain import Head, digest_of, head, linked, made_draws, newest
from assay.ledger.checking import CURE, GONE, Checked, Fault, faults, first_fault, look
from assay.ledger.draws import Draw, add_draw, draws
from assay.ledger.hashes import packed, unpacked
from assay.ledger.opening import connect, explained, roll_back
from assay.ledger.reading import REST, Reading
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.tasks.base import canonical, content_hash

_INSERT = f"""
    INSERT INTO labels (uid, key, task, version, unit, labeller, status, verdict, reason, error,
        {REST}, id, digest)
    VALUES (?, ?, ?, ?, (SELECT id FROM units WHERE hash = ?), ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
"""  # noqa: S608 (constants)
_LABELLERS = 1000


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


@dataclass
class Trial:
    """What is tried, and whether it is to ``keep``; see :meth:`Ledger.trial`."""

    add: Callable[[Iterable[NewLabel]], object]
    keep: bool = False


class Ledger(Reading):
    """An open ledger. Use as a context manager; one thread, any number of processes.

    Raises LedgerError where the file cannot be opened, written or understood.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._labeller_ids: dict[int, tuple[LabellerId, int]] = {}
        self._task_ids: dict[str, int] = {}
        self._checked = Checked()
        self._data_version = 0
        self._by_index = True
        self._named: Mapping[str, object] = {}
        self._closed = False

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Self:
        """Open (and with ``create``, make) the ledger at ``path``, migrating it where needed."""
        if not create and not path.exists():
            raise LedgerError(f"{path}: there is no ledger yet. Run 'assay judge' first.")
        return cls(path, connect(path))

    def close(self) -> None:
        self._db.close()
        self._closed = True

    def anew(self) -> Self:
        """The same ledger, opened anew where it was closed."""
        return self.open(self.path, create=False) if self._closed else self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, LookupError | TypeError | ValueError | ArithmeticError):
                self._blamed(error)
        finally:
            self.close()

    @contextmanager
    def copy(self) -> Iterator[Self]:
        """A copy in memory alone, as long as the context lasts: to try things in."""
        with explained(self.path), closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.execute("PRAGMA temp_store = MEMORY")
            self._db.backup(db)
            yield type(self)(self.path, db)

    def file_size(self) -> int:
        """Bytes of the file."""
        with explained(self.path):
            pages, size = (
                int(self._db.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "page_size")
            )
        return pages * size

    def changed_elsewhere(self) -> bool:
        """Whether anybody else wrote to the ledger since this was last asked."""
        with explained(self.path):
            version = int(self._db.execute("PRAGMA data_version").fetchone()[0])
        before, self._data_version = self._data_version, version
        return version != before

    def flush(self) -> None:
        """Have the disk keep what was written: when this returns, it survives a power cut, too, and
        not a kill alone. Any thread may call it. Raises OSError."""
        log = self.path.with_name(f"{self.path.name}-wal")
        with suppress(FileNotFoundError), log.open("r+b") as written:
            os.fsync(written.fileno())

    # -- draws -----------------------------------------------------------------------------

    def add_draw(self, draw: Draw) -> bool:
        """Write what was drawn, before anybody is asked; False where it is there already."""
        return add_draw(self._db, self.path, draw)

    def draws(self) -> list[Draw]:
        """All draws, oldest first. Raises LedgerError where one is not as it was written."""
        return draws(self._db, self.path)

    # -- checking --------------------------------------------------------------------------

    def expect(self, named: Mapping[str, object], *, by_index: bool = True) -> None:
        """Have :meth:`checked` see that each of the heads that manifests name, by file, was this
        ledger's. Without ``by_index`` labels are not going to be looked up: indexes are left alone,
        and little of the file is held, as it is read from end to end."""
        self._named, self._by_index = named, by_index
        if not by_index:
            self.use_less_memory()

    def _blamed(self, error: Exception) -> None:
        """Raise LedgerError where what could not be dealt with is a damaged ledger."""
        with explained(self.path):
            _, fault = first_fault(self._db, Checked())
        if fault is not None:
            raise LedgerError(f"{self.path}: {fault}. {CURE}") from error

    def checked(self) -> Head:
        """The head of the running digest, once all labels are found to be as they were written and
        none is gone that a manifest knows. Raises LedgerError with the first that is not. What was
        checked once is not again."""
        fault = None
        if self._checked == Checked():
            self._checked, fault = look(self.path, by_index=self._by_index)
        if fault is None:  # with what was written since
            with explained(self.path):
                self._checked, fault = first_fault(self._db, self._checked)
        if fault is not None:
            raise LedgerError(f"{self.path}: {fault}. {CURE}")
        for path, head_ in self._named.items():
            why = self.faulty_head(head_)
            if why is not None:
                raise LedgerError(f"{path}: {why}. {GONE}")
        self._named = {}
        return self._checked.head

    def faults(self) -> Iterator[Fault]:
        """All that is not as it was written."""
        with explained(self.path):
            yield from faults(self._db)

    def head(self) -> Head:
        """The number of the newest label and its digest, as they are stored."""
        with explained(self.path):
            return head(self._db)

    def faulty_head(self, named: object) -> str | None:
        """Why the head that a manifest names never was this ledger's; None where it was."""
        number = named.get("labels") if isinstance(named, Mapping) else None
        digest = named.get("head") if isinstance(named, Mapping) else None
        if type(number) is not int or not 0 <= number < 1 << 63 or not isinstance(digest, str):
            return "names no head of a ledger"
        drawn = named.get("draws", []) if isinstance(named, Mapping) else None
        with explained(self.path):
            stored = digest_of(self._db, number)
            there = made_draws(self._db)
        for one in drawn if isinstance(drawn, list) else ["?"]:
            uid, _, made = str(one).partition(" ")
            if uid not in there:
                return f"names draw {uid[:8]}, which is not in this ledger: it was taken out"
            if made and made != there[uid]:
                return f"says that draw {uid[:8]} was made {made}, the ledger {there[uid]}"
        if stored is not None and stored == packed(digest):
            return None
        return (
            f"was made from {number:,} labels whose head was {digest[:8]}, which this ledger's "
            "never was: labels were deleted or changed since, or it is of another ledger"
        )

    # -- writing ---------------------------------------------------------------------------

    def add(self, labels: Iterable[NewLabel], *, fresh: bool = False) -> list[str]:
        """Write labels in one transaction and return the uids of those that were new; ``fresh``
        ones were made this moment, so that the ledger cannot hold them and need not look.

        When this returns, the labels survive a kill of the process.
        """
        with self._transaction() as trial:
            added = self._insert(labels, fresh=fresh)
            trial.keep = True
        return added

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """The ledger as it is with the labels that are added in it, for this connection alone, as
        long as the context lasts; no other process writes meanwhile. Only where ``keep`` was set
        do they stay."""
        with self._transaction() as trial:
            yield trial

    @contextmanager
    def _transaction(self) -> Iterator[Trial]:
        trial = Trial(partial(self._insert, fresh=False))
        before = self._checked
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield trial
                if trial.keep:
                    self._db.execute("COMMIT")
            finally:
                if not trial.keep or self._db.in_transaction:
                    roll_back(self._db)
                    self._labeller_ids.clear()
                    self._task_ids.clear()
                    self._labellers.clear()
                    self._checked = before

    def _insert(self, labels: Iterable[NewLabel], *, fresh: bool) -> list[str]:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        units: dict[str, tuple[bytes | str, int, str]] = {}
        rows: dict[str, tuple[Any, ...]] = {}
        for label in labels:
            if label.unit not in units:
                text = canonical(label.content).decode()
                units[label.unit] = (packed(label.unit), self._task_id(label.task), text)
            created = label.created or now
            uid = label.uid(created)
            rows[uid] = (
                packed(uid),
                packed(label.key),
                self._task_id(label.task),
                label.version,
                units[label.unit][0],
                self._labeller_id(label.labeller),
                label.status.value,
                None if label.verdict is None else orjson.dumps(label.verdict).decode(),
                label.reason,
                label.error,
                label.sample,
                None if label.overrules is None else packed(label.overrules),
                _whole(label.tokens_in),
                _whole(label.tokens_out),
                _real(label.cost),
                _real(label.seconds),
                created,
                orjson.dumps(label.detail).decode(),
            )
        if not fresh:
            for uid in self._written((row[4], row[1]) for row in rows.values()):
                rows.pop(uid, None)
        self._db.executemany(
            "INSERT INTO units (hash, task, content) VALUES (?, ?, ?) "
            "ON CONFLICT (hash) DO NOTHING",
            units.values(),
        )
        # Not OR IGNORE: that would drop rows that break a rule of the table in silence.
        self._db.executemany(_INSERT, self._numbered(rows.values()))
        return list(rows)

    def _numbered(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Rows of ``_INSERT``, each with its number and its digest."""
        last, digest, _ = newest(self._db)
        for number, row in enumerate(rows, last + 1):
            digest = linked(digest, number, row[0], row[1], row[9], *row[12:16], row[17])
            yield (*row, number, digest)

    def _written(self, asked: Iterable[tuple[bytes | str, bytes | str]]) -> set[str]:
        """The uids of all labels that the ledger holds under these units and keys (packed)."""
        return {unpacked(uid) for (uid,) in self.asked("uid", asked)}

    def _task_id(self, task: str) -> int:
        if task not in self._task_ids:
            self._db.execute("INSERT INTO tasks (name) VALUES (?) ON CONFLICT DO NOTHING", [task])
            row = self._db.execute("SELECT id FROM tasks WHERE name = ?", [task]).fetchone()
            self._task_ids[task] = int(row[0])
        return self._task_ids[task]

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


def _whole(value: float | None) -> float | None:
    """A number as a column of integers stores it."""
    found = _real(value)
    return found if value is None or found is None or value % 1 else int(value)


def _real(value: float | None) -> float | None:
    """A number as a column of reals stores it: there is no -0, and what is no number, or no finite
    one, is NULL."""
    return value + 0.0 if value is not None and -math.inf < value < math.inf else None
