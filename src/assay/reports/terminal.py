"""Terminal leaderboards, shared by all protocols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from rich.console import RenderableType
from rich.text import Text

from assay.measures.scores import Score, Scores
from assay.page.page import Board, Page
from assay.page.wording import NOTHING, narrow, one_line, score_interval, shortened, span
from assay.reports.leaderboards import ranked
from assay.reports.tables import Column, laid_out, parts, room
from assay.reports.text import closed

_NAME = 200
"""Most characters of a run's name shown."""


def board_tables(page: Page, width: int = 80) -> list[RenderableType]:
    """The leaderboards as tables of ``width``, with the policy in the title and missing labels
    below."""
    gaps = [f"• {gap.count:,} {closed(gap.what)} {gap.so}" for gap in page.gaps]
    lines = gaps or [f"Nothing is missing. {page.nothing}"]
    if page.stands_on:
        lines.append(f"Based on: {page.stands_on}.")
    return [
        table
        for place, board in enumerate(page.boards, 1)
        for table in _tables(page, board, width, lines if place == len(page.boards) else [])
    ]


def _tables(page: Page, board: Board, width: int, lines: Sequence[str]) -> Iterator[RenderableType]:
    """A leaderboard, in several tables if its measures do not fit into one; each has intervals for
    as many measures as fit."""
    rest = tuple(board.brief) or board.measures
    title = f"{board.title}, by {board.measures[0]}"
    if board is page.boards[0]:
        title += f" (policy: {one_line(page.policy_says)})"
    below = [board.below] if board.below else []
    while rest:
        bare = _columns(page, board, rest, frozenset())
        here = rest[: len(next(iter(parts(bare, width)))) - _ABOUT]
        rest = rest[len(here) :]
        shown = (_columns(page, board, here, frozenset(here[:n])) for n in range(len(here), 0, -1))
        fitting = (one for one in shown if room(one, close=True) <= width)
        columns = next(fitting, None) or _columns(page, board, here, frozenset())
        said = "" if rest else "\n".join(map(one_line, (*below, *lines)))
        yield laid_out(Text(title, style="bold"), columns, width, below=said, close=True)
        title = f"{board.title}, continued"


_ABOUT = 2  # columns that identify a row: rank and run


def _columns(page: Page, board: Board, measures: Sequence[str], ends: Set[str]) -> list[Column]:
    """Rank, run and measures, with intervals for those in ``ends``. Text from files is inserted as
    plain text, never as Rich markup."""
    order = ranked(page.scores, board)
    scores = {run: page.scores[run] for run in order}
    lower = board.lower_is_better
    rows = [score_row(run, rank, scores, measures, lower, ends=ends) for run, rank in order.items()]
    headings = ("#", "run", *(board.brief.get(name) or name for name in measures))
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        Column(Text(name), cells[at], number=name != "run", left=at > 1)
        for at, name in enumerate(headings)
    ]


def score_row(
    run: str,
    rank: str,
    scores: Scores,
    measures: Iterable[str],
    lower_is_better: Set[str],
    *,
    ends: Set[str],
) -> list[Text]:
    """A run's cells: rank, name and scores. The best floor of a column is bold; measures in
    ``ends`` get intervals."""
    cells = [Text(rank), Text(shortened(run, _NAME))]
    for name in measures:
        floors = [
            one.floor
            for by_measure in scores.values()
            if (one := by_measure.get(name)) is not None and one.floor is not None
        ]
        best = (min if name in lower_is_better else max)(floors, default=None)
        cells.append(_scored(scores[run].get(name), best, ends=name in ends))
    return cells


def _scored(score: Score | None, best: float | None, *, ends: bool) -> Text:
    if score is None or score.floor is None:
        return Text(NOTHING, style="dim")
    shown = narrow(span(score.floor, score.ceiling))
    text = Text(shown, style="bold" if score.floor == best else "")
    if ends and (bounds := score_interval(score)):
        text.append(f" {bounds}", style="not bold dim")
    return text
