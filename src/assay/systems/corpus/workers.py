"""Worker processes for batches of pages, with a time limit for each page.

A parser written in C cannot be interrupted from within. If a page takes too long, its process is
killed, and the batch is done again without the page.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Generic, TypeVar

from assay.model.errors import AssayError

_LOOK = 0.5  # seconds between two looks at what page each process is at
# Python is started once for all of them where it can be.
_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_CONTEXT: Any = multiprocessing.get_context(_START)

Page = TypeVar("Page")
Done = TypeVar("Done")

Begin = Callable[[int], None]
"""Called with the position of each page in a batch before work on it begins."""

Job = Callable[[int, Sequence[Page], Collection[int], Begin], Done]
"""Processes a batch (number, pages), skipping the positions of pages that take too long."""


@dataclass
class Workers(Generic[Page, Done]):
    """``count`` processes that run ``job``; a page may take ``seconds``."""

    job: Job[Page, Done]
    count: int
    seconds: float
    _all: list[_Worker[Page]] = field(default_factory=list, init=False)

    def run(
        self, batches: Iterator[tuple[int, list[Page]]], too_slow: Callable[[int, Page], None]
    ) -> Iterator[Done]:
        """The result of each of ``batches``, as it becomes ready. ``too_slow`` is called with a
        batch's number and the page left out. Raises AssayError if a process dies."""
        coming = next(batches, None)  # read while the processes are at work
        try:
            while coming is not None or any(worker.batch for worker in self._all):
                while coming is not None and (idle := self._idle()):
                    idle.give(*coming)
                    coming = next(batches, None)
                ready = wait([each.pipe for each in self._all if each.batch], timeout=_LOOK)
                for worker in self._all:
                    if worker.pipe in ready:
                        yield worker.take()
                    elif worker.batch and worker.stuck_for() > self.seconds:
                        number, pages = worker.batch
                        left_out = {*worker.left_out, worker.at}
                        too_slow(number, pages[worker.at])
                        worker.end()
                        worker.start(self.job)
                        worker.give(number, pages, left_out)
        finally:
            for worker in self._all:
                worker.end()

    def _idle(self) -> _Worker[Page] | None:
        for worker in self._all:
            if worker.batch is None:
                return worker
        if len(self._all) == self.count:
            return None
        worker = _Worker[Page]()
        worker.start(self.job)
        self._all.append(worker)
        return worker


class _Worker(Generic[Page]):
    """A process, its batch, its current page and since when it has worked on it."""

    process: BaseProcess
    pipe: Connection[Any, Any]
    begun: Connection[Any, Any]  # the positions of pages that it begins
    batch: tuple[int, list[Page]] | None = None
    left_out: Collection[int] = ()

    def start(self, job: Job[Page, Any]) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.begun, begins = _CONTEXT.Pipe(duplex=False)
        self.process = _CONTEXT.Process(target=_serve, args=(theirs, begins, job), daemon=True)
        # A script that builds a corpus would run again in each process: none needs it.
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            self.process.start()
        finally:
            sys.modules["__main__"] = main
        theirs.close()
        begins.close()

    def give(self, number: int, pages: list[Page], left_out: Collection[int] = ()) -> None:
        self._look()
        self.at = -1  # until it has begun, nothing of the page's time has passed
        self.batch, self.left_out = (number, pages), left_out
        try:
            self.pipe.send((number, pages, left_out))
        except OSError as error:
            raise _died() from error

    def take(self) -> Any:
        """The result. Raises any exception raised in the process."""
        try:
            made = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise _died() from error
        if isinstance(made, BaseException):
            raise made
        self.batch = None
        return made

    def stuck_for(self) -> float:
        """The seconds since it was first seen at its current page."""
        self._look()
        return 0.0 if self.at == -1 else time.monotonic() - self._since

    def _look(self) -> None:
        with suppress(EOFError, OSError):  # of a process that died
            while self.begun.poll():
                self.at, self._since = self.begun.recv(), time.monotonic()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.begun.close()


def _died() -> AssayError:
    return AssayError(
        "A worker process died (out of memory?). What is done is kept: run the same command "
        "again, with --processes 1 if it happens again."
    )


def _serve(pipe: Connection[Any, Any], begins: Connection[Any, Any], job: Job[Any, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            number, pages, left_out = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(job(number, pages, left_out, begins.send))
        except Exception as error:  # noqa: BLE001 - raised again by who gave the batch
            pipe.send(error)
