"""Judging where an event loop runs already, as in every notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from assay.judging.progress import Progress
from assay.labellers.base import Outcome

T = TypeVar("T")


class Stopped(Exception):
    """Judging was told to end."""


class Stoppable:
    """A Progress that ends judging at the next answer once ``stop`` is set, by Stopped: what was
    answered is kept."""

    def __init__(self, progress: Progress, stop: threading.Event) -> None:
        self.begin, self.note, self.end = progress.begin, progress.note, progress.end
        self._step, self._stop = progress.step, stop

    def step(self, outcome: Outcome | None) -> None:
        if self._stop.is_set():
            raise Stopped
        self._step(outcome)


def outside_a_loop(job: Callable[[Progress], T], progress: Progress) -> T:
    """What ``job`` gives. Judging needs an event loop of its own, which a thread may have only
    one of: where one runs here, the work is done in another thread."""
    try:
        running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is None:  # asked out here: what the job raises has nothing to do with that error
        return job(progress)
    stop = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="assay-judging") as worker:
        done = worker.submit(copy_context().run, job, Stoppable(progress, stop))
        try:
            return done.result()
        except BaseException:  # above all Ctrl-C, which only this thread is told of
            stop.set()
            raise


async def beside_a_loop(job: Callable[[Progress], T], progress: Progress) -> T:
    """What ``job`` gives, done in another thread while the running loop goes on. Cancelled, it
    ends with the next answer, and is waited for: nothing is written behind anybody's back."""
    stop = threading.Event()
    worker = ThreadPoolExecutor(1, thread_name_prefix="assay-judging")
    done = asyncio.wrap_future(worker.submit(copy_context().run, job, Stoppable(progress, stop)))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([done])
        if not done.cancelled():
            done.exception()  # nobody else asks how it ended
        raise
    finally:
        worker.shutdown(wait=False)
