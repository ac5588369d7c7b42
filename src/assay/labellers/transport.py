"""HTTP transport to an endpoint: a single method, so that tests can inject faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class TransportError(Exception):
    """No reply: connection refused or reset, or a timeout (:class:`ReplyTimeout`)."""


class ReplyTimeout(TransportError):
    """No complete reply within the timeout."""


class NotSent(TransportError):
    """Nothing was sent: no connection, or no such address."""


class ReplyTooLarge(TransportError):
    """The reply is larger than the limit; asking again is pointless."""


MAX_REPLY = 16_000_000
"""Default limit of a reply's size, in bytes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply; names of headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class PostRequest(NamedTuple):
    """A POST request. ``arrived`` takes the body of a reply with status 200 piece by piece."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout: float
    arrived: Callable[[bytes], None] | None = None


class Transport(Protocol):
    """Sends a POST request and returns the reply, whatever its status. Raises TransportError if
    there is no reply."""

    async def post(self, sent: PostRequest) -> Reply: ...

    async def close(self) -> None: ...
