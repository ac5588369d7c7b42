"""A page as HTML: one file that loads nothing, or a folder of such files.

``reports/page.py`` makes it safe. The same page gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from assay.model.progress import ProgressCallback, fraction_done, no_progress
from assay.page.files import folder_of, page_name
from assay.page.page import Page
from assay.page.wording import kinds_of, shortened
from assay.reports.leaderboards import drawn, ranked
from assay.reports.page import content_policy, environment, languages_script, setting, source
from assay.reports.parts import (
    MAX_BYTES,
    SINGLE_BYTES,
    Apart,
    Detail,
    Details,
    Inside,
    Look,
    Passages,
    TooLarge,
    draw,
    sections,
)
from assay.reports.svg import interval_axis
from assay.reports.text import closed

Write = Callable[[str, str], None]
"""Takes a file's name and its content."""

_HEADING = 120
"""Longer headings of pages are cut, and given in full below."""

_WHICH = 140
"""In a longer gap, the part in brackets opens on a click."""


def render_report(page: Page, *, generated_by: str, max_bytes: int = MAX_BYTES) -> str:
    """The report as a single file of HTML.

    If the details that open on a click would exceed ``max_bytes``, the rest show only their line,
    and the report says so.
    """
    return _render(page, Inside(max_bytes), generated_by)


def render_folder(
    page: Page,
    *,
    generated_by: str,
    name: str,
    write: Write,
    most: int = SINGLE_BYTES,
    progress: ProgressCallback = no_progress,
) -> str:
    """The report as HTML. If the details that open on a click exceed ``most`` bytes, each becomes a
    separate page, linked from the report and passed to ``write`` once rendered.

    ``generated_by``: program and version. ``name``: the report's future name, such as
    ``report.html``; its pages are in a folder ``report`` beside it. ``write`` takes names such as
    ``part-3-1.html``. Each section's pages are reported to ``progress``.
    """
    try:
        return _render(page, Inside(most, all_=True), generated_by)
    except TooLarge:
        folder = folder_of(name)

        def write_page(file: str, detail: Detail, body: Markup, passages: Passages) -> None:
            section = file.rpartition("-")[0]
            write(file, _page(page, generated_by, f"../{name}", section, detail, body, passages))
            progress(f"pages of {name}", detail.place, fraction_done(detail.place, detail.of))

        return _render(page, Apart(folder, write_page), generated_by)


def _render(page: Page, details: Details, generated_by: str) -> str:
    about = {part: d.says for d in page.definitions for part in d.name.split(", ")}
    first = ranked(page.scores, page.boards[0]) if page.boards else {}
    look = Look({run: place for place, run in enumerate(first)}, about, details)
    return _filled(
        "general",
        page=page,
        generated_by=generated_by,
        about=about,
        gaps=[_Gap.of(gap.count, gap.what, gap.so) for gap in page.gaps],
        grave=any(gap.grave for gap in page.gaps),
        warned=kinds_of(page.warnings, page.scores),
        level="" if page.level is None else f"{page.level * 100:g}\u00a0%",
        boards=[drawn(page.scores, board, page.only) for board in page.boards],
        axis=interval_axis(),
        juries=[draw(jury, look) for jury in page.juries],
        first=list(sections(page.first, look, "first")),
        sections=list(sections(page.parts, look)),
        closed=closed,
        settings=[(key, setting(value)) for key, value in page.settings.items()],
    )


def _page(
    page: Page, generated_by: str, back: str, section: str, detail: Detail, body: Markup,
    passages: Passages,
) -> str:  # fmt: skip
    """A detail as a separate page."""
    title = shortened(detail.title, _HEADING)
    return _filled(
        "detail",
        page=page,
        generated_by=generated_by,
        back=back,
        previous=page_name(section, detail.place - 1) if detail.place > 1 else "",
        next=page_name(section, detail.place + 1) if detail.place < detail.of else "",
        detail=detail,
        title=title,
        rest=detail.title if title.endswith("…") else "",
        body=body,
        passages=passages.places,
    )


def _filled(template: str, **values: Any) -> str:
    css, js = source("report.css"), languages_script() + source("report.js")
    html = (
        environment()
        .get_template(f"{template}.html.j2")
        .render(
            # Our own style sheet and scripts, read from the package.
            css=Markup(css),  # noqa: S704
            js=Markup(js),  # noqa: S704
            csp=content_policy(css, js),
            **values,
        )
    )
    return html if html.endswith("\n") else html + "\n"


@dataclass(frozen=True)
class _Gap:
    """A gap as a line; ``which`` holds the part that opens on a click if it is long."""

    what: str
    so: str
    which: str = ""

    @classmethod
    def of(cls, count: int, what: str, so: str) -> _Gap:
        said = f"{count:,} {what}"
        head, bracket, rest = said.partition(" (")
        if len(said) > _WHICH and bracket and rest.endswith(")"):
            return cls(head, so, rest[:-1])
        return cls(said, so)
