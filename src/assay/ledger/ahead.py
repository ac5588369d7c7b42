"""Labels read from a ledger in a thread, while Python does something else."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

from assay.ledger.lines import Block, BriefBlock, read_brief, read_lines

_WAITING = 32  # blocks of lines that may be ready before they are taken: some 200 MB
_BRIEF_WAITING = 128  # brief ones: some 200 MB too


class _Numbered(Protocol):
    @property
    def last(self) -> int: ...


T = TypeVar("T", bound=_Numbered)


class LabelsAhead:
    """The labels of a ledger, read from the moment this is entered.

    With ``brief`` first what :meth:`brief` gives, then what iterating gives; one thread reads both,
    so that it takes one core at most. Memory is bounded: the thread waits when too much is ready.
    Take each once, the brief ones first.
    """

    def __init__(self, path: Path, tasks: Iterable[str], *, brief: bool = False) -> None:
        self._path = path
        self._tasks = list(tasks)
        self._lines: queue.Queue[Block | None] = queue.Queue(_WAITING)
        self._brief: queue.Queue[BriefBlock | None] | None = (
            queue.Queue(_BRIEF_WAITING) if brief else None
        )
        self._error: BaseException | None = None
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
            for waiting in (self._lines, self._brief):
                if waiting is not None and not waiting.empty():
                    waiting.get()
            self._thread.join(0.01)

    def __iter__(self) -> Iterator[Block]:
        """Blocks of lines, oldest first, with those that were written while the thread read.

        Raises LedgerError where the thread could not read on.
        """
        last = 0
        for block in self._taken(self._lines):
            last = block.last
            yield block
        yield from read_lines(self._path, self._tasks, last)

    def brief(self) -> Iterator[BriefBlock] | None:
        """The same of brief blocks; None where they were not asked for."""
        return None if self._brief is None else self._brief_blocks(self._brief)

    def _brief_blocks(self, waiting: queue.Queue[BriefBlock | None]) -> Iterator[BriefBlock]:
        last = 0
        for block in self._taken(waiting):
            last = block.last
            yield block
        yield from read_brief(self._path, self._tasks, last)

    def _taken(self, waiting: queue.Queue[T | None]) -> Iterator[T]:
        while (block := waiting.get()) is not None:
            yield block
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        try:
            if self._brief is not None:
                self._put(self._brief, read_brief(self._path, self._tasks))
            self._put(self._lines, read_lines(self._path, self._tasks))
        except BaseException as error:  # noqa: BLE001 (whoever waits for blocks raises it)
            self._error = error
            if self._brief is not None:
                self._brief.put(None)
            self._lines.put(None)

    def _put(self, waiting: queue.Queue[T | None], blocks: Iterator[T]) -> None:
        for block in blocks:
            if self._stopped.is_set():
                return
            waiting.put(block)
        waiting.put(None)
