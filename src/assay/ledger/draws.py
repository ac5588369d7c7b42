"""Random draws of topics or units for people to label, with each candidate's probability.

A draw is written before anybody is asked, and never changed, because intervals depend on it
(:mod:`assay.statistics.corrected`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson

from assay.ledger.hashes import packed
from assay.ledger.store import Database, Store
from assay.model.errors import LedgerError
from assay.tasks.base import canonical, content_hash

TOPICS = "topics"
"""The design that draws whole topics; all others draw units."""


@dataclass(frozen=True)
class Draw:
    """A draw for ``tasks`` by a ``design`` and a ``seed``.

    For each of the ``names`` (topics, or unit hashes in other designs), ``pi`` is its inclusion
    probability and ``drawn`` whether it was drawn. ``size`` is the number requested, ``created``
    the UTC time in ISO 8601."""

    design: str
    tasks: tuple[str, ...]
    size: int
    seed: int
    names: tuple[str, ...]
    pi: tuple[float, ...]
    drawn: tuple[bool, ...]
    created: str = field(default="", compare=False)

    @property
    def uid(self) -> str:
        """Identity of the draw's content: the same draw made twice has the same uid."""
        rows = [list(row) for row in zip(self.names, self.pi, self.drawn, strict=True)]
        what = [self.design, list(self.tasks), self.size, self.seed, sorted(rows)]
        return content_hash(canonical(what))

    @property
    def unit_name(self) -> str:
        """The word for what is drawn: topic or unit."""
        return "topic" if self.design == TOPICS else "unit"

    @property
    def chosen(self) -> Sequence[str]:
        """The names that were drawn."""
        return [name for name, one in zip(self.names, self.drawn, strict=True) if one]


def add_draw(db: Store, draw: Draw) -> bool:
    """Write a draw in the current transaction. Returns False if the ledger holds it already."""
    uid = packed(draw.uid)
    created = draw.created or datetime.now(UTC).isoformat(timespec="seconds")
    if db.execute("SELECT 1 FROM draws WHERE uid = ?", (uid,)).fetchone():
        return False
    last = db.execute("SELECT max(id) FROM draws").fetchone()[0] or 0
    tasks = orjson.dumps(draw.tasks).decode()
    row = (last + 1, uid, draw.design, tasks, draw.size, draw.seed, created)
    rows = zip(draw.names, draw.pi, map(int, draw.drawn), strict=True)
    db.fill("draws", [row])
    db.fill("drawn", ((last + 1, *one) for one in rows))
    return True


def draws(db: Store) -> list[Draw]:
    """All draws, oldest first. Raises LedgerError if one was changed."""
    with db.explained():
        found = list(_read(db))
    for one in found:
        if isinstance(one, str):
            raise LedgerError(f"{db.name}: {one}. Restore the ledger from a backup.")
    return [one for one in found if isinstance(one, Draw)]


def faulty_draws(db: Database) -> Iterator[str]:
    """A message for each draw that was changed."""
    return (one for one in _read(db) if isinstance(one, str))


def _read(db: Database) -> Iterator[Draw | str]:
    """Each draw, oldest first, or a message if it was changed."""
    for one in db.execute(
        "SELECT id, uid, design, tasks, size, seed, created FROM draws ORDER BY id"
    ).fetchall():
        rows = "SELECT name, pi, drawn FROM drawn WHERE draw = ? ORDER BY name"
        yield _draw(one, db.execute(rows, one[:1]).fetchall())


def _draw(one: Sequence[object], rows: Sequence[tuple[str, float, int]]) -> Draw | str:
    number, uid, design, tasks, size, seed, created = one
    names, pi, drawn = zip(*rows, strict=True) if rows else ((), (), ())
    try:
        draw = Draw(
            str(design), tuple(orjson.loads(str(tasks))), int(str(size)), int(str(seed)),
            names, pi, tuple(map(bool, drawn)), str(created),
        )  # fmt: skip
        whole = packed(draw.uid) == uid
    except (ValueError, TypeError):
        whole = False
    if not whole:
        return f"draw {number} is not as it was written: the ledger was changed, or is damaged"
    return draw
