"""Labels as lines of JSON. A line says the same as ``exchange.label_row``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from assay.ledger.hashes import unpacked
from assay.ledger.reading import of_tasks
from assay.ledger.store import MOST, Database, Store, each

ROWS = 512  # labels that are read at once: up to 2 MB of lines

Line = tuple[int, bytes, bytes]
"""A label: its number, its uid (16 bytes), and its JSON object, which
lacks the last brace, so that something can be added."""

WHOLE = (
    "number", "uid", "key", "task", "version", "unit_hash", "unit", "labeller", "kind", "params",
    "sample", "status", "verdict", "reason", "error", "overrules", "tokens_in", "tokens_out",
    "cost", "seconds", "created", "detail",
)  # fmt: skip
"""The columns of a label with all that belongs to it; hashes are packed, ``unit``, ``params``,
``verdict`` and ``detail`` JSON."""
COLUMNS = (
    "labels.id, uid, key, tasks.name, version, hash, content, labeller, sample, status, verdict, "
    "reason, error, overrules, tokens_in, tokens_out, cost, seconds, created, detail"
)
"""The same in the ledger, where the labeller is a number: what :func:`json_block` takes."""
_WHOLE = COLUMNS.replace("labeller", "labellers.name, kind, params")


def whole_rows(db: Store, tasks: Sequence[str] | None) -> Iterator[Any]:
    """The labels of the named tasks, or of all, as ``WHOLE`` rows, oldest first."""
    return each(db, *_query(_WHOLE, tasks, MOST, 0))


def json_blocks(db: Store, tasks: Sequence[str] | None, after: int) -> Iterator[list[Line]]:
    """The labels after a number, of the named tasks or of all, oldest first, some at a time."""
    who, newest = Labellers(db), "SELECT max(id) FROM labels"
    while (until := db.execute(newest).fetchone()[0] or 0) > after:  # also what others wrote since
        for some in db.blocks(*_query(COLUMNS, tasks, until, after), ROWS, "replace"):
            yield json_block(some, who)
        after = until


def _query(
    columns: str, tasks: Sequence[str] | None, until: int, after: int
) -> tuple[str, list[Any]]:
    """The query for the labels up to a number and after another, of the named tasks or of all, and
    its values."""
    chosen = of_tasks("labels.task", tasks)
    query = (
        f"SELECT {columns} FROM labels JOIN units ON units.id = unit "  # noqa: S608 (constants)
        "JOIN tasks ON tasks.id = labels.task JOIN labellers ON labellers.id = labeller "
        f"{chosen} AND labels.id <= ? AND labels.id > ? ORDER BY labels.id"
    )
    return query, [*(tasks or []), until, after]


class Labellers(dict[int, orjson.Fragment]):
    """A ledger's labellers as lines name them, by their numbers."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __missing__(self, number: int) -> orjson.Fragment:
        named = "SELECT name, kind, params FROM labellers WHERE id = ?"
        found = self[number] = labeller_json(*self._db.execute(named, [number]).fetchone())
        return found


def labeller_json(name: str, kind: str, params: str) -> orjson.Fragment:
    """A labeller as lines name it."""
    who = {"name": name, "kind": kind, "params": orjson.Fragment(params)}
    return orjson.Fragment(orjson.dumps(who))


def json_block(rows: Iterable[Sequence[Any]], who: Mapping[Any, orjson.Fragment]) -> list[Line]:
    """Labels (``COLUMNS``, and perhaps more) as lines; ``who`` are the labellers."""
    block = []
    for (
        number, uid, key, task, version, unit, content, labeller, sample, status, verdict, reason,
        error, overrules, tokens_in, tokens_out, cost, seconds, created, detail, *_,
    ) in rows:  # fmt: skip
        line = {
            "uid": uid.hex(),
            "key": unpacked(key),
            "task": task,
            "version": version,
            "unit_hash": unit.hex(),
            "unit": orjson.Fragment(content),
            "labeller": who[labeller],
            "sample": sample,
            "status": status,
            "verdict": None if verdict is None else orjson.Fragment(verdict),
            "reason": reason,
            "error": error,
            "overrules": None if overrules is None else unpacked(overrules),
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost": _number(cost),
            "seconds": _number(seconds),
            "created": created,
            "detail": orjson.Fragment(detail),
        }
        block.append((number, uid, orjson.dumps(line)[:-1]))
    return block


def _number(value: float | None) -> int | orjson.Fragment | None:
    """A number with 17 digits, which give the same one back; none where it is infinite, which JSON
    has no number for."""
    if value is None or isinstance(value, int):
        return value
    digits, _, power = f"{value:.17g}".partition("e")
    if digits in ("inf", "-inf"):
        return None
    point = "" if "." in digits else ".0"
    return orjson.Fragment(f"{digits}{point}{f'e{power}' if power else ''}")
