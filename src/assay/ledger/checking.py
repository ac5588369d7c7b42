"""Checking a ledger for changes: structure, references, texts of units, uids and digests."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import add, itemgetter
from typing import Any, NamedTuple, TypeVar

import orjson

from assay.ledger import lines
from assay.ledger.chain import Head, head, links
from assay.ledger.draws import faulty_draws
from assay.ledger.hashes import all_hashed, letters, unpacked
from assay.ledger.opening import is_damage
from assay.ledger.store import LEAST, MOST, Database, Store
from assay.model.progress import ProgressCallback, fraction_done, no_progress
from assay.tasks.base import canonical, unit_hash

MEND = (
    "Restore the ledger from a backup. Or export the labels, remove the lines concerned, and "
    "import the rest into a new ledger."
)
CURE = f"{MEND} 'assay labels verify FOLDER' lists everything that was changed."
GONE = (
    "Restore the ledger from a backup. Or, if you want to continue with this ledger, first move "
    "away the out/ that the other one produced."
)
K = TypeVar("K")
V = TypeVar("V")
Columns = Sequence[tuple[Any, ...]]
"""Columns of labels: :data:`assay.ledger.lines.COLUMNS`, the digest, the unit's number, and whether
the unit belongs to the label's task."""

_VERDICTS, _SHORT = 10_000, 100  # verdicts that are remembered, and their greatest length
_LABELS = (  # of constants
    f"SELECT {lines.COLUMNS}, digest, labels.unit, units.task = labels.task FROM labels "  # noqa: S608
    "LEFT JOIN tasks ON tasks.id = labels.task LEFT JOIN units ON units.id = labels.unit "
    "WHERE labels.id <= ? AND labels.id > ? ORDER BY labels.id"
)
TASK, _DIGEST, _UNIT, _SAME_TASK = 3, 20, 21, 22
UID_COLUMNS = itemgetter(3, 4, 5, 7, 9, 10, 11, 8, 13, 18)
"""The columns that :func:`uids_of` takes."""
DIGEST_COLUMNS = itemgetter(0, 1, 2, 12, 14, 15, 16, 17, 19)
"""The columns that :func:`assay.ledger.chain.links` takes."""
TEXT_COLUMNS = itemgetter(5, 3, 6)
"""The columns that :func:`are_texts_of` takes."""
_UNITS = (
    "SELECT units.id, hash, name, content FROM units LEFT JOIN tasks ON tasks.id = units.task "
    "WHERE units.id <= ? AND units.id > ? ORDER BY units.id"
)
_COUNT_UNITS = "SELECT count(*) FROM units WHERE id > ? AND id <= ?"
_UNNUMBERED = "SELECT uid FROM labels WHERE id < 1"
_UNNUMBERED_UNITS = "SELECT count(*) FROM units WHERE id < 1"
_FOREIGN = "it was not added by Assay"
_BESIDE = "its key, error, tokens, cost, seconds or detail were changed"


class CheckedUpTo(NamedTuple):
    """How far a ledger was checked: up to this head and this unit's number."""

    head: Head = Head()
    unit: int = 0


class LedgerFault(NamedTuple):
    """A change since the ledger was written; ``uid`` is that of the label concerned, if any."""

    why: str
    uid: str | None = None

    def __str__(self) -> str:
        return self.why if self.uid is None else f"label {self.uid[:8]}: {self.why}"


Inspected = tuple[Columns, Sequence[LedgerFault]]
"""A block of labels (no columns if there are none), and the faults found in it or before it."""


def faults(db: Store, *, progress: ProgressCallback = no_progress) -> Iterator[LedgerFault]:
    """All faults of a ledger, those of its structure first."""
    inspection = Inspection(db, CheckedUpTo(), progress=progress)
    return chain.from_iterable(found for _, found in inspection)


class Inspection:
    """Iterates over the labels written since ``after`` in blocks, with all faults found. Without
    ``by_index`` nothing will be looked up in the large tables' indexes, and only their lengths are
    checked.

    The end (``until``) is fixed at the start and labels that others write meanwhile are left out,
    so that the check can go on in a new connection if one is lost."""

    def __init__(
        self,
        db: Store,
        after: CheckedUpTo,
        *,
        by_index: bool = True,
        progress: ProgressCallback = no_progress,
    ) -> None:
        self.until = after
        self._db, self._after, self._by_index, self._progress = db, after, by_index, progress

    def __iter__(self) -> Iterator[Inspected]:
        db = self._db
        try:
            if not self._after.head.labels:
                for why, readable in db.structure(by_index=self._by_index):
                    yield (), [LedgerFault(why)]
                    if not readable:
                        return
            units = db.execute("SELECT max(id) FROM units").fetchone()[0] or 0
            until = CheckedUpTo(head(db), units)
            yield (), [*_unnumbered(db)]
            yield from _labels(db, self._after, until, self._progress)
            yield (), [*map(LedgerFault, faulty_draws(db))]
            self.until = until
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            yield (), [LedgerFault(f"cannot be read any further: {error}")]


