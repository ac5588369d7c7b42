"""How bytes get to an endpoint and back: one method, so that tests can put faults in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol


class TransportError(Exception):
    """No reply: connection refused or reset, or (:class:`Silence`) nothing within the timeout."""


class Silence(TransportError):
    """No whole reply within the timeout."""


class Oversized(TransportError):
    """The reply goes on past what is read of one: asking again is no use."""


MAX_REPLY = 16_000_000
"""Most bytes that are read of a reply, where nothing else is set."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply: status, headers in lower case, body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Transport(Protocol):
    """Sends one POST request and returns the reply, whatever its status.

    Raises TransportError where there is no reply.
    """

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout: float
    ) -> Reply: ...

    async def close(self) -> None: ...


class HttpTransport:
    """The real transport, :class:`assay.labellers.http.AiohttpTransport`; what takes time to
    import is imported with the first request, as most commands make none. ``connections`` at once,
    0 for no limit here (the pace decides how many requests are under way); ``most`` bytes a
    reply."""

    def __init__(self, connections: int = 0, most: int = MAX_REPLY) -> None:
        self._connections = connections
        self._most = most
        self._real: Transport | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout: float
    ) -> Reply:
        if self._real is None:
            made: Transport = import_module("assay.labellers.http").AiohttpTransport(
                self._connections, self._most
            )
            self._real = made
        return await self._real.post(url, headers, body, timeout)

    async def close(self) -> None:
        if self._real is not None:
            await self._real.close()
            self._real = None
