"""A real browser, one for all tests of a process: to start one, or to open a tab of it, takes
longer than most tests."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

# The first is the same browser without a desktop's windows, extensions and settings pages: it takes
# two thirds of the time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
FOUND = next(filter(None, map(shutil.which, _NAMES)), None)
_AXE = Path(__file__).parent / "web" / "axe.min.js"
VIEWPORT = {"width": 1280, "height": 720}
_EMPTY = """() => {
  try { localStorage.clear(); sessionStorage.clear(); } catch { /* a page without an origin */ }
}"""


def violations(page: Page, options: str = "") -> list[tuple[str, list[str]]]:
    """The rules of accessibility that a page breaks, by axe, with the beginnings of the first
    elements that do."""
    # As an element of the page it would take several times as long.
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found = page.evaluate(f"axe.run({options}).then((one) => one.violations)")
    return [(one["id"], [node["html"][:120] for node in one["nodes"]][:5]) for one in found]


class Chromium:
    """The system's, headless. From its first call on Playwright counts as a running event loop of
    this thread, in which no command could be tested: it does so while tabs are lent, no longer."""

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        self._browser = self._playwright.chromium.launch(
            executable_path=FOUND, args=["--no-sandbox", "--process-per-site", "--in-process-gpu"]
        )
        asyncio._set_running_loop(None)
        self._opened: dict[str, Page] = {}
        self._lent: list[Page] = []
        self.console: list[str] = []
        """What the pages that are lent wrote there, and the errors of their scripts."""

    @contextmanager
    def _awake(self) -> Iterator[None]:
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    @contextmanager
    def lending(self) -> Iterator[Chromium]:
        """Tabs for one test. They are emptied after it and stay open for the next."""
        self.console.clear()
        with self._awake():
            try:
                yield self
            finally:
                for page in self._lent:
                    self._emptied(page)
                self._lent.clear()

    def tab(
        self,
        *,
        script: str = "",
        viewport: Any = VIEWPORT,
        color_scheme: Any = "light",
        fresh: bool = False,
        **options: Any,
    ) -> Page:
        """An empty page, of a person who has none of the other tabs of the test. ``script`` runs on
        each of its pages before their own. ``fresh``: no test has had it, nor will another."""
        key = f"{len(self._lent)} {script} {options}"
        if fresh:
            page = self._begun(script, {**options, "viewport": viewport})
        else:
            if key not in self._opened:
                self._opened[key] = self._begun(script, options)
            page = self._opened[key]
            page.set_viewport_size(viewport)
        self._lent.append(page)
        page.emulate_media(media="screen", color_scheme=color_scheme)
        return page

    def _begun(self, script: str, options: dict[str, Any]) -> Page:
        page = self._browser.new_context(**options).new_page()
        page.context.add_init_script(
            "document.addEventListener('securitypolicyviolation', (event) =>"
            f" console.error('CSP ' + event.violatedDirective + ' ' + event.blockedURI));{script}"
        )
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(f"pageerror: {error}"))
        return page

    def _emptied(self, page: Page) -> None:
        if page not in self._opened.values():
            page.context.close()
            return
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.unroute_all()
        page.evaluate(_EMPTY)
        page.mouse.move(0, 0)
        page.goto("about:blank")
        page.context.clear_cookies()

    def close(self) -> None:
        with self._awake():
            self._browser.close()
            self._playwright.stop()
