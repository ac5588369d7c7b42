"""The report as the labels stand: made when somebody asks for it, kept until a label comes."""

from __future__ import annotations

import asyncio
import html
import re
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import hdrs, web

from assay.api.opened import Opened
from assay.ledger.chain import Head
from assay.model.going import Told
from assay.protocols.manifest import REPORT
from assay.web.replies import answered, bench_of, number_in, page
from assay.web.security import NO_FRAMES, NOTHING

_AT_ONCE = 1.0
"""Seconds that a browser waits without being told that the report is being made."""

Write = Callable[[Path, Told, Head | None], Awaitable[Head]]


class LiveReport:
    """Reports, made one after the other into a folder of the system's. ``write`` writes one there,
    unless the ledger is still as it was for the last; it returns how the ledger is."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._head: Head | None = None
        self._making: asyncio.Task[None] | None = None
        self._begun = self._done = 0
        self._since = 0.0
        self._doing = ""

    def forget(self) -> None:
        """Have the next report made whatever the labels are: what they are about is another."""
        self._head = None

    def close(self) -> None:
        """Take its files away."""
        if self._folder is not None:
            self._folder.cleanup()

    def asked(self) -> int:
        """The number of the report that somebody who asks now gets: one that is being made, or
        a new one."""
        if self._making is None or self._making.done():
            self._begun += 1
            self._since, self._doing = time.monotonic(), ""
            self._making = asyncio.create_task(self._made())
        return self._begun

    async def _made(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="assay-")
        self._head = await self._write(Path(self._folder.name), self._told, self._head)
        self._done = self._begun

    def _told(self, what: str, done: int, share: float | None) -> None:
        self._doing = what if share is None else f"{what}, {100 * share:.0f} %"

    async def there(self, number: int) -> bool:
        """Whether that report is there; waits a moment for it. Raises what went wrong."""
        if number > self._begun or self._making is None:  # of a server that was here before
            self.asked()
        if self._making is not None and self._done < number:
            await asyncio.wait({self._making}, timeout=_AT_ONCE)
            if self._making.done():
                self._making.result()
        return self._done >= number

    def in_words(self) -> str:
        """What is being done, and since when."""
        now = f"Now: {self._doing}; " if self._doing else ""
        return f"{now}{time.monotonic() - self._since:.0f} s so far."

    def file(self, name: str) -> Path | None:
        """A page of the last report by its address."""
        if self._folder is None:
            return None
        folder = Path(self._folder.name).resolve()
        path = (folder / name).resolve()
        known = path.suffix == ".html" and path.is_relative_to(folder) and path.is_file()
        return path if known else None


def write_live(opened: Opened, folder: Path, told: Told, last: Head | None) -> Head:
    """Write the report of the labels as they stand, unless the ledger is as it was. Raises
    AssayError."""
    opened = replace(opened, told=told)
    with opened.ledger() as ledger:
        head = ledger.head()
        if head != last:
            ledger.checked()
            told("scores", 0, None)
            results = opened.score(ledger, whole=True)
            opened.write_report(results, folder / REPORT, ledger=ledger)
    return head


# -- its pages ------------------------------------------------------------------------------------


async def report(request: web.Request) -> web.StreamResponse:
    """The report; where it takes longer, a page that says how far it is."""
    live = bench_of(request).report
    number = live.asked()
    if await live.there(number):
        raise web.HTTPFound(f"/report/{REPORT}")
    return page(request, "making.html", number=number, told=live.in_words())


@answered
async def how_far(request: web.Request) -> Any:
    """How far a report is."""
    live = bench_of(request).report
    there = await live.there(number_in(request.query.get("n", "")) or 0)
    return {"there": there, "told": live.in_words()}


async def report_page(request: web.Request) -> web.StreamResponse:
    """A page of the report that was made last, on which its own script and style alone work."""
    path = bench_of(request).report.file(request.match_info["name"])
    if path is None:
        raise web.HTTPFound("/report")
    text = await asyncio.to_thread(path.read_text, encoding="utf-8")
    said = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    policy = f"{html.unescape(said[1]) if said else NOTHING}; {NO_FRAMES}"
    return web.Response(
        text=text, content_type="text/html", headers={hdrs.CONTENT_SECURITY_POLICY: policy}
    )
