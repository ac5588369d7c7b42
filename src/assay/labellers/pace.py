"""How fast an endpoint is asked: adaptive concurrency and limits a minute.

The number of requests under way rises until the server pushes back, as in TCP: it starts at 256
(or at the limit, where that is less), grows by one with every reply until the first push-back (429,
503, a timeout), then halves and grows by about one for each round of replies. Only push-back lowers
it: an answer that is slow because the model thinks is no reason to ask less.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

_START = 256
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What an endpoint allows: requests under way, requests and tokens a minute (None: no limit
    that we know of)."""

    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class Pace:
    """Lets requests to one endpoint through. For one event loop; ``clock`` is for tests."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._window = float(min(_START, limits.concurrency))
        self._probing = True
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._last_cut = 0.0
        self._wake: asyncio.TimerHandle | None = None
        self._requests = _Bucket(limits.requests_per_minute, clock)
        self._tokens = _Bucket(limits.tokens_per_minute, clock)

    def reset(self) -> None:
        """Forget who waits and what is under way: their event loop is over."""
        self._under_way = 0
        self._waiting.clear()
        self._wake = None

    @property
    def window(self) -> int:
        """How many requests may be under way now."""
        return max(1, int(self._window))

    @property
    def load(self) -> float:
        """Share of the window in use and waited for; endpoints with less are asked first."""
        busy = (self._under_way + len(self._waiting)) / self.window
        return busy + (1.0 if self._clock() < self._paused_until else 0.0)

    async def enter(self, tokens: int) -> None:
        """Wait for a place for a request of about ``tokens`` tokens, then take it."""
        while (wait := self._wait(tokens)) is not None:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            self._wake_in(wait)
            try:
                await place
            except asyncio.CancelledError:
                if place in self._waiting:
                    self._waiting.remove(place)
                elif place.done() and not place.cancelled():
                    # Whoever is next must not sleep on because we were woken in its place.
                    self._next()
                raise
        self._under_way += 1
        self._requests.take(1)
        self._tokens.take(tokens)

    def leave(self) -> None:
        """The request is over, however it ended."""
        self._under_way -= 1
        self._next()

    def answered(self) -> None:
        """The server answered in time: a little more may be asked of it."""
        self._window = min(
            float(self._limits.concurrency),
            self._window + (1.0 if self._probing else 1.0 / self._window),
        )
        self._next()

    def pushed_back(self, wait: float | None, started: float) -> None:
        """429, 503 or a timeout, of a request sent at ``started``: ask less, and nothing at all
        for ``wait`` seconds. Push-back of requests sent before the last cut counts once."""
        now = self._clock()
        self._probing = False
        if started >= self._last_cut:
            self._window = max(1.0, self._window / 2)
            self._last_cut = now
        if wait:
            self.pause(wait)

    def pause(self, wait: float) -> None:
        """Let nothing through for ``wait`` seconds."""
        self._paused_until = max(self._paused_until, self._clock() + wait)

    def _wait(self, tokens: int) -> float | None:
        """None where a request may go now, else seconds until it is worth looking again; 0 where
        only another request's end can help."""
        if self._under_way >= self.window:
            return 0.0
        waits = (
            self._paused_until - self._clock(),
            self._requests.wait(1),
            self._tokens.wait(tokens),
        )
        longest = max(waits)
        return longest if longest > 0 else None

    def _wake_in(self, wait: float) -> None:
        if wait <= 0:
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + wait
        if self._wake is None or self._wake.cancelled() or self._wake.when() > when:
            if self._wake is not None:
                self._wake.cancel()
            self._wake = loop.call_later(wait, self._woken)

    def _woken(self) -> None:
        self._wake = None
        for _ in range(self.window):
            self._next()

    def _next(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return


class _Bucket:
    """A budget that refills evenly over a minute; at most a minute's worth is saved up."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = None if per_minute is None else per_minute / _MINUTE
        self._clock = clock
        # A fresh window is not assumed to be full: bursts at the start are what servers refuse.
        self._level = 0.0 if per_minute is None else min(per_minute, max(1.0, per_minute / 10))
        self._most = 0.0 if per_minute is None else max(1.0, per_minute)
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Seconds until ``amount`` may be taken. More than a minute's worth waits for all of it."""
        if self._rate is None:
            return 0.0
        self._fill()
        return max(0.0, (min(amount, self._most) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        if self._rate is not None:
            self._fill()
            self._level -= amount

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._at) * (self._rate or 0.0))
        self._at = now


_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_LONGEST_SPAN = 100  # characters
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def rate_limit_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to pause where the headers say that nothing is left of a limit.

    Reads ``x-ratelimit-remaining-requests``/``-tokens`` with their ``x-ratelimit-reset-…``, which
    are spans such as ``1s`` or ``6m0s``, or plain seconds.
    """
    waits = []
    for what in ("requests", "tokens"):
        left = headers.get(f"x-ratelimit-remaining-{what}", "").strip()
        reset = headers.get(f"x-ratelimit-reset-{what}", "").strip()
        if left == "0" and reset:
            span = sum(
                float(n) * _SECONDS[unit] for n, unit in _SPAN.findall(reset[:_LONGEST_SPAN])
            )
            with suppress(ValueError):
                waits.append(span or float(reset))
    return max(filter(math.isfinite, waits), default=None)
