"""A labeller whose questions are answered elsewhere, by several hosts of the same labeller: in
processes of this machine (:mod:`assay.labellers.processes`) or on a cluster
(:mod:`assay.labellers.on_ray`).

Whoever plans and whoever writes stays here. Hosts get blocks of questions and give back what came
of each; a block that a lost host had is answered by its successor, and what was answered twice is
kept once.
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
from assay.labellers.host import Recipe, question, unpacked
from assay.labellers.spec import LabellerOptions
from assay.labellers.watch import idling, tell
from assay.model.errors import AssayError
from assay.tasks.base import AnyTask
from assay.tasks.registry import REGISTRY

BLOCK = 256
"""Most questions that are sent to a host together."""
UNDER_WAY = 2
"""Most blocks that a host has at once: while one comes back, another is being answered."""
_READY = 4  # blocks that wait for the next host, at most
_PATIENCE = 15.0  # seconds without any host that nothing is said about
_SILENCE = 300.0  # seconds without any answer, which come a block at a time, and what is said of it


class Remote(Protocol):
    """A host as it is seen from here."""

    async def ready(self) -> None:
        """Once it can answer. Raises LabellerUnreachable where it never will."""

    async def answer(self, block: bytes) -> bytes:
        """What :meth:`assay.labellers.host.Host.answer` says. Raises LabellerUnreachable where it
        is lost, and those who took its place."""


class Hosting(ABC):
    """Where labellers are hosted. Use as a context manager: what it has started ends with it."""

    kinds: frozenset[str]
    """The kinds of SPEC whose labellers are hosted; others answer where questions are planned."""
    option: str
    """The option that asks for it."""
    used = False
    """Whether there was such a labeller."""

    @abstractmethod
    def count(self, recipe: Recipe) -> int:
        """How many hosts a labeller has."""

    @abstractmethod
    def hosts(self, recipe: Recipe) -> Sequence[Remote]:
        """The hosts of a labeller, made when they are first asked for."""

    def hosted(self, made: Labeller, spec: str, folder: Path, options: LabellerOptions) -> Labeller:
        """``made`` (of ``spec``, for a folder), answering at its hosts, if its kind does."""
        if spec.partition(":")[0] not in self.kinds:
            return made
        self.used = True
        return HostedLabeller(made, Recipe.of(made, spec, folder, options), self)

    def room(self) -> str:
        """What hosts may be waiting for, in a sentence."""
        return ""

    @abstractmethod
    def close(self) -> None:
        """End what was started."""

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
    """A host, and how many blocks it has."""

    host: Remote
    busy: int = 0


@dataclass
class _Loop:
    """What is bound to the event loop of one run."""

    waiting: deque[_Waiting] = field(default_factory=deque)
    seats: list[_Seat] = field(default_factory=list)
    coming: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    scheduled: bool = False
    came: int = 0  # blocks
    lost: set[str] = field(default_factory=set)  # what was told of hosts that never came

    def join(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


class HostedLabeller(ForwardingLabeller, ByTask):
    """``inner``, answering at the hosts that ``hosting`` has for it. Questions of tasks that are
    not Assay's own are answered by ``inner`` itself: no host knows them."""

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
        return (UNDER_WAY * count + min(count, _READY)) * BLOCK

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
        chat = self._recipe.spec.partition(":")[0] != "embedded"  # whose questions hang on answers
        row = question(request, self.inner.preview(request) if chat else ())
        one = _Waiting(request, row, now.create_future(), now.create_future())
        loop.waiting.append(one)
        if not loop.scheduled:
            loop.scheduled = True
            now.call_soon(self._send)  # with those asked in the same turn of the loop
        with idling():
            await one.sent
        return await one.answer

    def _send(self) -> None:
        """Give what waits to hosts that can take another block."""
        loop = self._loop
        loop.scheduled = False
        if not loop.seats and not loop.coming:
            for host in self._hosting.hosts(self._recipe):
                loop.coming += 1
                loop.join(self._seat(host))
            loop.join(self._tell_of_silence())
        while loop.waiting and (free := sum(UNDER_WAY - seat.busy for seat in loop.seats)):
            seat = min(loop.seats, key=lambda one: one.busy)
            # Shared out evenly: where little waits no host has all of it while others have none.
            size = min(BLOCK, -(-len(loop.waiting) // free))
            block = [loop.waiting.popleft() for _ in range(size)]
            block = [one for one in block if not one.sent.cancelled()]
            for one in block:
                one.sent.set_result(None)
            if block:
                seat.busy += 1
                loop.join(self._ask(seat, block))

    async def _seat(self, host: Remote) -> None:
        """Have a host take part once it is there; on a cluster, some may have to wait for room."""
        loop = self._loop
        try:
            await host.ready()
        except Exception as error:  # noqa: BLE001 (raised by those who wait, where none is left)
            loop.coming -= 1
            if loop.seats or loop.coming:
                if str(error) not in loop.lost:
                    loop.lost.add(str(error))
                    tell(str(error))
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
        """Say so where no host is there, or answers, for long: somebody else may have the whole
        cluster, or what hosts have to say of a server comes with their answers."""
        loop, spec, patience = self._loop, self._recipe.spec, _PATIENCE
        while True:
            came = loop.came
            await asyncio.sleep(patience)
            room = self._hosting.room()
            if not loop.seats and loop.coming:
                tell(f"{spec} has no room to answer in yet. {room}".rstrip())
            elif patience == _SILENCE and came == loop.came and any(s.busy for s in loop.seats):
                tell(f"{spec} has been silent for {_SILENCE / 60:g} minutes. {room}".rstrip())
            patience = _SILENCE

    async def _ask(self, seat: _Seat, block: Sequence[_Waiting]) -> None:
        try:
            said, notes = orjson.loads(
                await seat.host.answer(orjson.dumps([one.row for one in block]))
            )
            self._loop.came += 1
            for note in notes:
                tell(note)
            for one, each in zip(block, said, strict=True):
                _settle(one, each)
        except Exception as error:  # noqa: BLE001 (raised by those who wait)
            for one in block:
                if not one.answer.done():
                    one.answer.set_exception(error)
        finally:
            for one in block:  # where this is cancelled, so are those who wait
                one.answer.cancel()
            seat.busy -= 1
            self._send()


def _settle(one: _Waiting, said: Mapping[str, Any] | Sequence[Any] | None) -> None:
    if one.answer.done():  # nobody waits for it any more
        return
    try:
        one.answer.set_result(unpacked(said, one.request.task.verdict))
    except AssayError as error:
        one.answer.set_exception(error)
