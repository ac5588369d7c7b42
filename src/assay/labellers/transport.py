"""How bytes get to an endpoint and back: one method, so that tests can put faults in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class TransportError(Exception):
    """No reply: connection refused or reset, or (:class:`Silence`) nothing within the timeout."""


class Silence(TransportError):
    """No whole reply within the timeout."""


class Unsent(TransportError):
    """Nothing was sent: there is no connection, or no such address."""


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


class Posted(NamedTuple):
    """A POST request. ``arrived`` takes the pieces of a good reply's body as they come."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout: float
    arrived: Callable[[bytes], None] | None = None


class Transport(Protocol):
    """Sends one POST request and returns the reply, whatever its status. Raises TransportError
    where there is no reply."""

    async def post(self, sent: Posted) -> Reply: ...

    async def close(self) -> None: ...
