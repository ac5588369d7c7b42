"""A labeller that answers on several hosts: in processes of this machine
(:mod:`assay.labellers.processes`) or on a cluster (:mod:`assay.labellers.on_ray`).

Planning and writing stay in this process. Hosts get blocks of questions and return the outcomes. If
a host is lost, its successor answers its blocks; what was answered twice is stored once.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import orjson

from assay.labellers.base import ByTask, Labeller, Outcome, Request, for_task
from assay.labellers.forwarding import ForwardingLabeller
from assay.labellers.host import Recipe, pack_question, unpack_outcome
from assay.labellers.spec import LabellerOptions
from assay.labellers.watch import idling, notify
from assay.model.errors import AssayError
from assay.tasks.base import AnyTask
from assay.tasks.registry import REGISTRY

BLOCK = 256
"""Most questions in a block."""
BLOCKS_PER_HOST = 2
"""Most blocks that a host has at a time: while one is returned, another is being answered."""
_READY = 4  # most blocks that wait for the next free host
_PATIENCE = 15.0  # seconds without any host before the user is told
_SILENCE = 300.0  # seconds without any answer (a whole block) before the user is told


class RemoteHost(Protocol):
    """A host as seen from this process."""

    async def ready(self) -> None:
        """Return once it can answer. Raises LabellerUnreachable if it never will."""

    async def answer(self, block: bytes) -> bytes:
        """The answer of :meth:`assay.labellers.host.Host.answer`. Raises LabellerUnreachable if the
        host and its successors are lost."""


class Hosting(ABC):
    """A place for hosts. Use as a context manager, which ends what was started."""

    kinds: frozenset[str]
    """The kinds of SPEC whose labellers are hosted; others answer in this process."""
    option: str
    """The command-line option for it."""
    used = False
    """Whether any labeller was hosted."""

    @abstractmethod
    def count(self, recipe: Recipe) -> int:
        """The number of hosts of a labeller."""

    @abstractmethod
    def hosts(self, recipe: Recipe) -> Sequence[RemoteHost]:
        """The hosts of a labeller, started at the first call."""

    def hosted(
        self, labeller: Labeller, spec: str, folder: Path, options: LabellerOptions
    ) -> Labeller:
        """The labeller of ``spec``, answering on hosts if its kind is hosted."""
        if spec.partition(":")[0] not in self.kinds:
            return labeller
        self.used = True
        return HostedLabeller(labeller, Recipe.of(labeller, spec, folder, options), self)

    def room(self) -> str:
        """A sentence about what hosts may be waiting for."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """End everything that was started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


@dataclass(slots=True)
class _Waiting:
    request: Request
    row: Sequence[Any]
    sent: asyncio.Future[None]
    answer: asyncio.Future[Outcome | None]


@dataclass(slots=True)
class _Seat:
    """A host and the number of its blocks."""

    host: RemoteHost
    busy: int = 0


