"""Labels as JSON, put together by SQLite itself (the fast way out of a large file), or here.

A line says the same as ``exchange.label_row``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from assay.ledger.hashes import unpacked
from assay.ledger.opening import explained, opened
from assay.ledger.reading import marks, of_tasks
from assay.ledger.store import Rows, Store

ROWS = 512  # labels a block: up to 2 MB of lines, of which several copies are made


_USED_AT = b',"used_at":[%b]}\n'


class Block(NamedTuple):
    """Some labels, oldest first. What SQLite gave is taken apart where it is used.

    ``first`` and ``last`` are the lowest and highest number; ``numbers`` are all of them, or None
    where none is missing in between. ``uids`` are those that are hashes, 16 bytes each. ``text``
    is a format of Python's: their JSON objects, with a place for where each but the last is used.
    """

    first: int
    last: int
    numbers: bytes | None
    uids: bytes
    text: bytes

    def rowids(self) -> Sequence[int]:
        """Their numbers in the ledger."""
        if self.numbers is None:
            return range(self.first, self.last + 1)
        return list(map(int, self.numbers.split(b",")))

    def lines(self) -> list[bytes]:
        """Their JSON objects, which lack the last brace, so that something can be added."""
        return [line.replace(b"%%", b"%") for line in self.text.split(_USED_AT)]

    def used(self, places: Sequence[bytes]) -> Iterator[bytes]:
        """A line for each, in pieces, with where it is used: JSON strings and commas. (To format
        the whole is ten times as fast as to join lines.)"""
        yield self.text % tuple(places[:-1])
        yield _USED_AT % places[-1]


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


def _printf(fields: Iterable[tuple[str, str]], form: str) -> str:
    """The SQL of one printf, which is a third faster than joining strings."""
    shown = list(fields)
    joined = form.format(",".join(each for each, _ in shown))
    return f"printf('{joined}', {', '.join(sql for _, sql in shown)})"


def read_lines(path: Path, tasks: Iterable[str] | None = None, after: int = 0) -> Iterator[Block]:
    """The labels of the ledger at ``path`` that were written after number ``after``, of the named
    tasks or of all. Raises LedgerError where the file cannot be read."""
    yield from map(Block._make, _blocks(path, _lines, tasks, after))


def _blocks(
    path: Path, query: Callable[[str], str], tasks: Iterable[str] | None, after: int
) -> Iterator[tuple[Any, ...]]:
    """What ``query`` gives of block after block of the labels after number ``after``."""
    names = None if tasks is None else list(tasks)
    chosen = "" if names is None else f"AND what.name IN ({marks(names)})"
    sql = query(f"labels.id > ? AND labels.id <= ? {chosen}")
    with explained(path), closing(opened(path, sqlite3.Connection)) as db:
        db.text_factory = bytes
        start = after
        while True:
            last = db.execute("SELECT max(id) FROM labels").fetchone()[0] or 0
            if start >= last:
                return
            while start < last:
                end = min(start + ROWS, last)
                found = db.execute(sql, [start, end, *(names or [])]).fetchone()
                start = end
                if found[0] is not None:
                    yield found


def json_blocks(db: Store, tasks: Sequence[str] | None, after: int) -> Iterator[Block]:
    """The same of another store, to the byte."""
    rows = whole_rows(db, tasks, after)
    while some := rows.fetchmany(ROWS):
        yield json_block(some)


def json_block(rows: Sequence[Sequence[Any]]) -> Block:
    """Some rows of :func:`whole_rows`, one at least."""
    numbers = [row[0] for row in rows]
    whole = numbers[-1] - numbers[0] + 1 == len(numbers)
    return Block(
        numbers[0],
        numbers[-1],
        None if whole else b",".join(b"%d" % one for one in numbers),
        b"".join(row[1] for row in rows if isinstance(row[1], bytes)),
        _USED_AT.join(_line(*row[1:]).replace(b"%", b"%%") for row in rows),
    )


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


def _lines(which: str) -> str:
    """The SQL that joins some labels into one row, which makes a ``Block``."""
    separator = _USED_AT.decode().replace("\n", "")
    return (
        f"{_SHARED} SELECT min(id), max(id), "  # noqa: S608 (constants)
        "iif(max(id) - min(id) + 1 = count(*), NULL, group_concat(id)), "
        "ifnull(group_concat(hashed, ''), ''), "
        f"group_concat(replace(line, '%', '%%'), '{separator}' || char(10)) "
        f"FROM (SELECT labels.id AS id, {_printf(_FIELDS, '{{{}')} AS line, "
        "iif(typeof(uid) = 'blob', uid, NULL) AS hashed "
        "FROM labels JOIN units ON units.id = labels.unit "
        "JOIN what ON what.id = labels.task JOIN who ON who.id = labels.labeller "
        f"WHERE {which} ORDER BY labels.id)"
    )
