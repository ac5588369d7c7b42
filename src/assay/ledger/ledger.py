"""The ledger: adding and checking labels, which never change."""

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
"""The columns of new labels that digests cover, apart from the numbers."""


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to be written: a ``Label`` without uid and number, with its unit's content. Without
    ``created`` it gets the time of writing."""

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
        """Identity of the label's content: a label imported twice is one label."""
        who = [self.labeller.name, self.labeller.kind, dict(self.labeller.params)]
        parts = [self.task, self.version, self.unit, who, self.status.value, self.verdict]
        return content_hash(canonical([*parts, self.reason, self.sample, self.overrules, created]))


@dataclass
class Trial:
    """A trial write, see :meth:`Ledger.trial`. Set ``keep`` to commit it."""

    add: Callable[[Iterable[NewLabel]], list[str]]
    """Adds labels and returns the uids of the new ones."""
    keep: bool = False


class Ledger(Reading):
    """An open ledger, to be used as a context manager by one thread. Any number of processes may
    open the same ledger. Raises LedgerError if it cannot be opened, written or understood.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._labeller_ids: dict[tuple[str, str, str], int] = {}
        self._task_ids: dict[str, int] = {}
        self._checked = CheckedUpTo()
        self._by_index = True
        self._named: Mapping[str, object] = {}
        self.progress: ProgressCallback = no_progress
        """Progress of checking the ledger, or of writing it from another."""

    @classmethod
    def open(cls, place: Place, *, create: bool = True) -> Self:
        """Open the ledger at ``place``, a file or the URL of a PostgreSQL database, and migrate it
        if needed. With ``create``, make it if there is none."""
        return cls(store_at(place, create=create))

    @property
    def remote(self) -> bool:
        """Whether writing waits for another machine. If so, :meth:`add` may be called from any
        thread, one at a time."""
        return self._db.remote

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        error = raised[1]
        try:
            # Tampered rows can break any code that relies on them: report the tampering instead.
            if isinstance(error, LookupError | TypeError | ValueError | ArithmeticError):
                self._blamed(error)
        finally:
            self.close()

    @contextmanager
    def copy(self) -> Iterator[Self]:
        """A copy in memory to try things in, for as long as the context lasts."""
        with self._db.explained(), self._db.copy() as store:
            yield type(self)(store)

    def file_size(self) -> int:
        """Size of the ledger in bytes."""
        with self._db.explained():
            return self._db.size()

    def changed_elsewhere(self) -> bool:
        """Whether anybody else has written to the ledger since the last call."""
        with self._db.explained():
            return self._db.changed_elsewhere()

    def flush(self) -> None:
        """Force what was written to disk, so that it survives a power cut and not only a kill. Any
        thread may call it. Raises OSError."""
        self._db.flush()

    def claim(self, name: str, what: str, *, shards: int = 0) -> AbstractContextManager[None]:
        """Hold a name until the context or the process ends, alone among all users of this ledger
        or together with others that claim it for the same number of ``shards``. Raises LedgerError
        if somebody else holds it; ``what`` is what they are doing, for the message."""
        return self._db.claim(name, what, shards=shards)

    def lines(self, tasks: Iterable[str] | None = None) -> Iterator[Lines]:
        """The labels of the named tasks (None: of all) as JSON."""
        names = None if tasks is None else list(tasks)
        with self._db.explained(), self._db.separate_reader() as db:
            yield from all_lines(db, names)

    def checked_lines(self, tasks: Iterable[str], since: Head) -> Iterator[Lines]:
        """The labels of the named tasks as JSON, :meth:`checked` while they are read. Only after
        the last one is it certain that none was changed and that the ledger once had the head
        ``since``. Raises LedgerError if not."""
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
        """The labels of the named tasks (None: of all) as rows of the columns
        :data:`assay.ledger.lines.WHOLE`, ``most`` at a time."""
        names = None if tasks is None else list(tasks)
        with self._db.explained():
            found = whole_rows(self._db, names)
            while some := list(islice(found, most)):
                yield some

    # -- copying ---------------------------------------------------------------------------

    def copy_from(self, other: Ledger) -> int:
        """Copy all that ``other`` has and this ledger lacks, numbers and digests included, and
        return the number of labels copied. This ledger must be empty or an earlier state of
        ``other``. Raises LedgerError if it is not, or if either ledger was changed."""
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
                    copied(other._db, self._db, self.progress)
                    if self.head() != head_:
                        raise LedgerError(
                            f"{self.name} would differ from {other.name}, so it was not written."
                        )
                    trial.keep = True

        # Either ledger may lose its connection.
        self._db.persistently(lambda _retried: other._db.persistently(written))
        self._checked = CheckedUpTo()  # check every label again, as written here
        return self.checked().labels - had

    # -- draws -----------------------------------------------------------------------------

    def add_draw(self, draw: Draw) -> bool:
        """Write a draw, before anybody is asked. Returns False if the ledger holds it already."""

        def added(retried: bool) -> bool:
            with self.trial() as trial:
                trial.keep = add_draw(self._db, draw)
            return trial.keep or retried

        return self._db.persistently(added)

    def draws(self) -> list[Draw]:
        """All draws, oldest first. Raises LedgerError if one was changed."""
        return draws(self._db)

    # -- checking --------------------------------------------------------------------------

    def expect(self, named: Mapping[str, object], *, by_index: bool = True) -> None:
        """Make :meth:`checked` verify that this ledger once had each of the heads named by
        manifests (by file). Pass ``by_index=False`` if labels will not be looked up: indexes are
        then not checked, and little memory is used, as the file is read from end to end."""
        self._named, self._by_index = named, by_index
        if not by_index:
            self.use_less_memory()

    def _blamed(self, error: Exception) -> None:
        """Raise LedgerError if the ledger is damaged, which then explains ``error``."""
        fault = next(self.faults(), None)
        if fault is not None:
            raise LedgerError(f"{self.name}: {fault}. {CURE}") from error

    def checked(self) -> Head:
        """Check that no label was changed and that none is gone, as far as labels and manifests
        show, and return the head of the running digest. Raises LedgerError with the first fault.
        Nothing is checked twice."""
        if self._checked == CheckedUpTo():
            deque(self._all_checked(), 0)
        deque(self._unchecked(nullcontext(self._db)), 0)  # what was written since
        for path, head_ in self._named.items():
            why = self.faulty_head(head_)
            if why is not None:
                raise LedgerError(f"{path}: {why}. {GONE}")
        self._named = {}
        return self._checked.head

    def _all_checked(self) -> Iterator[Columns]:
        """All labels in blocks, each checked before it is yielded."""
        return self._unchecked(self._db.separate_reader(), by_index=self._by_index)

    def _unchecked(
        self, opened: AbstractContextManager[Store], *, by_index: bool = True
    ) -> Iterator[Columns]:
        """The labels that were not checked yet in blocks, each checked before it is yielded."""
        with self._db.explained(), opened as db:
            inspection = Inspection(db, self._checked, by_index=by_index, progress=self.progress)
            for columns, wrong in inspection:
                for fault in wrong:
                    raise LedgerError(f"{self.name}: {fault}. {CURE}")
                if columns:
                    yield columns
            self._checked = inspection.until

    def faults(self) -> Iterator[LedgerFault]:
        """Everything that was changed since it was written."""
        with self._db.explained():
            yield from faults(self._db, progress=self.progress)

    def head(self) -> Head:
        """The stored head: number and digest of the newest label, and the draws."""
        with self._db.explained():
            return head(self._db)

    def faulty_head(self, named: object) -> str | None:
        """Why this ledger never had the head that a manifest names, or None if it had."""
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
        """Write labels in one transaction and return the uids of the new ones. When this returns,
        the labels survive a kill of the process.

        ``fresh`` labels were made just now, so the ledger is not searched for them. Only those of
        free labellers are: several shards ask these at once, and the answer is written once.
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
        """Raise LedgerError if labels cannot be written."""

        def write(retried: bool) -> None:
            with self.trial():
                self._db.execute("INSERT INTO tasks (name) SELECT name FROM tasks WHERE 1 = 0")

        self._db.persistently(write)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """A transaction to add labels on trial: only this connection sees them, and no other
        process writes meanwhile. They are taken back at the end unless ``keep`` was set."""
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
                    # Forget the numbers of rows that were taken back.
                    self._labeller_ids.clear()
                    self._task_ids.clear()
                    self._labellers.clear()
                    self._by_people = (0, frozenset())
                    self._checked = before

    def _insert(self, labels: Iterable[NewLabel], now: str, *, fresh: bool) -> list[str]:
        """Write those labels that are new and return their uids. ``now`` is the time of labels
        without one; these count as new even if an earlier attempt has written them."""
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
    """A number as an integer column stores it."""
    found = _real(value)
    return found if value is None or found is None or value % 1 else int(value)


def _real(value: float | None) -> float | None:
    """A number as a real column stores it: -0 becomes 0, and NaN and infinities become NULL."""
    return value + 0.0 if value is not None and -math.inf < value < math.inf else None
