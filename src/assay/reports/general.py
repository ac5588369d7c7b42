"""A page as HTML: one file that loads nothing.

See ``reports/page.py`` for what keeps it safe. The same page gives the same bytes.
"""

from __future__ import annotations

from markupsafe import Markup

from assay.page.page import Page
from assay.reports.leaderboards import drawn, ranked
from assay.reports.page import content_policy, environment, setting, source
from assay.reports.parts import MAX_BYTES, Look, draw, sections
from assay.reports.plots import interval_axis
from assay.reports.text import closed

__all__ = ["render_report"]


def render_report(page: Page, *, generated_by: str, max_bytes: int = MAX_BYTES) -> str:
    """Return the report as HTML.

    Where the bodies of cards would take more than *max_bytes* the rest keep their line in the
    matrix, and the report says so.
    """
    css, js = source("report.css"), source("report.js")
    about = {part: d.says for d in page.definitions for part in d.name.split(", ")}
    first = ranked(page.scores, page.boards[0]) if page.boards else {}
    look = Look({run: place for place, run in enumerate(first)}, about, max_bytes)
    html = (
        environment()
        .get_template("general.html.j2")
        .render(
            page=page,
            generated_by=generated_by,
            # Our own style sheet and script, read from the package.
            css=Markup(css),  # noqa: S704
            js=Markup(js),  # noqa: S704
            csp=content_policy(css, js),
            about=about,
            grave=any(gap.grave for gap in page.gaps),
            level="" if page.level is None else f"{page.level * 100:g}\u00a0%",
            boards=[drawn(page.scores, board) for board in page.boards],
            axis=interval_axis(),
            juries=[draw(jury, look) for jury in page.juries],
            first=list(sections(page.first, look, "first")),
            sections=list(sections(page.parts, look)),
            closed=closed,
            settings=[(key, setting(value)) for key, value in page.settings.items()],
        )
    )
    return html if html.endswith("\n") else html + "\n"
