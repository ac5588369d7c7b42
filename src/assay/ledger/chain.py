"""The running digest over the labels: each label's rests on the one before it.

A label's uid covers what it says. What it does not cover (its number, key, error, tokens, cost,
seconds and detail), and that no label before it is gone, its digest does.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from assay.ledger.hashes import as_packed, unpacked
from assay.ledger.store import Database

LINKED = "labels.id, uid, key, error, tokens_in, tokens_out, cost, seconds, detail"
"""The columns that :func:`linked` takes."""
SINCE = 4
"""The version of the ledger that has digests."""
_SIZE = 16  # bytes of a digest
_INFINITE = frozenset((math.inf, -math.inf))  # which JSON could not tell from nothing
_CHAIN = f"SELECT {LINKED} FROM labels WHERE id > 0 ORDER BY id"  # noqa: S608 (constants)


class Head(NamedTuple):
    """The number of the newest label, its digest, and the draws: the uid of each, and after a space
    when it was made."""

    labels: int = 0
    digest: bytes = bytes(_SIZE)
    draws: tuple[str, ...] = ()

    def in_manifest(self) -> dict[str, Any]:
        """As manifests have it."""
        drawn = {"draws": list(self.draws)} if self.draws else {}
        return {"labels": self.labels, "head": self.digest.hex(), **drawn}


def linked(before: bytes, number: int, uid: bytes | str, key: bytes | str, *rest: object) -> bytes:
    """The digest of a label, from that of the one before it and its columns ``LINKED`` as they are
    stored. Raises TypeError for what is no label."""
    if not _INFINITE.isdisjoint(rest):
        raise TypeError("a label holds no infinite number")
    parts = [number, as_packed(uid), as_packed(key), *rest]
    return hashlib.sha256(before + orjson.dumps(parts)).digest()[:_SIZE]


def has_digests(db: Database) -> bool:
    """Whether labels have digests: an older file that cannot be written has none."""
    if not isinstance(db, sqlite3.Connection):
        return True
    found = "SELECT count(*) FROM pragma_table_info('labels') WHERE name = 'digest'"
    return bool(db.execute(found).fetchone()[0])


def head(db: Database) -> Head:
    """The head as it is stored; that of an older ledger as it would be."""
    return newest(db)._replace(draws=tuple(map(" ".join, made_draws(db).items())))


def newest(db: Database) -> Head:
    """The head without the draws."""
    if not has_digests(db):
        return next(iter(deque(_links(db), 1)), Head())
    row = db.execute("SELECT id, digest FROM labels ORDER BY id DESC LIMIT 1").fetchone()
    return Head() if row is None else Head(row[0], row[1] if type(row[1]) is bytes else b"")


def made_draws(db: Database) -> dict[str, str]:
    """The uids of the draws, oldest first, with when they were made; none in a ledger that is older
    than draws."""
    of_a_file = "SELECT 1 FROM sqlite_master WHERE name = 'draws'"
    if isinstance(db, sqlite3.Connection) and not db.execute(of_a_file).fetchone():
        return {}
    rows = db.execute("SELECT uid, created FROM draws ORDER BY id")
    return {unpacked(uid): str(created) for uid, created in rows}


def digest_of(db: Database, number: int) -> bytes | None:
    """The digest of a label, of none for number 0; None where there is no such label."""
    if number == 0:
        return Head().digest
    if has_digests(db):
        row = db.execute("SELECT digest FROM labels WHERE id = ?", [number]).fetchone()
        return None if row is None else row[0]
    return next((one.digest for one in _links(db) if one.labels == number), None)


def extend(db: sqlite3.Connection) -> None:
    """Give every label of an older ledger its digest, within the transaction under way."""
    links = [(one.digest, one.labels) for one in _links(db)]
    db.executemany("UPDATE labels SET digest = ? WHERE id = ?", links)


def _links(db: Database) -> Iterator[Head]:
    """The head at each label of a ledger without digests."""
    digest = Head().digest
    for row in db.execute(_CHAIN):
        try:
            digest = linked(digest, *row)
        except TypeError as error:
            raise sqlite3.DatabaseError(f"label number {row[0]} is malformed: {error}") from None
        yield Head(row[0], digest)
