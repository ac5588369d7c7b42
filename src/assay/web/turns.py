"""Whose turn it is: work that nobody waits for stops while somebody is served.

Threads of one process share the interpreter. A thread that computes gives it up every 5 ms unless
told otherwise, and a reply asks for it some twenty times (each statement to SQLite once): beside
such a thread a reply of 10 ms takes 200.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
SHARED = 0.0005
"""Seconds that a thread has the interpreter while another asks for it."""
_SOON = 0.03
"""Seconds for a reply to go out, and for the next call of the same page to come in."""
_PAUSE = 0.002
_MOST = 60.0
"""Seconds that one piece of work lets others go first, all in all."""


class Turns:
    """Who is served, by the thread that serves; other threads ask."""

    def __init__(self) -> None:
        self._served = 0
        self._until = 0.0

    @contextmanager
    def served(self) -> Iterator[None]:
        """Somebody is being served."""
        self._served += 1
        try:
            yield
        finally:
            self._served -= 1
            self._until = time.monotonic() + _SOON

    def last(self, rows: Iterable[T]) -> Iterator[T]:
        """``rows``, each once nobody is being served."""
        left = _MOST
        for row in rows:
            while left > 0 and (self._served or time.monotonic() < self._until):
                time.sleep(_PAUSE)
                left -= _PAUSE
            yield row
