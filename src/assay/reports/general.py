"""A page as HTML: one file that loads nothing, or a folder of such files.

See ``reports/page.py`` for what keeps it safe. The same page gives the same bytes.
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
"""Takes a file's name and what is in it."""

_HEADING = 120
"""A page's heading is cut at this, and all of it stands below."""

_WHICH = 140
"""Of a longer gap, what stands in brackets opens on a click."""


def render_report(page: Page, *, generated_by: str, max_bytes: int = MAX_BYTES) -> str:
    """The report as a single file of HTML.

    Where what opens on a click would take more than ``max_bytes`` the rest keeps its line, and the
    report says so.
    """
    return _render(page, Inside(max_bytes), generated_by)


def render_folder(
    page: Page,
    *,
    generated_by: str,
    name: str,
    write: Write,
    most: int = SINGLE_BYTES,
    told: ProgressCallback = no_progress,
) -> str:
    """The report as HTML: all of it where what opens on a click takes no more than ``most`` bytes;
    else with a link for each to a page of its own, which ``write`` is given once it is drawn.

    ``page``: what is shown. ``generated_by``: program and version. ``name``: the name that the
    report will have, such as ``report.html``; its pages lie in a folder ``report`` beside it.
    ``write``: takes ``part-3-1.html`` and so on. ``most``: bytes of HTML. ``told``: hears how it
    goes on with the pages of each section.
    """
    try:
        return _render(page, Inside(most, all_=True), generated_by)
    except TooLarge:
        folder = folder_of(name)

        def write_page(file: str, detail: Detail, body: Markup, passages: Passages) -> None:
            section = file.rpartition("-")[0]
            write(file, _page(page, generated_by, f"../{name}", section, detail, body, passages))
            told(f"pages of {name}", detail.place, fraction_done(detail.place, detail.of))

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
    """What opens on a click, as a page of its own."""
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
    """What is missing, in a line; ``which`` of them, where that is long."""

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
