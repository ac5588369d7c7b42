"""Transport with aiohttp."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from assay.labellers.keys import is_this_machine
from assay.labellers.transport import (
    MAX_REPLY,
    NotSent,
    PostRequest,
    Reply,
    ReplyTimeout,
    ReplyTooLarge,
    TransportError,
)

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL


class HttpTransport:
    """Sends requests in one session, opened at the first. ``most`` limits a reply's bytes."""

    def __init__(self, most: int = MAX_REPLY) -> None:
        self._most = most
        self._session: aiohttp.ClientSession | None = None

    async def post(self, sent: PostRequest) -> Reply:
        return await self._reply("POST", sent)

    async def get(self, url: str, headers: Mapping[str, str], timeout: float) -> Reply:
        """Send a GET request."""
        return await self._reply("GET", PostRequest(url, headers, b"", timeout))

    async def _reply(self, method: str, sent: PostRequest) -> Reply:
        # aiohttp is slow to import, and scoring needs no requests.
        import aiohttp  # noqa: PLC0415
        from yarl import URL  # noqa: PLC0415

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),  # the pace limits connections
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        try:
            target = URL(sent.url)
            async with self._session.request(
                method,
                target,
                data=sent.body or None,
                headers=sent.headers,
                timeout=aiohttp.ClientTimeout(total=sent.timeout),
                allow_redirects=False,
                proxy=self._proxy(target),
            ) as response:
                return Reply(
                    response.status,
                    await self._body(response, sent.arrived if response.status == 200 else None),
                    {name.lower(): value for name, value in response.headers.items()},
                )
        except TimeoutError as error:
            raise ReplyTimeout(f"no reply within {sent.timeout:g} s") from error
        # ValueError: an address or a key that cannot be sent.
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError, ValueError) as error:
            never = isinstance(error, aiohttp.ClientConnectorError | ValueError)
            kind = NotSent if never else TransportError
            raise kind(f"{type(error).__name__}: {error}") from error

    @cached_property
    def _proxies(self) -> Mapping[str, str]:
        from urllib.request import getproxies  # noqa: PLC0415 (as above)

        return getproxies()

    def _proxy(self, target: URL) -> str | None:
        """The proxy for an address according to the environment; none for this machine. aiohttp's
        ``trust_env`` would also send passwords of ~/.netrc."""
        from urllib.request import proxy_bypass  # noqa: PLC0415 (as above)

        host = target.host or ""
        if not self._proxies or is_this_machine(host) or proxy_bypass(host):
            return None
        proxy = self._proxies.get(target.scheme)
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"

    async def _body(
        self, response: aiohttp.ClientResponse, arrived: Callable[[bytes], None] | None
    ) -> bytes:
        """The whole body. Its limit is for unpacked bytes: few packed ones may hold very many."""
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > self._most:
                response.close()
                raise ReplyTooLarge(
                    f"the reply is larger than {self._most / 1e6:g} MB (max_reply_mb in [judging])"
                )
            if arrived is not None:
                arrived(piece)
        return bytes(body)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
