"""People beside the machine: scores by the labels of each, and how the labels agree.

Every protocol gets this for free: all that it scores is scored by people's labels alone and by the
machine's, whatever the evaluation's policy. A protocol that distinguishes more kinds of labels
overrides :meth:`assay.protocols.base.Protocol.sides`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from assay.measures.scores import PerTopic, Scores
from assay.page.page import Board
from assay.page.parts import Item, Part, Point, Scatter, Table
from assay.protocols.labels import LabelBook
from assay.protocols.means import Resampling, score_table
from assay.protocols.output import FileData, csv_bytes
from assay.protocols.people import Overlap
from assay.protocols.people_parts import people_parts
from assay.protocols.scores import SCORE_COLUMNS, score_row
from assay.statistics.correlation import CorrelationReport, correlate

if TYPE_CHECKING:
    from assay.protocols.results import Findings

SETTING_COLUMNS = ("setting", *SCORE_COLUMNS)

Under = Callable[[str], LabelBook]
"""Gives the labels of an evaluation under a policy by name, always as the same object."""

_SHOWN = 3
"""Number of measures whose tables are open and that are plotted."""


class Setting(NamedTuple):
    """Scores by the labels of some people or machines, and the values per topic."""

    scores: Scores
    per_topic: PerTopic

    @classmethod
    def of(cls, per_topic: PerTopic, settings: Resampling) -> Setting:
        """Values with their means, by the rules of the leaderboards."""
        return cls(score_table(per_topic, settings), per_topic)


class SettingsPair(NamedTuple):
    """Two settings and how a measure's scores correlate between them."""

    first: str
    second: str
    measure: str
    report: CorrelationReport


@dataclass(frozen=True)
class Sides:
    """The settings of one kind that have labels: scores by setting, and how ``measures`` correlate
    between any two settings."""

    title: str
    measures: tuple[str, ...]
    scores: Mapping[str, Scores]
    pairs: tuple[SettingsPair, ...]


