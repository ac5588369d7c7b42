"""What lets a request in: the right host, the right origin, a session, and for every change a token
that only our own pages know. And what every reply says: nothing but our own files runs."""

from __future__ import annotations

import html
import secrets
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from assay.model.errors import AssayError
from assay.web.desk import Refused
from assay.web.people import Person

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CSRF = "X-Assay-Token"
MAX_BODY = 64 << 10
PERSON: web.RequestKey[Person] = web.RequestKey("person", Person)
TOKEN: web.RequestKey[str] = web.RequestKey("token", str)
NONCE: web.RequestKey[str] = web.RequestKey("nonce", str)
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


def cookie_of(request: web.Request) -> str:
    """The cookie's name: browsers hold cookies by host, and two workbenches may stand on one."""
    return f"assay_{urlsplit('//' + request.headers.get(hdrs.HOST, '')).port or 80}"


def guard(hosts: Collection[str], session: Session) -> Middleware:
    """The middleware that all requests pass. ``hosts`` are the names (with port) that the server
    goes by, ``session`` tells who comes with a cookie, and whether that is more than a look."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[NONCE] = secrets.token_urlsafe(16)
        reply = await _let_in(request, handler)
        reply.headers.setdefault(hdrs.CONTENT_SECURITY_POLICY, policy(request[NONCE]))
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
            why = "This server goes by another name (assay ui --url gives it one more)."
            return _no(request, 403, why)
        free = request.path.startswith(_FREE) and request.method == hdrs.METH_GET
        if not free and not _from_here(request, hosts):
            return _no(request, 403, "This request comes from another site.")
        try:
            # Where a link leads to, its preview may be led, too; a browser asks for the style.
            looks = request.path in ("/enter", "/")
            found = await session(request.cookies.get(cookie_of(request), ""), looks)
        except AssayError as error:
            return _no(request, 503, str(error))
        if free:
            return await _handled(request, handler)
        if found is None:
            return _no(request, 401, "Open the link that you were given (or ask for a new one).")
        request[PERSON], request[TOKEN] = found
        if request.method not in _READS:
            given = request.headers.get(CSRF, "")
            if not secrets.compare_digest(
                given.encode("utf-8", "replace"), request[TOKEN].encode()
            ):
                return _no(request, 403, "The page is of another session; load it again.")
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
    """Whether a browser says that our own page asks, or a person who opens an address. What sends
    neither header is no browser, and has no cookie of somebody else's."""
    site = request.headers.get("Sec-Fetch-Site")
    changes = request.method not in _READS
    if site is not None and site not in ({"same-origin"} if changes else {"same-origin", "none"}):
        return False
    origin = request.headers.get(hdrs.ORIGIN)
    return origin is None or urlsplit(origin).netloc.casefold() in hosts


def _no(request: web.Request, status: int, why: str) -> web.Response:
    """A refusal: a page for a person, JSON for a program."""
    if "text/html" not in request.headers.get(hdrs.ACCEPT, ""):
        return web.json_response({"error": why}, status=status)
    page = (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Assay</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="/static/bench.css"><main><h1>{html.escape(why)}</h1>'
        '<p><a href="/">To the workbench</a></p></main></html>'
    )
    return web.Response(text=page, content_type="text/html", status=status)
