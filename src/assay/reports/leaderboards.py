"""The report's tables as plain values: leaderboards, scores by category, labellers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from assay.model.labels import Label
from assay.model.rag import Mark
from assay.protocols.r2c2.results import Found, RunNotes
from assay.protocols.results import Result
from assay.protocols.scores import Score, ranks
from assay.reports.plots import interval_bar
from assay.reports.text import NOTHING, counted, interval, slug, span
from assay.reports.wording import (
    TASK_TITLES,
    Reading,
    model_in_words,
    read_run,
    refusals_in_words,
)

AC_COLUMNS = (
    "R_O", "R_U", "Accuracy", "NuggetPrecision", "ECE", "MCE", "Brier", "KS", "AUROC",
)  # fmt: skip
CATEGORY_MEASURES = ("Accuracy", "HMR", "NuggetPrecision")
SMALL_N = 10
"""Categories with fewer questions than this are marked as small."""


@dataclass(frozen=True)
class Cell:
    """A table cell: what is shown, the interval below it, and what it is sorted by."""

    text: str
    below: str = ""
    key: float | None = None
    bar: Markup | None = None


@dataclass(frozen=True)
class Row:
    """A run's row in a leaderboard. ``place`` numbers the rows from 1; ``rank`` is what runs whose
    scores cannot be told apart for want of labels share."""

    place: int
    rank: str
    run: str
    anchor: str
    kind: int
    cells: tuple[Cell, ...]
    counts: tuple[str, ...] = ()
    reading: Reading | None = None
    about: str = ""


@dataclass(frozen=True)
class Board:
    """A leaderboard."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def cell(score: Score | None) -> Cell:
    """Return a cell for a score; it is sorted by the floor."""
    if score is None or score.floor is None:
        return Cell(NOTHING)
    shown = span(score.floor, score.ceiling)
    return Cell(shown, interval(score.low, score.high), score.floor)


def barred(score: Score | None, kind: int | None, name: str) -> Cell:
    """Return a cell with an interval bar."""
    plain = cell(score)
    return Cell(plain.text, plain.below, plain.key, interval_bar(score, name=name, kind=kind))


def rank_texts(found: Mapping[str, int | None]) -> dict[str, str]:
    """Ranks as people see them: ``1``, ``2=`` where runs share it, ``–`` without one."""
    many = Counter(found.values())
    return {
        run: NOTHING if rank is None else f"{rank}=" if many[rank] > 1 else str(rank)
        for run, rank in found.items()
    }


def counts_in_words(notes: RunNotes | None) -> tuple[str, ...]:
    """Return what a reader must know beside a run's scores, only what is not zero."""
    if notes is None:
        return ()
    refused = sum(notes.refusals.values())
    parts = [
        (len(notes.left_out), f"{len(notes.left_out)} left out"),
        (refused, f"{refused} declined"),
        (notes.missing_answers, counted(notes.missing_answers, "label") + " missing"),
        (notes.failed_answers, f"{notes.failed_answers} failed"),
        (notes.carried_answers, f"{notes.carried_answers} carried"),
        (notes.unmarked_nuggets, counted(notes.unmarked_nuggets, "nugget") + " unmarked"),
    ]
    return tuple(words for n, words in parts if n)


def ac_board(result: Found) -> Board:
    """Return the leaderboard of the answering runs, by HMR."""
    columns = tuple(
        name for name in AC_COLUMNS if any(name in scores for scores in result.scores.values())
    )
    rows = []
    order = rank_texts(ranks(result.scores, "HMR"))
    for place, (run, rank) in enumerate(order.items(), start=1):
        scores, notes = result.scores[run], result.notes.get(run)
        tried = result.attempted.get(run, {})
        cells = (
            barred(scores.get("HMR"), place - 1, "HMR"),
            *(cell(scores.get(name)) for name in columns),
            cell(tried.get("HMR")),
            cell(tried.get("Accuracy")),
        )
        results = list(result.answers.get(run, {}).values())
        rows.append(
            Row(
                place,
                rank,
                run,
                slug("run", run),
                place - 1,
                cells,
                counts_in_words(notes),
                read_run(scores, results, notes),
                refusals_in_words(notes) if notes else "",
            )
        )
    return Board(columns, tuple(rows))


def pr_measures(result: Found) -> tuple[str, ...]:
    """Return the measures of the passage runs, in the order that they were asked for."""
    return tuple(dict.fromkeys(name for scores in result.pr_scores.values() for name in scores))


