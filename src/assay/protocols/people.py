"""People who labelled the same units: how far they agree with each other and with the machine, how
reliable each of them is, and whose labels tell nothing.

What somebody said with another's label in sight is left out, and what settles others' labels; of
each person the newest label of a unit counts.
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
from assay.protocols.people_doubts import doubts_of, of_copies, of_guidelines, of_places
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
"""Resampling fewer topics says nothing: of two it is a half of the time one twice."""
_MOST_CATEGORIES = 12
"""A field with more different values is free text."""


@dataclass(frozen=True)
class Rater:
    """One of those who labelled: ``labels`` in all and of ``shared`` units, Cohen's ``kappa`` with
    the (other) people on average (None where chance allows no disagreement), the median of the
    ``seconds`` that a label took, and, as the model has it, the ``accuracy`` and the
    ``sensitivity`` to each category."""

    name: str
    labels: int
    shared: int
    kappa: float | None
    accuracy: float | None
    sensitivity: Mapping[str, float]
    seconds: float | None = None


@dataclass(frozen=True)
class BesideMachine:
    """How people's labels agree with those of the evaluation's own labeller, on ``labels`` by
    people that have one beside them; ``quadratic`` is κ with quadratic weights, None where the
    values have no order. Intervals are over topics."""

    labels: int
    agreement: Estimate
    kappa: Estimate
    quadratic: Estimate | None


@dataclass(frozen=True)
class Overlap:
    """A ``field`` of the verdicts of a task. ``items`` have labels by anybody, ``shared`` by two
    people or more, who say different things of ``differ`` of these; ``alpha`` is Krippendorff's
    over these, by the ``metric`` of the values. ``machine`` is the evaluation's own labeller among
    the people, ``beside`` how all agree with it. ``consensus`` counts the items of which each
    category is the model's most likely one, ``changed`` the items of which the model's most likely
    category is not that of most people; ``why`` says why there is no model, ``notes`` when it is
    not to be trusted, and ``doubts`` whose labels seem to tell nothing."""

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
    beside: BesideMachine | None
    consensus: Mapping[str, int]
    changed: int
    why: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def raters(self) -> tuple[Rater, ...]:
        """The people, and the machine where there is one."""
        return self.people if self.machine is None else (*self.people, self.machine)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of them."""
        return (*self.doubts, *self.notes, *((f"No accuracies: {self.why}",) if self.why else ()))

    def rows(self) -> Iterator[tuple[object, ...]]:
        """A row for each of them and category, under :data:`COLUMNS`. Names are the ledger's, so
        that no person can be taken for the machine."""
        alpha = (self.alpha.value, *ends_of(self.alpha.interval))
        for one in self.raters:
            name = one.name if one is self.machine else f"human:{one.name}"
            cells = (self.task, self.field, name, one.labels, one.shared, one.kappa)
            for category, share in one.sensitivity.items() or [(None, None)]:
                yield (*cells, one.accuracy, one.seconds, category, share, *alpha)

    def table(self, title: str, *, folded: bool = False) -> Table:
        """The raters; a person with the machine's name by the ledger's."""
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


class _Said(NamedTuple):
    """What people, and the machine, said of the items of a field, and how fast people were."""

    people: dict[tuple[str, int], dict[str, Any]]
    machine: dict[tuple[str, int], Any]
    seconds: dict[str, list[float]]


def overlaps(labels: UnitLabels, tasks: Iterable[AnyTask], used: UsedLabels) -> Iterator[Overlap]:
    """What people said under these tasks, as they are asked now, field by field: where two of them,
    or one and the machine, labelled the same. Labels that are ``used`` say of which topics."""
    known = {task.name: task for task in tasks if task.joins}
    said: dict[str, list[Label]] = {}
    for one in labels.ledger.usable_by_each():
        task = known.get(one.task)
        if task is None or one.version != task.version or one.verdict is None:
            continue
        if one.labeller.name in labels.policy.without:
            continue
        if is_independent(one) and mode_of(one) != ADJUDICATION:
            said.setdefault(one.task, []).append(one)
    for name, given in sorted(said.items()):
        units = {one.unit for one in given}
        machines, own = labels.machine_labels(known[name], units), labels.configured[name]
        of_unit = {label.rowid: unit for unit in units for label in labels.of(unit)}
        topics = {of_unit[number]: of for number, of in used.topics(of_unit).items()}
        for field, found in sorted(_by_field(given, machines).items()):
            if _is_scale(found):
                all_said = _overlap(known[name], field, found, topics, own.name if own else "")
                doubts, notes = of_places(known[name], given)
                yield replace(
                    all_said,
                    doubts=(*all_said.doubts, *doubts, *of_copies(given)),
                    notes=(*all_said.notes, *notes, *of_guidelines(given)),
                )


