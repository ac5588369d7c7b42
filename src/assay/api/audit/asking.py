"""What an audit asks: units that probes changed, shuffled, or put once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

from assay.api.audit.units import Base, Labelled, UnitSource, known
from assay.judging.engine import Plan, plan
from assay.labellers.audited import DAYS, STRIDE, audited
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.model.labels import Label, Status
from assay.tasks.audit.probes import PROBES, Of, Probe, in_order, order_of
from assay.tasks.audit.views import View

REPEAT, ORDER, DRIFT = "repeat", "order", "drift"


@dataclass(frozen=True)
class Ask:
    """A question of an audit: ``variant`` of the unit ``base``, whose verdict is set against the
    one on the variant ``against`` (empty: on the unit as it is). ``order`` is the one that a list
    was put into."""

    base: Base
    variant: str
    request: Request
    against: str = ""
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A probe of a task and labeller: what is asked. ``why`` says why it is nothing."""

    probe: str
    of: Labelled
    kind: Of = "all"
    asks: tuple[Ask, ...] = ()
    why: str = ""


@dataclass
class AuditQuestion:
    """All trials of a task and labeller, with the labeller that is asked them."""

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
        """What is to be asked that the ledger does not know."""
        requests = [ask.request for trial in self.trials for ask in trial.asks]
        return plan(ledger, self.labeller, requests, retry_failed=retry_failed, across_tasks=False)

    def labels(self, ledger: Ledger) -> dict[tuple[str, int], Label]:
        """What came of it, by the hash of the unit and the number of the sample."""
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
    """One probe of what is asked in a folder."""
    view = source.of.view
    if not source.count:
        return Trial(probe, source.of, why="the ledger has no label of it yet: judge first")
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
            return Trial(probe, source.of, why="it has no list, and no two sides")
        asks = list(_shuffled(source, view, n, seed))
        why = "" if asks else "no unit lists more than one thing"
        return Trial(probe, source.of, asks=tuple(asks), why=why)
    made = PROBES[probe]
    if made.claims and not view.claim:
        return Trial(probe, source.of, made.units, why="nothing is claimed in it")
    asks = list(_changed(source, view, made, n, seed))
    said = {
        "no": "the judge says no to none of its units",
        "yes": "the judge gives the highest verdict to none",
    }
    why = "" if asks else "it fits none of the units"
    if not source.units[made.units]:
        why = said.get(made.units, why)
    return Trial(probe, source.of, made.units, tuple(asks), why)


def repeated(base: Base, asking: int) -> Request:
    """The very question, put once more under another number."""
    request = base.request
    return Request(request.task, request.unit, asking * STRIDE, topic=base.topic)


def _shuffled(source: UnitSource, view: View, n: int, seed: int) -> Iterator[Ask]:
    taken = 0
    for base in source.units["all"]:
        order = order_of(view, base.request.content, _random(seed, ORDER, base))
        unit = None if order is None else in_order(view, base.request.unit, order)
        if order is None or unit is None or unit == base.request.unit:
            continue
        request = Request(base.request.task, unit, topic=base.topic)
        yield Ask(base, "shuffled", request, order=tuple(order))
        taken += 1
        if taken == n:
            return


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
    """Draws that are the same in every run."""
    return Random(f"{seed} {probe} {base.unit}")  # noqa: S311 (nothing is to be kept secret)


def drift_trial(source: UnitSource, ledger: Ledger, *, n: int, seed: int, day: date) -> Trial:
    """The units that were asked on earlier days, else ``n`` of them, asked anew on a day."""
    if not source.count:
        return Trial(DRIFT, source.of, why="the ledger has no label of it yet: judge first")
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
            why = "the labeller is another one than before: its labels of these units are missing"
            return Trial(DRIFT, source.of, why=why)
    number = day.toordinal()
    return Trial(
        DRIFT, source.of,
        asks=tuple(Ask(base, day.isoformat(), repeated(base, number)) for base in units),
    )  # fmt: skip


def earlier(of: Labelled, ledger: Ledger) -> Iterator[Label]:
    """Labels that were asked for to see whether the labeller drifts, oldest first."""
    name = audited(of.labeller, {}).id.name
    for label in ledger.labels([of.task.name]):
        asking = label.sample // STRIDE
        if label.labeller.name == name and asking >= DAYS and label.status is Status.OK:
            yield label
