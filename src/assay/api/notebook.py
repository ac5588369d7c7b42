"""HTML of results for notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from assay.api.results import Results
from assay.page.page import Board, Page
from assay.page.wording import one_line
from assay.protocols.pages import page_of
from assay.reports.leaderboards import cell, ranked
from assay.reports.text import closed

_RIGHT = Markup('<td style="text-align:right;white-space:nowrap">{}</td>')
_WITH_ENDS = Markup('<td style="text-align:right;white-space:nowrap">{} <small>{}</small></td>')


def as_html(results: Results) -> str:
    """The leaderboards as HTML tables, followed by missing labels, whose labels they are based on,
    and warnings. Text from files is escaped."""
    return str(Markup("").join(_parts(results)))


def _parts(results: Results) -> Iterator[Markup]:
    for name, one in results.by_protocol.items():
        page = page_of(one, sections=False)
        for board in page.boards:
            title = f"{results.prefix(name)}{board.title} (policy: {page.policy_says})"
            yield Markup("<h4>{}</h4>").format(one_line(title))
            yield _table(page, board)
        for gap in page.gaps:
            what = one_line(f"{gap.count:,} {closed(gap.what)} {gap.so}")
            yield Markup("<p>{}</p>").format(what)
    for text in results.stands_on_in_words:
        yield Markup("<p>{}</p>").format(text)
    for text in results.warned("see remarks for all."):
        yield Markup("<p>Note: {}</p>").format(one_line(text))


def _table(page: Page, board: Board) -> Markup:
    names = ("#", "run", *board.measures)
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>").format(
        Markup("").join(Markup("<th>{}</th>").format(name) for name in names)
    )
    for run, rank in ranked(page.scores, board).items():
        table += Markup("<tr><td>{}</td><td>{}</td>").format(rank, one_line(run))
        for name in board.measures:
            one = cell(page.scores[run].get(name))
            table += (_WITH_ENDS if one.below else _RIGHT).format(one.text, one.below)
        table += Markup("</tr>")
    return table + Markup("</tbody></table>")
