"""Question bank page: questions, what each reveals about the runs, and edits with their effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from aiohttp import web

from assay.api.bank import EDITS, ListedBank, WantedEdit
from assay.model.wording import counted
from assay.page.wording import span
from assay.web.desk import Refused
from assay.web.replies import answered, bench_of, body_of, page
from assay.web.runs import ScoredFolder
from assay.web.security import PERSON
from assay.web.values import anchor

_MOST_MOVED = 20


def routes() -> list[web.RouteDef]:
    """Routes of the page."""
    return [web.get("/bank", show), web.post("/api/bank", change)]


async def show(request: web.Request) -> web.StreamResponse:
    """Show the questions of the folder's bank."""
    if not request[PERSON].adjudicates:
        raise web.HTTPForbidden(text="Banks are for adjudicators and organisers.")
    bench = bench_of(request)
    if "exam" not in bench.opened.parts:
        raise web.HTTPNotFound(text="This folder has no question bank.")
    listed = ListedBank.read(bench.opened.folder.path)
    scored = await bench.scored()
    items = {(one.query, one.question): one for one in scored.items}
    rows = [
        (row | {"anchor": anchor(str(row["question"]))}, items.get((row["query"], row["id"])))
        for row in listed.rows(None)
    ]
    return page(
        request, "bank.html", rows=rows, version=len(listed.edits), runs=len(scored.runs),
        file=listed.path.name,
    )  # fmt: skip


@answered
async def change(request: web.Request) -> Any:
    """Edit one question, and report the effects."""
    said = await body_of(request)
    who, bench = request[PERSON], bench_of(request)
    if not who.organises:
        raise Refused("Only organisers edit the bank.", 403)
    if "exam" not in bench.opened.parts or said.get("action") not in tuple(EDITS):
        raise Refused("There is no such action.", 404)
    return await bench.edited_bank(_wanted(said, bench.opened.folder.path), f"human:{who.name}")


def _wanted(said: Mapping[str, Any], folder: Path) -> WantedEdit:
    """The edit requested by the page, whose data is untrusted. Raises Refused."""
    action, text = said["action"], " ".join(str(said.get("text", "")).split())
    query, weight = str(said.get("query", "")), said.get("weight")
    if action in ("reword", "add") and not text:
        raise Refused("The question is empty.", 422)
    if action == "weigh" and (type(weight) not in (int, float) or not 0 <= (weight or 0) < 1e6):
        raise Refused("A weight is a number from 0 to a million.", 422)
    if action != "add":
        return WantedEdit(action, str(said.get("id", "")), query, text or None, weight)
    if query not in ListedBank.read(folder).bank.queries:
        raise Refused(
            f"The bank has no query {query!r}; 'assay bank edit FOLDER --add' makes one.", 422
        )
    return WantedEdit(action, text, query)


def moved_in_words(before: ScoredFolder, after: ScoredFolder) -> str:
    """The effects of an edit in words: every leaderboard score that changed."""
    names = [name for board in after.boards for name in board.measures]
    then = {(run, name): ends for run, name, *ends in _ends(before, names)}
    found: dict[str, list[str]] = {}
    for run, name, *ends in _ends(after, names):
        if then.get((run, name)) != ends:
            old = span(*then.get((run, name), (None, None)))
            found.setdefault(name, []).append(f"{run} {old} → {span(*ends)}")
    if not found:
        return "No score changes."
    lines = [
        f"{name}: {'; '.join(some[:_MOST_MOVED])}"
        + (f" and {len(some) - _MOST_MOVED} more" if len(some) > _MOST_MOVED else "")
        for name, some in found.items()
    ]
    missing = f" Missing now: {counted(after.missing, 'label')}." if after.missing else ""
    return ". ".join(lines) + f".{missing}"


def _ends(scored: ScoredFolder, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    rows = scored.scores.filter(pl.col("measure").is_in(names))
    return rows.select("run", "measure", "floor", "ceiling").iter_rows()
