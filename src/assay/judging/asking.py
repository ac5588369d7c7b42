"""Putting the questions of plans to labellers: as many at once as they take, within a budget, until
all are answered, or something shows that asking on is no use."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.judging.keeper import Keeper, new_label
from assay.judging.progress import Listener, Progress, Tally
from assay.labellers.base import Labeller, Outcome, Request
from assay.labellers.watch import WATCH, Watch, idling
from assay.ledger import NewLabel
from assay.model.errors import LabellerUnreachable
from assay.model.labels import Status
from assay.model.wording import printable

GIVE_UP_AFTER = 20
"""Questions in a row to which the same fault ends a run, unless a setting says otherwise."""

INTERRUPTED = "interrupted"
_FEW = 4  # questions under way until the first is answered: none is paid in vain by the dozen
_STARTED = 8  # workers that begin in the same round of the event loop
_GRACE = 3.0  # seconds for the answers under way once a person wants to leave
_CLOSING = 1.0  # seconds to close connections after that
_UNLIKE = 3  # times as many faults in a row end a run where they are not the same
_NAMES = 4  # names of a model that are told one by one
_LOOK = 0.05  # seconds between looks at who only waits
# What differs between errors of one cause: quoted texts, and words with digits (ids, times).
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|(?<!\S)\S*\d\S*")


class LabellerPart(Protocol):
    """Questions to one labeller, with the keys that their labels get."""

    @property
    def labeller(self) -> Labeller: ...

    @property
    def todo(self) -> Sequence[tuple[str, Request]]: ...


@dataclass(slots=True)
class _Held:
    """Faults in a row of one labeller, the last ``equal`` ones of the same ``cause``: no labels
    before an answer shows that it was the requests' fault."""

    cause: str = ""
    equal: int = 0
    labels: list[NewLabel] = field(default_factory=list)


