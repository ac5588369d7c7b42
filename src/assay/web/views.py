"""Pages beside labelling: leaderboards, runs, topics, units, search, progress, people.

Plain labellers cannot open them, as they show others' labels and which run a text is from.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
import polars as pl
from aiohttp import web

from assay.model.errors import SettingsError
from assay.web import beside, live, report, runs
from assay.web.desk import QUEUES, Desk, Refused
from assay.web.people import Role
from assay.web.replies import answered, bench_of, body_of, numbers_in, page
from assay.web.security import PERSON, Handler
from assay.web.state import UnitRow, WorkbenchState
from assay.web.values import ago, in_brief


def routes() -> list[web.RouteDef]:
    """Routes of these pages."""
    number = "[0-9]{1,9}"
    return [
        web.get("/report", _for_adjudicators(report.report)),
        web.get("/report/{name:.+}", _for_adjudicators(report.report_page)),
        web.get("/api/report", _for_adjudicators(report.how_far)),
        web.get("/runs", _for_adjudicators(leaderboards)),
        web.get(f"/run/{{run:{number}}}", _for_adjudicators(run)),
        web.get(f"/topic/{{topic:{number}}}", _for_adjudicators(topic)),
        web.get(f"/unit/{{unit:{number}}}", _for_adjudicators(unit)),
        web.get("/units", _for_adjudicators(units)),
        web.get("/search", _for_adjudicators(search)),
        web.get("/live", _for_adjudicators(how_it_goes)),
        web.get("/people", people),
        web.get("/api/moved", _for_adjudicators(moved_scores)),
        web.post("/api/invite", invite),
        web.post("/api/leave", leave),
    ]


def _for_adjudicators(handler: Handler) -> Handler:
    async def let_in(request: web.Request) -> web.StreamResponse:
        if not request[PERSON].adjudicates:
            raise web.HTTPForbidden(
                text="These pages show other people's labels and are for adjudicators only."
            )
        return await handler(request)

    return let_in


async def leaderboards(request: web.Request) -> web.StreamResponse:
    """The leaderboards under the current labels."""
    scored = await bench_of(request).scored()
    return page(
        request,
        "runs.html",
        boards=scored.boards,
        number=scored.number,
        stands_on=scored.stands_on,
        topics=scored.topics,
    )


@answered
async def moved_scores(request: web.Request) -> Any:
    """Scores that changed since the person last looked."""
    return {"told": await bench_of(request).moved_scores()}


async def run(request: web.Request) -> web.StreamResponse:
    """A run's values, topic by topic."""
    scored, at = await bench_of(request).scored(), int(request.match_info["run"])
    name = _nth(scored.runs, at)
    table = scored.per_topic.filter(pl.col("run") == name)
    measures = table["measure"].unique(maintain_order=True).to_list()
    rows: dict[str, dict[str, Any]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(row["topic"], {})[row["measure"]] = row
    numbered = [(one, scored.topics.index(one), cells) for one, cells in sorted(rows.items())]
    return page(request, "run.html", run=name, at=at, measures=measures, rows=numbered)


async def topic(request: web.Request) -> web.StreamResponse:
    """A topic under one run, or two side by side."""
    bench = bench_of(request)
    scored = await bench.scored()
    name = _nth(scored.topics, int(request.match_info["topic"]))
    asked = numbers_in(",".join(request.query.get(one, "") for one in ("a", "b")))
    chosen = [_nth(scored.runs, one) for one in asked][:2]
    chosen = list(dict.fromkeys(chosen)) or scored.runs[:1]
    here = scored.per_topic.filter((pl.col("topic") == name) & pl.col("run").is_in(chosen))
    values: dict[str, dict[str, Any]] = {}
    for row in here.iter_rows(named=True):
        values.setdefault(row["measure"], {})[row["run"]] = row
    used = scored.used(name, chosen)
    hashes = [cell["unit"] for one in used for cell in one["cells"].values()]
    known = await bench.do(bench.desk.by_hash, hashes)
    await bench.do(bench.desk.see, request[PERSON], [row.id for row in known.values()])
    own = await asyncio.to_thread(beside.handed_in, bench.opened, name, chosen)
    await asyncio.to_thread(_in_words, bench.desk, used, known)
    edits = await bench.do(bench.desk.edits_of_topic, name, request[PERSON])
    return page(
        request, "topic.html", topic=name, runs=scored.runs, chosen=chosen,
        values=list(values.items()), used=used, units={one: row.id for one, row in known.items()},
        own=own, edits=edits,
    )  # fmt: skip


def _in_words(desk: Desk, used: list[dict[str, Any]], known: Mapping[str, UnitRow]) -> None:
    """Content and verdict at each place, with words that differ between two cells marked."""
    for one in used:
        cells = list(one["cells"].values())
        texts = [
            [desk.brief(known[cell["unit"]], 1000)] if cell["unit"] in known else []
            for cell in cells
        ]
        marked = beside.both(*texts) if len(texts) == 2 else [[[(t[0], False)] for t in texts if t]]
        for at, cell in enumerate(cells):
            cell["text"] = next(iter(marked[at]), []) if at < len(marked) else []
            cell["said"] = in_brief(orjson.loads(cell["verdict"])) if cell["verdict"] else "failed"


async def unit(request: web.Request) -> web.StreamResponse:
    """A unit with all its labels."""
    bench = bench_of(request)
    number = int(request.match_info["unit"])
    found = await bench.do(runs.history, bench.desk, number)
    await bench.do(bench.desk.see, request[PERSON], [number])
    edits = await bench.do(bench.desk.edits, found["row"], request[PERSON])
    task = bench.desk.tasks[found["row"].task]
    return page(request, "unit.html", task=task, edits=edits, **found)


async def units(request: web.Request) -> web.StreamResponse:
    """Units by number: those behind a cell of a confusion table."""
    bench = bench_of(request)
    numbers = numbers_in(request.query.get("n", ""))[:100]
    rows = await bench.do(bench.desk.rows, numbers)
    await bench.do(bench.desk.see, request[PERSON], [row.id for row in rows])  # the cell says how
    found = [_listed(bench.desk, row) for row in rows if row.task in bench.desk.tasks]
    return page(request, "units.html", found=found)


async def search(request: web.Request) -> web.StreamResponse:
    """Units whose texts contain given words."""
    bench, text = bench_of(request), request.query.get("q", "")[:200]
    rows, more = await bench.beside(partial(runs.search, text=text))
    found = [_listed(bench.desk, row) for row in rows]
    return page(request, "search.html", q=text, found=found, more=more)


def _listed(desk: Desk, row: UnitRow) -> tuple[int, str, str, str]:
    return row.id, row.task, row.topic, desk.brief(row)


async def how_it_goes(request: web.Request) -> web.StreamResponse:
    """Progress, agreement, and what more labels would achieve."""
    bench = bench_of(request)
    await bench.do(bench.desk.refresh)  # labels may have been imported meanwhile
    bench.keep_fresh()
    tasks = bench.desk.tasks.items()

    def looked(state: WorkbenchState) -> dict[str, Any]:
        return {
            "by_task": [(task.title, live.topics(state, name)) for name, task in tasks],
            "done": live.done(bench.desk, state),
            "beside": live.said_beside(state),
            "unattended": live.unattended(bench.desk, state),
        }

    found = await bench.beside(looked)
    (scored, agreed), age = await bench.progress.fresh()
    measure, ranges = scored.open_ranges()
    outlook, outlook_age = await bench.outlook.last()
    return page(
        request, "live.html", **found, still="still" in request.query, agreed=agreed,
        most_paired=live.MOST_PAIRED, most_said=live.MOST_SAID, age=ago(age), measure=measure,
        ranges=ranges,
        boards=scored.boards, stands_on=scored.stands_on, missing=scored.missing,
        outlook=outlook, outlook_age=ago(outlook_age), queue=QUEUES["widest"],
    )  # fmt: skip


def _nth(names: list[str], number: int) -> str:
    if number >= len(names):
        raise Refused("There is no such page.", 404)
    return names[number]


# -- people ---------------------------------------------------------------------------------------


async def people(request: web.Request) -> web.StreamResponse:
    """Who has access, for organisers."""
    if not request[PERSON].organises:
        raise web.HTTPForbidden(text="Only organisers invite people.")
    bench = bench_of(request)
    await bench.do(bench.desk.refresh)
    bench.keep_fresh()
    now = time.time()

    def looked(state: WorkbenchState) -> dict[str, Any]:
        return {
            "people": state.people(),
            "practised": state.practised(),
            "coming": {one.id for one in state.coming()},
            "done": {who: (n, ago(now - last)) for who, (n, last) in state.done().items()},
        }

    return page(request, "people.html", **await bench.beside(looked))


@answered
async def invite(request: web.Request) -> Any:
    """Create a link for somebody."""
    said = await body_of(request)
    name, role = str(said.get("name", "")).strip(), str(said.get("role", ""))
    if not request[PERSON].organises:
        raise Refused("Only organisers invite people.", 403)
    if role not in set(Role):
        raise Refused("There is no such role.", 422)
    if name == request[PERSON].name:
        raise Refused("That is you.", 422)
    try:
        link = await bench_of(request).invited(name, Role(role))
    except SettingsError as error:
        raise Refused(str(error), 422) from error
    return {"told": f"For {name}, once: {link}"}


@answered
async def leave(request: web.Request) -> Any:
    """Revoke a person's access."""
    said = await body_of(request)
    if not request[PERSON].organises:
        raise Refused("Only organisers can do this.", 403)
    bench = bench_of(request)
    who = next(
        (one for one in await bench.do(bench.desk.state.people) if one.id == said.get("person")),
        None,
    )
    if who is None:
        raise Refused("There is no such person.", 404)
    if who == request[PERSON]:
        raise Refused("That is you.", 422)
    await bench.do(bench.desk.state.leave, who)
    return {"told": f"{who.name} no longer has access; the labels remain."}
