"""The ledger: labels are added and checked, and never changed."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import compress, islice
from operator import itemgetter
from typing import Any, Self

import orjson

from assay.ledger.chain import Head, chained, digest_of, head, made_draws, newest
from assay.ledger.checking import (
    CURE,
    GONE,
    TASK,
    CheckedUpTo,
    Columns,
    Inspection,
    LedgerFault,
    faults,
)
from assay.ledger.copying import OTHERWISE, copied
from assay.ledger.draws import Draw, add_draw, draws
from assay.ledger.hashes import as_stored, packed, unpacked
from assay.ledger.lines import Labellers, Lines, all_lines, lines_of, whole_rows
from assay.ledger.places import store_at
from assay.ledger.reading import Reading
from assay.ledger.store import Place, Store
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.model.progress import ProgressCallback, no_progress
from assay.tasks.base import canonical, content_hash

_LINKED = itemgetter(0, 1, 9, 12, 13, 14, 15, 17)
"""Of the columns of new labels what their digests cover, beside their numbers."""


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

    add: Callable[[Iterable[NewLabel]], list[str]]
    """Adds labels and returns the uids of those that were new."""
    keep: bool = False


class Ledger(Reading):
    """An open ledger. Use as a context manager; one thread, any number of processes.

    Raises LedgerError where it cannot be opened, written or understood.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._labeller_ids: dict[tuple[str, str, str], int] = {}
        self._task_ids: dict[str, int] = {}
        self._checked = CheckedUpTo()
        self._by_index = True
        self._named: Mapping[str, object] = {}
        self.told: ProgressCallback = no_progress
        """Told how it goes on that the ledger is checked, or written from another."""

    @classmethod
    def open(cls, place: Place, *, create: bool = True) -> Self:
        """Open (and with ``create``, make) the ledger at ``place``, migrating it where needed: a
        file, or the URL of a PostgreSQL database."""
        return cls(store_at(place, create=create))

    @property
    def remote(self) -> bool:
        """Whether writing waits for another machine: then :meth:`add` may be called from another
        thread, one at a time."""
        return self._db.remote

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        error = raised[1]
        try:
            # What rows that were changed make of code that takes them for what was written.
            if isinstance(error, LookupError | TypeError | ValueError | ArithmeticError):
                self._blamed(error)
        finally:
            self.close()

    @contextmanager
    def copy(self) -> Iterator[Self]:
        """A copy in memory alone, as long as the context lasts: to try things in."""
        with self._db.explained(), self._db.copy() as store:
            yield type(self)(store)

    def file_size(self) -> int:
        """Bytes that the labels take."""
        with self._db.explained():
            return self._db.size()

    def changed_elsewhere(self) -> bool:
        """Whether anybody else wrote to the ledger since this was last asked."""
        with self._db.explained():
            return self._db.changed_elsewhere()

    def flush(self) -> None:
        """Have the disk keep what was written: when this returns, it survives a power cut, too, and
        not a kill alone. Any thread may call it. Raises OSError."""
        self._db.flush()

    def claim(self, name: str, what: str, *, shards: int = 0) -> AbstractContextManager[None]:
        """Hold a name as nobody else can who uses this ledger, until the context or the process
        ends; or with all others that hold it for as many ``shards``. Raises LedgerError where
        somebody does otherwise: ``what`` is being done by them."""
        return self._db.claim(name, what, shards=shards)

    def lines(self, tasks: Iterable[str] | None = None) -> Iterator[Lines]:
        """The labels of the named tasks, or of all, as JSON."""
        names = None if tasks is None else list(tasks)
        with self._db.explained(), self._db.apart() as db:
            yield from all_lines(db, names)

    def checked_lines(self, tasks: Iterable[str], since: Head) -> Iterator[Lines]:
        """The labels of the named tasks as JSON, which are :meth:`checked` as they are given: only
        when all were is it certain that they are as they were written, and that ``since`` is a
        beginning of the ledger. Raises LedgerError where that is not so."""
        names, who = set(tasks), Labellers(self._db)
        if self._checked == CheckedUpTo():
            for columns in self._all_checked():
                if not names.issuperset(columns[TASK]):
                    of_these = [one in names for one in columns[TASK]]
                    columns = [(*compress(one, of_these),) for one in columns]
                if columns[TASK]:
                    yield lines_of(columns, who)
        else:
            yield from self.lines(names)
        self.checked()
        why = self.faulty_head(since.in_manifest())
        if why is not None:
            raise LedgerError(f"{self.name}: the score {why}. Score again.")

    def rows(self, tasks: Iterable[str] | None, most: int) -> Iterator[list[Any]]:
        """The same as rows (:data:`assay.ledger.lines.WHOLE`), ``most`` at a time."""
        names = None if tasks is None else list(tasks)
        with self._db.explained():
            found = whole_rows(self._db, names)
            while some := list(islice(found, most)):
                yield some

    # -- from others -----------------------------------------------------------------------

    def copy_from(self, other: Ledger) -> int:
        """Write all that ``other`` has and this one lacks, with its numbers and digests, and return
        how many labels those are. This one must be a beginning of ``other``, or empty. Raises
        LedgerError where it is not, or where either is not as it was written."""
        had = self.checked().labels

        def written(_retried: bool) -> None:
            with other._db.explained(), other._db.snapshot():
                head_ = other.checked()
                with self.trial() as trial:
                    own = self.head()
                    if own != Head() and other.faulty_head(own.in_manifest()):
                        raise LedgerError(
                            f"{self.name} has labels that {other.name} lacks. {OTHERWISE}"
                        )
                    copied(other._db, self._db, self.told)
                    if self.head() != head_:
                        raise LedgerError(
                            f"{self.name} would differ from {other.name}, so it was not written."
                        )
                    trial.keep = True

        # Either may be the one that loses its connection.
        self._db.persistently(lambda _retried: other._db.persistently(written))
        self._checked = CheckedUpTo()  # all is looked at, as it was written there
        return self.checked().labels - had

    # -- draws -----------------------------------------------------------------------------

    def add_draw(self, draw: Draw) -> bool:
        """Write what was drawn, before anybody is asked; False where it is there already."""

        def added(retried: bool) -> bool:
            with self.trial() as trial:
                trial.keep = add_draw(self._db, draw)
            return trial.keep or retried

        return self._db.persistently(added)

    def draws(self) -> list[Draw]:
        """All draws, oldest first. Raises LedgerError where one is not as it was written."""
        return draws(self._db)

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
        fault = next(self.faults(), None)
        if fault is not None:
            raise LedgerError(f"{self.name}: {fault}. {CURE}") from error

    def checked(self) -> Head:
        """The head of the running digest, once all labels are found to be as they were written and
        none is gone that a manifest knows. Raises LedgerError with the first that is not. What was
        checked once is not again."""
        if self._checked == CheckedUpTo():
            deque(self._all_checked(), 0)
        deque(self._looked(nullcontext(self._db)), 0)  # with what was written since
        for path, head_ in self._named.items():
            why = self.faulty_head(head_)
            if why is not None:
                raise LedgerError(f"{path}: {why}. {GONE}")
        self._named = {}
        return self._checked.head

    def _all_checked(self) -> Iterator[Columns]:
        """All labels, some at a time, which are checked as they are given."""
        return self._looked(self._db.apart(), by_index=self._by_index)

    def _looked(
        self, opened: AbstractContextManager[Store], *, by_index: bool = True
    ) -> Iterator[Columns]:
        """The same of those that were not checked yet."""
        with self._db.explained(), opened as db:
            inspection = Inspection(db, self._checked, by_index=by_index, told=self.told)
            for columns, wrong in inspection:
                for fault in wrong:
                    raise LedgerError(f"{self.name}: {fault}. {CURE}")
                if columns:
                    yield columns
            self._checked = inspection.until

    def faults(self) -> Iterator[LedgerFault]:
        """All that is not as it was written."""
        with self._db.explained():
            yield from faults(self._db, told=self.told)

    def head(self) -> Head:
        """The number of the newest label and its digest, as they are stored."""
        with self._db.explained():
            return head(self._db)

    def faulty_head(self, named: object) -> str | None:
        """Why the head that a manifest names never was this ledger's; None where it was."""
        number = named.get("labels") if isinstance(named, Mapping) else None
        digest = named.get("head") if isinstance(named, Mapping) else None
        if type(number) is not int or not 0 <= number < 1 << 63 or not isinstance(digest, str):
            return "names no head of a ledger"
        drawn = named.get("draws", []) if isinstance(named, Mapping) else None
        with self._db.explained():
            stored = digest_of(self._db, number)
            there = made_draws(self._db)
        for one in drawn if isinstance(drawn, list) else ["?"]:
            uid, _, made = str(one).partition(" ")
            if uid not in there:
                return f"names draw {uid[:8]}, which is missing from this ledger: it was removed"
            if made and made != there[uid]:
                return f"says that draw {uid[:8]} was made {made}, but the ledger says {there[uid]}"
        if stored is not None and stored == packed(digest):
            return None
        return (
            f"was made from {number:,} labels with head {digest[:8]}, which this ledger never "
            "had: labels were deleted or changed since, or it belongs to another ledger"
        )

    # -- writing ---------------------------------------------------------------------------

    def add(self, labels: Iterable[NewLabel], *, fresh: bool = False) -> list[str]:
        """Write labels in one transaction and return the uids of those that were new; ``fresh``
        ones were made this moment, so that the ledger cannot hold them and need not look, but for
        what costs nothing to ask: shards do so side by side, and it is written once.

        When this returns, the labels survive a kill of the process.
        """
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        given = list(labels)
        free = [(one.unit, one.key) for one in given if fresh and one.labeller.is_free]

        def added(retried: bool) -> list[str]:
            with self.trial() as trial:
                trial.keep = True
                known = self.statuses(free) if free else {}
                new = [one for one in given if known.get(one.key) is not Status.OK]
                return self._insert(new, now, fresh=fresh and not retried)

        return self._db.persistently(added)

    def check_writable(self) -> None:
        """Raise LedgerError where labels may not be written."""

        def write(retried: bool) -> None:
            with self.trial():
                self._db.execute("INSERT INTO tasks (name) SELECT name FROM tasks WHERE 1 = 0")

        self._db.persistently(write)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """The ledger as it is with the labels that are added in it, for this connection alone, as
        long as the context lasts; no other process writes meanwhile. Only where ``keep`` was set
        do they stay."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        trial = Trial(lambda labels: self._insert(labels, now, fresh=False))
        before, committed = self._checked, False
        with self._db.explained():
            self._db.begin()
            try:
                yield trial
                if trial.keep:
                    self._db.commit()
                    committed = True
            finally:
                if not committed:
                    self._db.rollback()
                    # The numbers that rows got within it are given to others next, or to none.
                    self._labeller_ids.clear()
                    self._task_ids.clear()
                    self._labellers.clear()
                    self._by_people = (0, frozenset())
                    self._checked = before

    def _insert(self, labels: Iterable[NewLabel], now: str, *, fresh: bool) -> list[str]:
        """Write what is new of some labels, and return its uids; ``now`` is the time of those that
        have none. What was made now is new, even if it was written by an attempt before this."""
        units: dict[str, tuple[bytes, int, str]] = {}
        rows: dict[str, tuple[Any, ...]] = {}
        for label in labels:
            if label.unit not in units:
                text = canonical(label.content).decode()
                units[label.unit] = (packed(label.unit), self._task_id(label.task), text)
            created = label.created or now
            uid = label.uid(created)
            rows[uid] = (
                packed(uid),
                as_stored(label.key),
                self._task_id(label.task),
                label.version,
                units[label.unit][0],
                self._labeller_id(label.labeller),
                label.status.value,
                None if label.verdict is None else orjson.dumps(label.verdict).decode(),
                label.reason,
                label.error,
                label.sample,
                None if label.overrules is None else as_stored(label.overrules),
                _whole(label.tokens_in),
                _whole(label.tokens_out),
                _real(label.cost),
                _real(label.seconds),
                created,
                orjson.dumps(label.detail).decode(),
            )
        new = list(rows)
        if not fresh:
            asked = ((row[4], row[1]) for row in rows.values())  # units and keys
            there = {unpacked(uid) for (uid,) in self.asked("uid", asked)}
            new = [uid for uid in rows if uid not in there or rows[uid][-2] == now]
            for uid in there:
                rows.pop(uid, None)
        if rows:
            last, digest, _ = newest(self._db)
            numbers = range(last + 1, last + 1 + len(rows))
            columns = [*zip(*rows.values(), strict=True)]
            digests = chained(digest, numbers, *_LINKED(columns))
            self._db.insert(units.values(), zip(numbers, *columns, digests, strict=True))
        return new

    def _task_id(self, task: str) -> int:
        if task not in self._task_ids:
            self._db.execute("INSERT INTO tasks (name) VALUES (?) ON CONFLICT DO NOTHING", [task])
            row = self._db.execute("SELECT id FROM tasks WHERE name = ?", [task]).fetchone()
            self._task_ids[task] = int(row[0])
        return self._task_ids[task]

    def _labeller_id(self, labeller: LabellerId) -> int:
        row = (labeller.name, labeller.kind, canonical(dict(labeller.params)).decode())
        if row not in self._labeller_ids:
            self._db.execute(
                "INSERT INTO labellers (name, kind, params) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                row,
            )
            where = "SELECT id FROM labellers WHERE name = ? AND kind = ? AND params = ?"
            self._labeller_ids[row] = int(self._db.execute(where, row).fetchone()[0])
        return self._labeller_ids[row]


def _whole(value: float | None) -> float | None:
    """A number as a column of integers stores it."""
    found = _real(value)
    return found if value is None or found is None or value % 1 else int(value)


def _real(value: float | None) -> float | None:
    """A number as a column of reals stores it: there is no -0, and what is no number, or no finite
    one, is NULL."""
    return value + 0.0 if value is not None and -math.inf < value < math.inf else None
