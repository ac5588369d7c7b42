"""The running digest over the labels: each label's rests on the one before it.

A label's uid covers what it says. What it does not cover (its number, key, error, tokens, cost,
seconds and detail), and that no label before it is gone, its digest does.
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any, NamedTuple

import orjson

LINKED = "labels.id, uid, key, error, tokens_in, tokens_out, cost, seconds, detail"
"""The columns that :func:`linked` takes."""
SINCE = 4
"""The version of the ledger that has digests."""
_SIZE = 16  # bytes of a digest


class Head(NamedTuple):
    """The number of the newest label, and its digest."""

    labels: int = 0
    digest: bytes = bytes(_SIZE)

    def in_manifest(self) -> dict[str, Any]:
        """As manifests have it."""
        return {"labels": self.labels, "head": self.digest.hex()}


def linked(before: bytes, number: int, uid: bytes | str, key: bytes | str, *rest: object) -> bytes:
    """The digest of a label, from that of the one before it and its columns ``LINKED`` as they are
    stored. Raises TypeError for what is no label."""
    own = uid.hex() if type(uid) is bytes else uid
    asked = key.hex() if type(key) is bytes else key
    return hashlib.sha256(before + orjson.dumps([number, own, asked, *rest])).digest()[:_SIZE]


def head(db: sqlite3.Connection) -> Head:
    """The head as it is stored."""
    newest = "SELECT id, digest FROM labels ORDER BY id DESC LIMIT 1"
    return Head(*(db.execute(newest).fetchone() or Head()))


def extend(db: sqlite3.Connection) -> None:
    """Give every label of an older ledger its digest, within the transaction under way."""
    digest = Head().digest
    rows = db.execute(f"SELECT {LINKED} FROM labels ORDER BY id")  # noqa: S608 (constants)
    links = []
    for row in rows:
        digest = linked(digest, *row)
        links.append((digest, row[0]))
    db.executemany("UPDATE labels SET digest = ? WHERE id = ?", links)
