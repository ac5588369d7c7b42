"""Whether a ledger is as it was written: structure, references, units' texts, uids and digests."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from assay.ledger.chain import LINKED, SINCE, Head, head, linked
from assay.ledger.opening import explained, opened, unpacked
from assay.model.errors import LedgerError
from assay.tasks.base import canonical, content_hash, unit_hash

CURE = (
    "Take labels.sqlite from a backup; or export the labels, take the lines concerned out and "
    "import the rest into a new ledger. 'assay labels verify FOLDER' names all that was changed."
)
_SHOWN = 20  # faults of the structure that are told
_LABELS = (  # of constants
    f"SELECT {LINKED}, {{digest}}, labels.unit, tasks.name, version, units.hash, labeller, status, "  # noqa: S608
    "verdict, reason, sample, overrules, created FROM labels LEFT JOIN tasks ON tasks.id = "
    "labels.task LEFT JOIN units ON units.id = labels.unit WHERE labels.id > ? ORDER BY labels.id"
)
_UNITS = (
    "SELECT units.id, hash, name, content FROM units LEFT JOIN tasks ON tasks.id = units.task "
    "WHERE units.id > ? ORDER BY units.id"
)
_BESIDE = "its key, error, tokens, cost, seconds or detail were changed"


class Checked(NamedTuple):
    """How far a ledger was checked: up to which label and which unit."""

    head: Head = Head()
    unit: int = 0


class Fault(NamedTuple):
    """What is not as it was written; ``uid`` is the label's that it is about, if it is of one."""

    why: str
    uid: str | None = None

    def __str__(self) -> str:
        return self.why if self.uid is None else f"label {self.uid[:8]}: {self.why}"


def look(asked: tuple[Path, Checked]) -> tuple[Checked, str | None]:
    """How far the ledger at a path is as it was written, from where it was checked already, and
    what the first thing is that is not."""
    path, after = asked
    try:
        with explained(path), closing(opened(path)) as db:
            return first_fault(db, after)
    except LedgerError as error:
        return after, str(error)


def first_fault(db: sqlite3.Connection, after: Checked) -> tuple[Checked, str | None]:
    """The same of an open ledger."""
    db.execute("SAVEPOINT checking")  # nobody's labels come in between
    try:
        found = next(faults(db, after), None)
        if found is not None:
            return after, str(found)
        unit = db.execute("SELECT max(id) FROM units").fetchone()[0] or 0
        return Checked(head(db) if has_digests(db) else Head(), unit), None
    finally:
        db.execute("RELEASE checking")


def has_digests(db: sqlite3.Connection) -> bool:
    """Whether labels have digests: an older ledger that cannot be written has none."""
    return int(db.execute("PRAGMA user_version").fetchone()[0]) >= SINCE


def faults(db: sqlite3.Connection, after: Checked) -> Iterator[Fault]:
    """All that is not as it was written, the structure first."""
    try:
        if not after.head.labels:
            yield from _structure(db)
        units = set()
        for number, why in _units(db, after.unit):
            units.add(number)
            yield Fault(why)
        yield from _labels(db, after.head, units)
    except sqlite3.DatabaseError as error:
        yield Fault(f"cannot be read on: {error}")


def _structure(db: sqlite3.Connection) -> Iterator[Fault]:
    for (text,) in db.execute(f"PRAGMA integrity_check({_SHOWN})"):
        if text != "ok":
            yield Fault(f"the file is damaged: {text}")


def _units(db: sqlite3.Connection, after: int) -> Iterator[tuple[int, str]]:
    """The units whose text is another than the one that was hashed, by number."""
    for number, stored, task, content in _rows(db, _UNITS, after):
        plain = f"[{orjson.dumps(task).decode()},{content}]" if task is not None else ""
        if _hash(plain) == stored:
            continue
        try:  # a text that was not written as it is hashed
            fine = unit_hash(task, orjson.loads(content)) == unpacked(stored)
        except (TypeError, ValueError):
            fine = False
        if not fine:
            yield number, f"the text of unit {unpacked(stored)[:8]} was changed"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()[:16]


def _labels(db: sqlite3.Connection, before: Head, units: set[int]) -> Iterator[Fault]:
    who = _labellers(db)
    digests = has_digests(db)
    last, digest = before
    query = _LABELS.format(digest="digest" if digests else "NULL")
    for row in _rows(db, query, last):
        number, stored = row[0], row[9]
        uid = row[1].hex() if type(row[1]) is bytes else str(row[1])
        why = None
        if row[11] is None or row[13] is None or row[14] not in who:
            why = "its task, its text or its labeller is not there"
        elif _uid(who, row[11:]) != uid:
            why = "what it says, of what, by whom or when was changed"
        elif row[10] in units:
            why = "the text that it is about was changed"
        elif digests:
            why = _unlinked(last, digest, row, stored)
        if why is not None:
            yield Fault(why, uid)
        last, digest = number, stored if type(stored) is bytes else b""


def _unlinked(last: int, digest: bytes, row: tuple[Any, ...], stored: object) -> str | None:
    try:
        if linked(digest, *row[:9]) == stored:
            return None
    except TypeError:  # a column that no label has so
        return _BESIDE
    if stored is None:
        return "it was put in by other means than Assay's"
    if row[0] != last + 1:
        return f"{row[0] - last - 1} labels before it are gone"
    return f"{_BESIDE}, or the label before it"


def _labellers(db: sqlite3.Connection) -> dict[int, orjson.Fragment]:
    """Labellers by number, as uids cover them."""
    found = {}
    for number, name, kind, params in _rows(db, "SELECT id, name, kind, params FROM labellers"):
        try:
            found[number] = orjson.Fragment(canonical([name, kind, orjson.loads(params)]))
        except (TypeError, ValueError):
            continue  # its labels' uids are no longer theirs
    return found


def _uid(who: dict[int, orjson.Fragment], row: tuple[Any, ...]) -> str | None:
    """The uid that a label's columns come to (as ``NewLabel.uid``); None for what is no label."""
    task, version, unit, labeller, status, verdict, reason, sample, overrules, created = row
    try:
        said = None if verdict is None else orjson.loads(verdict)
        parts = [task, version, unpacked(unit), who[labeller], status, said, reason, sample]
        corrected = None if overrules is None else unpacked(overrules)
        return content_hash(canonical([*parts, corrected, created]))
    except (KeyError, TypeError, ValueError):
        return None


def _rows(db: sqlite3.Connection, query: str, *values: int) -> Iterator[tuple[Any, ...]]:
    """Rows whose first column is their number, ascending; a text that is no UTF-8 is read as one
    that cannot have been written."""
    last = values
    try:
        for row in db.execute(query, values):
            last = (row[0],) if values else ()
            yield row
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        if "decode" not in str(error) or db.text_factory is not str:
            raise
        db.text_factory = lambda text: text.decode(errors="surrogateescape")
        try:
            yield from _rows(db, query, *last)
        finally:
            db.text_factory = str
