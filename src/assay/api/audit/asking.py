"""The questions of an audit: units changed by a probe, reordered, or asked a second time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from operator import attrgetter
from random import Random
from typing import Any

from assay.judging.engine import Plan, plan
from assay.labellers.audited import DAYS, STRIDE, audited
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.model.labels import Label, Status
from assay.protocols.base import Step
from assay.protocols.evaluation import Evaluation
from assay.systems.asking import known_labels, usable
from assay.tasks.audit.probes import PROBES, Of, OtherUnits, Probe, order_of, reordered
from assay.tasks.audit.views import VIEWS, View
from assay.tasks.base import AnyTask, content_hash

_SPARE = 4
"""Oversampling factor for units, as a probe may not fit every unit."""
_BLOCK = 1000


@dataclass(frozen=True)
class Base:
    """A unit of the folder, its labeller's verdict in the ledger, and the verdict's value (0 if the
    task has none). ``order``, its place in the sample, depends only on the seed and the unit, so
    that adding units does not move the others."""

    request: Request
    topic: str
    verdict: Mapping[str, Any]
    value: float
    order: str

    @property
    def unit(self) -> str:
        return self.request.unit_hash


@dataclass(frozen=True)
class Labelled:
    """A task and one of its labellers, with the evaluation steps that use them."""

    task: AnyTask
    labeller: Labeller
    steps: list[tuple[Evaluation, Step]] = field(default_factory=list)

    @property
    def view(self) -> View | None:
        return VIEWS.get(self.task.name)


@dataclass(frozen=True)
class UnitSource:
    """A task and labeller with a sample of ``count`` labelled units of each kind. ``asks`` says
    whether there are any units."""

    of: Labelled
    units: Mapping[Of, tuple[Base, ...]]
    count: int
    asks: bool

    def pool(self, view: View) -> OtherUnits:
        """The contents of other units."""
        return OtherUnits.of(view, [one.request.content for one in self.units["all"]])


def labelled(parts: Iterable[Evaluation]) -> list[Labelled]:
    """The tasks of the protocols with their labellers; people are not audited."""
    found: dict[tuple[str, str], Labelled] = {}
    for part in parts:
        labellers = part.labellers()
        for step in part.steps:
            who = labellers[step.labeller or step.asked_task.name]
            if not step.asked_task.by_people and who.id.kind != "human":
                own = found.setdefault(
                    (step.asked_task.name, who.id.name), Labelled(step.asked_task, who)
                )
                own.steps.append((part, step))
    return list(found.values())


def source(one: Labelled, ledger: Ledger, *, n: int, seed: int) -> UnitSource:
    """A sample of ``n`` units of each kind, with some to spare."""
    drawn: dict[Of, list[Base]] = {"all": [], "no": [], "yes": []}
    count, view = 0, one.view
    stream = bases(one, ledger, seed)
    for some in iter(lambda: list(islice(stream, _BLOCK)), []):
        count += len(some)
        by_kind: dict[Of, list[Base]] = {"all": some, "no": [], "yes": []}
        if view is not None:
            by_kind["no"] = [base for base in some if base.value < view.positive]
            by_kind["yes"] = [base for base in some if base.value >= view.top]
        for kind, more in by_kind.items():
            drawn[kind] = heapq.nsmallest(
                n * _SPARE, [*drawn[kind], *more], key=attrgetter("order")
            )
    asks = count > 0 or any(
        True for part, step in one.steps for _ in step.requests(part.book(ledger))
    )
    return UnitSource(one, {kind: tuple(some) for kind, some in drawn.items()}, count, asks)


def bases(one: Labelled, ledger: Ledger, seed: int) -> Iterator[Base]:
    """Each unit once, if the ledger has a usable label by the labeller as configured now."""
    seen: set[str] = set()

    def requests() -> Iterator[Request]:
        for part, step in one.steps:
            for request in step.requests(part.book(ledger)):
                asked = step.as_asked(request)
                if asked.unit_hash not in seen:
                    seen.add(asked.unit_hash)
                    yield Request(asked.task, asked.unit, topic=request.topic)

    return known(one, requests(), ledger, seed)


def known(one: Labelled, requests: Iterable[Request], ledger: Ledger, seed: int) -> Iterator[Base]:
    """The requests for which the ledger has a usable label."""
    stream = iter(requests)
    for some in iter(lambda: list(islice(stream, _BLOCK)), []):
        for request, label in zip(some, known_labels(ledger, one.labeller, some), strict=True):
            verdict = usable(label)
            if verdict is None:
                continue
            value = 0.0 if one.view is None else one.view.value(verdict)
            order = content_hash(f"{seed} {request.unit_hash}".encode())
            yield Base(request, request.topic, verdict, value, order)


REPEAT, ORDER, DRIFT = "repeat", "order", "drift"


@dataclass(frozen=True)
class Ask:
    """An audit question: ``variant`` of the unit ``base``. Its verdict is compared with the verdict
    on the variant ``against`` or, if that is empty, on the unchanged unit. ``order`` is the order a
    list was put in."""

    base: Base
    variant: str
    request: Request
    against: str = ""
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A probe of a task and labeller, with its questions. ``why`` explains why there are none."""

    probe: str
    of: Labelled
    kind: Of = "all"
    asks: tuple[Ask, ...] = ()
    why: str = ""


