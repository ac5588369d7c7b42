"""Correlation of two tables of scores: whether they rank runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.api.reading import Note, all_used
from assay.api.undefined import (
    LEVEL,
    RESAMPLES,
    explained,
    no_interval,
    undefined_resamples,
    undefined_values,
)
from assay.formats.score_tables import ScoreTable, read_scores
from assay.measures.bootstrap import ends_of
from assay.model.errors import SettingsError
from assay.model.wording import counted, joined, printable
from assay.page.wording import number
from assay.statistics.correlation import CorrelationReport, correlate, correlate_runs
from assay.statistics.correlation_settings import COEFFICIENTS, Correlation
from assay.statistics.shared_scores import Missing, Scores

COLUMNS = ("setting", "measure", "value", "low", "high", "n")
SETTINGS = {"runs": "runs", "topics-mean": "mean of topics", "pairs": "topic–run pairs"}
"""What is correlated, with its name in plots."""
_NO_TOPICS = "a file has no scores of single topics"
_CURES = {
    "share none": " Topics are the same if their ids are the same; write these the same way in "
    "both files.",
    "no topic is left": " Try --missing cells.",
    "no topic that both": " Write its topics the same way in both files, or leave the run out.",
    "without a score": " Add the scores of these runs.",
    "at least 2 are needed": " Runs are the same if their names are the same; write these the "
    "same way in both files.",
}
"""Advice for an error whose message contains the key."""


def row_of(one: Correlation) -> tuple[str, str, float | None, float | None, float | None, int]:
    """The cells of a coefficient under :data:`COLUMNS`."""
    return (one.setting, one.measure, one.value, *ends_of(one.interval), one.n)


@dataclass(frozen=True)
class Correlated:
    """The correlation of two files of scores."""

    report: CorrelationReport
    tables: tuple[ScoreTable, ScoreTable]
    files: tuple[Path, Path]
    missing: Missing
    p: float
    seed: int

    def coefficients(self) -> Iterator[tuple[Correlation, str | None]]:
        """Every coefficient of every setting, with the reason why it or its interval is missing."""
        topics = self.report.topics
        lacks = no_interval(len(topics)) if topics else _NO_TOPICS
        known = {(one.setting, one.measure): one for one in self.report.rows}
        for setting in SETTINGS:
            for measure in COEFFICIENTS:
                one = known.get((setting, measure))
                if one is None:
                    yield Correlation(setting, measure, None, None, 0), _NO_TOPICS
                else:
                    yield one, None if one.interval else one.reason or lacks

    def rows(self) -> Iterator[tuple[str, str, float | None, float | None, float | None, int]]:
        """The coefficients under :data:`COLUMNS`."""
        return (row_of(one) for one, _ in self.coefficients())

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        report = self.report
        return {
            "rows": [
                explained(
                    dict(zip(COLUMNS, row_of(one), strict=True)),
                    reason,
                    one.interval.undefined if one.interval else 0,
                )
                for one, reason in self.coefficients()
            ],
            "files": {"A": str(self.files[0]), "B": str(self.files[1])},
            "scores": {"A": self.tables[0].name, "B": self.tables[1].name},
            "runs": [
                {"run": one.run, "A": one.first, "B": one.second, "topics": one.topics}
                for one in report.run_means
            ],
            "topics": report.topics,
            "runs_only_A": report.runs_only_first,
            "runs_only_B": report.runs_only_second,
            "runs_unscored_A": report.runs_unscored_first,
            "runs_unscored_B": report.runs_unscored_second,
            "topics_only_A": report.topics_only_first,
            "topics_only_B": report.topics_only_second,
            "missing": [{"run": run, "topic": topic} for run, topic in report.missing],
            "topics_left_out": report.topics_left_out,
            "settings": {
                "missing": self.missing,
                "rbo_p": self.p,
                "level": LEVEL,
                "resamples": RESAMPLES,
                "seed": self.seed,
            },
        }

    def points(self) -> Iterator[tuple[float, float]]:
        """Both scores of every run and topic used in the correlation."""
        first, second = self.tables
        for one in self.report.run_means:
            for topic in self.report.topics:
                x = first.by_topic[one.run].get(topic)
                y = second.by_topic[one.run].get(topic)
                if self.missing == "zero":
                    x, y = x or 0.0, y or 0.0
                if x is not None and y is not None:
                    yield x, y

    def taus(self) -> list[str]:
        """Kendall's tau in each setting, as shown in the plot."""
        return [
            f"τ {SETTINGS[one.setting]}: {number(one.value)}"
            for one in self.report.rows
            if one.measure == "tau"
        ]

    def undefined(self, mark: str) -> Iterator[str]:
        """Sentences on what is undefined and why, and in how many resamples."""
        named = [(f"{one.setting} {one.measure}", one) for one in self.report.rows]
        yield from undefined_values(mark, ((name, one.reason) for name, one in named))
        yield from undefined_resamples(
            (name, one.interval.undefined if one.interval else 0) for name, one in named
        )

    def findings(self) -> Iterator[str]:
        """Sentences on runs, topics and intervals that are left out."""
        report = self.report
        for side, runs, unscored, topics in (
            ("A", report.runs_only_first, report.runs_unscored_first, report.topics_only_first),
            ("B", report.runs_only_second, report.runs_unscored_second, report.topics_only_second),
        ):
            for what, names in (
                (f"Runs in {side} only", runs),
                (f"Runs without a usable score in {side}", unscored),
                (f"Topics in {side} only", topics),
            ):
                if names:
                    yield f"{what}, left out ({len(names)}): {joined(names, 10)}."
        if report.missing:
            pairs = [f"{run} {topic}" for run, topic in report.missing]
            what = {
                "topics": f"{counted(len(report.topics_left_out), 'topic')} left out for all runs",
                "cells": "left out for these runs",
                "zero": "counted as 0",
            }[self.missing]
            yield f"Missing scores ({len(pairs)}): {joined(pairs, 10)}; {what}."
        if not report.topics:
            yield (
                f"Only runs can be compared: {_NO_TOPICS}, so there are no intervals and no other "
                "settings."
            )
        elif len(report.topics) == 1:
            yield "No intervals: there is only one topic."


