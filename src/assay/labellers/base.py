"""What every labeller is: something that answers requests, one at a time, and says who it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self

from assay.model.labels import LabellerId, Status
from assay.tasks.base import AnyTask, Unit, Verdict, canonical, content_hash, unit_hash
from assay.tasks.rendering import Messages


@dataclass(frozen=True)
class Request:
    """One thing to ask: task, unit and the number of the sample (0 unless repeats are wanted).
    ``topic`` is for people who label topic by topic, and makes no question another."""

    task: AnyTask
    unit: Unit
    sample: int = 0
    topic: str = field(default="", compare=False)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The unit as plain JSON."""
        return self.unit.model_dump(mode="json")

    @cached_property
    def unit_hash(self) -> str:
        return unit_hash(self.task.name, self.content)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request. ``verdict`` is None exactly where ``status`` is failed, and then
    ``error`` says why; costs are those of all turns, US dollars; times are seconds. ``suspect``
    failures may be the labeller's fault and not the request's: the same one many times in a row
    ends a run. ``at_most`` is what it may have cost where ``cost`` is unknown, and this is not."""

    status: Status
    verdict: Verdict | None = None
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    suspect: bool = False
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What requests are expected to cost: calls, tokens, US dollars; ``at_most`` is what the
    dollars cannot exceed by more than a miscount of tokens. None is an unknown price."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    at_most: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            _sum(self.cost, other.cost),
            _sum(self.at_most, other.at_most),
        )

    def times(self, count: int) -> Estimate:
        """The same ``count`` times."""
        return Estimate(
            self.calls * count,
            self.tokens_in * count,
            self.tokens_out * count,
            None if self.cost is None else self.cost * count,
            None if self.at_most is None else self.at_most * count,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


class Labeller(Protocol):
    """A labeller. Nothing is loaded and no connection made before the first ``label``.

    A class of your own can derive from :class:`BaseLabeller`, which leaves ``id`` and ``label``.
    """

    @property
    def id(self) -> LabellerId:
        """Who it is; part of every label's key."""

    @property
    def concurrency(self) -> int:
        """How many requests it takes at once."""

    @property
    def varies(self) -> bool:
        """Whether asking the same again may give another answer."""

    def refusal(self, task: AnyTask) -> str | None:
        """Why it cannot do ``task`` and what can, or None where it can."""

    def rendered(self, request: Request) -> bytes:
        """What is asked, as bytes: all that makes two questions different to this labeller."""

    def preview(self, request: Request) -> Messages:
        """The prompts that would be sent, for people to read; empty where there are none."""

    def estimate(self, request: Request) -> Estimate:
        """What the request would cost."""

    async def label(self, request: Request) -> Outcome | None:
        """Answer. A reply that cannot be used is a failed Outcome. None where the labeller has
        nothing to say to this request (a file of labels, a person not yet asked): it stays
        missing. Raises LabellerUnreachable where there is no reply at all; that is not recorded,
        and asked again next time."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *raised: Any) -> None: ...


class BaseLabeller:
    """A labeller's defaults: one request at a time, any task, no prompts, no cost, nothing to
    open or close. What is asked is the unit's content. (Implements :class:`Labeller` but for
    ``id`` and ``label``.)"""

    @property
    def concurrency(self) -> int:
        return 1

    @property
    def varies(self) -> bool:
        return False

    def refusal(self, task: AnyTask) -> str | None:
        return None

    def rendered(self, request: Request) -> bytes:
        return canonical(dict(request.content))

    def preview(self, request: Request) -> Messages:
        return ()

    def estimate(self, request: Request) -> Estimate:
        return Estimate()

    async def __aenter__(self) -> Self:
        return self

    async def close(self) -> None:
        """Let go of what labelling took."""

    async def __aexit__(self, *raised: Any) -> None:
        await self.close()


class ByTask(ABC):
    """A labeller that may be another one for some tasks: what it was taught differs."""

    @abstractmethod
    def for_task(self, task: AnyTask) -> Labeller:
        """The labeller of a task, which shares what is loaded with those of others."""


def for_task(labeller: Labeller, task: AnyTask) -> Labeller:
    """The labeller as it answers a task."""
    return labeller.for_task(task) if isinstance(labeller, ByTask) else labeller


def request_key(labeller: Labeller, request: Request) -> str:
    """Key of a label: hash of task version, rendered content, labeller and sample number."""
    who, task, rendered = labeller.id, request.task, content_hash(labeller.rendered(request))
    asked_of = (who.name, who.kind, dict(who.params))
    parts = [task.name, task.version, rendered, *asked_of, request.sample]
    return content_hash(canonical(parts))