def _unnumbered(db: Database) -> Iterator[LedgerFault]:
    """Rows numbered below 1, where the chain and every query start, so these would be missed."""
    for (uid,) in db.execute(_UNNUMBERED):
        yield LedgerFault(_FOREIGN, unpacked(uid) if uid is not None else None)
    if db.execute(_UNNUMBERED_UNITS).fetchone()[0]:
        yield LedgerFault("a unit was not added by Assay")


def _labels(
    db: Store, after: CheckedUpTo, until: CheckedUpTo, progress: ProgressCallback
) -> Iterator[Inspected]:
    """The labels in blocks, and faults of labels and texts. Texts are checked with their labels;
    all of them are read separately only if some have no label."""
    who, said = _labellers(db), Verdicts({None: None})
    (last, digest, _), (newest, as_stored, _) = after.head, until.head
    changed: set[int] = set()  # units whose text was changed
    count, highest = 0, after.unit  # units are numbered in the order of their first labels
    for some in _checked(db, _LABELS, last, newest, partial(progress, "labels checked")):
        columns = [*zip(*some, strict=True)]
        # Continue from the stored digests, so that a change is reported for one label only.
        stored = [digest, *[one if type(one) is bytes else b"" for one in columns[_DIGEST]]]
        texts = of_each(are_texts_of, *TEXT_COLUMNS(columns))
        uids = of_each(partial(uids_of, who, said), *UID_COLUMNS(columns))
        digests = of_each(_digests, stored[:-1], *DIGEST_COLUMNS(columns))
        wrong: list[LedgerFault] = []
        # Nearly always nothing was changed, and no row needs to be looked at alone.
        as_written = (*uids,) == columns[1] and (*digests,) == columns[_DIGEST] and all(digests)
        if changed or not (as_written and all(texts) and all(columns[_SAME_TASK])):
            for row, same, uid, made in zip(some, texts, uids, digests, strict=True):
                if not (row[_SAME_TASK] and same) and row[_UNIT] not in changed:
                    changed.add(row[_UNIT])
                    if row[5] is not None:
                        wrong.append(_changed_text(row[5]))
                why = _wrong(row, last, uid, made, who, changed)
                if why is not None:
                    wrong.append(why)
                last = row[0]
        yield columns, wrong
        last, digest = some[-1][0], stored[-1]
        new = {unit for unit in columns[_UNIT] if unit > highest}
        count, highest = count + len(new), max(new, default=highest)
    if last < newest or digest != as_stored:
        yield (), [LedgerFault("labels were changed during the check")]
    if count != db.execute(_COUNT_UNITS, after[1:] + until[1:]).fetchone()[0]:
        for some in _checked(
            db, _UNITS, after.unit, until.unit, partial(progress, "texts checked")
        ):
            numbers, hashes, tasks, contents = zip(*some, strict=True)
            every = zip(
                numbers, hashes, of_each(are_texts_of, hashes, tasks, contents), strict=True
            )
            unlabelled = (one for one in every if one[0] not in changed)
            yield (), [_changed_text(unit) for _, unit, same in unlabelled if not same]


def _changed_text(unit: bytes) -> LedgerFault:
    return LedgerFault(f"the text of unit {unpacked(unit)[:8]} was changed")


def _wrong(
    row: tuple[Any, ...],
    last: int,
    uid: bytes | None,
    digest: bytes | None,
    who: Collection[int],
    changed: Collection[int],
) -> LedgerFault | None:
    """The fault of a label, if any. ``last`` is the number of the label before it, ``uid`` and
    ``digest`` are computed from its columns, ``changed`` are units whose text was changed."""
    if uid == row[1]:
        if row[_UNIT] in changed:
            why: str | None = "the text that it is about was changed"
        else:
            why = _unlinked(row, last, digest)
    elif row[1] is None:  # a truncated row
        return LedgerFault(f"label number {row[0]} is damaged")
    elif row[3] is None or row[5] is None or row[7] not in who:
        why = "its task, text or labeller is missing"
    else:
        why = "its verdict, subject, labeller or time was changed"
    return None if why is None else LedgerFault(why, unpacked(row[1]))


