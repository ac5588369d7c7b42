"""Pages and JSON calls of the workbench."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote

from aiohttp import hdrs, web
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from assay.model.errors import AssayError
from assay.reports.page import languages_script
from assay.web import bank, offered, views
from assay.web.desk import PREFETCHED, QUEUES, Refused
from assay.web.people import SESSION
from assay.web.replies import (
    HERE,
    answered,
    bench_of,
    body_of,
    embedded,
    number_in,
    numbers_in,
    page,
)
from assay.web.security import COOKIE, PERSON, TOKEN

_STATIC = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_MOST_ASKED = 20


def _no_picture(_self: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
    """The alternative text of an image, since the page loads no images."""
    return escape(f"[{tokens[at].content or 'a picture'}: pictures are not shown here]")


_MARKDOWN.add_render_rule("image", _no_picture)


def routes() -> list[web.RouteDef]:
    """All routes of the workbench."""
    return [
        web.get("/", home),
        web.get("/enter", enter),
        web.get("/label/{task}", label),
        web.get("/api/next/{task}", following),
        web.get("/api/waits/{task}", waiting),
        web.get("/api/unit/{unit:[0-9]{1,12}}", unit),
        web.get("/api/recent/{task}", recent),
        web.post("/api/label/{unit:[0-9]{1,12}}", give),
        web.post("/api/aside/{unit:[0-9]{1,12}}", set_aside),
        web.get("/static/{name:[a-z0-9.-]+}", static),
        *views.routes(),
        *bank.routes(),
    ]


async def enter(request: web.Request) -> web.StreamResponse:
    """Sign in with a link. A request from another site (mail, web page) carries no cookie, so our
    own page repeats it. Whoever is already signed in as somebody else is asked first; otherwise a
    link's owner could make others label under its name. Over plain HTTP, browsers do not reveal
    where a request comes from, so our page sets a cookie that is sent back only from there."""
    bench = bench_of(request)
    token, site = request.query.get("t", ""), request.headers.get("Sec-Fetch-Site")
    came = f"{request[COOKIE]}_came"
    if site in ("cross-site", "same-site") or (site is None and came not in request.cookies):
        # A browser that still sends no cookie accepts none: this avoids an endless redirect.
        led = page(request, "enter.html", link=_link(token), again="here" in request.query)
        led.set_cookie(came, "1", httponly=True, samesite="Strict", path="/", secure=bench.secure)
        return led
    invited = await bench.do(bench.desk.state.invited, token)
    here = await bench.session(request.cookies.get(request[COOKIE], ""), True)
    if invited is None and here is None:
        return page(request, "away.html")
    if invited is None:
        raise web.HTTPFound("/")
    sure = "instead" in request.query and site in (None, "same-origin")
    if here is not None and here[0].id != invited.id and not sure:
        names = here[0].name, invited.name
        return page(request, "instead.html", link=_link(token) + "&instead=1", names=names)
    cookie = await bench.do(bench.desk.state.enter, token)
    if cookie is None:  # the link was used up meanwhile
        return page(request, "away.html")
    reply = web.HTTPFound("/")
    reply.set_cookie(
        request[COOKIE], cookie, httponly=True, samesite="Strict", path="/", max_age=SESSION,
        secure=bench.secure,
    )  # fmt: skip
    return reply


def _link(token: str) -> str:
    return f"/enter?t={quote(token)}&here=1"


async def home(request: web.Request) -> web.Response:
    """Show what there is to label."""
    bench = bench_of(request)
    await bench.do(bench.desk.refresh)
    counts = await bench.beside(partial(offered.counts, bench.desk, request[PERSON]))
    bench.keep_fresh()
    return page(request, "home.html", tasks=counts, queues=QUEUES)


async def label(request: web.Request) -> web.Response:
    """The page for labelling a task."""
    bench, task = bench_of(request), request.match_info["task"]
    queue = request.query.get("queue", "open")
    person = request[PERSON]
    desk = bench.desk
    wanted = number_in(request.query.get("unit", ""))
    edits = task in desk.tasks and desk.tasks[task].by_people and person.adjudicates
    if edits or queue == "widest":
        with suppress(AssayError):  # effects of edits, and the topics with the widest ranges
            await bench.scored()
    screens = await bench.do(desk.next, person, task, queue)
    if wanted is not None:
        row = await bench.do(desk.row, wanted)
        screens.insert(0, await bench.do(desk.screen, person, row))
    start = {
        "task": task,
        "queue": queue,
        "screens": screens,
        "recent": await bench.do(offered.recent, desk, person, task),
        "keys": desk.ui.keys,
        "own": desk.ui.words,
        "token": request[TOKEN],
        "moves": edits,
    }
    guideline = Markup(_MARKDOWN.render(desk.asked.guidelines[task]))  # noqa: S704 (no HTML passes)
    return page(
        request,
        "label.html",
        heading=desk.asked.titles[task],
        queue=QUEUES[queue],
        mode=desk.ui.mode,
        words=desk.ui.words,
        tells=desk.asked.titles[desk.asked.tells[task]] if task in desk.asked.tells else "",
        guideline=guideline,
        start=embedded(start),
    )


@answered
async def following(request: web.Request) -> Any:
    """The next units of a queue."""
    bench = bench_of(request)
    have = numbers_in(request.query.get("have", ""))
    found = await bench.do(
        bench.desk.next,
        request[PERSON],
        request.match_info["task"],
        request.query.get("queue", "open"),
        count=PREFETCHED,
        without=have[:_MOST_ASKED],
    )
    if len(found) < PREFETCHED:
        bench.keep_fresh()
    return found


@answered
async def waiting(request: web.Request) -> Any:
    """Why a queue with nothing left for this person still has open units."""
    bench, task = bench_of(request), request.match_info["task"]
    queue = request.query.get("queue", "open")
    if task not in bench.desk.tasks or queue not in QUEUES:
        raise Refused("There is no such queue.", 404)
    look = partial(offered.waits, bench.desk, request[PERSON], task, queue)
    return {"told": await bench.beside(look)}


@answered
async def unit(request: web.Request) -> Any:
    """A single unit, to look at again."""
    bench = bench_of(request)
    desk, person = bench.desk, request[PERSON]
    number, mode = int(request.match_info["unit"]), request.query.get("mode", "")

    def found() -> dict[str, Any]:
        settling = mode == "adjudication"
        if settling and not person.adjudicates:
            raise Refused("Disagreements are settled by adjudicators.", 403)
        return desk.screen(person, desk.row(number), mode if settling else "")

    return await bench.do(found)


@answered
async def recent(request: web.Request) -> Any:
    """The person's latest labels."""
    bench = bench_of(request)
    task = request.match_info["task"]
    return await bench.do(offered.recent, bench.desk, request[PERSON], task)


@answered
async def give(request: web.Request) -> Any:
    """Save a label."""
    bench = bench_of(request)
    said = await body_of(request)
    number = int(request.match_info["unit"])
    return await bench.give(request[PERSON], number, said)


@answered
async def set_aside(request: web.Request) -> Any:
    """Save a skip, a flag or a note."""
    bench = bench_of(request)
    said = await body_of(request)
    await bench.do(
        bench.desk.set_aside,
        request[PERSON],
        int(request.match_info["unit"]),
        str(said.get("kind", "")),
        said.get("text", ""),
    )
    return {"kept": True}


async def static(request: web.Request) -> web.StreamResponse:
    """A static file by name. Browsers revalidate it each time, so that no page runs old scripts
    after an update."""
    path = HERE / "static" / request.match_info["name"]
    kind = _STATIC.get(path.suffix)
    headers = {hdrs.CACHE_CONTROL: "no-cache", hdrs.CONTENT_TYPE: f"{kind}; charset=utf-8"}
    if path.name == "languages.js":  # reports use it, too
        return web.Response(text=languages_script(), headers=headers)
    if kind is None or not path.is_file():
        raise web.HTTPNotFound(text="There is no such file.")
    return web.FileResponse(path, headers=headers)
