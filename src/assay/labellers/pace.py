"""Pace of requests to an endpoint: adaptive concurrency, and limits per minute.

The number of requests in flight rises until the server pushes back, as in TCP. It starts at 256 (or
at the limit, if that is lower) and grows by one with every reply until the first push-back (429,
503, a timeout); then it is halved, and grows by about one per round of replies. Only push-back
lowers it: a slow answer may just mean that the model is thinking.
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
    """Limits of an endpoint: requests in flight, and requests and tokens per minute (None if there
    is no known limit)."""

    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class Pace:
    """Admits requests to one endpoint. For one event loop; ``clock`` is for tests."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._window = float(min(_START, limits.concurrency))
        self._probing = True
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._last_cut = 0.0
        self._wake: asyncio.TimerHandle | None = None
        self._requests = _Bucket(limits.requests_per_minute, clock)
        self._tokens = _Bucket(limits.tokens_per_minute, clock)

    def reset(self) -> None:
        """Forget waiting requests and those in flight, as their event loop is over."""
        self._in_flight = 0
        self._waiting.clear()
        self._wake = None

    @property
    def window(self) -> int:
        """How many requests may be in flight now."""
        return max(1, int(self._window))

    @property
    def load(self) -> float:
        """Fraction of the window in use or waited for; endpoints with a lower load are asked
        first."""
        busy = (self._in_flight + len(self._waiting)) / self.window
        return busy + (1.0 if self._clock() < self._paused_until else 0.0)

    async def enter(self, tokens: int) -> None:
        """Wait for a slot for a request of about ``tokens`` tokens, and take it."""
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
                    # This request was woken but will not go: wake the next one instead.
                    self._next()
                raise
        self._in_flight += 1
        self._requests.take(1)
        self._tokens.take(tokens)

    def leave(self) -> None:
        """Free the slot of a request that has ended in whatever way."""
        self._in_flight -= 1
        self._next()

    def answered(self) -> None:
        """Note an answer: widen the window a little."""
        self._window = min(
            float(self._limits.concurrency),
            self._window + (1.0 if self._probing else 1.0 / self._window),
        )
        self._next()

    def pushed_back(self, wait: float | None, started: float) -> None:
        """Note push-back (429, 503 or a timeout) for a request sent at ``started``: halve the
        window, and pause for ``wait`` seconds. Requests sent before the last cut do not cut again.
        """
        now = self._clock()
        self._probing = False
        if started >= self._last_cut:
            self._window = max(1.0, self._window / 2)
            self._last_cut = now
        if wait:
            self.pause(wait)

    def pause(self, wait: float) -> None:
        """Admit nothing for ``wait`` seconds."""
        self._paused_until = max(self._paused_until, self._clock() + wait)

    def _wait(self, tokens: int) -> float | None:
        """None if a request may go now; otherwise seconds until the next check, 0 if only the end
        of another request can help."""
        if self._in_flight >= self.window:
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
    """A token bucket: refills evenly, and holds at most a minute's worth."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = None if per_minute is None else per_minute / _MINUTE
        self._clock = clock
        # It starts almost empty, as servers refuse bursts at the start.
        self._level = 0.0 if per_minute is None else min(per_minute, max(1.0, per_minute / 10))
        self._most = 0.0 if per_minute is None else max(1.0, per_minute)
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Seconds until ``amount``, or a full bucket if that is less, can be taken."""
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
    """Seconds to pause if the headers say that a rate limit is used up, or None. Reads
    ``x-ratelimit-remaining-requests``/``-tokens`` and the matching ``x-ratelimit-reset-…``:
    durations such as ``1s`` or ``6m0s``, or plain seconds."""
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
