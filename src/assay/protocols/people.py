"""People who labelled the same units: how far they agree with each other and with the machine, how
reliable each of them is, and whose labels tell nothing.

What somebody said with another's label in sight is left out, and what settles others' labels; of
each person the newest label of a unit counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from assay.measures.arrays import Floats
from assay.model.labels import ADJUDICATION, Label, is_independent, mode_of, seconds_of
from assay.page.parts import Part, Table
from assay.protocols.members import coded
from assay.protocols.unit_labels import UnitLabels
from assay.statistics.agreement import cohen_kappa, krippendorff_alpha
from assay.statistics.dawid_skene import NO_LABEL, Consensus, dawid_skene
from assay.tasks.base import AnyTask

COLUMNS = (
    "task", "field", "person", "labels", "shared", "kappa", "accuracy", "seconds", "category",
    "sensitivity",
)  # fmt: skip
MACHINE = "the machine"
_MOST_CATEGORIES = 12
"""A field with more different values is free text."""
_FEW = 10
"""Labels of a person of whom nothing is said with fewer."""
_BY_CHANCE = 0.001
_HARDLY = 0.1
_FASTER = 4


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
    values have no order."""

    labels: int
    agreement: float
    kappa: float | None
    quadratic: float | None


@dataclass(frozen=True)
class Overlap:
    """A ``field`` of the verdicts of a task. ``items`` have labels by anybody, ``shared`` by two
    people or more, who say different things of ``differ`` of these; ``alpha`` is Krippendorff's
    over these. ``machine`` is the evaluation's own labeller among the people, ``beside`` how all
    agree with it. ``consensus`` counts the items of which each category is the model's most likely
    one, ``changed`` the items of which the model's most likely category is not that of most people;
    ``why`` says why there is no model, ``notes`` when it is not to be trusted, and ``doubts`` whose
    labels seem to tell nothing."""

    task: str
    title: str
    field: str
    categories: tuple[str, ...]
    items: int
    shared: int
    differ: int
    alpha: float | None
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
        """A row for each of them and category, under :data:`COLUMNS`."""
        for one in self.raters:
            cells = (self.task, self.field, one.name, one.labels, one.shared, one.kappa)
            for category, share in one.sensitivity.items() or [(None, None)]:
                yield (*cells, one.accuracy, one.seconds, category, share)

    def table(self, title: str, *, folded: bool = False) -> Table:
        """The raters."""
        rows = [
            (
                who.name, who.labels, who.shared, who.kappa, who.accuracy,
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


def overlaps(labels: UnitLabels, tasks: Iterable[AnyTask]) -> Iterator[Overlap]:
    """What people said under these tasks, as they are asked now, field by field: where two of them,
    or one and the machine, labelled the same."""
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
        machines = labels.machines(known[name], {one.unit for one in given})
        for field, found in sorted(_by_field(given, machines).items()):
            if _is_scale(found):
                yield _overlap(known[name], field, found)


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


def _overlap(task: AnyTask, field: str, said: _Said) -> Overlap:
    items = list(said.people)
    people = sorted({who for by in said.people.values() for who in by})
    every = [*said.machine.values(), *(one for by in said.people.values() for one in by.values())]
    categories = sorted({_word(one) for one in every})
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
            notes.append("Two people alone do not tell who of them errs: read κ, not accuracy.")
        elif several.sum() < 50:
            notes.append("Fewer than 50 shared items: accuracies are rough.")
        if not found.converged:
            notes.append("The model did not come to rest.")
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
        krippendorff_alpha(values.T) if several.any() else None,
        raters,
        _machine(machine, found, code, kappas[-1]) if said.machine else None,
        _beside(task, field, said),
        {} if found is None else {n: int((found.labels == k).sum()) for n, k in code.items()},
        changed, why, tuple(notes), tuple(_doubts(raters, labels, categories)),
    )  # fmt: skip


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
    said: Any, found: Consensus | None, code: Mapping[str, int], kappa: float | None
) -> Rater:
    """The machine, whose labels have no part in the model of the people's."""
    own = said != NO_LABEL
    sensitivity: dict[str, float] = {}
    if found is not None:
        likely = found.posterior[own]
        for name, k in code.items():
            if total := float(likely[:, k].sum()):
                sensitivity[name] = float(likely[said[own] == k, k].sum()) / total
    accuracy = None
    if found is not None and sensitivity:
        shares = {name: float(found.prior[code[name]]) for name in sensitivity}
        accuracy = sum(shares[name] * one for name, one in sensitivity.items())
        accuracy /= sum(shares.values())
    return Rater(MACHINE, int(own.sum()), int(own.sum()), kappa, accuracy, sensitivity)


