"""People who labelled the same units: how far they agree with each other and with the machine, how
reliable each of them is, and whose labels carry no information.

Labels given with another's in sight, and labels that settle others', are left out. Each person's
newest label of a unit counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from assay.measures.arrays import Bools, Floats
from assay.measures.bootstrap import ends_of
from assay.model.labels import (
    ADJUDICATION,
    Label,
    is_independent,
    mode_of,
    seconds_of,
)
from assay.page.parts import Table
from assay.protocols.members import coded
from assay.protocols.people_doubts import (
    copied_labels,
    guideline_notes,
    order_effects,
    rater_doubts,
)
from assay.protocols.places import UsedLabels
from assay.protocols.unit_labels import UnitLabels
from assay.statistics.agreement import Estimate, agree, alpha_estimate, cohen_kappa
from assay.statistics.dawid_skene import NO_LABEL, Consensus, dawid_skene
from assay.statistics.kappa import Metric
from assay.tasks.base import AnyTask

COLUMNS = (
    "task", "field", "person", "labels", "shared", "kappa", "accuracy", "seconds", "category",
    "sensitivity", "alpha", "alpha_low", "alpha_high",
)  # fmt: skip
FEWEST_TOPICS = 5
"""Fewest topics for resampling: a resample of two is one of them twice half of the time."""
_MOST_CATEGORIES = 12
"""A field with more distinct values is free text."""


@dataclass(frozen=True)
class Rater:
    """A labeller: the number of ``labels`` in all and on ``shared`` units, the mean Cohen's
    ``kappa`` with the (other) people (None if chance allows no disagreement), the median
    ``seconds`` per label and, according to the model, the ``accuracy`` and the ``sensitivity`` to
    each category."""

    name: str
    labels: int
    shared: int
    kappa: float | None
    accuracy: float | None
    sensitivity: Mapping[str, float]
    seconds: float | None = None


@dataclass(frozen=True)
class MachineAgreement:
    """How people's labels agree with the evaluation's own labeller, over the ``labels`` by people
    where it has one too. ``quadratic`` is κ with quadratic weights, None if the values have no
    order. Intervals are over topics."""

    labels: int
    agreement: Estimate
    kappa: Estimate
    quadratic: Estimate | None


@dataclass(frozen=True)
class Overlap:
    """Agreement on a ``field`` of the verdicts of a task.

    ``items`` counts what anybody labelled, ``shared`` what two or more people labelled, ``differ``
    those of these on which they disagree. ``alpha`` is Krippendorff's over the shared items, by the
    ``metric`` of the values. ``machine`` is the evaluation's own labeller as a rater, ``beside``
    its agreement with people. ``consensus`` counts the items by their most likely category
    according to the model, ``changed`` those where that is not the majority's. ``why`` says why
    there is no model, ``notes`` when not to trust it, and ``doubts`` whose labels seem to carry no
    information.
    """

    task: str
    title: str
    field: str
    categories: tuple[str, ...]
    items: int
    shared: int
    differ: int
    metric: Metric
    alpha: Estimate
    people: tuple[Rater, ...]
    machine: Rater | None
    beside: MachineAgreement | None
    consensus: Mapping[str, int]
    changed: int
    why: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def raters(self) -> tuple[Rater, ...]:
        """The people, and the machine if there is one."""
        return self.people if self.machine is None else (*self.people, self.machine)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Doubts and notes about the labels and the model."""
        return (*self.doubts, *self.notes, *((f"No accuracies: {self.why}",) if self.why else ()))

    def rows(self) -> Iterator[tuple[object, ...]]:
        """A row for each rater and category, under :data:`COLUMNS`. Names are those in the ledger,
        so that no person can be mistaken for the machine."""
        alpha = (self.alpha.value, *ends_of(self.alpha.interval))
        for one in self.raters:
            name = one.name if one is self.machine else f"human:{one.name}"
            cells = (self.task, self.field, name, one.labels, one.shared, one.kappa)
            for category, share in one.sensitivity.items() or [(None, None)]:
                yield (*cells, one.accuracy, one.seconds, category, share, *alpha)

    def table(self, title: str, *, folded: bool = False) -> Table:
        """The raters. A person with the machine's name has the name in the ledger."""
        like = None if self.machine is None else self.machine.name
        rows = [
            (
                f"human:{like}" if who.name == like and who is not self.machine else who.name,
                who.labels, who.shared, who.kappa, who.accuracy,
                *(who.sensitivity.get(name) for name in self.categories),
                None if who.seconds is None else f"{who.seconds:.1f}",
            )
            for who in self.raters
        ]  # fmt: skip
        heading = ("person", "labels", "shared", "κ", "accuracy", *self.categories, "seconds")
        return Table(title, heading, rows, numbers=frozenset({"seconds"}), folded=folded)


