"""The units that an audit is made on: what a folder's labellers were asked, and said."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any

from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.model.labels import Status
from assay.protocols.base import Step
from assay.protocols.evaluation import Evaluation
from assay.tasks.audit.probes import Of, OtherUnits
from assay.tasks.audit.views import VIEWS, View
from assay.tasks.base import AnyTask, content_hash

_SPARE = 4
"""Times as many units as are wanted are at hand, as a probe does not fit each."""
_BLOCK = 1000


@dataclass(frozen=True)
class Base:
    """A unit as the folder has it, with the verdict that the ledger has of its labeller, and the
    number that it comes to (0 where the task has none). ``order`` is its place in the sample: it
    depends on the seed and the unit alone, so that a unit stays when others come."""

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
    """A task of the folder and a labeller of it, with the steps of evaluations that ask it."""

    task: AnyTask
    labeller: Labeller
    steps: list[tuple[Evaluation, Step]] = field(default_factory=list)

    @property
    def view(self) -> View | None:
        return VIEWS.get(self.task.name)


@dataclass(frozen=True)
class UnitSource:
    """The same with a sample of the ``count`` units that are labelled, of each kind. ``asks``:
    whether there is any unit."""

    of: Labelled
    units: Mapping[Of, tuple[Base, ...]]
    count: int
    asks: bool

    def pool(self, view: View) -> OtherUnits:
        """What other units hold."""
        return OtherUnits.of(view, [one.request.content for one in self.units["all"]])


def labelled(parts: Iterable[Evaluation]) -> list[Labelled]:
    """What the protocols ask of whom; people are not audited."""
    found: dict[tuple[str, str], Labelled] = {}
    for part in parts:
        labellers = part.labellers()
        for step in part.steps:
            who = labellers[step.labeller or step.asks.name]
            if not step.asks.by_people and who.id.kind != "human":
                own = found.setdefault((step.asks.name, who.id.name), Labelled(step.asks, who))
                own.steps.append((part, step))
    return list(found.values())


def source(one: Labelled, ledger: Ledger, *, n: int, seed: int) -> UnitSource:
    """A sample of ``n`` units of each kind, and some to spare."""
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
    """The units, each once, that the ledger has a usable label of by their labeller as it is asked
    now."""
    seen: set[str] = set()

    def requests() -> Iterator[Request]:
        for part, step in one.steps:
            for request in step.requests(part.book(ledger)):
                asked = step.request(request)
                if asked.unit_hash not in seen:
                    seen.add(asked.unit_hash)
                    yield Request(asked.task, asked.unit, topic=request.topic)

    return known(one, requests(), ledger, seed)


def known(one: Labelled, requests: Iterable[Request], ledger: Ledger, seed: int) -> Iterator[Base]:
    """Those of some requests that the ledger has a usable label of."""
    stream = iter(requests)
    for some in iter(lambda: list(islice(stream, _BLOCK)), []):
        keys = [request_key(one.labeller, request) for request in some]
        found = ledger.by_key(zip((each.unit_hash for each in some), keys, strict=True))
        for request, key in zip(some, keys, strict=True):
            label = found.get(key)
            if label is None or label.status is not Status.OK or label.verdict is None:
                continue
            value = 0.0 if one.view is None else one.view.value(label.verdict)
            order = content_hash(f"{seed} {request.unit_hash}".encode())
            yield Base(request, request.topic, label.verdict, value, order)
