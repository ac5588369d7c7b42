"""What people prefer beside what SGSS says, and people's labels beside the machine's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.labels import Label, Status, is_independent
from assay.page.parts import Part, Table, Value
from assay.protocols.labels import LabelBook
from assay.protocols.means import mean_score
from assay.protocols.sgss.inputs import SgssInputs, SgssSettings
from assay.protocols.sgss.labels import SUPPORTED, asked, tasks
from assay.protocols.sgss.preferences import PreferredPair
from assay.statistics.agreement import cohen_kappa
from assay.tasks.base import AnyTask, unit_hash
from assay.tasks.sgss import PREFERENCE
from assay.tasks.shared import sources
from assay.tasks.trec_rag import SUPPORT

Compared = Sequence[tuple[PreferredPair, Range | None, Range | None]]
_RANK = {"no": 0, "partially": 1, "perfectly": 2}
GROUPS = ("test", "train", "assumed", "asked")


def group(pair: PreferredPair) -> str:
    """``assumed`` (an original and its degraded version), ``asked`` (here), ``test`` or
    ``train``."""
    if pair.asked:
        return "asked"
    return "assumed" if pair.assumed else "test" if pair.test else "train"


def mean_rates(compared: Compared, settings: SgssSettings) -> dict[str, Score]:
    """Part → MAR with its interval over pairs."""
    by_part = {name: [rate for pair, _, rate in compared if group(pair) == name] for name in GROUPS}
    return {
        name: mean_score(name, "MAR", found, settings) for name, found in by_part.items() if found
    }


def preference_scores(compared: Compared, settings: SgssSettings) -> list[dict[str, object]]:
    """MAR of each part, for scripts. ``missing`` counts the pairs whose AR hangs on a missing
    label."""
    return [
        {
            "part": name, "MAR": mar.value, "low": mar.low, "high": mar.high, "pairs": mar.topics,
            "labels": _labels(compared, name), "missing": mar.missing, "floor": mar.floor,
            "ceiling": mar.ceiling,
        }
        for name, mar in mean_rates(compared, settings).items()
    ]  # fmt: skip


def _labels(compared: Compared, name: str) -> int:
    return sum(p.labels for p, _, rate in compared if group(p) == name and rate is not None)


def preference_part(compared: Compared, settings: SgssSettings) -> tuple[Part, ...]:
    """AR of every pair and MAR of every part."""
    if not compared:
        return ()
    columns = ("part", "MAR", "low", "high", "pairs", "labels", "missing")
    summary: list[tuple[Value, ...]] = [
        (name, mar.ends, mar.low, mar.high, mar.topics, _labels(compared, name), mar.missing)
        for name, mar in mean_rates(compared, settings).items()
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
    if any(pair.asked for pair, _, _ in compared):
        note += (
            " Pairs under “asked” were compared here under sgss.preference; a machine sees each "
            "in both orders, and where it then prefers the same side it prefers neither summary."
        )
    if any(rate is not None and rate.value is None for _, _, rate in compared):
        note += " A range runs over all that missing labels may turn out to be."
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
    people = book.book.ledger.judged_by_people()
    rows: list[tuple[Value, ...]] = []
    for task in tasks(settings):
        if people.isdisjoint((task.name, *(one.task.name for one in sources(task)))):
            continue
        both = _both(book, task, (content for content, _ in asked(inputs, task)))
        if not both:
            continue
        first, machine = (np.array(column, dtype=float) for column in zip(*both, strict=True))
        rows.append(
            (
                task.title, len(both), float((first == machine).mean()),
                cohen_kappa(first, machine), cohen_kappa(first, machine, weights="quadratic"),
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
        people = [one for one in labels if is_independent(one) and one.status is Status.OK]
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