class _FieldLabels(NamedTuple):
    """The labels of a field by people and by the machine, by item, and how long people took."""

    people: dict[tuple[str, int], dict[str, Any]]
    machine: dict[tuple[str, int], Any]
    seconds: dict[str, list[float]]


def overlaps(labels: UnitLabels, tasks: Iterable[AnyTask], used: UsedLabels) -> Iterator[Overlap]:
    """Compare the labels under these tasks, in their present version, field by field, if two
    people, or one and the machine, labelled the same. Labels that are ``used`` tell the topics."""
    known = {task.name: task for task in tasks if task.joins}
    by_task: dict[str, list[Label]] = {}
    for one in labels.ledger.usable_by_each():
        task = known.get(one.task)
        if task is None or one.version != task.version or one.verdict is None:
            continue
        if one.labeller.name in labels.policy.without:
            continue
        if is_independent(one) and mode_of(one) != ADJUDICATION:
            by_task.setdefault(one.task, []).append(one)
    for name, given in sorted(by_task.items()):
        units = {one.unit for one in given}
        machines, own = labels.machine_labels(known[name], units), labels.configured[name]
        of_unit = {label.rowid: unit for unit in units for label in labels.of(unit)}
        topics = {of_unit[number]: of for number, of in used.topics(of_unit).items()}
        for field, found in sorted(_by_field(given, machines).items()):
            if _is_scale(found):
                all_said = _overlap(known[name], field, found, topics, own.name if own else "")
                doubts, notes = order_effects(known[name], given)
                yield replace(
                    all_said,
                    doubts=(*all_said.doubts, *doubts, *copied_labels(given)),
                    notes=(*all_said.notes, *notes, *guideline_notes(given)),
                )


def _by_field(given: Sequence[Label], machines: Mapping[str, Label]) -> dict[str, _FieldLabels]:
    found: dict[str, _FieldLabels] = {}
    for one in given:
        who, seconds = one.labeller.name.removeprefix("human:"), seconds_of(one)
        for field, place, value in _values(one):
            labels = found.setdefault(field, _FieldLabels({}, {}, {}))
            labels.people.setdefault((one.unit, place), {})[who] = value  # the newest is last
            if seconds is not None and not place:
                labels.seconds.setdefault(who, []).append(seconds)
    for unit, one in machines.items():
        for field, place, value in _values(one):
            if field in found and (unit, place) in found[field].people:
                found[field].machine[unit, place] = value
    return found


def _is_scale(labelled: _FieldLabels) -> bool:
    values = {_word(value) for by in labelled.people.values() for value in by.values()}
    shared = bool(labelled.machine) or any(len(by) > 1 for by in labelled.people.values())
    return len(values) <= _MOST_CATEGORIES and shared


