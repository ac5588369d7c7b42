"""Whether a ledger is as it was written: structure, references, units' texts, uids and digests."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import orjson

from assay.ledger import lines
from assay.ledger.chain import Head, head, linked
from assay.ledger.draws import faulty_draws
from assay.ledger.hashes import as_packed, packed, unpacked
from assay.ledger.store import Database, Store
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
Row = tuple[Any, ...]
"""A label: :data:`assay.ledger.lines.COLUMNS`, its digest, the number of its unit, and whether that
is of the same task."""

_VERDICTS, _SHORT = 10_000, 100  # different ones that are remembered, and characters of these
_LABELS = (  # of constants
    f"SELECT {lines.COLUMNS}, digest, labels.unit, units.task = labels.task FROM labels "  # noqa: S608
    "LEFT JOIN tasks ON tasks.id = labels.task LEFT JOIN units ON units.id = labels.unit "
    "WHERE labels.id <= ? AND labels.id > ? ORDER BY labels.id"
)
_DIGEST, _UNIT = 20, 21
SAYS = itemgetter(3, 4, 5, 7, 9, 10, 11, 8, 13, 18)
"""Of a row, or of columns, what :func:`uid_of` takes."""
LINKS = itemgetter(0, 1, 2, 12, 14, 15, 16, 17, 19)
"""The same for :func:`assay.ledger.chain.linked`."""
_UNITS = (
    "SELECT units.id, hash, name, {} FROM units "
    "LEFT JOIN tasks ON tasks.id = units.task WHERE units.id <= ? AND units.id > ? "
    "ORDER BY units.id"
)
_COUNT_UNITS = "SELECT count(*) FROM units WHERE id > ? AND id <= ?"
_UNNUMBERED = "SELECT uid FROM labels WHERE id < 1"
_UNNUMBERED_UNITS = "SELECT count(*) FROM units WHERE id < 1"
_FOREIGN = "it was put in by other means than Assay's"
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


Seen = tuple[Sequence[Row], Sequence[Fault]]
"""Labels, and what is not as it was written of them or of what was looked at before them."""


def faults(db: Store, *, told: Told = unheard) -> Iterator[Fault]:
    """All that is not as it was written, the structure first."""
    return chain.from_iterable(found for _, found in Inspection(db, Checked(), told=told))


class Inspection:
    """The labels that were written ``after``, some at a time, and all that is not as it was written
    since. Of the indexes of the large tables it is only looked how long they are where nothing is
    going to be looked up in them (``by_index``).

    How far is settled as it begins (``until``): labels that others write meanwhile are left out, so
    that it can go on in another connection where one is lost."""

    def __init__(
        self, db: Store, after: Checked, *, by_index: bool = True, told: Told = unheard
    ) -> None:
        self.until = after
        self._db, self._after, self._by_index, self._told = db, after, by_index, told

    def __iter__(self) -> Iterator[Seen]:
        db = self._db
        try:
            if not self._after.head.labels:
                for why, readable in db.structure(by_index=self._by_index):
                    yield (), [Fault(why)]
                    if not readable:
                        return
            units = db.execute("SELECT max(id) FROM units").fetchone()[0] or 0
            until = Checked(head(db), units)
            yield (), [*_unnumbered(db)]
            yield from _labels(db, self._after, until, self._told)
            yield (), [*map(Fault, faulty_draws(db))]
            self.until = until
        except sqlite3.DatabaseError as error:
            yield (), [Fault(f"cannot be read on: {error}")]


def _unnumbered(db: Database) -> Iterator[Fault]:
    """What has a number below 1, at which the chain and every look begin."""
    for (uid,) in db.execute(_UNNUMBERED):
        yield Fault(_FOREIGN, str(unpacked(uid)) if uid is not None else None)
    if db.execute(_UNNUMBERED_UNITS).fetchone()[0]:
        yield Fault("a unit was put in by other means than Assay's")


def _units(db: Store, after: int, until: int, told: Told) -> Iterator[tuple[int, str]]:
    """The units whose text is another than the one that was hashed, by number."""
    begins: dict[str | None, bytes] = {}
    query = _UNITS.format(db.content)
    rows = _checked(db, query, after, until, partial(told, "texts checked"))
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
            yield number, f"the text of unit {str(unpacked(stored))[:8]} was changed"


def _labels(db: Store, after: Checked, until: Checked, told: Told) -> Iterator[Seen]:
    """The labels, and what is wrong with texts and with them. Texts are read with the labels that
    are about them: all on their own only where something is wrong, or some are no label's."""
    who, said = _labellers(db), Verdicts({None: None})
    (last, digest, _), (newest, as_stored, _) = after.head, until.head
    changed: set[int] | None = None  # units, once all were looked at
    count, highest = 0, after.unit  # units have the order of their first labels
    for some in _checked(db, _LABELS, last, newest, partial(told, "labels checked")):
        columns = list(zip(*some, strict=True))
        fine = not changed and _fine(columns, digest, who, said)
        if changed is None and not (fine and _texts_fine(columns)):
            texts = dict(_units(db, after.unit, until.unit, told))
            changed = set(texts)
            yield (), [*map(Fault, texts.values())]
        if fine and not changed:
            yield some, ()
        else:
            before = Head(last, digest)
            yield some, [*_each(some, before, who, said, changed or ())]
        new = {unit for unit in columns[_UNIT] if unit > highest}
        count, highest = count + len(new), max(new, default=highest)
        last, stored = some[-1][0], some[-1][_DIGEST]
        digest = stored if type(stored) is bytes else b""
    if last < newest or digest != as_stored:
        yield (), [Fault("labels were changed while they were looked at")]
    if changed is None and count != db.execute(_COUNT_UNITS, after[1:] + until[1:]).fetchone()[0]:
        yield (), [Fault(why) for _, why in _units(db, after.unit, until.unit, told)]


