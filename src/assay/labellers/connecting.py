"""The transport that labellers are made with: it connects with the first request."""

from __future__ import annotations

from assay.labellers.transport import MAX_REPLY, Posted, Reply, Transport


class HttpTransport:
    """The real transport, :class:`assay.labellers.http.AiohttpTransport`, once there is a request.
    ``most`` bytes a reply."""

    def __init__(self, most: int = MAX_REPLY) -> None:
        self._most = most
        self._real: Transport | None = None

    async def post(self, sent: Posted) -> Reply:
        if self._real is None:
            # aiohttp takes long to import, and whoever only scores makes no request.
            from assay.labellers.http import AiohttpTransport  # noqa: PLC0415

            self._real = AiohttpTransport(self._most)
        return await self._real.post(sent)

    async def close(self) -> None:
        if self._real is not None:
            await self._real.close()
            self._real = None
