"""Lists of questions to ask, kept in a file if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import overload

import orjson

from assay.labellers.base import Request
from assay.ledger.hashes import packed
from assay.model.scratch import Scratch, Texts
from assay.tasks.base import AnyTask

Item = tuple[str, Request]
"""A label's key and the request for it."""

MANY = 10_000
"""Most questions that are kept in memory, and sorted, together."""
_BLOCK = 1000  # questions read from the file, or looked up, together
_BUCKETS = 1 << 14


def collect(items: Iterable[Item]) -> Sequence[Item]:
    """Collect all items, sorted by content, in a file if there are many. Units begin with what they
    share (the passage, the question). Asked in this order, successive prompts have a common prefix,
    which servers and the embedded model have cached."""
    stream = iter(items)
    first = _ordered(stream)
    if len(first) < MANY:
        return tuple(first)
    stored = _StoredItems()
    for some in chain((first,), iter(lambda: _ordered(stream), [])):
        stored.extend(some)
    stored[-1]  # reading writes the buffer, so that a full disk shows before anything is asked
    return stored


def task_names(todo: Sequence[Item]) -> set[str]:
    """The names of the tasks of all items."""
    if isinstance(todo, _StoredItems):
        return {task.name for task in todo.tasks}
    return {request.task.name for _, request in todo}


def chunks(todo: Iterable[Item]) -> Iterator[list[Item]]:
    """The items in lists of limited length."""
    stream = iter(todo)
    return iter(lambda: list(islice(stream, _BLOCK)), [])


def _ordered(stream: Iterator[Item]) -> list[Item]:
    some = list(islice(stream, MANY))
    some.sort(key=lambda item: [str(value) for value in item[1].content.values()])
    return some


class _StoredItems(Sequence[Item]):
    """Items in a scratch file, a block of items in each of its texts."""

    def __init__(self) -> None:
        self.tasks: list[AnyTask] = []
        self._blocks = Texts(Scratch())
        self._count = 0
        self._last: tuple[int, list[Item]] = (-1, [])

    def extend(self, items: Sequence[Item]) -> None:
        """Append items; in all calls but the last, a multiple of the block size."""
        for start in range(0, len(items), _BLOCK):
            block = items[start : start + _BLOCK]
            rows = [[key, self._task_index(r.task), r.sample, r.content] for key, r in block]
            self._blocks.add(orjson.dumps(rows))
            self._count += len(block)

    def _task_index(self, task: AnyTask) -> int:
        for number, known in enumerate(self.tasks):
            if known is task:
                return number
        self.tasks.append(task)
        return len(self.tasks) - 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for number in range(len(self._blocks)):
            yield from self._block(number)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(self._count))]
        at = range(self._count)[place]
        if self._last[0] != at // _BLOCK:
            self._last = (at // _BLOCK, self._block(at // _BLOCK))
        return self._last[1][at % _BLOCK]

    def _block(self, number: int) -> list[Item]:
        rows = orjson.loads(self._blocks.data(number))
        return [(key, self._request(*rest)) for key, *rest in rows]

    def _request(self, number: int, sample: int, content: dict[str, object]) -> Request:
        task = self.tasks[number]
        request = Request(task, task.unit.model_validate(content), sample)
        request.__dict__["content"] = content  # unchanged, as its hash is the unit's identity
        return request


class KeySet:
    """A set of keys at sixteen bytes each, a fifth of what a set of strings takes."""

    def __init__(self) -> None:
        self._buckets: list[bytearray | None] = [None] * _BUCKETS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, key: str) -> bool:
        """Add a key and return whether it is new."""
        short = packed(key)
        number = int.from_bytes(short[:2]) % _BUCKETS
        bucket = self._buckets[number]
        if bucket is None:  # created when needed: most sets are small
            bucket = self._buckets[number] = bytearray()
        place = bucket.find(short)
        while place > 0 and place % len(short):  # a match across two keys
            place = bucket.find(short, place + 1)
        if place >= 0:
            return False
        bucket += short
        self._count += 1
        return True
