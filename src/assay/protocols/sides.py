"""Scores by different people's or machines' labels side by side, and how they correlate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from assay.measures.scores import PerTopic, Score
from assay.page.parts import Item, Part, Point, Scatter, Table
from assay.protocols.base import CommonSettings
from assay.protocols.means import score_table
from assay.protocols.scores import SCORE_COLUMNS, score_row
from assay.statistics.correlation import CorrelationReport, correlate

SETTING_COLUMNS = ("setting", *SCORE_COLUMNS)


@dataclass(frozen=True)
class SettingsPair:
    """Two settings and how a measure's scores correlate between them."""

    first: str
    second: str
    measure: str
    report: CorrelationReport


@dataclass(frozen=True)
class Sides:
    """Settings that there are labels for, of one kind: means by setting, by the rules of the
    leaderboards, and how ``measures`` correlate between any two."""

    title: str
    measures: tuple[str, ...]
    means: Mapping[str, Mapping[str, Mapping[str, Score]]]
    pairs: tuple[SettingsPair, ...]


def side_by_side(
    title: str,
    measures: tuple[str, ...],
    values: Mapping[str, PerTopic],
    settings: CommonSettings,
) -> Sides:
    """The values of several settings, one at least, side by side: ``measures`` as far as they have
    them."""
    of_run = next(iter(next(iter(values.values())).values()))
    names = tuple(one for one in of_run if one in measures)
    pairs = tuple(
        SettingsPair(first, second, measure, report)
        for first, second in combinations(values, 2)
        for measure in names
        if (report := _correlated(values[first], values[second], measure, settings))
    )
    tables = {name: score_table(of, settings) for name, of in values.items()}
    return Sides(title, names, tables, pairs)


def _correlated(
    first: PerTopic, second: PerTopic, measure: str, settings: CommonSettings
) -> CorrelationReport | None:
    """Over the topics where no run's value hangs on a missing label in either, with the rule of the
    leaderboards for topics left out; None where fewer than two runs or no topic are left."""
    tables = [{run: of[measure] for run, of in table.items()} for table in (first, second)]
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
        return correlate(*known, missing="cells", **settings.resampling)
    except ValueError:
        return None


def setting_rows(sides: Iterable[Sides]) -> Iterator[tuple[object, ...]]:
    """The rows of ``settings.csv``."""
    for kind in sides:
        for name, table in kind.means.items():
            for scores in table.values():
                for one in scores.values():
                    yield (name, *score_row(one))


def sides_part(sides: Sides) -> Part:
    """The settings as a section: tables, correlations, plots."""
    items: list[Item] = []
    runs = list(dict.fromkeys(run for table in sides.means.values() for run in table))
    for measure in sides.measures:
        rows = [
            (
                run,
                *(
                    table[run][measure].ends if run in table else None
                    for table in sides.means.values()
                ),
            )
            for run in runs
        ]
        items.append(Table(measure, ("run", *sides.means), rows))
    correlations = [
        (f"{pair.first} ↔ {pair.second}", pair.measure, row.setting, row.measure, row.value, row.n)
        for pair in sides.pairs
        for row in pair.report.rows
    ]
    columns = ("settings", "score", "over", "coefficient", "value", "n")
    items.append(Table("Correlations", columns, correlations, folded=True))
    for pair in sides.pairs:
        points = tuple(Point(one.run, one.second, one.first) for one in pair.report.run_means)
        title = f"{pair.measure}: {pair.first} against {pair.second}"
        items.append(Scatter(title, pair.second, pair.first, points, diagonal=True))
    note = (
        "The settings of response evaluation side by side, by the rules of the leaderboards: what "
        "lacks labels in a setting is a range. Correlations and plots are over the topics without "
        "such ranges in the two. τ over runs is what a leaderboard keeps; over all pairs, what "
        "single answers do."
    )
    return Part(f"{sides.title}: manual and automatic", note, tuple(items))
