"""Results as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup, escape

from assay.api.results import Results
from assay.page.wording import NOTHING, interval, one_line, span
from assay.protocols.pages import policy_in_words
from assay.protocols.results import Board, Result
from assay.protocols.scores import Score, ranks
from assay.reports.leaderboards import rank_texts
from assay.reports.text import closed

_STYLE = "text-align:right"


def as_html(results: Results) -> str:
    """The leaderboards as tables, with what is missing below. Texts of files are escaped."""
    return str(Markup("").join(_parts(results)))


def _parts(results: Results) -> Iterator[Markup]:
    policy = one_line(policy_in_words(results.policy))
    for name, one in results.by_protocol.items():
        for board in one.findings.boards:
            title = f"{results.prefix(name)}{board.title} (policy: {policy})"
            yield Markup("<h4>{}</h4>").format(one_line(title))
            yield _table(one, board)
        for gap in one.gaps:
            what = one_line(f"{gap.count:,} {closed(gap.what)} {gap.so}")
            yield Markup("<p>{}</p>").format(what)
    for text in results.warnings:
        yield Markup("<p>Note: {}</p>").format(one_line(text))


def _table(result: Result, board: Board) -> Markup:
    scores, first = result.findings.scores, board.measures[0]
    order = rank_texts(ranks(scores, first, lower_is_better=first in board.lower_is_better))
    head = Markup("").join(
        Markup("<th>{}</th>").format(name) for name in ("#", "run", *board.measures)
    )
    rows = Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td>{}</tr>").format(
            rank, one_line(run), Markup("").join(_cell(scores[run].get(m)) for m in board.measures)
        )
        for run, rank in order.items()
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, rows)


def _cell(score: Score | None) -> Markup:
    if score is None or score.floor is None:
        return Markup('<td style="{}">{}</td>').format(_STYLE, NOTHING)
    text = escape(span(score.floor, score.ceiling))
    if bounds := interval(score.low, score.high):
        text += Markup(" <small>{}</small>").format(bounds)
    return Markup('<td style="{}">{}</td>').format(_STYLE, text)
