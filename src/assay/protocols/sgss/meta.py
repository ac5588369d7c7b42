"""What people prefer beside what SGSS says, and people's labels beside the machine's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.measures.bootstrap import mean_interval
from assay.model.labels import Label, Status
from assay.protocols.labels import LabelBook
from assay.protocols.parts import Part, Table, Value
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings
from assay.protocols.sgss.labels import SUPPORTED, contents, tasks
from assay.protocols.sgss.preferences import Pair
from assay.statistics.agreement import cohen_kappa
from assay.tasks.base import AnyTask, unit_hash
from assay.tasks.sgss import PREFERENCE
from assay.tasks.trec_rag import SUPPORT

Compared = Sequence[tuple[Pair, float | None, float | None]]
_RANK = {"no": 0, "partially": 1, "perfectly": 2}
GROUPS = ("test", "train", "assumed")


def group(pair: Pair) -> str:
    """``assumed`` (an original and its degraded version), ``test`` or ``train``."""
    return "assumed" if pair.assumed else "test" if pair.test else "train"


def preference_scores(compared: Compared, settings: SgssSettings) -> list[dict[str, object]]:
    """MAR of each part with its interval over pairs, for scripts."""
    rows: list[dict[str, object]] = []
    for name in GROUPS:
        here = [(pair, rate) for pair, _, rate in compared if group(pair) == name]
        known = [rate for _, rate in here if rate is not None]
        if not here:
            continue
        low = high = mean = None
        if known:
            mean = sum(known) / len(known)
            interval = mean_interval(
                known, level=settings.level, resamples=settings.resamples, seed=settings.seed
            )
            low, high = interval.low, interval.high
        rows.append(
            {
                "part": name, "MAR": mean, "low": low, "high": high, "pairs": len(known),
                "labels": sum(pair.labels for pair, rate in here if rate is not None),
                "missing": len(here) - len(known),
            }
        )  # fmt: skip
    return rows


def preference_part(compared: Compared, settings: SgssSettings) -> tuple[Part, ...]:
    """AR of every pair and MAR of every part."""
    if not compared:
        return ()
    columns = ("part", "MAR", "low", "high", "pairs", "labels", "missing")
    summary: list[tuple[Value, ...]] = [
        tuple(row[name] for name in columns)  # type: ignore[misc]
        for row in preference_scores(compared, settings)
    ]
    rows: list[tuple[Value, ...]] = [
        (pair.query, pair.left, pair.right, group(pair), f"{pair.left_better} of {pair.labels}",
         difference, rate)
        for pair, difference, rate in compared
    ]  # fmt: skip
    note = (
        "Weights are learned from the training part; how well they do shows on the test part. An "
        "original is assumed to be better than its degraded version."
    )
    return (
        Part(
            "Agreement with preferences",
            note,
            (
                Table("Mean agreement rate", columns, summary),
                Table(
                    "Pairs",
                    ("query", "left", "right", "part", "prefer left", "ΔSGSS", "AR"),
                    rows,
                    folded=True,
                ),
            ),
        ),
    )


def people_part(book: LabelBook, inputs: SgssInputs, settings: SgssSettings) -> tuple[Part, ...]:
    """Agreement of people's labels with the machine's, criterion by criterion, on the units that
    both have labelled."""
    if book.book is None:
        return ()
    rows: list[tuple[Value, ...]] = []
    for task in tasks(settings):
        both = _both(book, task, contents(inputs, settings, task))
        if not both:
            continue
        people, machine = (np.array(column, dtype=float) for column in zip(*both, strict=True))
        rows.append(
            (
                task.title, len(both), float((people == machine).mean()),
                cohen_kappa(people, machine), cohen_kappa(people, machine, weights="quadratic"),
            )
        )  # fmt: skip
    if not rows:
        return ()
    table = Table(
        "By criterion",
        ("criterion", "units", "agreement", "κ", "κ, quadratic"),
        rows,
        texts=frozenset({"criterion"}),
    )
    note = "Units that a person and the evaluation's own labeller have both labelled."
    return (Part("People and the machine", note, (table,)),)


def _both(
    book: LabelBook, task: AnyTask, every: Iterable[Mapping[str, Any]]
) -> list[tuple[int, int]]:
    """What people (the newest label of each unit) and the machine said."""
    if book.book is None:
        return []
    units = {unit_hash(task.name, content): content for content in every}
    found = []
    for unit, content in units.items():
        labels = book.book.labels(task, unit, content)
        people = [one for one in labels if one.labeller.is_human and one.status is Status.OK]
        machine = book.book.machine(task, unit, content) if people else None
        if machine is not None:
            found.append((_number(task, people[-1]), _number(task, machine)))
    return found


def _number(task: AnyTask, label: Label) -> int:
    verdict = label.verdict or {}
    if task is PREFERENCE:
        return int(verdict["preferred"] == "LEFT")
    if task is SUPPORT:
        return _RANK[SUPPORTED[verdict["support"]]]
    return _RANK[verdict["label"]]