@dataclass(slots=True)
class AskingRun:
    """What one run of a plan has done so far. ``reserved`` US dollars are what the answers under
    way may still cost, ``dearest`` what the dearest answer of each labeller cost; ``settled`` is
    set whenever an answer has arrived. ``models`` are the names that servers gave their models."""

    tally: Tally
    keeper: Keeper
    progress: Progress
    budget: float | None
    give_up_after: int
    models: dict[int, dict[str, None]]
    stop: str | None = None
    unreachable: LabellerUnreachable | None = None
    reserved: float = 0.0
    under_way: int = 0
    dearest: dict[int, float] = field(default_factory=dict)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    held: dict[int, _Held] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)
    workers: set[asyncio.Task[None]] = field(default_factory=set)
    watch: Watch = field(default_factory=Watch)
    leaving: asyncio.Task[None] | None = None
    listener: Listener | None = None

    def ask(self, parts: Sequence[LabellerPart]) -> None:
        """Ask everything of ``parts``, side by side."""
        self.watch.note = self.progress.note
        self.listener = self.progress if isinstance(self.progress, Listener) else None
        if self.listener is not None and self.listener.live:
            self.watch.heard = self.listener.heard
        try:
            _in_a_loop(self._ask(parts))
            self.keeper.take(*(label for one in self.held.values() for label in self._let_go(one)))
        except BaseExceptionGroup as group_error:
            # One cause is enough for a person: the first fault that stopped a worker.
            raise group_error.exceptions[0] from None
        finally:
            self.keeper.flush()

    async def _ask(self, parts: Sequence[LabellerPart]) -> None:
        WATCH.set(self.watch)
        with _heeding(self._interrupt):
            async with AsyncExitStack() as labellers:
                for part in parts:
                    await labellers.enter_async_context(part.labeller)
                async with asyncio.TaskGroup() as group:
                    for part in parts:
                        self._join(group, self._begin(group, part))

    def _join(self, group: asyncio.TaskGroup, job: Coroutine[Any, Any, None]) -> None:
        task = group.create_task(job)
        self.workers.add(task)
        task.add_done_callback(self.workers.discard)

    async def _begin(self, group: asyncio.TaskGroup, part: LabellerPart) -> None:
        """Workers for a part: a few, and the others once one has had an answer."""
        waiting = iter(part.todo)
        answered = asyncio.Event()
        most = max(1, min(part.labeller.concurrency, len(part.todo)))
        for n in range(most):
            if n == _FEW:
                with idling():
                    await answered.wait()
            self._join(group, self._ask_all(part.labeller, waiting, answered))
            if n % _STARTED == _STARTED - 1:
                # All at once, no question would leave before all had connected, and their
                # answers would come back in one heap.
                await asyncio.sleep(0)

    async def _ask_all(
        self,
        labeller: Labeller,
        waiting: Iterator[tuple[str, Request]],
        answered: asyncio.Event,
    ) -> None:
        try:
            for key, request in waiting:
                if self.stop is not None:
                    return
                reserved = await self._reserve(labeller, request)
                if reserved is None:
                    self.stop = self.stop or "budget"
                    return
                try:
                    outcome = await labeller.label(request)
                    self._settle(labeller, outcome, reserved)
                    if outcome is None or outcome.status is Status.OK:
                        answered.set()
                    await self._take(labeller, key, request, outcome)
                except LabellerUnreachable as error:
                    self._end(error)
                    return
                finally:
                    # After _take has counted the cost: between the two another would take the money
                    # for free.
                    self._release(reserved)
                if self.listener is not None and outcome is not None:
                    self.listener.came(request, outcome)
                self.progress.step(outcome)
        finally:
            # However this worker ends: _begin would wait for ever.
            answered.set()

    # -- what came of a question -----------------------------------------------------------------

    async def _take(
        self, labeller: Labeller, key: str, request: Request, outcome: Outcome | None
    ) -> None:
        """Keep an answer as a label, but hold faults back that may be the labeller's."""
        if outcome is None:
            self.tally.unanswered += 1
            return
        self.tally.spend(outcome, priced=labeller.id.kind == "model")
        self._notice(labeller, outcome)
        label = new_label(labeller, key, request, outcome)
        held = self.held.setdefault(id(labeller), _Held())
        if outcome.suspect and self.give_up_after:
            if id(labeller) in self.given_up:
                return
            cause = _PARTICULAR.sub("…", outcome.error or "")
            held.equal = held.equal + 1 if cause == held.cause else 1
            held.cause = cause
            held.labels.append(label)
            count, same = len(held.labels), held.equal >= self.give_up_after
            if same or count >= _UNLIKE * self.give_up_after:
                self.given_up.add(id(labeller))
                held.labels.clear()
                self._end(_useless(labeller, count, outcome.error or "", same=same))
        else:
            before, held.equal = self._let_go(held), 0
            self._count(label)
            await self.keeper.keep(*before, label)

    def _let_go(self, held: _Held) -> list[NewLabel]:
        """The labels that were held back, which are failed ones after all."""
        labels, held.labels = held.labels, []
        for label in labels:
            self._count(label)
        return labels

    def _count(self, label: NewLabel) -> None:
        self.tally.asked += 1
        self.tally.failed += label.status is Status.FAILED

    def _notice(self, labeller: Labeller, outcome: Outcome) -> None:
        """Tell of a model whose name is another all at once."""
        name = outcome.detail.get("model")
        known = self.models.setdefault(id(labeller), {})
        if not isinstance(name, str) or name in known:
            return
        before = next(reversed(known), None)
        known[name] = None
        if before is not None and len(known) <= _NAMES:
            self.progress.note(
                f"{labeller.id.name}: the server's model was '{printable(before)}' and is "
                f"'{printable(name)}' now. Its labels count all the same; the report says how many "
                "are by which."
            )
        elif len(known) > _NAMES and str(len(known)).rstrip("0") == "1":  # 10, 100, …
            self.progress.note(
                f"{labeller.id.name}: the server has given its model {len(known):,} names so far."
            )

    def _end(self, error: LabellerUnreachable) -> None:
        self.unreachable = self.unreachable or error
        self.stop = self.stop or "unreachable"
        if self.leaving is None:
            self.leaving = asyncio.get_running_loop().create_task(self._leave(None))

    # -- leaving ---------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        if self.stop == INTERRUPTED:
            raise KeyboardInterrupt
        self.stop = INTERRUPTED
        self.progress.note(
            f"Stopping: answers under way have {_GRACE:g} s (Ctrl-C again to leave now)."
        )
        if self.leaving is not None:
            self.leaving.cancel()
        self.leaving = asyncio.get_running_loop().create_task(self._leave(_GRACE))

    async def _leave(self, grace: float | None) -> None:
        """Cancel those who only wait; after ``grace`` seconds all others, and then wait for nobody
        (a thread of somebody's labeller cannot be stopped)."""
        loop = asyncio.get_running_loop()
        until = None if grace is None else loop.time() + grace
        # Without an end it goes on until all workers are done and _in_a_loop cancels it.
        while until is None or loop.time() < until:
            for task in self.workers & self.watch.idle:
                task.cancel()
            await asyncio.sleep(_LOOK)
        for task in self.workers:
            task.cancel()
        # As a second Ctrl-C would: what does not close by then is left as it is.
        loop.call_later(_CLOSING, self._interrupt)

    # -- the budget ------------------------------------------------------------------------------

    async def _reserve(self, labeller: Labeller, request: Request) -> float | None:
        """Set aside what a request may cost at most, waiting for answers under way where the
        budget is short; None where it does not fit into what is left.

        Where a labeller does not say ahead what it costs (one of a user's own), its first answer is
        waited for, and then what its dearest one cost is set aside for each."""
        if self.budget is None:
            self.under_way += 1
            return 0.0
        most = labeller.estimate(request).at_most or 0.0
        while not most and id(labeller) not in self.dearest and self.under_way:
            await self._for_another()
        most = max(most, self.dearest.get(id(labeller), 0.0))
        while self.tally.spent + self.reserved + most > self.budget:
            if not self.under_way or self.stop is not None:
                return None
            await self._for_another()
        self.reserved += most
        self.under_way += 1
        return most

    async def _for_another(self) -> None:
        self.settled.clear()
        with idling():
            await self.settled.wait()

    def _settle(self, labeller: Labeller, outcome: Outcome | None, most: float) -> None:
        """Learn from an answer what answers cost."""
        if self.budget is None or outcome is None:
            return
        before = self.dearest.get(id(labeller), 0.0)
        self.dearest[id(labeller)] = max(before, outcome.cost or 0.0)
        if outcome.cost is None:
            lost = outcome.detail.get("lost_replies")
            dearest = most * (1 + lost if isinstance(lost, int) else 1)
            self.tally.at_most += dearest if outcome.at_most is None else outcome.at_most

    def _release(self, most: float) -> None:
        self.under_way -= 1
        # Nothing under way is exactly nothing, whatever sums of fractions come to.
        self.reserved = self.reserved - most if self.under_way else 0.0
        self.settled.set()


def _useless(labeller: Labeller, count: int, error: str, *, same: bool) -> LabellerUnreachable:
    came = "the same came of each" if same else "no answer came of any; the last"
    return LabellerUnreachable(
        f"{labeller.id.name} was asked {count} questions in a row and {came}: "
        f"{error}. They stay open, and the next run asks them. See to the cause first; where the "
        "questions are at fault, raise give_up_after in [judging] of assay.toml (0: never stop)."
    )


@contextmanager
def _heeding(interrupt: Any) -> Iterator[None]:
    """Ctrl-C and SIGTERM call ``interrupt`` as long as it lasts."""
    loop = asyncio.get_running_loop()
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, interrupt)
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            # asyncio has put Python's own handler there, not the one of before. (None is one that a
            # program around Python had set: Python cannot put it back.)
            if handler is not None:
                signal.signal(number, handler)


def _in_a_loop(job: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run, but no thread is waited for that somebody's labeller has started."""
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(job)
    finally:
        try:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                done, _ = loop.run_until_complete(asyncio.wait(left, timeout=_CLOSING / 2))
                for task in done:
                    task.cancelled() or task.exception()  # seen: nothing is to be said of it
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
