"""Questions that are to be asked. Where there are many they lie in a file, not in memory."""

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
"""A label's key, and what is asked for it."""

MANY = 10_000
"""Questions that are held in memory, and put in order, at once."""
_BLOCK = 1000  # questions that are read from the file, or looked up, together
_BUCKETS = 1 << 14


def gathered(items: Iterable[Item]) -> Sequence[Item]:
    """All items. Units begin with what they share (the passage, the question), and are put in
    order: asked one after the other, their prompts have a prefix in common that servers and the
    embedded model have cached."""
    stream = iter(items)
    first = _ordered(stream)
    if len(first) < MANY:
        return tuple(first)
    many = _Many()
    for some in chain((first,), iter(lambda: _ordered(stream), [])):
        many.add(some)
    many[-1]  # what is read is on the disk: a full one shows before anything is asked
    return many


def tasks_in(todo: Sequence[Item]) -> set[str]:
    """The names of the tasks that are asked."""
    if isinstance(todo, _Many):
        return {task.name for task in todo.tasks}
    return {request.task.name for _, request in todo}


def in_parts(todo: Iterable[Item]) -> Iterator[list[Item]]:
    """The same, some at a time."""
    stream = iter(todo)
    return iter(lambda: list(islice(stream, _BLOCK)), [])


def _ordered(stream: Iterator[Item]) -> list[Item]:
    some = list(islice(stream, MANY))
    some.sort(key=lambda item: [str(value) for value in item[1].content.values()])
    return some


class _Many(Sequence[Item]):
    """Items in a scratch, some in each of its texts."""

    def __init__(self) -> None:
        self.tasks: list[AnyTask] = []
        self._blocks = Texts(Scratch())
        self._count = 0
        self._last: tuple[int, list[Item]] = (-1, [])

    def add(self, items: Sequence[Item]) -> None:
        """Write items; all but the last lot are a number of whole blocks."""
        for start in range(0, len(items), _BLOCK):
            block = items[start : start + _BLOCK]
            rows = [[key, self._number(one.task), one.sample, one.content] for key, one in block]
            self._blocks.add(orjson.dumps(rows))
            self._count += len(block)

    def _number(self, task: AnyTask) -> int:
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
            return [self[one] for one in range(*place.indices(self._count))]
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
        request.__dict__["content"] = content  # as it was: its hash is the unit's identity
        return request


class Distinct:
    """Keys that were seen, sixteen bytes each: a set of a million takes five times as much."""

    def __init__(self) -> None:
        self._buckets: list[bytearray | None] = [None] * _BUCKETS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def new(self, key: str) -> bool:
        """Whether the key was not seen before; now it was."""
        short = packed(key)
        number = int.from_bytes(short[:2]) % _BUCKETS
        bucket = self._buckets[number]
        if bucket is None:  # made when needed: most lists are short
            bucket = self._buckets[number] = bytearray()
        place = bucket.find(short)
        while place > 0 and place % len(short):  # in parts of two keys
            place = bucket.find(short, place + 1)
        if place >= 0:
            return False
        bucket += short
        self._count += 1
        return True
