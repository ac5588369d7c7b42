"""The interface of labellers: a labeller answers requests and has an identity."""

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
    """A question: a task, a unit, and the number of the sample (0 unless several are wanted).

    ``topic`` is only for people who label topic by topic; it does not make the question different.
    """

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
    """The result of a request. ``verdict`` is None if and only if ``status`` is failed; ``error``
    then says why. ``cost`` is in US dollars and covers all turns; if it is unknown, ``at_most`` may
    bound it. ``seconds`` is the time taken. A ``suspect`` failure may be the labeller's fault
    rather than the request's: the same one many times in a row ends the run."""

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
    """Expected calls, tokens and cost of requests. ``cost`` and ``at_most``, its upper bound but
    for a miscount of tokens, are in US dollars, or None if the price is unknown."""

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
        """This estimate multiplied by ``count``."""
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
    """A labeller. It loads and connects nothing before the first ``label``. Your own class can
    derive from :class:`BaseLabeller`, which leaves only ``id`` and ``label``."""

    @property
    def id(self) -> LabellerId:
        """Identity of the labeller; part of every label's key."""

    @property
    def concurrency(self) -> int:
        """Number of requests that it takes at the same time."""

    @property
    def varies(self) -> bool:
        """Whether asking again may give a different answer."""

    def refusal(self, task: AnyTask) -> str | None:
        """None if it can do ``task``; otherwise why not, and what can."""

    def rendered(self, request: Request) -> bytes:
        """The question as bytes: everything that makes two questions different to this labeller."""

    def preview(self, request: Request) -> Messages:
        """The prompts that would be sent, for people to read; empty if there are none."""

    def estimate(self, request: Request) -> Estimate:
        """The expected cost of the request."""

    async def label(self, request: Request) -> Outcome | None:
        """Answer a request. A reply that cannot be used is a failed Outcome. Returns None if the
        labeller has nothing to say (a file without this label); the label then stays missing.
        Raises LabellerUnreachable if there is no reply at all; nothing is recorded, and the next
        run asks again."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *raised: Any) -> None: ...


class BaseLabeller:
    """Default implementation of :class:`Labeller`, except for ``id`` and ``label``. It takes one
    request at a time, does any task, has no prompts, costs nothing, and has nothing to open or
    close. The question is the unit's content."""

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
        """Release what labelling has opened."""

    async def __aexit__(self, *raised: Any) -> None:
        await self.close()


class ByTask(ABC):
    """A labeller that has variants for some tasks, for example trained on different labels."""

    @abstractmethod
    def for_task(self, task: AnyTask) -> Labeller:
        """The variant for a task; all variants share what is loaded."""


def for_task(labeller: Labeller, task: AnyTask) -> Labeller:
    """The labeller that answers a task: its variant for it, if it has variants."""
    return labeller.for_task(task) if isinstance(labeller, ByTask) else labeller


def request_key(labeller: Labeller, request: Request) -> str:
    """The key of a label: a hash of task version, rendered question, labeller and sample number."""
    who, task, rendered = labeller.id, request.task, content_hash(labeller.rendered(request))
    asked_of = (who.name, who.kind, dict(who.params))
    parts = [task.name, task.version, rendered, *asked_of, request.sample]
    return content_hash(canonical(parts))