def pr_board(result: Found) -> Board:
    """Return the leaderboard of the passage runs, by its first measure."""
    measures = pr_measures(result)
    order = rank_texts(ranks(result.pr_scores, measures[0])) if measures else {}
    rows = []
    for place, (run, rank) in enumerate(order.items(), start=1):
        scores = result.pr_scores[run]
        passages = result.pr_runs[run].passages if run in result.pr_runs else {}
        n = sum(len(found) for found in passages.values())
        grades = [
            grade
            for by_key in result.grades.values()
            for key, grade in by_key.items()
            if key.run == run
        ]
        relevant = sum(grade > 0 for grade in grades)
        silent = sum(not passages.get(question.id) for question in result.questions)
        best = sum(
            any(key.run == run and grade > 0 for key, grade in by_key.items())
            for by_key in result.grades.values()
        )
        cells = (
            *(barred(scores.get(name), None, name) for name in measures),
            Cell(f"{n:,}", key=n),
            Cell(f"{relevant:,}", key=relevant),
            Cell(f"{best:,}", key=best),
        )
        notes = (f"{counted(silent, 'question')} without a passage",) if silent else ()
        rows.append(Row(place, rank, run, slug("pr", run), place - 1, cells, notes))
    return Board(measures, tuple(rows))


# --- categories ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeatCell:
    """A score in a colour step from 0 to 10; ``None`` where undefined."""

    text: str
    n: int
    step: int | None
    about: str


@dataclass(frozen=True)
class HeatTable:
    """One measure by category: a row a run."""

    measure: str
    columns: tuple[tuple[str, int], ...]
    rows: tuple[tuple[str, int, tuple[HeatCell, ...]], ...]


def heat_tables(result: Found) -> list[HeatTable]:
    """Return the scores by category, a table a measure; none without categories."""
    if not result.by_category:
        return []
    sizes = Counter(question.category for question in result.questions)
    columns = tuple((category, sizes[category]) for category in result.by_category)
    tables = []
    first = pr_measures(result)[:1]
    for measures, overall, order in (
        (CATEGORY_MEASURES, result.scores, ranks(result.scores, "HMR")),
        (first, result.pr_scores, ranks(result.pr_scores, first[0]) if first else {}),
    ):
        for measure in measures:
            rows = []
            for kind, run in enumerate(order):
                found = [result.by_category[name].get(run, {}).get(measure) for name, _ in columns]
                cells = tuple(_heat(score) for score in (*found, overall[run].get(measure)))
                rows.append((run, kind, cells))
            if rows:
                tables.append(
                    HeatTable(measure, (*columns, ("All", len(result.questions))), tuple(rows))
                )
    return tables


def _heat(score: Score | None) -> HeatCell:
    if score is None or score.floor is None:
        return HeatCell(NOTHING, 0 if score is None else score.topics, None, "undefined")
    bounds = interval(score.low, score.high)
    about = f"{counted(score.topics, 'question')}" + (f", interval {bounds}" if bounds else "")
    if score.missing:
        about += f", {score.missing} without a label"
    step = min(10, max(0, round(score.floor * 10)))
    return HeatCell(span(score.floor, score.ceiling, 2), score.topics, step, about)


# --- labellers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaskRow:
    """Who labelled for a task: the labeller named for it, and whose labels counted."""

    task: str
    title: str
    labeller: str
    kind: str
    model: str
    counted: str
    by_people: int


def task_rows(result: Result) -> list[TaskRow]:
    """Return who labelled, a row a task."""
    by_task: dict[str, dict[int, Label]] = {task: {} for task in result.labellers}
    for label, _ in result.used:
        by_task.setdefault(label.task, {})[label.rowid] = label
    rows = []
    for task, labels in by_task.items():
        labeller = result.labellers.get(task)
        names = Counter(label.labeller.name for label in labels.values())
        people = sum(label.labeller.is_human for label in labels.values())
        shown = ", ".join(f"{n:,} by {name}" for name, n in names.most_common(6))
        rows.append(
            TaskRow(
                task,
                TASK_TITLES.get(task, task),
                "" if labeller is None else labeller.name,
                "" if labeller is None else labeller.kind,
                model_in_words(labeller),
                shown or "none",
                people,
            )
        )
    return rows


def mark_counts(result: Found) -> dict[str, int]:
    """Return how many nuggets of all runs bear each mark."""
    total: Counter[str] = Counter()
    for notes in result.notes.values():
        total.update({str(mark): n for mark, n in notes.marks.items()})
    return {mark.value: total[mark.value] for mark in Mark}
