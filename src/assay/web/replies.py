"""Helpers for request handlers: pages from templates, JSON replies, and parsing of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from assay.page.wording import interval, number, span
from assay.web.desk import Refused
from assay.web.security import NONCE, PERSON, TOKEN

if TYPE_CHECKING:
    from assay.web.server import Bench

HERE = Path(__file__).parent
_SLOWEST = 30.0
"""Timeout in seconds for a request body of at most 64 KiB, so that idle connections are dropped."""
BENCH: web.AppKey[Any] = web.AppKey("bench", object)
PAGES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.globals.update(number=number, interval=interval, span=span)


def bench_of(request: web.Request) -> Bench:
    """The workbench being served."""
    bench: Bench = request.app[BENCH]
    return bench


def page(request: web.Request, template: str, **values: Any) -> web.Response:
    """Render one of the workbench's pages."""
    text = PAGES.get_template(template).render(
        nonce=request[NONCE],
        me=request.get(PERSON),
        token=request.get(TOKEN, ""),
        path=request.path,
        has_bank="exam" in bench_of(request).opened.parts,
        title=bench_of(request).title,
        **values,
    )
    return web.Response(text=text, content_type="text/html")


def answered(
    answer: Callable[[web.Request], Awaitable[Any]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The result of a call, as JSON."""

    async def handler(request: web.Request) -> web.Response:
        found = orjson.dumps(await answer(request))
        return web.Response(body=found, content_type="application/json")

    return handler


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element: it cannot end the element."""
    text = orjson.dumps(value).decode()
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)  # noqa: S704


def number_in(text: str) -> int | None:
    """The number in a part of an address, or None if it is invalid."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 13 else None


def numbers_in(text: str) -> list[int]:
    """The numbers in a comma-separated list."""
    return [one for one in map(number_in, text.split(",")) if one is not None]


async def body_of(request: web.Request) -> dict[str, Any]:
    """The JSON object in a request's body. Raises Refused."""
    if request.content_type != "application/json":
        raise Refused("Send JSON.", 415)
    try:
        async with asyncio.timeout(_SLOWEST):
            found = orjson.loads(await request.read())
    except (
        TimeoutError,
        ConnectionError,
    ) as error:  # laptop closed, or network lost
        raise Refused("The request took too long, or broke off.", 408) from error
    except orjson.JSONDecodeError as error:
        raise Refused("That is not JSON.", 400) from error
    if not isinstance(found, dict):
        raise Refused("Send a JSON object.", 400)
    return found
