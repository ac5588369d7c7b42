"""How far people who labelled the same units agree, and what their labels come to together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.model.labels import ADJUDICATION, Label, Status, is_independent, mode_of
from assay.statistics.agreement import cohen_kappa, krippendorff_alpha
from assay.statistics.dawid_skene import NO_LABEL, Consensus, dawid_skene

COLUMNS = (
    "task", "field", "person", "labels", "shared", "kappa", "accuracy", "category", "sensitivity",
)  # fmt: skip
_MOST_CATEGORIES = 12
"""A field with more different values is free text."""


@dataclass(frozen=True)
class Rater:
    """One of those who share units: their ``labels`` in all and of ``shared`` units, Cohen's
    ``kappa`` with the others on average (None where chance allows no disagreement), and, as the
    model has it, their ``accuracy`` and the ``sensitivity`` to each category."""

    name: str
    labels: int
    shared: int
    kappa: float | None
    accuracy: float | None
    sensitivity: Mapping[str, float]


@dataclass(frozen=True)
class Overlap:
    """A ``field`` of the verdicts of a task. ``items`` have labels by anybody, ``shared`` by two
    people or more, ``alpha`` is Krippendorff's over these. ``consensus`` counts the items of which
    each category is the model's most likely one, ``changed`` the items of which
    the model's most likely category is not that of most people; ``why`` says why there is no
    model, and ``notes`` when it is not to be trusted."""

    task: str
    field: str
    categories: tuple[str, ...]
    items: int
    shared: int
    alpha: float | None
    people: tuple[Rater, ...]
    consensus: Mapping[str, int]
    changed: int
    why: str = ""
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[object, ...]]:
        """A row for each person and category, under :data:`COLUMNS`."""
        for one in self.people:
            cells = (self.task, self.field, one.name, one.labels, one.shared, one.kappa)
            if not one.sensitivity:
                yield (*cells, None, None, None)
            for category, share in one.sensitivity.items():
                yield (*cells, one.accuracy, category, share)


def overlaps(folder: Path, task: str = "") -> list[Overlap]:
    """What people labelled twice or more in a folder, each without another's label in sight: the
    newest label of each, task by task and field by field. Raises as opening a folder does."""
    with Opened.open(folder).ledger(create=False) as ledger:
        ledger.checked()
        said = _said(ledger, task)
    return [_overlap(*key, by_item) for key, by_item in sorted(said.items())]


_Said = dict[tuple[str, str], dict[tuple[str, int], dict[str, str]]]
"""Task and field -> unit and place in it -> person -> what they said."""


def _said(ledger: Ledger, task: str) -> _Said:
    found: _Said = {}
    for label in ledger.by_people():
        usable = label.status is Status.OK and label.verdict is not None
        if not usable or not is_independent(label) or mode_of(label) == ADJUDICATION:
            continue
        if task in ("", label.task):
            for field, place, value in _values(label):
                item = found.setdefault((label.task, field), {}).setdefault((label.unit, place), {})
                item[label.labeller.name.removeprefix("human:")] = value  # the newest is last
    return {key: items for key, items in found.items() if _is_scale(items)}


def _is_scale(items: Mapping[tuple[str, int], Mapping[str, str]]) -> bool:
    values = {value for by in items.values() for value in by.values()}
    return len(values) <= _MOST_CATEGORIES and any(len(by) > 1 for by in items.values())


def _values(label: Label) -> Iterator[tuple[str, int, str]]:
    """The fields of a verdict that are choices, with their places in lists."""
    for name, value in (label.verdict or {}).items():
        if name == "reason":
            continue
        if isinstance(value, bool | int | str):
            yield name, 0, _word(value)
        elif isinstance(value, list | tuple):
            for place, one in enumerate(value):
                if isinstance(one, bool | int | str):
                    yield name, place, _word(one)
                elif isinstance(one, dict):
                    for inner, choice in one.items():
                        if isinstance(choice, bool):
                            yield f"{name}.{inner}", place, _word(choice)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _overlap(
    task: str, field: str, by_item: Mapping[tuple[str, int], Mapping[str, str]]
) -> Overlap:
    sharing = {who for by in by_item.values() if len(by) > 1 for who in by}
    people = sorted(sharing)
    judged_items = [by for by in by_item.values() if sharing & by.keys()]
    categories = sorted(
        {value for by in judged_items for who, value in by.items() if who in sharing}
    )
    code = {value: number for number, value in enumerate(categories)}
    labels = np.array(
        [[code[by[who]] if who in by else NO_LABEL for who in people] for by in judged_items]
    )
    several = (labels != NO_LABEL).sum(axis=1) > 1
    shared = int(several.sum())
    found: Consensus | None = None
    why, notes, changed = "", [], 0
    try:
        found = dawid_skene(labels, max(2, len(categories)))
    except ValueError as error:
        why = f"{error}."
    if found is not None:
        votes = (labels[:, :, None] == np.arange(max(2, len(categories)))).sum(axis=1)
        most = votes == votes.max(axis=1, keepdims=True)
        changed = int((~most[np.arange(len(labels)), found.labels]).sum())
        if found.people < 3:
            notes.append("Two people alone do not tell who of them errs: read κ, not accuracy.")
        elif shared < 50:
            notes.append("Fewer than 50 shared items: accuracies are rough.")
        if not found.converged:
            notes.append("The model did not come to rest.")
    values = np.where(labels == NO_LABEL, np.nan, labels.astype(float))
    return Overlap(
        task, field, tuple(categories), len(judged_items), shared,
        krippendorff_alpha(values.T) if shared else None,
        tuple(
            Rater(
                who,
                int((labels[:, at] != NO_LABEL).sum()),
                int((labels[several, at] != NO_LABEL).sum()),
                _kappa(values, at),
                None if found is None else float(found.accuracy[at]),
                {}
                if found is None
                else {name: float(found.confusion[at, k, k]) for name, k in code.items()},
            )
            for at, who in enumerate(people)
        ),
        {} if found is None else {n: int((found.labels == k).sum()) for n, k in code.items()},
        changed, why, tuple(notes),
    )  # fmt: skip


def _kappa(values: np.typing.NDArray[np.float64], at: int) -> float | None:
    """A person's mean κ with the others, each weighed by the items that the two share."""
    total = weights = 0.0
    for pair in combinations(range(values.shape[1]), 2):
        if at not in pair:
            continue
        both = values[~np.isnan(values[:, pair]).any(axis=1)][:, pair]
        kappa = cohen_kappa(both[:, 0], both[:, 1]) if len(both) else None
        if kappa is not None:
            total, weights = total + kappa * len(both), weights + len(both)
    return total / weights if weights else None
