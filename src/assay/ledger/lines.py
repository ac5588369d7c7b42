"""Labels as lines of JSON, put together by SQLite itself: the fast way out of a large ledger.

SQLite works without Python's lock, so that :class:`LinesAhead` can have the lines ready while
Python still computes what to do with them. A line says the same as ``exchange.label_row``.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from assay.ledger.opening import MAPPED, explained
from assay.model.errors import LedgerError

_ROWS = 4096  # labels a block: some 3 MB of text
_WAITING = 64  # blocks that may be ready before they are taken


class Block(NamedTuple):
    """Some labels, oldest first: their numbers in the ledger and their JSON objects, which lack
    the last brace, so that something can be added."""

    rowids: list[int]
    lines: list[bytes]


_QUOTED = "json_quote({})"
_PLAIN = "'\"' || {} || '\"'"  # where nothing needs quoting
_HASH = "iif(typeof({0}) = 'blob', '\"' || lower(hex({0})) || '\"', json_quote({0}))"
_NUMBER = "ifnull({}, 'null')"
# 17 digits give the same number back; SQLite's own JSON keeps 15.
_REAL = "iif({0} IS NULL, 'null', printf('%!.17g', {0}))"
_FIELDS = (
    ("uid", _HASH.format("uid")),
    ("key", _HASH.format("key")),
    ("task", _QUOTED.format("tasks.name")),
    ("version", _QUOTED.format("version")),
    ("unit_hash", _HASH.format("units.hash")),
    ("unit", "units.content"),
    ("labeller.name", _QUOTED.format("labellers.name")),
    ("labeller.kind", _QUOTED.format("labellers.kind")),
    ("labeller.params", "labellers.params"),
    ("sample", "sample"),
    ("status", _PLAIN.format("status")),
    ("verdict", _NUMBER.format("verdict")),
    ("reason", _QUOTED.format("reason")),
    ("error", _QUOTED.format("error")),
    ("overrules", _HASH.format("overrules")),
    ("tokens_in", _NUMBER.format("tokens_in")),
    ("tokens_out", _NUMBER.format("tokens_out")),
    ("cost", _REAL.format("cost")),
    ("seconds", _REAL.format("seconds")),
    ("created", _QUOTED.format("created")),
    ("detail", "detail"),
)


def _object() -> str:
    """The SQL of a label's JSON object without its last brace: one printf, which is a third
    faster than joining strings."""
    shown = []
    for name, _ in _FIELDS:
        outer, _, inner = name.partition(".")
        opening = f'"{outer}":{{' if inner == "name" else ""
        closing = "}" if inner == "params" else ""
        shown.append(f'{opening}"{inner or outer}":%s{closing}')
    return f"printf('{{{','.join(shown)}', {', '.join(sql for _, sql in _FIELDS)})"


def read_lines(path: Path, tasks: Iterable[str] | None = None, after: int = 0) -> Iterator[Block]:
    """The labels of the ledger at ``path`` that were written after number ``after``, of the named
    tasks or of all. Raises LedgerError where the file cannot be read."""
    names = None if tasks is None else list(tasks)
    chosen = "" if names is None else f"AND tasks.name IN ({','.join('?' * len(names))})"
    query = _query(f"labels.id > ? AND labels.id <= ? {chosen}")
    with explained(path), closing(sqlite3.connect(path, timeout=30)) as db:
        db.execute(f"PRAGMA mmap_size = {MAPPED}")
        db.text_factory = bytes
        start = after
        while True:
            last = db.execute("SELECT max(id) FROM labels").fetchone()[0] or 0
            if start >= last:
                return
            while start < last:
                end = min(start + _ROWS, last)
                rowids, lines = db.execute(query, [start, end, *(names or [])]).fetchone()
                start = end
                if lines is not None:
                    # JSON holds no line break.
                    yield Block([int(one) for one in rowids.split(b",")], lines.split(b"\n"))


def lines_of(path: Path, rowids: npt.NDArray[np.int64]) -> Iterator[Block]:
    """The labels of the ledger at ``path`` with these numbers, which ascend."""
    with explained(path), closing(sqlite3.connect(path, timeout=30)) as db:
        db.text_factory = bytes
        query = _query("labels.id IN (SELECT value FROM json_each(?))")
        for start in range(0, len(rowids), _ROWS):
            wanted = str(rowids[start : start + _ROWS].tolist())
            found, lines = db.execute(query, [wanted]).fetchone()
            if lines is not None:
                yield Block([int(one) for one in found.split(b",")], lines.split(b"\n"))


def _query(which: str) -> str:
    """The SQL that joins numbers and lines of some labels into one row."""
    return (
        f"SELECT group_concat(id), group_concat(line, char(10)) FROM (SELECT labels.id AS id, "  # noqa: S608 (constants)
        f"{_object()} AS line FROM labels JOIN units ON units.id = labels.unit "
        "JOIN tasks ON tasks.id = labels.task JOIN labellers ON labellers.id = labels.labeller "
        f"WHERE {which} ORDER BY labels.id)"
    )


class LinesAhead:
    """The lines of a ledger, read in a thread from the moment this is entered.

    Memory is bounded: the thread waits when some 200 MB are ready. Iterate once.
    """

    def __init__(self, path: Path, tasks: Iterable[str]) -> None:
        self._path = path
        self._tasks = list(tasks)
        self._ready: queue.Queue[Block | None] = queue.Queue(_WAITING)
        self._error: LedgerError | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        while self._thread.is_alive():  # it may be waiting for room
            try:
                self._ready.get(timeout=0.01)
            except queue.Empty:
                continue
        self._thread.join()

    def __iter__(self) -> Iterator[Block]:
        """Blocks, oldest first, with those that were written while the thread read.

        Raises LedgerError where the thread could not read on.
        """
        last = 0
        while (block := self._ready.get()) is not None:
            last = block.rowids[-1]
            yield block
        if self._error is not None:
            raise self._error
        yield from read_lines(self._path, self._tasks, last)

    def _read(self) -> None:
        try:
            for block in read_lines(self._path, self._tasks):
                if self._stopped.is_set():
                    return
                self._ready.put(block)
        except LedgerError as error:
            self._error = error
        self._ready.put(None)
