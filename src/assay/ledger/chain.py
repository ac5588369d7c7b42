"""The running digest over the labels: each label's rests on the one before it.

A label's uid covers what it says. What it does not cover (its number, key, error, tokens, cost,
seconds and detail), and that no label before it is gone, its digest does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from assay.ledger.hashes import SIZE, hashed, letters, unpacked
from assay.ledger.store import Database

_INFINITE = frozenset((math.inf, -math.inf))  # which JSON could not tell from nothing


class Head(NamedTuple):
    """The number of the newest label, its digest, and the draws: the uid of each, and after a space
    when it was made."""

    labels: int = 0
    digest: bytes = bytes(SIZE)
    draws: tuple[str, ...] = ()

    def in_manifest(self) -> dict[str, Any]:
        """As manifests have it."""
        drawn = {"draws": list(self.draws)} if self.draws else {}
        return {"labels": self.labels, "head": self.digest.hex(), **drawn}


def links(
    numbers: Iterable[int],
    uids: Iterable[bytes],
    keys: Iterable[bytes | str],
    errors: Iterable[str | None],
    *rest: Sequence[object],
) -> list[bytes]:
    """What the digests of labels cover beside that of the label before, which it stands behind: by
    columns as they are stored, of which the ``rest`` are tokens_in, tokens_out, cost, seconds and
    detail. Raises TypeError where one is no label."""
    if not all(map(_INFINITE.isdisjoint, rest)):
        raise TypeError("a label cannot hold an infinite number")
    rows = zip(numbers, letters(uids), letters(keys), errors, *rest, strict=True)
    return list(map(orjson.dumps, rows))


def chained(digest: bytes, *columns: Sequence[Any]) -> list[bytes]:
    """The digests of labels that follow one with this digest, by their columns as in
    :func:`links`."""
    behind = accumulate(links(*columns), lambda one, link: hashed(one + link), initial=digest)
    return list(behind)[1:]


def head(db: Database) -> Head:
    """The head as it is stored."""
    return newest(db)._replace(draws=tuple(map(" ".join, made_draws(db).items())))


def newest(db: Database) -> Head:
    """The head without the draws."""
    row = db.execute("SELECT id, digest FROM labels ORDER BY id DESC LIMIT 1").fetchone()
    return Head() if row is None else Head(row[0], row[1] if type(row[1]) is bytes else b"")


def made_draws(db: Database) -> dict[str, str]:
    """The uids of the draws, oldest first, with when they were made."""
    rows = db.execute("SELECT uid, created FROM draws ORDER BY id")
    return {unpacked(uid): str(created) for uid, created in rows}


def digest_of(db: Database, number: int) -> bytes | None:
    """The digest of a label, of none for number 0; None where there is no such label."""
    if number == 0:
        return Head().digest
    row = db.execute("SELECT digest FROM labels WHERE id = ?", [number]).fetchone()
    return None if row is None else row[0]