def _beside(task: AnyTask, field: str, said: _Said) -> BesideMachine | None:
    pairs = [
        (one, said.machine[item])
        for item, by in said.people.items()
        if item in said.machine
        for one in by.values()
    ]
    if not pairs:
        return None
    columns = list(zip(*pairs, strict=True))
    codes, metric = coded(task.name, field, columns)
    first, second = (np.array([codes[one] for one in column]) for column in columns)
    return BesideMachine(
        len(pairs),
        float((first == second).mean()),
        cohen_kappa(first, second),
        cohen_kappa(first, second, weights="quadratic") if metric == "ordinal" else None,
    )


def _doubts(raters: Sequence[Rater], labels: Any, categories: Sequence[str]) -> Iterator[str]:
    """Whose labels seem to tell nothing of the units."""
    for at, who in enumerate(raters):
        shared = labels[:, at] != NO_LABEL
        others = np.delete(labels[shared], at, axis=1)
        others = others[others != NO_LABEL]
        own = np.unique(labels[shared, at])
        if who.shared < _FEW:
            continue
        by_others = float((others == own[0]).mean())
        if len(own) == 1 and by_others**who.shared < _BY_CHANCE:
            yield (
                f"{who.name} said {categories[own[0]]} of all {who.labels}; of the same, "
                f"{by_others:.0%} of what others said is {categories[own[0]]}."
            )
        elif who.kappa is not None and who.kappa < _HARDLY and who.shared >= 2 * _FEW:
            yield f"{who.name} agrees with others hardly more than by chance (κ {who.kappa:.2f})."
        rest = [one.seconds for one in raters if one is not who and one.seconds is not None]
        if who.seconds is not None and rest and who.seconds * _FASTER < median(rest):
            yield f"{who.name} took {who.seconds:.1f} s for a label, others {median(rest):.1f} s."


# -- in a report ----------------------------------------------------------------------------------


def parts(found: Sequence[Overlap]) -> Iterator[Part]:
    """The section of a report."""
    if not found:
        return
    columns = (
        "task", "people", "units", "by several", "they differ on", "α", "beside the machine",
        "agreement", "κ", "κ, quadratic",
    )  # fmt: skip
    several = {one.task for one in found if sum(one.task == other.task for other in found) > 1}
    named = [
        f"{one.title} ({one.field.replace('.', ', ')})" if one.task in several else one.title
        for one in found
    ]
    rows = [
        (
            name, len(one.people), one.items, one.shared, one.differ, one.alpha,
            *((None,) * 4 if one.beside is None else astuple(one.beside)),
        )
        for name, one in zip(named, found, strict=True)
    ]  # fmt: skip
    yield Part(
        "People and the machine",
        "Of each person the newest label of a unit, but for those given with another’s in sight. α "
        "is of people among themselves, 1 where all say the same, 0 where they agree as by chance; "
        "agreement and κ are of people’s labels with those of the evaluation’s own labeller on the "
        "same units.",
        (Table("By task", columns, rows),),
    )
    each = [(name, one) for name, one in zip(named, found, strict=True) if one.shared]
    if each:
        yield Part(
            "Person by person",
            "Of each person κ with the others on average, and, by the model of Dawid and Skene "
            "(1979), how often the person is right, in all and where each verdict is the right "
            "one; seconds are the median.",
            tuple(one.table(name, folded=len(one.people) > _FEW) for name, one in each),
            remarks=tuple(
                f"{name.split(':')[0]}: {remark}" for name, one in each for remark in one.remarks
            ),
            of_people=True,
        )