def correlate_files(
    files: tuple[Path, Path],
    names: Sequence[str | None],
    *,
    missing: Missing,
    p: float,
    seed: int,
    note: Note,
) -> Correlated:
    """Correlate the scores called ``names`` in two files. Raises FormatError with the faults of
    both, SettingsError if the scores cannot be correlated."""
    first, second = all_used(
        (partial(read_scores, file, name) for file, name in zip(files, names, strict=True)), note
    )
    try:
        report = report_of(first, second, missing=missing, p=p, seed=seed)
    except ValueError as error:
        cure = next((cure for words, cure in _CURES.items() if words in str(error)), "")
        both = printable(f"{files[0]} and {files[1]}")
        raise SettingsError(f"{both}: {error}.{cure}") from None
    return Correlated(report, (first, second), files, missing, p, seed)


def report_of(
    first: ScoreTable, second: ScoreTable, *, missing: Missing, p: float, seed: int
) -> CorrelationReport:
    """Correlate two tables, over topics too if both have any. Raises ValueError if the scores
    cannot be correlated."""
    if not (first.by_topic and second.by_topic):
        return correlate_runs(_whole(first), _whole(second), p=p, missing=missing)
    return correlate(
        first.by_topic,
        second.by_topic,
        p=p,
        missing=missing,
        level=LEVEL,
        resamples=RESAMPLES,
        seed=seed,
    )


def _whole(table: ScoreTable) -> Mapping[str, float | None] | Scores:
    """One score per run if the file has it, otherwise the scores by topic to average."""
    return table.means if table.has_own_means else table.by_topic