@dataclass(frozen=True)
class PeopleBeside:
    """People beside the machine: scores, and single labels."""

    sides: tuple[Sides, ...] = ()
    labels: tuple[Overlap, ...] = ()

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The scores, as rows of :data:`SETTING_COLUMNS`."""
        for kind in self.sides:
            for name, table in kind.scores.items():
                for scores in table.values():
                    for one in scores.values():
                        yield (name, *score_row(one))

    def document(self) -> dict[str, object]:
        """What ``--json`` adds."""
        rows = [dict(zip(SETTING_COLUMNS, row, strict=True)) for row in self.rows()]
        return {"settings": rows} if rows else {}

    def parts(self) -> Iterator[Part]:
        """The sections of a report."""
        yield from map(_sides_part, self.sides)
        yield from people_parts(self.labels)


def beside_files(beside: PeopleBeside) -> Iterator[tuple[str, FileData]]:
    """Name under ``out/`` and data of the file of scores, if there are any."""
    if beside.sides:
        yield "settings.csv", csv_bytes(SETTING_COLUMNS, beside.rows())


# -- scores ---------------------------------------------------------------------------------------


def by_board(
    score: Callable[[LabelBook], Findings],
    under: Under,
    *,
    quickly: Callable[[LabelBook], Findings],
) -> Iterator[Sides]:
    """Score each leaderboard by people's labels alone and by the machine's, if people's labels
    settle anything: on some topic that they labelled, no run's value is a range. To find out,
    scores are computed ``quickly``, without intervals."""
    people = under("human")
    if not people.by_people:
        return
    quick = quickly(people)
    topics = {one.place.topic for one in people.used}
    boards = [one for one in quick.boards if _settles(quick.per_topic, one, topics)]
    if not boards:
        return
    # A new book, as `people` has counted the labels of the quick findings.
    by_people, by_machine = score(LabelBook(people.by_unit)), score(under("machine"))
    for board in boards:
        found = {"by the machine": by_machine, "by people": by_people}
        measures = tuple(one for one in board.measures if one not in board.lower_is_better)
        settled = {name: _of_board(one, board) for name, one in found.items()}
        yield from side_by_side(board.title, measures, settled)


def _settles(values: PerTopic, board: Board, topics: Iterable[str]) -> bool:
    by_measure = [[of[one] for of in values.values() if one in of] for one in board.measures]
    return any(
        runs
        and all(ends is None or ends.value is not None for ends in (of.get(one) for of in runs))
        for one in topics
        for runs in by_measure
    )


def _of_board(found: Findings, board: Board) -> Setting:
    scores = {
        run: {name: of[name] for name in board.measures if name in of}
        for run, of in found.scores.items()
        if board.measures[0] in of
    }
    return Setting(scores, {run: found.per_topic.get(run, {}) for run in scores})


def side_by_side(
    title: str,
    measures: tuple[str, ...],
    found: Mapping[str, Setting],
) -> Iterator[Sides]:
    """Compare several settings, if there are several, on those of ``measures`` that they have."""
    if len(found) < 2:
        return
    of_run = next(iter(next(iter(found.values())).scores.values()), {})
    names = tuple(one for one in measures if one in of_run)
    pairs = tuple(
        SettingsPair(first, second, measure, report)
        for first, second in combinations(found, 2)
        for measure in names
        if (report := _correlated(found[first], found[second], measure))
    )
    yield Sides(title, names, {name: one.scores for name, one in found.items()}, pairs)


def _correlated(first: Setting, second: Setting, measure: str) -> CorrelationReport | None:
    """Correlate the scores of two settings over the topics where no run's value depends on a
    missing label in either, treating left-out topics as the leaderboards do. None if fewer than two
    runs or no topic remain."""
    tables = [
        {run: of[measure] for run, of in one.per_topic.items() if measure in of}
        for one in (first, second)
    ]
    unsure = {
        topic
        for table in tables
        for values in table.values()
        for topic, ends in values.items()
        if ends is not None and ends.value is None
    }
    known = (
        {
            run: {
                topic: ends and ends.value for topic, ends in values.items() if topic not in unsure
            }
            for run, values in table.items()
        }
        for table in tables
    )
    try:
        return correlate(*known, missing="cells", resamples=0, seed=0)  # no interval is shown
    except ValueError:
        return None


def _sides_part(sides: Sides) -> Part:
    """The settings as a section: tables, correlations, plots."""
    items: list[Item] = []
    tables = sides.scores.values()
    for measure in sides.measures:
        rows = [
            (run, *(of[run][measure].ends if run in of else None for of in tables))
            for run in dict.fromkeys(run for of in tables for run in of)
        ]
        folded = measure not in sides.measures[:_SHOWN]
        items.append(Table(measure, ("run", *sides.scores), rows, folded=folded))
    correlations = [
        (f"{pair.first} ↔ {pair.second}", pair.measure, row.setting, row.measure, row.value, row.n)
        for pair in sides.pairs
        for row in pair.report.rows
    ]
    columns = ("settings", "score", "over", "coefficient", "value", "n")
    items.append(Table("Correlations", columns, correlations, folded=True))
    for pair in sides.pairs:
        if pair.measure in sides.measures[:_SHOWN]:
            points = tuple(Point(one.run, one.second, one.first) for one in pair.report.run_means)
            title = f"{pair.measure}: {pair.first} against {pair.second}"
            items.append(Scatter(title, pair.second, pair.first, points, diagonal=True))
    note = (
        "As on the leaderboards, a score that lacks labels in a setting is a range. Correlations "
        "and plots cover the topics without such ranges in the two settings. τ over runs shows how "
        "well a leaderboard’s order is kept; τ over all pairs, that of single answers."
    )
    return Part(f"{sides.title}: people and the machine side by side", note, tuple(items))
