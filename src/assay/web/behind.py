"""What takes long is worked out behind the pages, which show what there is, with its age."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from assay.web.desk import AT_ONCE

T = TypeVar("T")
OLDEST = 300.0
"""Seconds after which what was worked out may be too old."""


class Behind(Generic[T]):
    """What ``make`` gives, worked out when somebody asks for it, for a tenth of the time at most
    and once at a time."""

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