def _values(label: Label) -> Iterator[tuple[str, int, Any]]:
    """The fields of a verdict that are choices, with their indexes in lists."""
    for name, value in (label.verdict or {}).items():
        if name == "reason":
            continue
        if isinstance(value, bool | int | str):
            yield name, 0, value
        elif isinstance(value, list | tuple):
            for place, one in enumerate(value):
                if isinstance(one, bool | int | str):
                    yield name, place, one
                elif isinstance(one, dict):
                    for inner, choice in one.items():
                        if isinstance(choice, bool):
                            yield f"{name}.{inner}", place, choice


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _overlap(
    task: AnyTask, field: str, labelled: _FieldLabels, topics: Mapping[str, str], machine_name: str
) -> Overlap:
    items = list(labelled.people)
    of_item = [topics.get(unit, unit) for unit, _ in items]  # unused units are their own topic
    people = sorted({who for by in labelled.people.values() for who in by})
    every = [
        *labelled.machine.values(),
        *(one for by in labelled.people.values() for one in by.values()),
    ]
    codes, metric = coded(task.name, field, [every])
    by_order = sorted(set(every), key=(codes.__getitem__ if metric == "ordinal" else _word))
    categories = list(dict.fromkeys(map(_word, by_order)))
    code = {value: number for number, value in enumerate(categories)}
    labels = np.array(
        [
            [code[_word(by[who])] if who in by else NO_LABEL for who in people]
            for by in labelled.people.values()
        ]
    )
    machine = np.array(
        [
            code[_word(labelled.machine[one])] if one in labelled.machine else NO_LABEL
            for one in items
        ]
    )
    several = (labels != NO_LABEL).sum(axis=1) > 1
    votes = (labels[:, :, None] == np.arange(max(2, len(categories)))).sum(axis=1)
    found: Consensus | None = None
    why, notes, changed = "", [], 0
    try:
        found = dawid_skene(labels, max(2, len(categories)))
    except ValueError as error:
        why = f"{error}."
    if found is not None:
        most = votes == votes.max(axis=1, keepdims=True)
        changed = int((~most[np.arange(len(labels)), found.labels]).sum())
        if found.people < 3:
            notes.append("Two people do not show which of them is wrong: read κ, not accuracy.")
        elif several.sum() < 50:
            notes.append("Fewer than 50 shared items: accuracies are rough.")
        if not found.converged:
            notes.append("The model did not converge.")
    values = np.where(labels == NO_LABEL, np.nan, labels.astype(float))
    kappas = _kappas(np.column_stack([values, np.where(machine == NO_LABEL, np.nan, machine)]))
    seconds = {who: median(some) for who, some in labelled.seconds.items()}
    raters = tuple(
        Rater(
            who,
            int((labels[:, at] != NO_LABEL).sum()),
            int((labels[several, at] != NO_LABEL).sum()),
            kappas[at],
            None if found is None else float(found.accuracy[at]),
            {}
            if found is None
            else {name: float(found.confusion[at, k, k]) for name, k in code.items()},
            seconds.get(who),
        )
        for at, who in enumerate(people)
    )
    return Overlap(
        task.name, task.title, field, tuple(categories), len(items), int(several.sum()),
        int(((votes > 0).sum(axis=1) > 1).sum()),
        metric,
        alpha_estimate(values.T, metric, topics=_resampled(of_item, several)),
        raters,
        _machine(machine_name, machine, found, code, kappas[-1]) if labelled.machine else None,
        _beside(labelled, dict(zip(items, of_item, strict=True)), codes, metric),
        {} if found is None else {n: int((found.labels == k).sum()) for n, k in code.items()},
        changed, why, tuple(notes), tuple(rater_doubts(raters, labels, categories)),
    )  # fmt: skip


def _resampled(topics: Sequence[str], which: Bools) -> Sequence[str] | None:
    """The topics, or None if the marked items have too few of them for an interval."""
    few = len(set(compress(topics, which))) < FEWEST_TOPICS
    return None if few else topics


def _kappas(values: Floats) -> list[float | None]:
    """The mean κ of each column with the (other) people's, weighted by the number of shared items.
    The last column is the machine's, which counts as nobody's partner."""
    last = values.shape[1] - 1
    total, weights = np.zeros(last + 1), np.zeros(last + 1)
    for pair in combinations(range(last + 1), 2):
        both = values[~np.isnan(values[:, pair]).any(axis=1)][:, pair]
        kappa = cohen_kappa(both[:, 0], both[:, 1]) if len(both) else None
        for at in () if kappa is None else pair if last not in pair else (last,):
            total[at] += (kappa or 0.0) * len(both)
            weights[at] += len(both)
    return [
        float(one / weight) if weight else None
        for one, weight in zip(total, weights, strict=True)
    ]  # fmt: skip


def _machine(
    name: str, labels: Any, found: Consensus | None, code: Mapping[str, int], kappa: float | None
) -> Rater:
    """The machine as a rater. Its labels have no part in the model of the people's."""
    own = labels != NO_LABEL
    sensitivity: dict[str, float] = {}
    if found is not None:
        likely = found.posterior[own]
        for category, k in code.items():
            if total := float(likely[:, k].sum()):
                sensitivity[category] = float(likely[labels[own] == k, k].sum()) / total
    accuracy = None
    if found is not None and sensitivity:
        shares = {one: float(found.prior[code[one]]) for one in sensitivity}
        accuracy = sum(shares[one] * share for one, share in sensitivity.items())
        accuracy /= sum(shares.values())
    return Rater(name, int(own.sum()), int(own.sum()), kappa, accuracy, sensitivity)


def _beside(
    labelled: _FieldLabels,
    topics: Mapping[tuple[str, int], str],
    codes: Mapping[Any, float],
    metric: Metric,
) -> MachineAgreement | None:
    rows = [
        (codes[one], codes[labelled.machine[item]], topics[item])
        for item, by in labelled.people.items()
        if item in labelled.machine
        for one in by.values()
    ]
    if not rows:
        return None
    first, second, of_row = map(list, zip(*rows, strict=True))
    found = agree(first, second, topics=_resampled(of_row, np.ones(len(rows), bool))).estimates
    quadratic = found["kappa_quadratic"] if metric == "ordinal" else None
    return MachineAgreement(len(rows), found["agreement"], found["kappa"], quadratic)
