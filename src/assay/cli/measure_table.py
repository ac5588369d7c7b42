"""Scores as tables for people: a column a measure, as many side by side as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from assay.cli.common import plain_table, safe
from assay.measures.base import Measure
from assay.measures.frames import RunScores
from assay.measures.tables import Topics, rows

__all__ = ["measure_tables"]

_GAP = 3  # blanks around a column
_NARROWEST = len("0.1234")


def measure_tables(
    runs: Mapping[str, RunScores],
    measures: Mapping[str, Measure],
    topics: Topics,
    *,
    per_topic: bool,
    width: int,
) -> Iterator[Table]:
    """Yield tables of at most *width* characters (names of runs are folded, numbers never)."""
    cells: dict[tuple[str, str, bool], list[str]] = {}
    for means in (False, True):  # apart, as a topic may be called like the mean
        for run, topic, _, value, _ in rows(
            runs, measures, topics, per_topic=per_topic and not means, means=means
        ):
            shown = "–" if value is None else f"{value:.4f}"
            cells.setdefault((run, topic, means), []).append(shown)
    order = {run: number for number, run in enumerate(runs)}
    places = sorted(cells, key=lambda place: (order[place[0]], place[2]))
    titles = ("run", "topic") if per_topic else ("run",)
    names = [safe(name) for name in measures]
    taken = sum(
        max(map(len, map(safe, column))) + _GAP for column in zip(titles, *places, strict=False)
    )
    for some in _groups(names, width - min(taken, width // 2)):
        table = plain_table("Measures")
        for title in titles:
            table.add_column(title, overflow="fold")
        for number in some:
            table.add_column(names[number], justify="right", no_wrap=True)
        for place in places:
            values = [cells[place][number] for number in some]
            table.add_row(*map(safe, place[: len(titles)]), *values)
        yield table


def _groups(names: Sequence[str], room: int) -> Iterator[list[int]]:
    """Yield the numbers of the columns that stand side by side, at least one at a time."""
    some: list[int] = []
    left = room
    for number, name in enumerate(names):
        needed = max(len(name), _NARROWEST) + _GAP
        if some and needed > left:
            yield some
            some, left = [], room
        some.append(number)
        left -= needed
    if some:
        yield some
