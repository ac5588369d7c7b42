"""Leaderboards in the terminal: what those of all protocols share."""

from __future__ import annotations

from collections.abc import Iterable, Set

from rich import box
from rich.table import Table
from rich.text import Text

from assay.protocols.scores import Score, Scores
from assay.reports.text import NOTHING, interval, narrow, shortened, span

NAME = 22
"""Columns of a run's name; twice as many characters are shown of it."""


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