@dataclass
class AuditQuestion:
    """All trials of a task and labeller, and the labeller to ask."""

    of: Labelled
    trials: list[Trial]
    labeller: Labeller = field(init=False)

    def __post_init__(self) -> None:
        origins: dict[str, Mapping[str, Any]] = {}
        for trial in self.trials:
            for ask in trial.asks:
                what = {"probe": trial.probe, "variant": ask.variant, "of": ask.base.unit}
                origins.setdefault(ask.request.unit_hash, what)
        self.labeller = audited(self.of.labeller, origins)

    def plan(self, ledger: Ledger | None, *, retry_failed: bool = False) -> Plan:
        """The questions that the ledger cannot answer yet."""
        requests = [ask.request for trial in self.trials for ask in trial.asks]
        return plan(ledger, self.labeller, requests, retry_failed=retry_failed, across_tasks=False)

    def labels(self, ledger: Ledger) -> dict[tuple[str, int], Label]:
        """The resulting labels by unit hash and sample number."""
        requests = {
            request_key(self.labeller, ask.request): ask.request
            for trial in self.trials
            for ask in trial.asks
        }
        found = ledger.by_key((request.unit_hash, key) for key, request in requests.items())
        return {
            (requests[key].unit_hash, requests[key].sample): label for key, label in found.items()
        }


def trial(source: UnitSource, probe: str, *, n: int, seed: int, repeats: int) -> Trial:
    """Set up one probe for a task and labeller."""
    view = source.of.view
    if not source.count:
        return Trial(probe, source.of, why="the ledger has no label for it yet: judge first")
    if probe == REPEAT:
        asks = [
            Ask(base, f"again {number}", repeated(base, number))
            for base in source.units["all"][:n]
            for number in range(1, repeats + 1)
        ]
        return Trial(probe, source.of, asks=tuple(asks))
    if view is None:
        return Trial(probe, source.of, why="its verdict is neither high nor low")
    if probe == ORDER:
        if view.listed is None:
            return Trial(probe, source.of, why="it has no list and no two sides")
        asks = list(islice(_shuffled(source, view, seed), n))
        why = "" if asks else "no unit lists more than one thing"
        return Trial(probe, source.of, asks=tuple(asks), why=why)
    made = PROBES[probe]
    if made.claims and not view.claim:
        return Trial(probe, source.of, made.units, why="it makes no claim")
    asks = list(_changed(source, view, made, n, seed))
    said = {
        "no": "the judge says no to none of its units",
        "yes": "the judge gives none of them its highest verdict",
    }
    why = "" if asks else "it fits none of the units"
    if not source.units[made.units]:
        why = said.get(made.units, why)
    return Trial(probe, source.of, made.units, tuple(asks), why)


def repeated(base: Base, asking: int) -> Request:
    """The same question again, under another sample number."""
    request = base.request
    return Request(request.task, request.unit, asking * STRIDE, topic=base.topic)


def _shuffled(source: UnitSource, view: View, seed: int) -> Iterator[Ask]:
    for base in source.units["all"]:
        order = order_of(view, base.request.content, _random(seed, ORDER, base))
        unit = None if order is None else reordered(view, base.request.unit, order)
        if order is not None and unit is not None and unit != base.request.unit:
            request = Request(base.request.task, unit, topic=base.topic)
            yield Ask(base, "shuffled", request, order=tuple(order))


def _changed(source: UnitSource, view: View, probe: Probe, n: int, seed: int) -> Iterator[Ask]:
    taken, pool = 0, source.pool(view)
    for base in source.units[probe.units]:
        changes = [
            one
            for one in probe.change(view, base.request.unit, _random(seed, probe.name, base), pool)
            if one.unit != base.request.unit
        ]
        for one in changes:
            request = Request(base.request.task, one.unit, topic=base.topic)
            yield Ask(base, one.variant, request, one.against)
        taken += bool(changes)
        if taken == n:
            return


def _random(seed: int, probe: str, base: Base) -> Random:
    """A generator that draws the same values in every run."""
    return Random(f"{seed} {probe} {base.unit}")  # noqa: S311 (nothing is to be kept secret)


def drift_trial(source: UnitSource, ledger: Ledger, *, n: int, seed: int, day: date) -> Trial:
    """Repeat units on a given day: those of earlier days, or ``n`` units if there are none."""
    if not source.count:
        return Trial(DRIFT, source.of, why="the ledger has no label for it yet: judge first")
    frozen = dict.fromkeys(label.unit for label in earlier(source.of, ledger))
    units: Sequence[Base] = source.units["all"][:n]
    if frozen:
        topics = {base.unit: base.topic for base in source.units["all"]}
        task = source.of.task
        requests = (
            Request(task, task.unit.model_validate(ledger.unit(unit)), topic=topics.get(unit, ""))
            for unit in frozen
        )
        units = list(known(source.of, requests, ledger, seed))
        if not units:
            why = "the labeller is not the same as before: its labels for these units are missing"
            return Trial(DRIFT, source.of, why=why)
    number = day.toordinal()
    return Trial(
        DRIFT, source.of,
        asks=tuple(Ask(base, day.isoformat(), repeated(base, number)) for base in units),
    )  # fmt: skip


def earlier(of: Labelled, ledger: Ledger) -> Iterator[Label]:
    """Labels of earlier drift checks of this labeller, oldest first."""
    name = audited(of.labeller, {}).id.name
    for label in ledger.labels([of.task.name]):
        asking = label.sample // STRIDE
        if label.labeller.name == name and asking >= DAYS and label.status is Status.OK:
            yield label
