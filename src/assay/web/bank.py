"""The page of a question bank: its questions, what each tells of the runs, and editing them where
they are seen, with what an edit moves."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from assay.api import bank as banks
from assay.web.desk import Refused
from assay.web.replies import answered, bench_of, body_of, page
from assay.web.security import PERSON

_ACTIONS = ("reword", "drop", "restore", "weigh", "add")
_MOST_MOVED = 20


def routes() -> list[web.RouteDef]:
    """The addresses of the page."""
    return [web.get("/bank", show), web.post("/api/bank", change)]


async def show(request: web.Request) -> web.StreamResponse:
    """The questions of the folder's bank."""
    if not request[PERSON].adjudicates:
        raise web.HTTPForbidden(text="Banks are for adjudicators and organisers.")
    bench = bench_of(request)
    if "exam" not in bench.opened.parts:
        raise web.HTTPNotFound(text="This folder has no question bank.")
    listed = banks.Listed.read(bench.opened.folder.path)
    scored = await bench.scored()
    items = {(one.query, one.question): one for one in scored.items}
    rows = [(row, items.get((row["query"], row["id"]))) for row in listed.rows(None)]
    return page(
        request, "bank.html", rows=rows, version=len(listed.edits), runs=len(scored.runs),
        file=listed.path.name,
    )  # fmt: skip


@answered
async def change(request: web.Request) -> Any:
    """Edit one question, and say what that moves."""
    said = await body_of(request)
    who, bench = request[PERSON], bench_of(request)
    if not who.organises:
        raise Refused("Only organisers edit the bank.", 403)
    if "exam" not in bench.opened.parts or said.get("action") not in _ACTIONS:
        raise Refused("There is no such thing to do.", 404)
    return await bench.edited_bank(_wanted(said), f"human:{who.name}")


def _wanted(said: dict[str, Any]) -> banks.Added | banks.Changed:
    action, text = said["action"], " ".join(str(said.get("text", "")).split())
    query, identity = str(said.get("query", "")), str(said.get("id", ""))
    if action in ("reword", "add") and not text:
        raise Refused("The question has no words.", 422)
    if action == "add":
        return banks.Added(query, text, None, (), None)
    more: dict[str, Any] = {}
    if action == "reword":
        more = {"text": text}
    elif action == "weigh":
        weight = said.get("weight")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < 1e6:
            raise Refused("A weight is a number from 0.", 422)
        more = {"weight": float(weight)}
    elif action in ("drop", "restore"):
        more = {"active": action == "restore"}
    return banks.Changed(action, identity, query, more)


def in_words(document: dict[str, Any]) -> str:
    """What an edit moves, for people: each run's EXAM-Cover before and after."""
    found = [
        f"{one['run']} {_end(one, 'before')} → {_end(one, 'after')}" for one in document["runs"]
    ]
    if not found:
        return "No run's EXAM-Cover moves."
    more = len(found) - _MOST_MOVED
    shown = "; ".join(found[:_MOST_MOVED]) + (f" and {more} more" if more > 0 else "")
    missing = document["grades_missing"]["after"]
    asks = f" {missing:,} grades are missing now." if missing else ""
    return f"EXAM-Cover: {shown}.{asks}"


def _end(one: dict[str, Any], side: str) -> str:
    value = one.get(side)
    if value is not None:
        return f"{value:.3f}"
    floor, ceiling = one.get(f"{side}_floor"), one.get(f"{side}_ceiling")
    return "–" if floor is None or ceiling is None else f"{floor:.3f}–{ceiling:.3f}"
