"""Calls of OpenAI-compatible endpoints: retries, pace, and features that a server lacks.

Several addresses of one model share the load. After transient faults (429, 5xx, resets, timeouts)
the request is sent again later; a wrong key or address ends the run; a request that goes on failing
while others are answered fails on its own.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson

from assay.labellers.forms import RequestForm, error_message
from assay.labellers.pace import Limits, Pace, rate_limit_wait
from assay.labellers.replies import json_object
from assay.labellers.streams import Stream, TextCallback, is_stream, joined_reply
from assay.labellers.transport import (
    NotSent,
    PostRequest,
    Reply,
    ReplyTimeout,
    ReplyTooLarge,
    Transport,
    TransportError,
)
from assay.labellers.watch import idling, notify
from assay.model.errors import LabellerUnreachable
from assay.model.secrets import redact_keys
from assay.model.wording import counted

_FEW_ATTEMPTS = 7  # attempts before the run ends, if no other request is answered either
_MANY_ATTEMPTS = 15  # attempts before a request is given up
_LONG = 5.0  # seconds of waiting from which on the user is told
_TELL_EVERY = 60.0  # seconds between two such messages
_SILENT = 2  # timeouts in a row after which the user is told
_TIRED = 3  # failures in a row after which an address is not used for a while
_GATEWAY = (504, 524)  # a proxy did not wait for the reply
_LONGEST_WAIT = 60.0  # most seconds between two attempts, even if Retry-After asks for more
_FOREVER = 1e8  # seconds
_KEY = (
    "Check the API key (OPENAI_API_KEY, ANTHROPIC_API_KEY or ASSAY_<NAME>_API_KEY; for a server "
    "on this machine that is named only in a file, just ASSAY_<HOST>_API_KEY)."
)
_CURES = {
    401: _KEY,
    402: "The endpoint requires payment: check the account's credit, then run again.",
    403: _KEY,
    404: "Check the address (it should end in /v1) and the model's name.",
    429: "You have reached the endpoint's rate limit or quota; run again later.",
}
_sleep = asyncio.sleep  # replaced in tests

Check = Callable[[Mapping[str, Any]], object]


class _Retry(NamedTuple):
    """Why a request must be sent again, how long to wait, and whether a reply was ``lost`` that the
    server may charge for."""

    why: str
    wait: float | None
    lost: bool


class RequestRefused(Exception):
    """The server will not answer this request; asking again is pointless."""


@dataclass
class _Endpoint:
    """One address of a model. After failures in a row it rests, longer each time, until a trial
    request is answered. Otherwise an address that refuses at once would always look the least
    busy."""

    url: str
    target: str
    pace: Pace
    headers: Mapping[str, str] = field(repr=False)
    answered: int = 0
    failures: int = 0
    silences: int = 0
    rests: int = 0
    rested_at: float = 0.0
    rests_until: float = 0.0
    reported: bool = False

    def take(self, now: float) -> None:
        """Note that a request is sent here; if it is a trial, others wait for its result."""
        if self.rests:
            self.rests_until = now + _LONGEST_WAIT

    def works(self) -> None:
        """Note a reply that shows that the address works, even if it refuses the request."""
        self.failures = self.silences = self.rests = 0
        self.rests_until = 0.0

    def fails(self, started: float, now: float) -> None:
        """Note a failure of a request sent at ``started``, unless that was before the last rest."""
        if started < self.rested_at:
            return
        self.failures += 1
        if self.rests or self.failures >= _TIRED:
            self.rested_at = now
            self.rests_until = now + min(_LONGEST_WAIT, 0.5 * 2 ** min(self.rests, 7))
            self.rests += 1


class Endpoints:
    """The addresses of a model. ``path`` is appended to each, ``name`` is for messages, and each of
    ``keys`` is sent only to its own address."""

    def __init__(
        self,
        name: str,
        base_urls: Sequence[str],
        keys: Mapping[str, str],
        limits: Limits,
        timeout: float,
        transport: Transport,
        path: str = "/chat/completions",
    ) -> None:
        self._name = name
        self._keys = keys
        self._endpoints = [
            _Endpoint(url, url.rstrip("/") + path, Pace(limits), headers_for(keys.get(url)))
            for url in base_urls
        ]
        self._timeout = timeout
        self._transport = transport
        self.form = RequestForm()
        self._waiting = 0
        self._told_at = -math.inf

    def reset(self) -> None:
        """Forget the waits of a finished event loop, but not what was learnt about the server."""
        for endpoint in self._endpoints:
            endpoint.pace.reset()
        self._waiting = 0

    async def call(
        self,
        make: Callable[[RequestForm], bytes],
        tokens: int,
        on_text: TextCallback | None = None,
        check: Check = lambda _reply: None,
        lost: Callable[[], None] = lambda: None,
    ) -> Mapping[str, Any]:
        """Send the request that ``make`` gives for a form, about ``tokens`` long, and return the
        reply's JSON object. ``on_text`` is told of a reply that comes in pieces; for one of which
        ``check`` raises ValueError another is asked for. ``lost`` is called for each reply that the
        server may have made, and charge for, and that did not come whole.

        Raises Refused where this request cannot be answered, and LabellerUnreachable where no
        request can.
        """
        attempt = 0
        before = self._answered()
        refused: dict[str, tuple[_Endpoint, float, RequestRefused | LabellerUnreachable]] = {}
        while True:
            sent = self.form.copy()
            sent.stream = sent.stream and on_text is not None
            endpoint = self._next(refused)
            with self._idling():
                await endpoint.pace.enter(tokens)
            started = time.monotonic()
            try:
                reply = await self._post(endpoint, make(sent), on_text if sent.stream else None)
                found = self._read(endpoint, reply, started, sent, check)
            except ReplyTooLarge as error:
                endpoint.works()
                lost()
                raise RequestRefused(str(error)) from error
            except (RequestRefused, LabellerUnreachable) as error:
                # Another address may answer it; then it was not the request's fault.
                refused[endpoint.url] = endpoint, started, error
                if len(refused) < len(self._endpoints):
                    continue
                raise self._of_all(refused.values()) from None
            except TransportError as error:
                why, wait = str(error), None
                if not isinstance(error, NotSent):
                    lost()
                if isinstance(
                    error, ReplyTimeout
                ):  # unlike a broken connection, a timeout is a sign of load
                    endpoint.pace.pushed_back(None, started)
                    self._silent(endpoint)
            else:
                if isinstance(found, Mapping):
                    for other, at, why_not in refused.values():
                        self._refuses_alone(other, at, why_not)
                    return found
                if found is None:
                    continue  # to be sent in another form; not a failed attempt
                why, wait, gone = found
                if gone:
                    lost()
            finally:
                # Before the wait below, so that a waiting request takes up no slot.
                endpoint.pace.leave()
            endpoint.fails(started, time.monotonic())
            attempt += 1
            if attempt >= _FEW_ATTEMPTS and self._answered() == before:
                raise self._unreachable(endpoint, f"{why} ({attempt} attempts)")
            if attempt >= _MANY_ATTEMPTS:
                raise RequestRefused(
                    f"{self.redact(why)} ({attempt} attempts; others were answered)"
                )
            # Random, so that requests that failed together are not sent again together.
            backoff = min(_LONGEST_WAIT, 0.5 * 2 ** (attempt - 1)) * random.uniform(0.5, 1)  # noqa: S311
            seconds = min(_LONGEST_WAIT, max(wait or 0.0, backoff))
            with self._idling():
                self._tell_of_waiting(endpoint, wait or 0.0, seconds, why)
                await _sleep(seconds)

    @contextmanager
    def _idling(self) -> Iterator[None]:
        self._waiting += 1
        try:
            with idling():
                yield
        finally:
            self._waiting -= 1

    def _tell_of_waiting(self, endpoint: _Endpoint, asked: float, seconds: float, why: str) -> None:
        """Tell the user, now and then, how long questions wait and why."""
        now = time.monotonic()
        if seconds < _LONG or now < self._told_at + _TELL_EVERY:
            return
        self._told_at = now
        wanted = f" (the server asks for {asked:,.0f} s)" if seconds < asked < _FOREVER else ""
        wanted = " (the server asks for years)" if asked >= _FOREVER else wanted
        notify(
            self.redact(
                f"{self._name} at {endpoint.url}: {why}. {counted(self._waiting, 'question')} "
                f"waiting; next try in {seconds:.0f} s{wanted}. Ctrl-C stops."
            )
        )

    @staticmethod
    def _of_all(
        refused: Iterable[tuple[_Endpoint, float, RequestRefused | LabellerUnreachable]],
    ) -> Exception:
        """The error if all addresses refuse a request: the request's own fault, if any address
        works."""
        errors = []
        for endpoint, _, error in refused:
            if isinstance(error, RequestRefused):
                endpoint.works()
            errors.append(error)
        return min(errors, key=lambda error: isinstance(error, LabellerUnreachable))

    def _refuses_alone(self, endpoint: _Endpoint, started: float, why: Exception) -> None:
        """Note that an address refused what another one has answered."""
        endpoint.fails(started, time.monotonic())
        if endpoint.rests and not endpoint.reported:
            endpoint.reported = True
            notify(
                f"{self._name} at {endpoint.url} refuses what another address answers, so it is "
                f"set aside (and retried occasionally): {why}"
            )

    def _silent(self, endpoint: _Endpoint) -> None:
        endpoint.silences += 1
        if endpoint.silences == _SILENT:
            notify(
                self.redact(
                    f"{self._name} at {endpoint.url} does not respond: {_SILENT} questions had no "
                    f"reply within {self._timeout:g} s (timeout in [judging]). They are asked "
                    "again; Ctrl-C stops."
                )
            )

    def _next(self, without: Container[str] = ()) -> _Endpoint:
        """The address for the next request: the least busy of those that work."""
        now = time.monotonic()
        candidates = [one for one in self._endpoints if one.url not in without]
        awake = [one for one in candidates if one.rests_until <= now] or candidates
        chosen = min(awake, key=lambda one: one.pace.load)
        chosen.take(now)
        return chosen

    async def _post(self, endpoint: _Endpoint, body: bytes, on_text: TextCallback | None) -> Reply:
        arrived = None if on_text is None else Stream(on_text).feed
        sent = PostRequest(endpoint.target, endpoint.headers, body, self._timeout, arrived)
        return await self._transport.post(sent)

    def _read(
        self, endpoint: _Endpoint, reply: Reply, started: float, sent: RequestForm, check: Check
    ) -> Mapping[str, Any] | _Retry | None:
        """The reply's object, or why to try again, or None if the request's form was reduced."""
        spent = rate_limit_wait(reply.headers)
        if spent:
            seconds = min(spent, _LONGEST_WAIT)
            endpoint.pace.pause(seconds)
            self._tell_of_waiting(endpoint, spent, seconds, "its rate limit is used up")
        if reply.status == 200:
            pieces = is_stream(reply.headers)
            parsed = joined_reply(reply.body) if pieces else json_object(reply.body)
            if parsed is None:
                what = "an incomplete reply" if pieces else "a body that is not a JSON object"
                return _Retry(f"HTTP 200 with {what}", None, lost=True)
            if pieces and not parsed.get("usage"):
                self.form.stream = False  # token counts are worth more than partial replies
            if pieces:
                reply = replace(reply, body=orjson.dumps(parsed))
            if not parsed.get("error") or parsed.get("choices"):
                try:
                    check(parsed)
                except ValueError as error:
                    return _Retry(
                        f"HTTP 200, but the reply cannot be used: {error}", None, lost=True
                    )
                endpoint.answered += 1
                endpoint.works()
                endpoint.pace.answered()
                return parsed
            # Some proxies pass on the errors of the server behind them like this.
            reply = replace(reply, status=_status_in(parsed["error"]))
            why = f"HTTP {reply.status} (in a reply with HTTP 200): {self._error_text(reply)}"
        else:
            why = f"HTTP {reply.status}: {self._error_text(reply)}"
        if reply.status in (400, 404, 413, 415, 422) and self.form.lower(reply, sent):
            endpoint.works()
            return None
        if reply.status in (400, 413, 422):
            raise RequestRefused(self.redact(why))
        if reply.status in (408, 409, 425, 429) or reply.status >= 500:
            # Waiting does not help: the account has no credit left.
            if reply.status == 429 and "insufficient_quota" in why:
                raise self._unreachable(endpoint, why)
            wait = retry_after(reply.headers, datetime.now(UTC))
            if reply.status in (408, 429, 503):
                endpoint.pace.pushed_back(min(wait or 0.0, _LONGEST_WAIT), started)
            return _Retry(why, wait, lost=reply.status in _GATEWAY)
        raise self._unreachable(endpoint, why)

    def _error_text(self, reply: Reply) -> str:
        return error_message(reply, self._keys.values())

    def _answered(self) -> int:
        return sum(endpoint.answered for endpoint in self._endpoints)

    def _unreachable(self, endpoint: _Endpoint, why: str) -> LabellerUnreachable:
        cures = (cure for status, cure in _CURES.items() if f"HTTP {status}" in why)
        cure = next(cures, "Check the address and that the server runs.")
        text = f"{self._name} at {endpoint.url} does not answer: {why}. {cure}"
        return LabellerUnreachable(self.redact(text))

    def redact(self, text: str) -> str:
        """``text`` without keys; for messages, never for what a model says."""
        return redact_keys(text, self._keys.values())


def headers_for(key: str | None) -> dict[str, str]:
    """The headers of a request with the API key ``key``."""
    headers = {"Content-Type": "application/json"}
    return headers | {"Authorization": f"Bearer {key}"} if key else headers


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait according to a Retry-After header (a number or a date), or None."""
    value = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        wait = float(value)
        return max(0.0, wait) if math.isfinite(wait) else None
    with suppress(ValueError, OverflowError):  # impossible dates
        when = parsedate_to_datetime(value)
        return max(0.0, (when - now).total_seconds()) if when.tzinfo else None
    return None


def _status_in(error: object) -> int:
    """The HTTP status that an error object names, or else 400."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 400