def _unlinked(row: tuple[Any, ...], last: int, digest: bytes | None) -> str | None:
    stored = row[_DIGEST]
    if digest is None:  # a column has a value that no label can have
        return _BESIDE
    if digest == stored:
        return None
    if stored is None:
        return _FOREIGN
    if row[0] != last + 1:
        return f"{row[0] - last - 1} labels before it are missing"
    return f"{_BESIDE}, or the label before it"


def _labellers(db: Store) -> dict[int, orjson.Fragment]:
    """Labellers by number, in the form that uids cover."""
    found = {}
    query = "SELECT id, name, kind, params FROM labellers WHERE id <= ? AND id > ? ORDER BY id"
    every = db.blocks(query, [MOST, LEAST], lines.at_once(db), "surrogateescape")
    for number, name, kind, params in chain.from_iterable(every):
        if type(params) is not str:
            continue
        try:
            found[number] = orjson.Fragment(canonical([name, kind, orjson.loads(params)]))
        except (TypeError, ValueError):
            continue  # its labels will be reported: their uids no longer match
    return found


class Verdicts(dict[str | None, orjson.Fragment | None]):
    """Verdicts by their JSON text, in the form that uids cover. Remembers a limited number. Raises
    TypeError for anything but text."""

    def __missing__(self, text: str) -> orjson.Fragment:
        if type(text) is not str:
            raise TypeError("a verdict is text")
        made = orjson.Fragment(canonical(orjson.loads(text)))
        if len(text) <= _SHORT and len(self) < _VERDICTS:
            self[text] = made
        return made


def uids_of(
    who: Mapping[K, orjson.Fragment],
    said: Verdicts,
    tasks: Iterable[str],
    versions: Iterable[str],
    units: Iterable[bytes],
    labellers: Iterable[K],
    statuses: Iterable[str],
    verdicts: Iterable[str | None],
    reasons: Iterable[str | None],
    samples: Iterable[int],
    overrules: Iterable[bytes | str | None],
    created: Iterable[str],
) -> list[bytes]:
    """The uids computed from columns of labels, as ``NewLabel.uid`` does."""
    by, told = map(who.__getitem__, labellers), map(said.__getitem__, verdicts)
    corrected = letters(overrules)
    rows = zip(
        tasks, versions, letters(units), by, statuses, told, reasons, samples, corrected, created,
        strict=True,
    )  # fmt: skip
    return all_hashed(map(orjson.dumps, rows))


def are_texts_of(units: Sequence[bytes], tasks: Sequence[str], texts: Sequence[str]) -> list[bool]:
    """Whether each unit's text matches its hash."""
    begins = {task: f"[{orjson.dumps(task).decode()}," for task in {*tasks}}
    rows = zip(tasks, texts, strict=True)
    made = all_hashed(f"{begins[task]}{text}]".encode() for task, text in rows)
    return [
        one == unit or _is_written_otherwise(unit, task, text)
        for one, unit, task, text in zip(made, units, tasks, texts, strict=True)
    ]


def _is_written_otherwise(unit: bytes, task: str, text: str) -> bool:
    """Whether a unit's text differs from the one that was hashed only in its JSON notation."""
    return type(text) is str and unit_hash(task, orjson.loads(text)) == unit.hex()


def _digests(before: Iterable[bytes], *columns: Any) -> list[bytes]:
    """The digests of labels, each following the one in ``before``."""
    return all_hashed(map(add, before, links(*columns)))


def of_each(made: Callable[..., Sequence[V]], *columns: Sequence[Any]) -> Sequence[V | None]:
    """Apply ``made`` to columns of labels. If it fails, apply it row by row, with None for each row
    that is not a label."""
    try:
        return made(*columns)
    except (AttributeError, LookupError, TypeError, ValueError):
        if len(columns[0]) == 1:
            return [None]
        return [of_each(made, *zip(row))[0] for row in zip(*columns, strict=True)]


def _checked(
    db: Store, query: str, after: int, until: int, progress: Callable[[int, float | None], None]
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows numbered above ``after`` up to ``until`` in blocks, reported to ``progress``."""
    done = 0
    for some in db.blocks(query, [until, after], lines.at_once(db), "surrogateescape"):
        done += len(some)
        progress(done, fraction_done(done, until - after))
        yield some
