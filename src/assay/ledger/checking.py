"""Whether a ledger is as it was written: structure, references, units' texts, uids and digests."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import orjson

from assay.ledger.chain import LINKED, Head, has_digests, head, linked
from assay.ledger.draws import faulty_draws
from assay.ledger.hashes import as_packed, packed, unpacked
from assay.ledger.store import Database, Store
from assay.model.errors import LedgerError
from assay.model.going import Told, share_of, unheard
from assay.tasks.base import canonical, content_hash, unit_hash

CURE = (
    "Take the ledger from a backup; or export the labels, take the lines concerned out and "
    "import the rest into a new ledger. 'assay labels verify FOLDER' names all that was changed."
)
GONE = (
    "Take the ledger from a backup; or, where this is the ledger to go on with, move what the "
    "other gave (out/) away first."
)
K = TypeVar("K")

_AT_ONCE = 1000
_VERDICTS, _SHORT = 10_000, 100  # different ones that are remembered, and characters of these
_LABELS = (  # of constants
    f"SELECT {LINKED}, {{digest}}, labels.unit, tasks.name, version, units.hash, labeller, status, "  # noqa: S608
    "verdict, reason, sample, overrules, created FROM labels LEFT JOIN tasks ON tasks.id = "
    "labels.task LEFT JOIN units ON units.id = labels.unit WHERE labels.id > ? ORDER BY labels.id"
)
_UNITS = (
    "SELECT units.id, hash, name, {} FROM units "
    "LEFT JOIN tasks ON tasks.id = units.task WHERE units.id > ? ORDER BY units.id"
)
_UNNUMBERED = "SELECT uid FROM labels WHERE id < 1"
_UNNUMBERED_UNITS = "SELECT count(*) FROM units WHERE id < 1"
_FOREIGN = "it was put in by other means than Assay's"
_BESIDE = "its key, error, tokens, cost, seconds or detail were changed"


class Checked(NamedTuple):
    """How far a ledger was checked: up to which label and which unit."""

    head: Head = Head()
    unit: int = 0


_NOTHING = Checked()


class Fault(NamedTuple):
    """What is not as it was written; ``uid`` is the label's that it is about, if it is of one."""

    why: str
    uid: str | None = None

    def __str__(self) -> str:
        return self.why if self.uid is None else f"label {self.uid[:8]}: {self.why}"


def look(store: Store, *, by_index: bool, told: Told = unheard) -> tuple[Checked, str | None]:
    """How far a ledger is as it was written, and what the first thing is that is not. ``by_index``
    is whether labels are going to be looked up by indexes."""
    try:
        with store.explained(), store.apart() as db:
            return first_fault(db, Checked(), by_index=by_index, told=told)
    except LedgerError as error:
        return Checked(), str(error)


def first_fault(
    db: Store, after: Checked, *, by_index: bool = True, told: Told = unheard
) -> tuple[Checked, str | None]:
    """The same of what was written ``after``, as seen by this connection."""
    with db.snapshot():  # nobody's labels come in between
        found = next(faults(db, after, by_index=by_index, told=told), None)
        if found is not None:
            return after, str(found)
        unit = db.execute("SELECT max(id) FROM units").fetchone()[0] or 0
        return Checked(head(db), unit), None


def faults(
    db: Store, after: Checked = _NOTHING, *, by_index: bool = True, told: Told = unheard
) -> Iterator[Fault]:
    """All that is not as it was written, the structure first; of the indexes of the large tables
    only how long they are where nothing is looked up in them."""
    try:
        if not after.head.labels:
            for why, readable in db.structure(by_index=by_index):
                yield Fault(why)
                if not readable:
                    return
        yield from _unnumbered(db)
        units = set()
        for number, why in _units(db, after.unit, told):
            units.add(number)
            yield Fault(why)
        yield from _labels(db, after.head, units, told)
        yield from map(Fault, faulty_draws(db))
    except sqlite3.DatabaseError as error:
        yield Fault(f"cannot be read on: {error}")


def _unnumbered(db: Database) -> Iterator[Fault]:
    """What has a number below 1, at which the chain and every look begin."""
    for (uid,) in db.execute(_UNNUMBERED):
        yield Fault(_FOREIGN, unpacked(uid) if uid is not None else None)
    if db.execute(_UNNUMBERED_UNITS).fetchone()[0]:
        yield Fault("a unit was put in by other means than Assay's")


def _units(db: Store, after: int, told: Told) -> Iterator[tuple[int, str]]:
    """The units whose text is another than the one that was hashed, by number."""
    begins: dict[str | None, bytes] = {}
    rows = _checked(db, "units", _UNITS.format(db.content), after, partial(told, "texts checked"))
    for number, stored, task, content, kind in chain.from_iterable(rows):
        try:
            begin = begins.get(task) or begins.setdefault(task, b"[%b," % orjson.dumps(task))
            fine = kind == "text" and (
                hashlib.sha256(begin + content + b"]").digest()[:16] == stored
                # Or it is a text that was not written as it is hashed.
                or unit_hash(task, orjson.loads(content)) == as_packed(stored)
            )
        except (TypeError, ValueError):
            fine = False
        if not fine:
            yield number, f"the text of unit {unpacked(stored)[:8]} was changed"


def _labels(db: Store, before: Head, units: set[int], told: Told) -> Iterator[Fault]:
    who, said = _labellers(db), Verdicts({None: None})
    digests = has_digests(db)
    last, digest, _ = before
    query = _LABELS.format(digest="digest" if digests else "NULL")
    for some in _checked(db, "labels", query, last, partial(told, "labels checked")):
        if not digests or units or not _fine(some, digest, who, said):
            yield from _each(some, Head(last, digest), who, said, units, digests=digests)
        last, stored = some[-1][0], some[-1][9]
        digest = stored if type(stored) is bytes else b""


