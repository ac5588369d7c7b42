"""Checks on every request (host, origin, session, rate, and for each change a CSRF token that only
our own pages know), and security headers on every reply, so that only our own files run."""

from __future__ import annotations

import html
import secrets
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from assay.model.errors import AssayError
from assay.model.wording import printable
from assay.web.desk import Refused
from assay.web.people import Person

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CSRF = "X-Assay-Token"
MAX_BODY = 64 << 10
PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)
TOKEN: web.RequestKey[str] = web.RequestKey("token", str)
NONCE: web.RequestKey[str] = web.RequestKey("nonce", str)
COOKIE: web.RequestKey[str] = web.RequestKey("cookie", str)
NOTHING = "default-src 'none'"
NO_FRAMES = "frame-ancestors 'none'"
_FREE = ("/enter", "/static/")
_READS = (hdrs.METH_GET, hdrs.METH_HEAD)

Session = Callable[[str, bool], Awaitable[tuple[Person, str] | None]]


def policy(nonce: str) -> str:
    """The Content-Security-Policy: scripts with the page's nonce, our own styles and pictures;
    htmx alone may make elements from text."""
    return "; ".join(
        (
            NOTHING,
            f"script-src 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            NO_FRAMES,
            "require-trusted-types-for 'script'",
            "trusted-types htmx",
        )
    )


class Allowance:
    """A rate limit for each person: a burst, then so many requests per second. A program with
    somebody's cookie can neither fill the disk nor keep others waiting."""

    AT_ONCE = 1000
    A_SECOND = 10

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._used: dict[int, tuple[float, float]] = {}  # by person: requests, and when

    def has(self, person: Person) -> bool:
        """Whether a person may make another request, which is then counted."""
        now = self._clock()
        used, then = self._used.get(person.id, (0.0, now))
        used = max(0.0, used - self.A_SECOND * (now - then)) + 1
        if used > self.AT_ONCE:
            return False
        self._used[person.id] = used, now
        return True


def cookie_of(request: web.Request, secure: bool) -> str:
    """The cookie's name, which depends on the port because cookies belong to a host and it may run
    several workbenches. A ``secure`` one cannot be set by other hosts of the domain."""
    port = urlsplit("//" + request.headers.get(hdrs.HOST, "")).port or 80
    return f"{'__Host-' if secure else ''}assay_{port}"


def guard(hosts: Collection[str], session: Session, secure: bool = False) -> Middleware:
    """The middleware that all requests pass. ``hosts`` are the server's names (with port),
    ``session`` finds the person of a cookie, given whether they only look, and ``secure`` says
    whether people connect by https."""
    allowance = Allowance()

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[NONCE] = secrets.token_urlsafe(16)
        try:
            reply = await _let_in(request, handler)
        except Exception:  # noqa: BLE001 (the terminal has it)
            traceback.print_exc()
            told = "Something went wrong; see the terminal of the workbench for details."
            reply = _no(request, 500, told)
        reply.headers.setdefault("Content-Security-Policy", policy(request[NONCE]))
        reply.headers["X-Content-Type-Options"] = "nosniff"
        reply.headers["Referrer-Policy"] = "no-referrer"
        reply.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        reply.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        reply.headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
        if not request.path.startswith("/static/"):
            reply.headers[hdrs.CACHE_CONTROL] = "no-store"
        return reply

    async def _let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get(hdrs.HOST, "").casefold() not in hosts:
            why = "This server has a different name (give it another with assay ui --url)."
            return _no(request, 403, why)
        request[COOKIE] = cookie_of(request, secure)
        free = request.path.startswith(_FREE) and request.method == hdrs.METH_GET
        if not free and not _from_here(request, hosts):
            return _no(request, 403, "This request comes from another site.")
        try:
            # Where a link leads to, its preview may be led, too; a browser asks for the style.
            looks = request.path in ("/enter", "/")
            found = await session(request.cookies.get(request[COOKIE], ""), looks)
        except AssayError as error:
            return _no(request, 503, str(error))
        if free:
            return await _handled(request, handler)
        if found is None:
            return _no(request, 401, "Open the link that you were given, or ask for a new one.")
        request[PERSON], request[TOKEN] = found
        if not allowance.has(request[PERSON]):
            return _no(request, 429, "Too many requests. Wait a moment.")
        if request.method not in _READS:
            given = request.headers.get(CSRF, "")
            if not secrets.compare_digest(
                given.encode("utf-8", "replace"), request[TOKEN].encode()
            ):
                return _no(request, 403, "This page belongs to another session; reload it.")
        return await _handled(request, handler)

    return guarded


async def _handled(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The reply; what is refused, and what could not be done or kept, with its reason."""
    try:
        return await handler(request)
    except Refused as error:
        return _no(request, error.status, str(error))
    except AssayError as error:
        return _no(request, 503, str(error) if request.method in _READS else f"Not kept: {error}")
    except web.HTTPException as error:
        if error.status < 400:
            return error
        return _no(request, error.status, error.text or error.reason)


def _from_here(request: web.Request, hosts: Collection[str]) -> bool:
    """Whether the request comes from our own page or a person opening an address, according to the
    browser. A client that sends neither header is not a browser with somebody else's cookie."""
    site = request.headers.get("Sec-Fetch-Site")
    changes = request.method not in _READS
    if site is not None and site not in ({"same-origin"} if changes else {"same-origin", "none"}):
        return False
    origin = request.headers.get(hdrs.ORIGIN)
    return origin is None or origin.partition("://")[2].casefold() in hosts


def _no(request: web.Request, status: int, why: str) -> web.Response:
    """A refusal: a page for people, JSON for programs. Faults that the server's operator must fix
    are also reported on the server."""
    if status == 503:
        print(printable(f"{request.method} {request.path}: {why}"), file=sys.stderr)
    if "text/html" not in request.headers.get(hdrs.ACCEPT, ""):
        return web.json_response({"error": why}, status=status)
    page = (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Assay</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="/static/bench.css"><main><h1>{html.escape(why)}</h1>'
        '<p><a href="/">Go to the workbench</a></p></main></html>'
    )
    return web.Response(text=page, content_type="text/html", status=status)
