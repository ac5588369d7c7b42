"""The report of any protocol, and its leaderboards for the terminal.

One file that loads nothing; see ``reports/page.py`` for what keeps it safe. The same result gives
the same bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup
from rich.table import Table
from rich.text import Text

from assay.model.labels import Label
from assay.protocols.results import Board, Result
from assay.protocols.scores import ranks
from assay.reports.leaderboards import Cell, Row, TaskRow, barred, cell, rank_texts
from assay.reports.page import content_policy, environment, setting, source
from assay.reports.parts import sections
from assay.reports.plots import interval_axis
from assay.reports.terminal import leaderboard, score_row
from assay.reports.text import NOTHING, closed, counted, number, one_line, slug
from assay.reports.wording import model_in_words, policy_in_words

__all__ = ["board_tables", "render_report"]

_WIDE = 4
"""With more measures than this the terminal shows intervals only for the first, or none."""

_RANGES = 4
"""Measures that a table of 80 columns has room for where some score is a range."""

_LONG = 8
_VERY_LONG = 12


@dataclass(frozen=True)
class _Drawn:
    title: str
    note: str
    measures: tuple[str, ...]
    lower: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    bars: bool


def render_report(result: Result, *, generated_by: str) -> str:
    """Return the report as HTML."""
    css, js = source("report.css"), source("report.js")
    found = result.findings
    level = result.settings.get("level")
    html = (
        environment()
        .get_template("general.html.j2")
        .render(
            r=result,
            generated_by=generated_by,
            # Our own style sheet and script, read from the package.
            css=Markup(css),  # noqa: S704
            js=Markup(js),  # noqa: S704
            csp=content_policy(css, js),
            about={d.name: d.says for d in found.definitions},
            facts=found.facts,
            grave=any(gap.grave for gap in result.gaps),
            complete=_complete(result),
            policy=policy_in_words(result.policy),
            tasks=_task_rows(result),
            level=f"{level * 100:g}\u00a0%" if isinstance(level, float) else "",
            boards=[_drawn(result, board) for board in found.boards],
            axis=interval_axis(),
            sections=sections(found.parts),
            definitions=found.definitions,
            closed=closed,
            settings=[(key, setting(value)) for key, value in result.settings.items()],
        )
    )
    return html if html.endswith("\n") else html + "\n"


def ranked(result: Result, board: Board) -> dict[str, str]:
    """The board's runs by its first measure, best first, each with its rank as text."""
    first = board.measures[0]
    lower = first in board.lower_is_better
    return rank_texts(ranks(result.findings.scores, first, lower_is_better=lower))


def _drawn(result: Result, board: Board) -> _Drawn:
    rows = []
    ends = [
        end
        for by_measure in result.findings.scores.values()
        if (one := by_measure.get(board.measures[0])) is not None
        for end in (one.floor, one.ceiling, one.high, one.low)
        if end is not None
    ]
    bars = all(0 <= end <= 1 for end in ends)  # the axis runs from 0 to 1
    for place, (run, rank) in enumerate(ranked(result, board).items(), 1):
        scores = result.findings.scores[run]
        first, *rest = board.measures
        facts = [_fact(by_run.get(run)) for by_run in board.columns.values()]
        missing = max(
            (scores[name].missing for name in board.measures if name in scores), default=0
        )
        counts = (f"{counted(missing, 'topic')} with missing labels",) if missing else ()
        cells = (
            barred(scores.get(first), place - 1, first) if bars else cell(scores.get(first)),
            *(cell(scores.get(name)) for name in rest),
            *facts,
        )
        rows.append(Row(place, rank, run, slug("run", run), place - 1, cells, counts))
    lower = tuple(name for name in board.measures if name in board.lower_is_better)
    columns = tuple(board.columns)
    return _Drawn(board.title, board.note, board.measures, lower, columns, tuple(rows), bars)


def _fact(value: float | int | str | None) -> Cell:
    if value is None:
        return Cell(NOTHING)
    if isinstance(value, str):
        return Cell(value)
    return Cell(f"{value:,}" if isinstance(value, int) else number(value), key=float(value))


def _complete(result: Result) -> str:
    asked = sum(result.asked.values())
    if not asked:
        return "No labels are needed."
    return f"Every one of the {counted(asked, 'label')} that the scores rest on is usable."


def _task_rows(result: Result) -> list[TaskRow]:
    by_task: dict[str, dict[int, Label]] = {task: {} for task in result.labellers}
    for label, _ in result.used:
        by_task.setdefault(label.task, {})[label.rowid] = label
    rows = []
    for task, labels in by_task.items():
        if not labels and not result.asked.get(task):
            continue  # nothing of it was needed
        labeller = result.labellers.get(task)
        names = Counter(label.labeller.name for label in labels.values())
        shown = ", ".join(f"{n:,} by {name}" for name, n in names.most_common(6))
        rows.append(
            TaskRow(
                task,
                result.task_titles.get(task, task),
                "" if labeller is None else labeller.name,
                "" if labeller is None else labeller.kind,
                model_in_words(labeller),
                shown or "none",
                sum(label.labeller.is_human for label in labels.values()),
            )
        )
    return rows


# --- the terminal --------------------------------------------------------------------------------


def board_tables(result: Result) -> list[Table]:
    """Return the leaderboards as Rich tables, the policy in the title, what is missing below."""
    lines = [f"• {gap.count:,} {closed(gap.what)} {gap.so}" for gap in result.gaps] or [
        f"Nothing is missing. {_complete(result)}"
    ]
    caption = "\n".join(one_line(line) for line in lines)
    boards = result.findings.boards
    return [
        table
        for place, board in enumerate(boards)
        for table in _board_tables(result, board, caption if place == len(boards) - 1 else "")
    ]


def _board_tables(result: Result, board: Board, caption: str) -> list[Table]:
    """A board, in several tables where ranges make it wider than 80 columns: no number is cut."""
    known = [
        score.value is not None or score.floor is None
        for by_measure in result.findings.scores.values()
        for name, score in by_measure.items()
        if name in board.measures
    ]
    size = len(board.measures) if all(known) else _RANGES
    parts = [board.measures[at : at + size] for at in range(0, len(board.measures), size)]
    return [
        _board_table(result, board, part, caption if part is parts[-1] else "") for part in parts
    ]


def _board_table(result: Result, board: Board, measures: tuple[str, ...], caption: str) -> Table:
    policy = one_line(policy_in_words(result.policy))
    title = f"{board.title}, by {board.measures[0]} (policy: {policy})"
    if measures[0] != board.measures[0]:
        title = f"{board.title}, continued"
    table = leaderboard(title, caption)
    for name in measures:
        # Long names are broken after an underscore and may be after a hyphen, numbers never.
        shown = name.replace("-", "- ") if len(name) > _LONG else name
        shown = shown.replace("_", "_\n") if len(name) > _VERY_LONG else shown
        longest = max(map(len, shown.split()))
        table.add_column(Text(shown), overflow="fold", min_width=min(longest, 2 * _LONG))
    order = ranked(result, board)
    scores = {run: result.findings.scores[run] for run in order}
    count = len(board.measures)
    whole = measures == board.measures
    with_ends = 0 if not whole else count if count <= _WIDE else 1 if count <= _WIDE + 2 else 0
    ends = frozenset(measures[:with_ends])
    for run, rank in order.items():
        table.add_row(*score_row(run, rank, scores, measures, board.lower_is_better, ends=ends))
    return table
