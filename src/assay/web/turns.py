"""Scheduling: background work pauses while somebody is served, and slow results are computed behind
the pages, which show the latest one with its age.

Threads of one process share the interpreter. A thread that computes gives it up every 5 ms unless
told otherwise, and a reply asks for it some twenty times (each statement to SQLite once): beside
such a thread a reply of 10 ms takes 200.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from assay.web.desk import AT_ONCE

T = TypeVar("T")
SHARED = 0.0005
"""Seconds that a thread keeps the interpreter while another waits for it."""
_SOON = 0.03
"""Seconds for a reply to be sent, and for the same page's next call to arrive."""
_PAUSE = 0.002
_MOST = 60.0
"""Seconds in total for which a piece of work lets others go first."""


class Turns:
    """Tells background threads whether anybody is being served."""

    def __init__(self) -> None:
        self._served = 0
        self._until = 0.0

    @contextmanager
    def served(self) -> Iterator[None]:
        """A context in which somebody is being served."""
        self._served += 1
        try:
            yield
        finally:
            self._served -= 1
            self._until = time.monotonic() + _SOON

    def last(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield each of ``rows`` once nobody is being served."""
        left = _MOST
        for row in rows:
            while left > 0 and (self._served or time.monotonic() < self._until):
                time.sleep(_PAUSE)
                left -= _PAUSE
            yield row


OLDEST = 300.0
"""Seconds after which a result may be too old."""


class Behind(Generic[T]):
    """The result of ``make``, computed on request, once at a time, and for at most a tenth of the
    time."""

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self._make = make
        self._found: T | None = None
        self._at, self._due = -math.inf, 0.0
        self._making: asyncio.Task[T] | None = None

    async def last(self) -> tuple[T | None, float]:
        """What was worked out last, and how many seconds ago; None where nothing was yet. Waits
        for what is fresh, but no longer than a moment."""
        running = self._begun()
        await asyncio.wait({running}, timeout=AT_ONCE)
        return self._found, time.monotonic() - self._at

    async def fresh(self) -> tuple[T, float]:
        """The same, which waits where there is nothing, or nothing younger than :data:`OLDEST`.
        Raises what went wrong."""
        found, age = await self.last()
        if found is not None and age <= OLDEST:
            return found, age
        # Whoever goes away ends nothing that others wait for.
        return await asyncio.shield(self._begun()), 0.0

    def _begun(self) -> asyncio.Task[T]:
        """The work that is under way, or was done last."""
        if self._making is None or (self._making.done() and time.monotonic() >= self._due):
            self._making = asyncio.create_task(self._worked())
        return self._making

    async def _worked(self) -> T:
        began = time.monotonic()
        try:
            self._found = found = await self._make()
            self._at = time.monotonic()
        finally:
            now = time.monotonic()
            self._due = now + min(10 * (now - began), OLDEST)
        return found
