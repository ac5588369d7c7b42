"""Labels as JSON, put together by SQLite itself (the fast way out of a large file), or here.

A line says the same as ``exchange.label_row``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from assay.ledger.hashes import unpacked
from assay.ledger.opening import explained, opened
from assay.ledger.reading import marks, of_tasks
from assay.ledger.store import Rows, Store

ROWS = 512  # labels that are read at once: up to 2 MB of lines

Line = tuple[int, bytes | None, bytes]
"""A label: its number, its uid (16 bytes; None where that is no hash), and its JSON object, which
lacks the last brace, so that something can be added."""


_QUOTED = "json_quote({})"
# In quotes, where a hash needs no quoting; what is no hash is quoted, and loses its own quotes.
_HASH = (
    "iif(typeof({0}) = 'blob', lower(hex({0})), "
    "substr(json_quote({0}), 2, length(json_quote({0})) - 2))"
)
_TEXT = "ifnull({}, 'null')"
# JSON has no infinite numbers. 17 digits give the same number back; SQLite's own JSON keeps 15.
_REAL = "iif({0} > -9e999 AND {0} < 9e999, printf('%!.17g', {0}), 'null')"
_NUMBER = f"iif(typeof({{0}}) = 'integer', {{0}}, {_REAL})"
_FIELDS = (
    ('"uid":"%s"', _HASH.format("uid")),
    ('"key":"%s"', _HASH.format("key")),
    ("%s", "what.text"),
    ('"version":%s', _QUOTED.format("version")),
    ('"unit_hash":"%s"', _HASH.format("units.hash")),
    ('"unit":%s', "units.content"),
    ("%s", "who.text"),
    ('"sample":%s', "sample"),
    ('"status":"%s"', "status"),
    ('"verdict":%s', _TEXT.format("verdict")),
    ('"reason":%s', _QUOTED.format("reason")),
    ('"error":%s', _QUOTED.format("error")),
    (
        '"overrules":%s',
        f"iif(overrules IS NULL, 'null', '\"' || {_HASH.format('overrules')} || '\"')",
    ),
    ('"tokens_in":%s', _NUMBER.format("tokens_in")),
    ('"tokens_out":%s', _NUMBER.format("tokens_out")),
    ('"cost":%s', _REAL.format("cost")),
    ('"seconds":%s', _REAL.format("seconds")),
    ('"created":%s', _QUOTED.format("created")),
    ('"detail":%s', "detail"),
)
# Texts that many labels share are made once.
_SHARED = (
    "WITH what AS MATERIALIZED (SELECT id, name, printf('\"task\":%s', json_quote(name)) AS text "
    "FROM tasks), who AS MATERIALIZED (SELECT id, "
    'printf(\'"labeller":{"name":%s,"kind":%s,"params":%s}\', '
    "json_quote(name), json_quote(kind), params) AS text FROM labellers) "
)


# One printf is a third faster than joining strings. In this order (CROSS JOIN says so): each label,
# by its number, then what it is of.
_LINES = (
    f"{_SHARED} SELECT labels.id, iif(typeof(uid) = 'blob', uid, NULL), "  # noqa: S608 (constants)
    f"printf('{{{','.join(form for form, _ in _FIELDS)}', {', '.join(sql for _, sql in _FIELDS)}) "
    "FROM labels CROSS JOIN units ON units.id = labels.unit "
    "CROSS JOIN what ON what.id = labels.task CROSS JOIN who ON who.id = labels.labeller "
    "WHERE labels.id > ?"
)


def read_lines(
    path: Path, tasks: Iterable[str] | None = None, after: int = 0
) -> Iterator[list[Line]]:
    """The labels of the ledger at ``path`` that were written after number ``after``, of the named
    tasks or of all, oldest first, some at a time. Raises LedgerError where the file cannot be
    read."""
    names = None if tasks is None else list(tasks)
    chosen = "" if names is None else f"AND what.name IN ({marks(names)})"
    with explained(path), closing(opened(path, sqlite3.Connection)) as db:
        db.text_factory = bytes
        block: list[Line] = [(after, None, b"")]
        while block:  # with what others wrote meanwhile
            rows = db.execute(
                f"{_LINES} {chosen} ORDER BY labels.id", [block[-1][0], *(names or ())]
            )
            block = []
            while some := rows.fetchmany(ROWS):
                block = some
                yield some


def json_blocks(db: Store, tasks: Sequence[str] | None, after: int) -> Iterator[list[Line]]:
    """The same of another store, to the byte."""
    rows = whole_rows(db, tasks, after)
    while some := rows.fetchmany(ROWS):
        yield json_block(some)


def json_block(rows: Iterable[Sequence[Any]]) -> list[Line]:
    """Rows of :func:`whole_rows` as lines."""
    return [
        (row[0], row[1] if isinstance(row[1], bytes) else None, _line(*row[1:])) for row in rows
    ]


WHOLE = (
    "number", "uid", "key", "task", "version", "unit_hash", "unit", "labeller", "kind", "params",
    "sample", "status", "verdict", "reason", "error", "overrules", "tokens_in", "tokens_out",
    "cost", "seconds", "created", "detail",
)  # fmt: skip
"""The columns of :func:`whole_rows`."""


def whole_rows(db: Store, tasks: Sequence[str] | None, after: int = 0) -> Rows:
    """The labels after a number, of the named tasks or of all, with all that belongs to them;
    hashes are packed, ``unit``, ``params``, ``verdict`` and ``detail`` JSON."""
    chosen = of_tasks("labels.task", tasks) or "WHERE TRUE"
    return db.each(
        "SELECT labels.id, uid, key, tasks.name, version, hash, content, labellers.name, kind, "  # noqa: S608
        "params, sample, status, verdict, reason, error, overrules, tokens_in, tokens_out, cost, "
        "seconds, created, detail FROM labels JOIN units ON units.id = unit "
        "JOIN tasks ON tasks.id = labels.task JOIN labellers ON labellers.id = labeller "
        f"{chosen} AND labels.id > ? ORDER BY labels.id",
        [*(tasks or []), after],
    )


def _line(*columns: Any) -> bytes:
    """A label as ``_FIELDS`` make it, without the last brace."""
    (uid, key, task, version, unit, content, name, kind, params, sample, status, verdict, reason,
     error, overrules, tokens_in, tokens_out, cost, seconds, created, detail) = columns  # fmt: skip
    whole = orjson.dumps(
        {
            "uid": unpacked(uid),
            "key": unpacked(key),
            "task": task,
            "version": version,
            "unit_hash": unpacked(unit),
            "unit": orjson.Fragment(content),
            "labeller": {"name": name, "kind": kind, "params": orjson.Fragment(params)},
            "sample": sample,
            "status": status,
            "verdict": None if verdict is None else orjson.Fragment(verdict),
            "reason": reason,
            "error": error,
            "overrules": None if overrules is None else unpacked(overrules),
            "tokens_in": _number(tokens_in),
            "tokens_out": _number(tokens_out),
            "cost": _number(cost),
            "seconds": _number(seconds),
            "created": created,
            "detail": orjson.Fragment(detail),
        }
    )
    return whole[:-1]


def _number(value: float | None) -> int | orjson.Fragment | None:
    """A number as ``_NUMBER`` has it."""
    if value is None or isinstance(value, int):
        return value
    digits, _, power = f"{value:.17g}".partition("e")
    point = "" if "." in digits else ".0"
    return orjson.Fragment(f"{digits}{point}{f'e{power}' if power else ''}")
