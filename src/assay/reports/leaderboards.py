"""Leaderboards as the rows of a page's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from assay.measures.scores import Score, Scores, ranks
from assay.model.wording import counted
from assay.page.page import Board, Fact
from assay.page.wording import NOTHING, number, score_interval, span
from assay.reports.svg import interval_bar
from assay.reports.text import broken, slug

_BARS = 4
"""With more measures than this, only the first has bars."""


@dataclass(frozen=True)
class Cell:
    """A table cell: its text, the interval below it, and its sort key."""

    text: str
    below: str = ""
    key: float | None = None
    bar: Markup | None = None


@dataclass(frozen=True)
class Row:
    """A run's row in a leaderboard. ``place`` numbers the rows from 1; runs that cannot be
    told apart because labels are missing share a ``rank``."""

    place: int
    rank: str
    run: str
    anchor: str
    kind: int
    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A column's heading in lines; ``bars`` if the column holds bars, ``apart`` if a line separates
    it from the columns before."""

    name: str
    lines: tuple[str, ...]
    lower: bool = False
    bars: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Drawn:
    """A rendered leaderboard: also whether a score has an interval, and whether there are bars."""

    board: Board
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    lower: tuple[str, ...]
    bars: bool
    intervals: bool


def rank_texts(found: Mapping[str, int | None]) -> dict[str, str]:
    """Ranks as text: ``1``, ``2=`` if runs share it, ``–`` without one."""
    many = Counter(found.values())
    return {
        run: NOTHING if rank is None else f"{rank}=" if many[rank] > 1 else str(rank)
        for run, rank in found.items()
    }


def ranked(scores: Scores, board: Board) -> dict[str, str]:
    """The board's runs by its first measure, best first, each with its rank as text."""
    first = board.measures[0] if board.measures else ""
    return rank_texts(ranks(scores, first, lower_is_better=first in board.lower_is_better))


def drawn(scores: Scores, board: Board, only: Container[str] | None = None) -> Drawn:
    """A leaderboard's headings and rows. With ``only``, it shows these runs, ranked among all."""
    order = ranked(scores, board)
    barred = [
        name
        for place, name in enumerate(board.measures)
        if (not place or len(board.measures) <= _BARS) and _within(scores, order, name)
    ]
    headings = [
        Heading(name, broken(name), name in board.lower_is_better, name in barred,
                name in board.apart)
        for name in board.measures
    ]  # fmt: skip
    headings += [
        Heading(name, broken(name), apart=not place) for place, name in enumerate(board.columns)
    ]
    rows = []
    for place, (run, rank) in enumerate(order.items(), start=1):
        if only is not None and run not in only:
            continue
        cells = []
        for name in board.measures:
            score = scores[run].get(name)
            bar = interval_bar(score, name=name, kind=place - 1) if name in barred else None
            cells.append(cell(score, bar))
        cells += [_fact(by_run.get(run)) for by_run in board.columns.values()]
        remarks = (
            _remarks(run, scores[run], board) if board.remarks is None else board.remarks.get(run)
        )
        rows.append(Row(place, rank, run, slug("run", run), place - 1, tuple(cells), remarks or ()))
    lower = tuple(name for name in board.measures if name in board.lower_is_better)
    intervals = any(one.below for row in rows for one in row.cells[: len(board.measures)])
    return Drawn(board, tuple(headings), tuple(rows), lower, bool(barred), intervals)


def _within(scores: Scores, runs: Mapping[str, str], name: str) -> bool:
    """Whether all values of a measure are within the axis from 0 to 1."""
    found = [one for run in runs if (one := scores[run].get(name)) is not None]
    ends = [end for one in found for end in (one.floor, one.ceiling, one.high, one.low)]
    return all(end is None or 0 <= end <= 1 for end in ends)


def _remarks(run: str, scores: Mapping[str, Score], board: Board) -> tuple[str, ...]:
    missing = max((scores[name].missing for name in board.measures if name in scores), default=0)
    if not missing:
        return ()
    why = board.why_open.get(run)
    return (f"{counted(missing, 'topic')} {f'open: {why}' if why else 'with missing labels'}",)


def cell(score: Score | None, bar: Markup | None = None) -> Cell:
    """A cell for a score; it is sorted by the floor."""
    if score is None or score.floor is None:
        return Cell(NOTHING, bar=bar)
    shown = span(score.floor, score.ceiling)
    return Cell(shown, score_interval(score), score.floor, bar)


def _fact(value: Fact) -> Cell:
    if value is None:
        return Cell(NOTHING)
    if isinstance(value, Score):
        return cell(value)
    if isinstance(value, str):
        return Cell(value)
    return Cell(f"{value:,}" if isinstance(value, int) else number(value), key=float(value))
