"""The running digest over the labels: the digest of each label covers that of the one before.

A label's uid covers its content. Its digest covers what the uid does not (number, key, error,
tokens, cost, seconds and detail), and shows whether any label before it is gone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from assay.ledger.hashes import SIZE, hashed, letters, unpacked
from assay.ledger.store import Database

_INFINITE = frozenset((math.inf, -math.inf))  # JSON would write null for these


class Head(NamedTuple):
    """The state of a ledger: number and digest of the newest label, and for each draw its uid, a
    space and its time."""

    labels: int = 0
    digest: bytes = bytes(SIZE)
    draws: tuple[str, ...] = ()

    def in_manifest(self) -> dict[str, Any]:
        """The head as manifests hold it."""
        drawn = {"draws": list(self.draws)} if self.draws else {}
        return {"labels": self.labels, "head": self.digest.hex(), **drawn}


def links(
    numbers: Iterable[int],
    uids: Iterable[bytes],
    keys: Iterable[bytes | str],
    errors: Iterable[str | None],
    *rest: Sequence[object],
) -> list[bytes]:
    """What the digests of labels cover, after the digest of the label before. The columns are as
    stored; ``rest`` is tokens_in, tokens_out, cost, seconds and detail. Raises TypeError if a row
    is not a label."""
    if not all(map(_INFINITE.isdisjoint, rest)):
        raise TypeError("a label cannot hold an infinite number")
    rows = zip(numbers, letters(uids), letters(keys), errors, *rest, strict=True)
    return list(map(orjson.dumps, rows))


def chained(digest: bytes, *columns: Sequence[Any]) -> list[bytes]:
    """The digests of labels that follow one with this ``digest``, from the columns that
    :func:`links` takes."""
    behind = accumulate(links(*columns), lambda one, link: hashed(one + link), initial=digest)
    return list(behind)[1:]


def head(db: Database) -> Head:
    """The stored head."""
    return newest(db)._replace(draws=tuple(map(" ".join, made_draws(db).items())))


def newest(db: Database) -> Head:
    """The stored head without the draws."""
    row = db.execute("SELECT id, digest FROM labels ORDER BY id DESC LIMIT 1").fetchone()
    return Head() if row is None else Head(row[0], row[1] if type(row[1]) is bytes else b"")


def made_draws(db: Database) -> dict[str, str]:
    """When each draw was made, by uid, oldest first."""
    rows = db.execute("SELECT uid, created FROM draws ORDER BY id")
    return {unpacked(uid): str(created) for uid, created in rows}


def digest_of(db: Database, number: int) -> bytes | None:
    """The digest of the label with this number (0: of the empty ledger), or None if there is no
    such label."""
    if number == 0:
        return Head().digest
    row = db.execute("SELECT digest FROM labels WHERE id = ?", [number]).fetchone()
    return None if row is None else row[0]