def _texts_fine(columns: Sequence[Row]) -> bool:
    """Whether the texts that labels are about are as they were hashed, as nearly always. What is
    said of false is for :func:`_units` to find out."""
    _, _, _, names, _, hashes, texts, *_, same_task = columns
    begins = {name: b"[%b," % orjson.dumps(name) for name in set(names)}
    sha = hashlib.sha256
    try:
        about = zip(map(begins.__getitem__, names), map(str.encode, texts), strict=True)
        made = [sha(begin + text + b"]").digest()[:16] for begin, text in about]
    except (TypeError, ValueError):
        return False
    return all(same_task) and made == list(hashes)


def _fine(columns: Sequence[Row], digest: bytes, who: Mapping[int, Any], said: Verdicts) -> bool:
    """Whether all labels are as they were written, as nearly always: twice as fast as to look at
    each. What is said of false is for :func:`_each` to find out."""
    tasks, versions, units, labellers, statuses, verdicts, *more, overruled, created = SAYS(columns)
    stored = columns[_DIGEST]
    try:
        says = zip(
            tasks, versions, map(bytes.hex, units), map(who.__getitem__, labellers), statuses,
            map(said.__getitem__, verdicts), *more,
            [None if one is None else as_packed(one) for one in overruled], created, strict=True,
        )  # fmt: skip
        sha, dumps = hashlib.sha256, orjson.dumps
        uids = [sha(dumps(one)).digest()[:16] for one in says]
        return uids == list(columns[1]) and list(stored) == list(
            map(linked, (digest, *stored), *LINKS(columns))
        )
    except (LookupError, TypeError, ValueError):
        return False


def _each(
    rows: Iterable[Row],
    before: Head,
    who: Mapping[int, orjson.Fragment],
    said: Verdicts,
    units: Collection[int],
) -> Iterator[Fault]:
    """What of these labels is not as it was written."""
    last, digest, _ = before
    for row in rows:
        number, stored = row[0], row[_DIGEST]
        uid = str(unpacked(row[1]))
        why = None
        if row[3] is None or row[5] is None or row[7] not in who:
            why = "its task, its text or its labeller is not there"
        elif packed(uid_of(who, said, *SAYS(row)) or "") != row[1]:
            why = "what it says, of what, by whom or when was changed"
        elif row[_UNIT] in units:
            why = "the text that it is about was changed"
        else:
            why = _unlinked(last, digest, row, stored)
        if row[1] is None:  # a row that is cut off
            yield Fault(f"label number {number} is damaged")
        elif why is not None:
            yield Fault(why, uid)
        # Going on from what is stored: one change is told once, and not of every label behind it.
        last, digest = number, stored if type(stored) is bytes else b""


def _unlinked(last: int, digest: bytes, row: Row, stored: object) -> str | None:
    try:
        if linked(digest, *LINKS(row)) == stored:
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
    query = "SELECT id, name, kind, params FROM labellers WHERE id <= ? AND id > ? ORDER BY id"
    every = db.blocks(query, [lines.ANY, -lines.ANY - 1], lines.ROWS)
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
    db: Store, query: str, after: int, until: int, told: Callable[[int, float | None], None]
) -> Iterator[list[Row]]:
    """The rows of a table above a number up to another, some at a time; ``told`` hears how many
    were had."""
    done = 0
    for some in db.blocks(query, [until, after], lines.ROWS):
        done += len(some)
        told(done, share_of(done, until - after))
        yield some
