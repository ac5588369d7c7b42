"""The live report on the current labels: made on request, and kept until there is a new label."""

from __future__ import annotations

import asyncio
import html
import re
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web

from assay.api.opened import Opened
from assay.ledger.chain import Head
from assay.model.errors import AssayError
from assay.model.locking import TemporaryFolder, remove_abandoned
from assay.model.progress import ProgressCallback
from assay.model.wording import duration_text
from assay.protocols.manifest import REPORT
from assay.web.desk import Refused
from assay.web.replies import answered, bench_of, number_in, page
from assay.web.security import NO_FRAMES, NOTHING

_AT_ONCE = 1.0
"""Seconds that a browser waits before the progress page is shown."""

_TOP = '<header class="top">'
"""The beginning of every report page."""

_NOT_MADE = "The report could not be made; see the terminal of the workbench for the reason."

_KIND = "report"
"""Prefix of the temporary folder."""

Write = Callable[[Path, ProgressCallback], Awaitable[None]]


class LiveReport:
    """Numbered reports, made one at a time in a temporary folder. ``write`` makes one, and is
    called only if ``head``, the ledger's head, has changed since the last."""

    def __init__(self, write: Write, head: Callable[[], Awaitable[Head]]) -> None:
        self._write, self._head = write, head
        remove_abandoned(_KIND)
        self._folder: TemporaryFolder | None = None
        self._forgotten = 0
        self._of: tuple[Head, int] | None = None
        self._making: asyncio.Task[None] | None = None
        self._wanted = self._begun = self._done = self._given = 0
        self._wrong: tuple[str, int] | None = None
        self._since, self._started = 0.0, 0.0
        self._doing, self._share = "", ""

    def forget(self) -> None:
        """Make a new report next time even with the same labels, because the data they describe
        changed."""
        self._forgotten += 1

    def close(self) -> None:
        """Delete its files."""
        if self._folder is not None:
            self._folder.close()

    async def _state(self) -> tuple[Head, int]:
        return await self._head(), self._forgotten

    async def asked(self) -> int:
        """The number of the report for a new request: the one in progress if nothing has changed
        since it was begun, otherwise the next."""
        state = await self._state()
        if self._begun > self._done and self._of == state:
            return self._begun
        self._wanted = self._begun + 1
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._make())
        return self._wanted

    async def _make(self) -> None:
        while self._begun < self._wanted:
            self._begun += 1
            self._since, self._started = time.monotonic(), time.time()
            self._doing, self._share = "", ""
            self._wrong = await self._made()
            self._done = self._begun

    async def _made(self) -> tuple[str, int] | None:
        """Make a report if needed. Returns the error message and HTTP status, or None."""
        try:
            state = await self._state()
            if state != self._of or self.file(REPORT) is None:
                self._of = state
                await self._write(self._its_folder(), self._told)
        except AssayError as error:
            wrong = str(error), 503
        except Exception:  # noqa: BLE001 (whoever waits is told of it)
            traceback.print_exc()
            wrong = _NOT_MADE, 500
        else:
            return None
        self._of = None
        return wrong

    def _its_folder(self) -> Path:
        if self._folder is None or not self._folder.path.is_dir():
            self.close()
            self._folder = TemporaryFolder(_KIND)
        return self._folder.path

    def _told(self, what: str, done: int, share: float | None) -> None:
        self._doing, self._share = what, "" if share is None else f"{100 * share:.0f} %, "

    async def there(self, number: int) -> bool:
        """Whether that report is ready, after a short wait. Raises Refused if making it failed."""
        if number > self._wanted:  # a number from an earlier server
            number = await self.asked()
        if self._making is not None and self._done < number:
            await asyncio.wait({self._making}, timeout=_AT_ONCE)
        if self._done >= number and self._wrong is not None:
            raise Refused(*self._wrong)
        return self._done >= number

    async def is_due(self, number: int) -> bool:
        """Whether the last report may be shown: once to whoever waited for that number, even if
        labels came meanwhile, and to anybody while nothing has changed."""
        if self._given < number <= self._done and self._wrong is None:
            self._given = number
            return True
        return self._begun == self._done and self._of == await self._state()

    async def age(self, page: Path) -> float | None:
        """Age in seconds of a page that is older than the current labels; None if it is up to date,
        or has just been deleted."""
        try:
            written = page.stat().st_mtime
        except FileNotFoundError:
            return None
        replaced = self._begun > self._done and written < self._started
        return time.time() - written if replaced or self._of != await self._state() else None

    def in_words(self) -> dict[str, str]:
        """The current step and its progress."""
        return {
            "doing": f"Now: {self._doing}." if self._doing else "",
            "so_far": f"{self._share}{time.monotonic() - self._since:.0f} s so far.",
        }

    def file(self, name: str) -> Path | None:
        """A page of the last report by its path."""
        if self._folder is None:
            return None
        try:
            folder = self._folder.path.resolve()
            path = (folder / name).resolve()
            known = path.suffix == ".html" and path.is_relative_to(folder) and path.is_file()
        except (OSError, ValueError):  # not a valid file name
            return None
        return path if known else None


def write_live(opened: Opened, folder: Path, told: ProgressCallback) -> None:
    """Write the report on the current labels. Raises AssayError."""
    opened = replace(opened, progress=told)
    with opened.ledger() as ledger:
        ledger.checked()
        told("scores", 0, None)
        results = opened.score(ledger, whole=True)
        opened.write_report(results, folder / REPORT, ledger=ledger)


# -- its pages ------------------------------------------------------------------------------------


async def report(request: web.Request) -> web.StreamResponse:
    """Show the report, or a progress page while it is being made."""
    live = bench_of(request).report
    number = _number(request) or await live.asked()
    if await live.there(number):
        raise web.HTTPFound(f"/report/{REPORT}?n={number}")
    return page(request, "making.html", number=number, **live.in_words())


@answered
async def how_far(request: web.Request) -> Any:
    """Progress of a report."""
    live = bench_of(request).report
    return {"there": await live.there(_number(request)), **live.in_words()}


def _number(request: web.Request) -> int:
    return number_in(request.query.get("n", "")) or 0


async def report_page(request: web.Request) -> web.StreamResponse:
    """Show a page of the last report, with a notice if it is older than the labels. Only its own
    script and style may run. The first page is always up to date."""
    live, name = bench_of(request).report, request.match_info["name"]
    path = live.file(name)
    if path is None or (name == REPORT and not await live.is_due(_number(request))):
        raise web.HTTPFound("/report")
    age = await live.age(path)
    text = await asyncio.to_thread(path.read_text, encoding="utf-8")
    if age is not None:
        why = f"Labels have arrived since this page was made, {duration_text(age)} ago."
        link = f'<p class="alert"><a href="/report">{why} Open a report with them.</a></p>'
        text = text.replace(_TOP, f"{_TOP}\n{link}", 1)
    said = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    policy = f"{html.unescape(said[1]) if said else NOTHING}; {NO_FRAMES}"
    return web.Response(
        text=text, content_type="text/html", headers={"Content-Security-Policy": policy}
    )
