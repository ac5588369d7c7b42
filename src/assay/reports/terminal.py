"""Leaderboards in the terminal: what those of all protocols share."""

from __future__ import annotations

from collections.abc import Iterable, Set

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from assay.measures.scores import Score, Scores
from assay.page.page import Board, Page
from assay.page.wording import NOTHING, interval, narrow, one_line, shortened, span
from assay.reports.leaderboards import ranked
from assay.reports.text import broken, closed

NAME = 22
"""Columns of a run's name; twice as many characters are shown of it."""

_COLUMNS = 80
"""What tables are made for: intervals are shown as far as they leave room."""

_RANGES = 4
"""Measures that a table of 80 columns has room for where some score is a range."""

_LONG = 8


def board_tables(page: Page) -> list[Table]:
    """Return the leaderboards as Rich tables, the policy in the title, what is missing below."""
    gaps = [f"• {gap.count:,} {closed(gap.what)} {gap.so}" for gap in page.gaps]
    lines = gaps or [f"Nothing is missing. {page.nothing}"]
    if page.stands_on:
        lines.append(f"Stands on: {page.stands_on}.")
    return [
        table
        for place, board in enumerate(page.boards, 1)
        for table in _board_tables(page, board, lines if place == len(page.boards) else [])
    ]


def _board_tables(page: Page, board: Board, lines: list[str]) -> list[Table]:
    """A board, in several tables where ranges make it wider than 80 columns: no number is cut."""
    measures = tuple(board.brief) or board.measures
    known = [
        score.value is not None or score.floor is None
        for by_measure in page.scores.values()
        for name, score in by_measure.items()
        if name in measures
    ]
    size = len(measures) if all(known) or board.brief else _RANGES
    parts = [measures[at : at + size] for at in range(0, len(measures), size)]
    below = [board.below] if board.below else []
    return [
        _fitting(page, board, part, [*below, *lines] if part is parts[-1] else []) for part in parts
    ]


def _fitting(page: Page, board: Board, measures: tuple[str, ...], lines: list[str]) -> Table:
    """A table with the intervals of as many measures as there is room for."""
    console = Console(width=10 * _COLUMNS)
    for ends in range(len(measures), -1, -1):
        table = _board_table(page, board, measures, lines, frozenset(measures[:ends]))
        bare = _board_table(page, board, measures, [], frozenset(measures[:ends]))
        bare.title = None
        if Measurement.get(console, console.options, bare).maximum <= _COLUMNS:
            break
    return table


def _board_table(
    page: Page, board: Board, measures: tuple[str, ...], lines: list[str], ends: Set[str]
) -> Table:
    title = f"{board.title}, by {board.measures[0]}"
    if board is page.boards[0]:
        title += f" (policy: {one_line(page.policy_says)})"
    if measures[0] != board.measures[0]:
        title = f"{board.title}, continued"
    table = leaderboard(title, "\n".join(map(one_line, lines)))
    for name in measures:
        # Long names are broken, shorter ones may be after a hyphen; numbers never.
        whole = "\n".join(broken(name))
        if whole == name and len(name) > _LONG:
            whole = name.replace("-", "- ")
        shown = board.brief.get(name) or whole
        longest = max(map(len, shown.split()))
        table.add_column(Text(shown), overflow="fold", min_width=min(longest, 2 * _LONG))
    order = ranked(page.scores, board)
    scores = {run: page.scores[run] for run in order}
    for run, rank in order.items():
        table.add_row(*score_row(run, rank, scores, measures, board.lower_is_better, ends=ends))
    return table


def leaderboard(title: str, caption: str = "") -> Table:
    """A table with columns for the rank and the run. Texts of files are put in as plain text,
    never as Rich markup."""
    table = Table(
        title=Text(title, style="bold"),
        caption=Text(caption) if caption else None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("run", overflow="fold", min_width=6, max_width=NAME)
    return table


def run_cell(run: str) -> Text:
    """A run's name, as long as it is shown."""
    return Text(shortened(run, 2 * NAME))


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
    ``ends`` have their intervals."""
    cells = [Text(rank), run_cell(run)]
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
    if ends and (bounds := interval(score.low, score.high)):
        text.append(f" {bounds}", style="not bold dim")
    return text