@dataclass
class _Loop:
    """State bound to the event loop of one run."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    seats: list[_Seat] = field(default_factory=list)
    coming: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    scheduled: bool = False
    answered: int = 0  # blocks
    lost: set[str] = field(default_factory=set)  # messages shown about hosts that failed to start

    def join(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class HostedLabeller(ForwardingLabeller, ByTask):
    """``inner``, answering on the hosts of ``hosting``. Tasks that are not Assay's own are unknown
    to hosts; ``inner`` itself answers them."""

    def __init__(self, inner: Labeller, recipe: Recipe, hosting: Hosting) -> None:
        super().__init__(inner)
        self._recipe = recipe
        self._hosting = hosting
        self._loop = _Loop()

    def for_task(self, task: AnyTask) -> Labeller:
        own = for_task(self.inner, task)
        if own is self.inner or task.name not in REGISTRY:
            return own if task.name not in REGISTRY else self
        return HostedLabeller(own, self._recipe.for_task(own, task), self._hosting)

    @property
    def concurrency(self) -> int:
        count = self._hosting.count(self._recipe)
        return (BLOCKS_PER_HOST * count + min(count, _READY)) * BLOCK

    async def __aenter__(self) -> Self:
        self._loop = _Loop()
        return await super().__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        for task in self._loop.tasks:
            task.cancel()
        await asyncio.gather(*self._loop.tasks, return_exceptions=True)
        await super().__aexit__(*raised)

    async def label(self, request: Request) -> Outcome | None:
        if REGISTRY.get(request.task.name) is not request.task:
            return await self.inner.label(request)
        loop, now = self._loop, asyncio.get_running_loop()
        # An embedded model asks follow-up questions, so it has no fixed prompt.
        chat = self._recipe.spec.partition(":")[0] != "embedded"
        row = pack_question(request, self.inner.preview(request) if chat else ())
        one = _Waiting(request, row, now.create_future(), now.create_future())
        loop.waiting.append(one)
        if not loop.scheduled:
            loop.scheduled = True
            now.call_soon(self._send)  # together with questions of the same loop iteration
        with idling():
            await one.sent
        return await one.answer

    def _send(self) -> None:
        """Send waiting questions to hosts that can take another block."""
        loop = self._loop
        loop.scheduled = False
        if not loop.seats and not loop.coming:
            for host in self._hosting.hosts(self._recipe):
                loop.coming += 1
                loop.join(self._seat(host))
            loop.join(self._tell_of_silence())
        while loop.waiting and (free := sum(BLOCKS_PER_HOST - seat.busy for seat in loop.seats)):
            seat = min(loop.seats, key=lambda one: one.busy)
            # Divide evenly, so that a short queue does not go to one host only.
            size = min(BLOCK, -(-len(loop.waiting) // free))
            block = [loop.waiting.popleft() for _ in range(size)]
            block = [one for one in block if not one.sent.cancelled()]
            for one in block:
                one.sent.set_result(None)
            if block:
                seat.busy += 1
                loop.join(self._ask(seat, block))

    async def _seat(self, host: RemoteHost) -> None:
        """Use a host once it is ready; on a cluster, hosts may have to wait for room."""
        loop = self._loop
        try:
            await host.ready()
        except Exception as error:  # noqa: BLE001 (if no host is left, raised by those who wait)
            loop.coming -= 1
            if loop.seats or loop.coming:
                if str(error) not in loop.lost:
                    loop.lost.add(str(error))
                    notify(str(error))
            else:
                for one in loop.waiting:
                    if not one.sent.done():
                        one.sent.set_exception(error)
                loop.waiting.clear()
        else:
            loop.coming -= 1
            loop.seats.append(_Seat(host))
            self._send()

    async def _tell_of_silence(self) -> None:
        """Tell the user if there is no host or no answer for long: the cluster may be busy, and
        hosts can report about a server only with their answers."""
        loop, spec, patience = self._loop, self._recipe.spec, _PATIENCE
        while True:
            before = loop.answered
            await asyncio.sleep(patience)
            room = self._hosting.room()
            if not loop.seats and loop.coming:
                notify(f"{spec} has no free resources to answer yet. {room}".rstrip())
            elif (
                patience == _SILENCE and before == loop.answered and any(s.busy for s in loop.seats)
            ):
                notify(f"{spec} has not responded for {_SILENCE / 60:g} minutes. {room}".rstrip())
            patience = _SILENCE

    async def _ask(self, seat: _Seat, block: Sequence[_Waiting]) -> None:
        try:
            answers, notes = orjson.loads(
                await seat.host.answer(orjson.dumps([one.row for one in block]))
            )
            self._loop.answered += 1
            for note in notes:
                notify(note)
            for one, answer in zip(block, answers, strict=True):
                _resolve(one, answer)
        except Exception as error:  # noqa: BLE001 (raised by those who wait)
            for one in block:
                if not one.answer.done():
                    one.answer.set_exception(error)
        finally:
            for one in block:  # if this is cancelled, so are those who wait
                one.answer.cancel()
            seat.busy -= 1
            self._send()


def _resolve(one: _Waiting, answer: Mapping[str, Any] | Sequence[Any] | None) -> None:
    if one.answer.done():  # nobody waits for it any more
        return
    try:
        one.answer.set_result(unpack_outcome(answer, one.request.task.verdict))
    except AssayError as error:
        one.answer.set_exception(error)
