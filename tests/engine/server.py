"""A real HTTP server on this machine that speaks chat completions and embeddings, with scripted
faults."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Script = Callable[[dict[str, Any], int], Any]


def completion(content: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion with ``content``."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **more}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


@dataclass(frozen=True)
class Drip:
    """A reply whose body arrives a few bytes at a time, over several seconds."""

    document: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Pieces:
    """A completion in events of a few characters each if streaming was requested, or else whole;
    ``most`` events, so that the reply breaks off. After its first characters it waits until
    ``heard`` is set, where that is given: what is sent at once may be read at once."""

    document: dict[str, Any]
    most: int | None = None
    size: int = 7
    heard: threading.Event | None = None

    def events(self) -> list[bytes]:
        choice = self.document["choices"][0]
        text = choice["message"]["content"]
        deltas: list[dict[str, Any]] = [
            {"delta": {"content": text[at : at + self.size]}, "finish_reason": None}
            for at in range(0, len(text), self.size)
        ]
        deltas.append({"delta": {}, "finish_reason": choice["finish_reason"]})
        objects = [{"model": "m", "choices": [{"index": 0, **one}]} for one in deltas]
        objects.append({"choices": [], "usage": self.document["usage"]})
        made = [b": still here\n\n", *(f"data: {json.dumps(one)}\n\n".encode() for one in objects)]
        return [*made, b"data: [DONE]\n\n"][: self.most]


@dataclass
class Server:
    """A running server: its address and all request bodies it received."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def serve(script: Script) -> Iterator[Server]:
    """Run a server whose reply to a request body and its number is what ``script`` returns: a
    dict (200), (status, dict[, headers]), a float (seconds of silence), a Drip, Pieces, or None
    (reset)."""
    server = Server()
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()
    busy = 0

    async def handle(request: web.Request) -> web.StreamResponse:
        nonlocal busy
        busy += 1
        server.most_at_once = max(server.most_at_once, busy)
        try:
            body = json.loads(await request.read())
            server.requests.append(body)
            server.headers.append(dict(request.headers))
            made = script(body, len(server.requests))
            if isinstance(made, float):
                await asyncio.sleep(made)
                made = completion("too late")
            if isinstance(made, Drip):
                return await drip(request, made)
            if isinstance(made, Pieces) and body.get("stream"):
                return await in_pieces(request, made)
            if isinstance(made, Pieces):
                made = made.document
            if made is None:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            status, document, headers = 200, made, {}
            if isinstance(made, tuple):
                status, document, headers = (*made, {})[:3]
            await asyncio.sleep(0.002)
            text = document if isinstance(document, str) else json.dumps(document)
            return web.Response(
                status=status, text=text, content_type="application/json", headers=headers
            )
        finally:
            busy -= 1

    async def drip(request: web.Request, made: Drip) -> web.StreamResponse:
        text = json.dumps(made.document).encode()
        response = web.StreamResponse(headers={"Content-Length": str(len(text))})
        await response.prepare(request)
        for start in range(0, len(text), len(text) // 20):
            await response.write(text[start : start + len(text) // 20])
            await asyncio.sleep(made.seconds / 20)
        return response

    async def in_pieces(request: web.Request, made: Pieces) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for number, event in enumerate(made.events()):
            if made.heard is not None and number == 2:  # a comment and the first characters went
                await asyncio.to_thread(made.heard.wait, 30)
            half = len(event) // 2
            await response.write(event[:half])
            await asyncio.sleep(0.001)
            await response.write(event[half:])
        return response

    async def models(request: web.Request) -> web.Response:
        server.headers.append(dict(request.headers))
        return web.json_response({"data": [{"id": "m"}]})

    app = web.Application()
    runner = web.AppRunner(app, shutdown_timeout=0.1)

    async def start() -> None:
        app.router.add_post("/v1/chat/completions", handle)
        app.router.add_post("/v1/messages", handle)
        app.router.add_post("/v1/embeddings", handle)
        app.router.add_get("/v1/models", models)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}/v1"
        ready.set()

    async def until_stopped() -> None:
        await start()
        await stop.wait()
        await runner.cleanup()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as all_of_it:  # cancels what is left
            all_of_it.run(until_stopped())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        assert not thread.is_alive()


def ask_of(body: dict[str, Any]) -> str:
    """The user message of a request."""
    return str(body["messages"][1]["content"])
