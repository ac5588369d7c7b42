"""The labels that can count, as columns: read once, looked up by unit."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from assay.ledger.hashes import packed
from assay.model.labels import Label, Status

if TYPE_CHECKING:
    from assay.ledger.reading import Reading

_NOTHING: Mapping[str, Any] = {}  # the detail that nearly all labels have
_REMEMBERED = 10_000
_SIZE = 16  # bytes of a hash


class Columns:
    """The labels of some tasks in their present versions, looked up by unit.

    ``versions`` are those of the tasks. Of a label what scores need is held; its uid, reason,
    error, overrules, tokens, cost, seconds and time are had from the ledger
    (:meth:`assay.ledger.Ledger.whole`).
    """

    def __init__(self, ledger: Reading, versions: Mapping[str, str]) -> None:
        self._labellers = ledger.labellers()
        self._versions = versions
        self._units, self._keys = _Hashes(), _Hashes()
        self._verdicts, self._details = _Texts(), _Texts()
        self._row, self._who, self._task = array("q"), array("i"), array("i")
        self._sample, self._failed = array("q"), array("b")
        for block in ledger.of_versions(versions):
            rows, keys, units, tasks, who, failed, verdicts, samples, details = zip(
                *block, strict=True
            )
            self._row.extend(rows)
            self._keys.extend(keys)
            self._units.extend(units)
            self._task.extend(tasks)
            self._who.extend(who)
            self._failed.extend(failed)
            self._verdicts.extend(verdicts)
            self._sample.extend(samples)
            self._details.extend(details)
        self._tasks = ledger.task_names()
        halves = np.frombuffer(self._units.data, dtype=">u8").astype(np.uint64).reshape(-1, 2)
        order = np.lexsort((np.frombuffer(self._row, np.int64), halves[:, 1], halves[:, 0]))
        self._order: Sequence[int] = memoryview(order)  # type: ignore[arg-type]
        self._high, self._low = (memoryview(halves[order, half]) for half in (0, 1))

    def __len__(self) -> int:
        return len(self._row)

    def of(self, unit: str) -> list[Label]:
        """The labels of a unit, oldest first."""
        head = _head(packed(unit))
        high, low = int.from_bytes(head[:8], "big"), int.from_bytes(head[8:], "big")
        place = bisect_left(self._high, high)
        found = []
        while place < len(self._high) and self._high[place] == high:
            if self._low[place] == low:
                found.append(self._label(self._order[place], unit))
            place += 1
        return found

    def of_task(self, name: str) -> Iterator[Label]:
        """The labels of a task, oldest first."""
        number = next((number for number, task in self._tasks.items() if task == name), None)
        for at, task in enumerate(self._task):
            if task == number:
                yield self._label(at, self._units[at])

    def _label(self, at: int, unit: str) -> Label:
        task = self._tasks[self._task[at]]
        return Label(
            "", self._keys[at], task, self._versions[task], unit, self._labellers[self._who[at]],
            Status.FAILED if self._failed[at] else Status.OK, self._verdicts[at],
            sample=self._sample[at], detail=self._details[at] or _NOTHING, rowid=self._row[at],
        )  # fmt: skip


class _Hashes:
    """A column of hashes, 16 bytes each; what is none is held beside it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._odd: dict[int, str] = {}

    def extend(self, values: Sequence[bytes | str]) -> None:
        for at, value in enumerate(values, len(self.data) // _SIZE):
            if isinstance(value, str):
                self._odd[at] = value
        self.data += b"".join(map(_head, values))

    def __getitem__(self, at: int) -> str:
        odd = self._odd.get(at) if self._odd else None
        return self.data[at * _SIZE : (at + 1) * _SIZE].hex() if odd is None else odd


def _head(value: bytes | str) -> bytes:
    """A hash as it is, and one of what is none."""
    return value if isinstance(value, bytes) else sha256(value.encode()).digest()[:_SIZE]


class _Texts:
    """A column of JSON texts, of which many are equal: each is held once."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._texts: list[str | None] = []
        self._known: dict[str | None, int] = {}
        self._read: dict[int, Any] = {}

    def extend(self, texts: Sequence[str | None]) -> None:
        for text in dict.fromkeys(texts):
            if text not in self._known:
                self._known[text] = len(self._texts)
                self._texts.append(text)
        self._codes.extend(map(self._known.__getitem__, texts))

    def __getitem__(self, at: int) -> Any:
        """What a text says; None where there is none."""
        code = self._codes[at]
        if code in self._read:
            return self._read[code]
        text = self._texts[code]
        value = None if text is None else orjson.loads(text)
        if len(self._read) < _REMEMBERED:
            self._read[code] = value
        return value
