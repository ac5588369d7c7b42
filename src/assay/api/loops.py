"""Judge where an event loop is already running, as in every notebook."""

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
    """Raised in the judging thread to end it."""


class Stoppable:
    """A Progress that raises Stopped at the next answer once ``stop`` is set; labels received so
    far are kept."""

    def __init__(self, progress: Progress, stop: threading.Event) -> None:
        self.begin, self.note, self.end = progress.begin, progress.note, progress.end
        self._step, self._stop = progress.step, stop

    def step(self, outcome: Outcome | None) -> None:
        if self._stop.is_set():
            raise Stopped
        self._step(outcome)


def outside_a_loop(job: Callable[[Progress], T], progress: Progress) -> T:
    """Run ``job`` and return its result. Judging starts its own event loop, and a thread can run
    only one: if one is running here, the job runs in another thread."""
    try:
        running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is None:  # outside the except block, so that errors of the job have no context
        return job(progress)
    stop = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="assay-judging") as worker:
        done = worker.submit(copy_context().run, job, Stoppable(progress, stop))
        try:
            return done.result()
        except BaseException:  # above all KeyboardInterrupt, which only the main thread receives
            stop.set()
            raise


async def beside_a_loop(job: Callable[[Progress], T], progress: Progress) -> T:
    """Run ``job`` in another thread while the running loop continues, and return its result. If
    cancelled, wait until it has stopped at the next answer, so that nothing is written later."""
    stop = threading.Event()
    worker = ThreadPoolExecutor(1, thread_name_prefix="assay-judging")
    done = asyncio.wrap_future(worker.submit(copy_context().run, job, Stoppable(progress, stop)))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([done])
        if not done.cancelled():
            done.exception()  # marks it as retrieved, or asyncio would log it
        raise
    finally:
        worker.shutdown(wait=False)