def _by_field(given: Sequence[Label], machines: Mapping[str, Label]) -> dict[str, _Said]:
    found: dict[str, _Said] = {}
    for one in given:
        who, seconds = one.labeller.name.removeprefix("human:"), seconds_of(one)
        for field, place, value in _values(one):
            said = found.setdefault(field, _Said({}, {}, {}))
            said.people.setdefault((one.unit, place), {})[who] = value  # the newest is last
            if seconds is not None and not place:
                said.seconds.setdefault(who, []).append(seconds)
    for unit, one in machines.items():
        for field, place, value in _values(one):
            if field in found and (unit, place) in found[field].people:
                found[field].machine[unit, place] = value
    return found


def _is_scale(said: _Said) -> bool:
    values = {_word(value) for by in said.people.values() for value in by.values()}
    shared = bool(said.machine) or any(len(by) > 1 for by in said.people.values())
    return len(values) <= _MOST_CATEGORIES and shared


def _values(label: Label) -> Iterator[tuple[str, int, Any]]:
    """The fields of a verdict that are choices, with their places in lists."""
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
    task: AnyTask, field: str, said: _Said, topics: Mapping[str, str], machine_name: str
) -> Overlap:
    items = list(said.people)
    of_item = [topics.get(unit, unit) for unit, _ in items]  # what is used nowhere, by itself
    people = sorted({who for by in said.people.values() for who in by})
    every = [*said.machine.values(), *(one for by in said.people.values() for one in by.values())]
    codes, metric = coded(task.name, field, [every])
    by_order = sorted(set(every), key=(codes.__getitem__ if metric == "ordinal" else _word))
    categories = list(dict.fromkeys(map(_word, by_order)))
    code = {value: number for number, value in enumerate(categories)}
    labels = np.array(
        [
            [code[_word(by[who])] if who in by else NO_LABEL for who in people]
            for by in said.people.values()
        ]
    )
    machine = np.array(
        [code[_word(said.machine[one])] if one in said.machine else NO_LABEL for one in items]
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
    seconds = {who: median(some) for who, some in said.seconds.items()}
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
        _machine(machine_name, machine, found, code, kappas[-1]) if said.machine else None,
        _beside(said, dict(zip(items, of_item, strict=True)), codes, metric),
        {} if found is None else {n: int((found.labels == k).sum()) for n, k in code.items()},
        changed, why, tuple(notes), tuple(doubts_of(raters, labels, categories)),
    )  # fmt: skip


def _resampled(topics: Sequence[str], which: Bools) -> Sequence[str] | None:
    """The topics, where those of some items are enough for an interval."""
    few = len(set(compress(topics, which))) < FEWEST_TOPICS
    return None if few else topics


def _kappas(values: Floats) -> list[float | None]:
    """Each column's mean κ with those of the (other) people, weighed by what the two share; the
    last column is the machine's, which is nobody's fellow."""
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
    name: str, said: Any, found: Consensus | None, code: Mapping[str, int], kappa: float | None
) -> Rater:
    """The machine, whose labels have no part in the model of the people's."""
    own = said != NO_LABEL
    sensitivity: dict[str, float] = {}
    if found is not None:
        likely = found.posterior[own]
        for category, k in code.items():
            if total := float(likely[:, k].sum()):
                sensitivity[category] = float(likely[said[own] == k, k].sum()) / total
    accuracy = None
    if found is not None and sensitivity:
        shares = {one: float(found.prior[code[one]]) for one in sensitivity}
        accuracy = sum(shares[one] * share for one, share in sensitivity.items())
        accuracy /= sum(shares.values())
    return Rater(name, int(own.sum()), int(own.sum()), kappa, accuracy, sensitivity)


def _beside(
    said: _Said,
    topics: Mapping[tuple[str, int], str],
    codes: Mapping[Any, float],
    metric: Metric,
) -> BesideMachine | None:
    rows = [
        (codes[one], codes[said.machine[item]], topics[item])
        for item, by in said.people.items()
        if item in said.machine
        for one in by.values()
    ]
    if not rows:
        return None
    first, second, of_row = map(list, zip(*rows, strict=True))
    found = agree(first, second, topics=_resampled(of_row, np.ones(len(rows), bool))).estimates
    quadratic = found["kappa_quadratic"] if metric == "ordinal" else None
    return BesideMachine(len(rows), found["agreement"], found["kappa"], quadratic)
