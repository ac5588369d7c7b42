"""The labels that can count, as columns: read once, looked up by unit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from assay.ledger.hashes import packed, unpacked
from assay.model.labels import Label, Status

if TYPE_CHECKING:
    from assay.ledger.reading import Reading

_NOTHING: Mapping[str, Any] = {}  # the detail that nearly all labels have
_REMEMBERED = 10_000
_HELD = 2 << 20  # characters of texts that are held; others are read when they are looked at
_SIZE = 16  # bytes of a hash


class Columns:
    """The labels of some tasks in their present versions, in the order of their units, some forty
    bytes each.

    ``versions`` are those of the tasks. Of a label what scores need is held; its uid, key, reason,
    error, tokens, cost, seconds and time are had from the ledger
    (:meth:`assay.ledger.Ledger.whole`, :meth:`assay.ledger.Ledger.keys`).
    """

    def __init__(self, ledger: Reading, versions: Mapping[str, str]) -> None:
        self._ledger = ledger
        self._labellers = ledger.labellers()
        self._tasks = ledger.task_names()
        self._versions = versions
        self._verdicts, self._details = _Texts(), _Texts()
        self._samples: dict[int, int] = {}  # by number, where it is not 0
        self._overrules: dict[int, str] = {}  # by number, of those that take another's place
        self._odd: dict[int, str] = {}  # units that are no hashes, by number
        most = ledger.count()  # others may be adding labels; what is not used takes no memory
        high, low = np.empty(most, np.uint64), np.empty(most, np.uint64)
        rows, who, tasks = (np.empty(most, kind) for kind in (np.int64, np.int32, np.int32))
        failed, said, more = (np.empty(most, kind) for kind in (np.int8, np.int32, np.int32))
        count = 0
        for block in ledger.of_versions(versions, most):
            numbers, units, task, by, fails, verdicts, samples, over, details = zip(
                *block, strict=True
            )
            some = slice(count, count := count + len(block))
            halves = np.frombuffer(b"".join(map(_head, units)), ">u8").reshape(-1, 2)
            high[some], low[some] = halves.T
            rows[some], tasks[some], who[some], failed[some] = numbers, task, by, fails
            said[some] = self._verdicts.codes(verdicts)
            more[some] = self._details.codes(details)
            self._samples.update(pair for pair in zip(numbers, samples, strict=True) if pair[1])
            changed = (pair for pair in zip(numbers, over, strict=True) if pair[1] is not None)
            self._overrules.update((number, unpacked(uid)) for number, uid in changed)
            odd = (pair for pair in zip(numbers, units, strict=True) if isinstance(pair[1], str))
            self._odd.update(odd)
        order = np.argsort(high[:count], kind="stable")  # of one unit the oldest first
        self._high, self._low, self._row, self._task, self._who, self._failed = (
            _sorted(column, order) for column in (high, low, rows, tasks, who, failed)
        )
        self._verdict, self._detail = _sorted(said, order), _sorted(more, order)

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
                found.append(self._label(place, unit))
            place += 1
        return found

    def of_task(self, name: str) -> Iterator[Label]:
        """The labels of a task, oldest first."""
        number = next((number for number, task in self._tasks.items() if task == name), -1)
        places = np.flatnonzero(np.asarray(self._task) == number)
        for at in places[np.argsort(np.asarray(self._row)[places])].tolist():
            unit = self._odd.get(self._row[at], f"{self._high[at]:016x}{self._low[at]:016x}")
            yield self._label(at, unit)

    def _label(self, at: int, unit: str) -> Label:
        task = self._tasks[self._task[at]]
        row, said, more = self._row[at], self._verdict[at], self._detail[at]
        if said < 0 or more < 0:
            verdict, detail = map(_read, self._ledger.said(row))
        else:
            verdict, detail = self._verdicts[said], self._details[more]
        return Label(
            "", "", task, self._versions[task], unit, self._labellers[self._who[at]],
            Status.FAILED if self._failed[at] else Status.OK, verdict,
            sample=self._samples.get(row, 0), overrules=self._overrules.get(row),
            detail=detail or _NOTHING, rowid=row,
        )  # fmt: skip


def _sorted(values: npt.NDArray[Any], order: npt.NDArray[np.intp]) -> Sequence[int]:
    """A column in another order, as plain integers are had of it fastest."""
    values[: len(order)] = values[order]  # in its own place
    found: Sequence[int] = memoryview(values[: len(order)])  # type: ignore[arg-type]
    return found


def _head(value: bytes | str) -> bytes:
    """A hash as it is, and one of what is none."""
    return value if isinstance(value, bytes) else sha256(value.encode()).digest()[:_SIZE]


class _Texts:
    """JSON texts of which many labels' are equal: each has a code, and is held once. Where nearly
    all differ most are not held: they have the code −1."""

    def __init__(self) -> None:
        self._size = 0
        self._texts: list[str | None] = []
        self._known: dict[str | None, int] = {}
        self._read: dict[int, Any] = {}

    def codes(self, texts: Sequence[str | None]) -> list[int]:
        """The code of each text, which is new where the text is."""
        for text in dict.fromkeys(texts):
            if text not in self._known and self._size < _HELD:
                self._known[text] = len(self._texts)
                self._texts.append(text)
                self._size += len(text or "")
        return [self._known.get(text, -1) for text in texts]

    def __getitem__(self, code: int) -> Any:
        """What a text says; None where there is none."""
        if code in self._read:
            return self._read[code]
        value = _read(self._texts[code])
        if len(self._read) < _REMEMBERED:
            self._read[code] = value
        return value


def _read(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)
