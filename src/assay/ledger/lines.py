"""Labels as JSON lines, with the same content as ``exchange.label_row``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from assay.ledger.reading import of_tasks
from assay.ledger.store import MOST, Database, Store, each

ROWS = 128  # labels read at once: as many as fit in a processor's cache


class Lines(NamedTuple):
    """A block of labels: the number, uid and unit hash (16 bytes each) of every label, and its JSON
    object without the closing brace, so that fields can be added."""

    numbers: Sequence[int]
    uids: Sequence[bytes]
    units: Sequence[bytes]
    objects: Sequence[str]


WHOLE = (
    "number", "uid", "key", "task", "version", "unit_hash", "unit", "labeller", "kind", "params",
    "sample", "status", "verdict", "reason", "error", "overrules", "tokens_in", "tokens_out",
    "cost", "seconds", "created", "detail",
)  # fmt: skip
"""All columns of a label with its unit and labeller. Hashes are packed; ``unit``, ``params``,
``verdict`` and ``detail`` are JSON."""
COLUMNS = (
    "labels.id, uid, key, tasks.name, version, hash, content, labeller, sample, status, verdict, "
    "reason, error, overrules, tokens_in, tokens_out, cost, seconds, created, detail"
)
"""The same as SQL, with the labeller's number: the columns that :func:`lines_of` takes."""
_WHOLE = COLUMNS.replace("labeller", "labellers.name, kind, params")


def at_once(db: Store) -> int:
    """How many labels to read at once: more if each read goes to another machine."""
    return ROWS * 4 if db.remote else ROWS


def whole_rows(db: Store, tasks: Sequence[str] | None) -> Iterator[Any]:
    """The labels of the named tasks (None: of all) as ``WHOLE`` rows, oldest first."""
    return each(db, *_query(_WHOLE, tasks, MOST, 0))


def all_lines(db: Store, tasks: Sequence[str] | None) -> Iterator[Lines]:
    """The labels of the named tasks (None: of all), oldest first, in blocks."""
    after, who, newest = 0, Labellers(db), "SELECT max(id) FROM labels"
    while (until := db.execute(newest).fetchone()[0] or 0) > after:  # also what others wrote since
        for some in db.blocks(*_query(COLUMNS, tasks, until, after), at_once(db), "replace"):
            yield lines_of([*zip(*some, strict=True)], who)
        after = until


def _query(
    columns: str, tasks: Sequence[str] | None, until: int, after: int
) -> tuple[str, list[Any]]:
    """The query, and its values, for the labels numbered above ``after`` up to ``until`` of the
    named tasks (None: of all)."""
    chosen = of_tasks("labels.task", tasks)
    query = (
        f"SELECT {columns} FROM labels JOIN units ON units.id = unit "  # noqa: S608 (constants)
        "JOIN tasks ON tasks.id = labels.task JOIN labellers ON labellers.id = labeller "
        f"{chosen} AND labels.id <= ? AND labels.id > ? ORDER BY labels.id"
    )
    return query, [*(tasks or []), until, after]


class Labellers(dict[int, str]):
    """A ledger's labellers as JSON, by number."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __missing__(self, number: int) -> str:
        named = "SELECT name, kind, params FROM labellers WHERE id = ?"
        found = self[number] = labeller_json(*self._db.execute(named, [number]).fetchone())
        return found


def labeller_json(name: str, kind: str, params: str) -> str:
    """A labeller as JSON."""
    return f'{{"name":{_json(name)},"kind":{_json(kind)},"params":{params}}}'


def lines_of(columns: Sequence[Sequence[Any]], who: Mapping[Any, str]) -> Lines:
    """Labels as lines, from their columns (``COLUMNS``; any further ones are ignored). ``who``
    holds the labellers' JSON by number."""
    (
        numbers, uids, keys, tasks, versions, units, contents, labellers, samples, statuses,
        verdicts, reasons, errors, overrules, tokens_in, tokens_out, costs, seconds, created,
        details, *_,
    ) = columns  # fmt: skip
    lines = [
        f'{{"uid":{uid},"key":{key},"task":{task},"version":{version},"unit_hash":{unit},'
        f'"unit":{content},"labeller":{who[labeller]},"sample":{sample},"status":{status},'
        f'"verdict":{"null" if verdict is None else verdict},"reason":{reason},"error":{error},'
        f'"overrules":{overruled},"tokens_in":{read},"tokens_out":{written},"cost":{cost},'
        f'"seconds":{took},"created":{at},"detail":{detail}'
        for uid, key, task, version, unit, content, labeller, sample, status, verdict, reason,
            error, overruled, read, written, cost, took, at, detail
        in zip(
            _hashes(uids), _hashes(keys), _texts(tasks), _texts(versions), _hashes(units), contents,
            labellers, samples, _texts(statuses), verdicts, _texts(reasons), _texts(errors),
            _hashes(overrules), _numbers(tokens_in), _numbers(tokens_out), _numbers(costs),
            _numbers(seconds), _texts(created), details, strict=True,
        )
    ]  # fmt: skip
    return Lines(numbers, uids, units, lines)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _texts(column: Iterable[str | None]) -> Iterator[str]:
    """Texts as JSON. Many are equal, so each different one is encoded once."""
    known = {one: _json(one) for one in {*column}}
    return map(known.__getitem__, column)


def _hashes(column: Iterable[bytes | str | None]) -> list[str]:
    """Hashes, or the text stored in place of one, as JSON."""
    return [
        "null" if one is None else f'"{one.hex()}"' if type(one) is bytes else _json(one)
        for one in column
    ]


def _numbers(column: Iterable[float | None]) -> list[str]:
    """Numbers as JSON."""
    return ["null" if one is None else _number(one) for one in column]


def _number(value: float) -> str:
    """A number with 17 digits, so that it reads back unchanged; null if it is infinite, which JSON
    cannot express."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.17g}"
    if "." in text:
        return text
    digits, e, power = text.partition("e")
    return "null" if digits in ("inf", "-inf") else f"{digits}.0{e}{power}"