def _fine(
    rows: Sequence[tuple[Any, ...]], digest: bytes, who: Mapping[int, Any], said: Verdicts
) -> bool:
    """Whether all labels are as they were written, as nearly always: twice as fast as to look at
    each. What is said of false is for :func:`_each` to find out."""
    columns = list(zip(*rows, strict=True))
    stored = columns[9]
    tasks, versions, units, labellers, statuses, verdicts, *more, overruled, created = columns[11:]
    try:
        says = zip(
            tasks, versions, map(bytes.hex, units), map(who.__getitem__, labellers), statuses,
            map(said.__getitem__, verdicts), *more,
            [None if one is None else as_packed(one) for one in overruled], created, strict=True,
        )  # fmt: skip
        sha, dumps = hashlib.sha256, orjson.dumps
        uids = [sha(dumps(one)).digest()[:16] for one in says]
        return uids == list(columns[1]) and list(stored) == list(
            map(linked, (digest, *stored), *columns[:9])
        )
    except (LookupError, TypeError, ValueError):
        return False


def _each(
    rows: Iterable[tuple[Any, ...]],
    before: Head,
    who: Mapping[int, orjson.Fragment],
    said: Verdicts,
    units: Collection[int],
    *,
    digests: bool,
) -> Iterator[Fault]:
    """What of these labels is not as it was written."""
    last, digest, _ = before
    for row in rows:
        number, stored = row[0], row[9]
        uid = str(unpacked(row[1]))
        why = None
        if row[11] is None or row[13] is None or row[14] not in who:
            why = "its task, its text or its labeller is not there"
        elif packed(uid_of(who, said, *row[11:]) or "") != row[1]:
            why = "what it says, of what, by whom or when was changed"
        elif row[10] in units:
            why = "the text that it is about was changed"
        elif digests:
            why = _unlinked(last, digest, row, stored)
        if row[1] is None:  # a row that is cut off
            yield Fault(f"label number {number} is damaged")
        elif why is not None:
            yield Fault(why, uid)
        last, digest = number, stored if type(stored) is bytes else b""


def _unlinked(last: int, digest: bytes, row: tuple[Any, ...], stored: object) -> str | None:
    try:
        if linked(digest, *row[:9]) == stored:
            return None
    except TypeError:  # a column that no label has so
        return _BESIDE
    if stored is None:
        return _FOREIGN
    if row[0] != last + 1:
        return f"{row[0] - last - 1} labels before it are gone"
    return f"{_BESIDE}, or the label before it"


def _labellers(db: Store) -> dict[int, orjson.Fragment]:
    """Labellers by number, as uids cover them."""
    found = {}
    every = _rows(db, "SELECT id, name, kind, params FROM labellers")
    for number, name, kind, params in chain.from_iterable(every):
        if type(params) is not str:
            continue
        try:
            found[number] = orjson.Fragment(canonical([name, kind, orjson.loads(params)]))
        except (TypeError, ValueError):
            continue  # its labels' uids are no longer theirs
    return found


class Verdicts(dict[str | None, orjson.Fragment | None]):
    """Verdicts by their text, as uids cover them; as many as are worth remembering. Raises
    TypeError for what is no text."""

    def __missing__(self, text: str) -> orjson.Fragment:
        if type(text) is not str:
            raise TypeError("a verdict is text")
        made = orjson.Fragment(canonical(orjson.loads(text)))
        if len(text) <= _SHORT and len(self) < _VERDICTS:
            self[text] = made
        return made


def uid_of(
    who: Mapping[K, orjson.Fragment],
    said: Verdicts,
    task: str,
    version: str,
    unit: bytes | str,
    labeller: K,
    status: str,
    verdict: str | None,
    *rest: Any,
) -> str | None:
    """The uid that a label's columns come to (as ``NewLabel.uid``); None for what is no label."""
    reason, sample, overrules, created = rest
    try:
        corrected = None if overrules is None else as_packed(overrules)
        parts = [task, version, as_packed(unit), who[labeller], status, said[verdict], reason]
        return content_hash(orjson.dumps([*parts, sample, corrected, created]))
    except (TypeError, ValueError):
        return None


def _checked(
    db: Store, table: str, query: str, after: int, told: Callable[[int, float | None], None]
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a table above a number, some at a time; ``told`` hears how many were had."""
    newest = f"SELECT max(id) FROM {table}"  # noqa: S608 (constants)
    left, done = (db.execute(newest).fetchone()[0] or 0) - after, 0
    for some in _rows(db, query, after):
        done += len(some)
        told(done, share_of(done, left))
        yield some


def _rows(db: Store, query: str, *values: int) -> Iterator[list[tuple[Any, ...]]]:
    """Rows whose first column is their number, ascending, some at a time; a text that is no UTF-8
    is read as one that cannot have been written."""
    last = values
    try:
        rows = db.each(query, values)
        while some := rows.fetchmany(_AT_ONCE):
            last = (some[-1][0],) if values else ()
            yield some
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        if not isinstance(db, sqlite3.Connection) or db.text_factory is not str:
            raise
        if "decode" not in str(error):
            raise
        db.text_factory = lambda text: text.decode(errors="surrogateescape")
        try:
            yield from _rows(db, query, *last)
        finally:
            db.text_factory = str
