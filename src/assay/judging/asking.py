"""Ask labellers concurrently and within a budget, until all questions are answered or asking on is
pointless."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.judging.progress import Listener, Progress, Tally
from assay.judging.writer import LabelWriter, new_label
from assay.labellers.base import Labeller, Outcome, Request
from assay.labellers.watch import WATCH, Watch, idling
from assay.ledger import NewLabel
from assay.model.errors import LabellerUnreachable
from assay.model.labels import Status
from assay.model.wording import printable

GIVE_UP_AFTER = 20
"""Default of ``give_up_after``: the same fault for this many questions in a row ends a run."""

INTERRUPTED = "interrupted"
_FEW = 4  # questions in flight until the first answer, so that not many are paid for in vain
_STARTED = 8  # workers started in one iteration of the event loop
_GRACE = 3.0  # seconds that answers in flight are given after Ctrl-C
_CLOSING = 1.0  # seconds after that for closing connections
_UNLIKE = 3  # a run ends after this many times give_up_after faults in a row of any kind
_NAMES = 4  # names of a model that are reported one by one
_POLL = 0.05  # seconds between checks for idle workers
# Parts in which errors with the same cause differ: quoted texts, and words with digits (ids,
# times).
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|(?<!\S)\S*\d\S*")


class LabellerPart(Protocol):
    """Questions for one labeller, with the keys of their labels."""

    @property
    def labeller(self) -> Labeller: ...

    @property
    def todo(self) -> Sequence[tuple[str, Request]]: ...


@dataclass(slots=True)
class _FaultStreak:
    """Consecutive faults of one labeller, of which the last ``equal`` have the same ``cause``.
    Their labels are held back until an answer shows that the requests were at fault."""

    cause: str = ""
    equal: int = 0
    labels: list[NewLabel] = field(default_factory=list)


@dataclass(slots=True)
class AskingRun:
    """The state of asking one plan's questions. ``reserved`` is what the answers in flight may
    still cost, ``highest_cost`` the cost of each labeller's dearest answer so far (US dollars).
    ``settled`` is set whenever an answer has arrived. ``models`` are the names that servers gave
    their models. Dicts and sets are keyed by the labeller's ``id()``."""

    tally: Tally
    writer: LabelWriter
    progress: Progress
    budget: float | None
    give_up_after: int
    models: dict[int, dict[str, None]]
    stop: str | None = None
    unreachable: LabellerUnreachable | None = None
    reserved: float = 0.0
    in_flight: int = 0
    highest_cost: dict[int, float] = field(default_factory=dict)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    streaks: dict[int, _FaultStreak] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)
    workers: set[asyncio.Task[None]] = field(default_factory=set)
    watch: Watch = field(default_factory=Watch)
    leaving: asyncio.Task[None] | None = None
    listener: Listener | None = None

    def ask(self, parts: Sequence[LabellerPart]) -> None:
        """Ask all questions of ``parts``, the labellers side by side."""
        self.watch.note = self.progress.note
        self.listener = self.progress if isinstance(self.progress, Listener) else None
        if self.listener is not None and self.listener.live:
            self.watch.partial_reply = self.listener.partial_reply
        try:
            _run_loop(self._ask(parts))
            for streak in self.streaks.values():
                self.writer.queue(*self._release_held(streak))
        except BaseExceptionGroup as group_error:
            # One cause is enough for the user: the first error that stopped a worker.
            raise group_error.exceptions[0] from None
        finally:
            self.writer.flush()

    async def _ask(self, parts: Sequence[LabellerPart]) -> None:
        WATCH.set(self.watch)
        with _on_signals(self._interrupt):
            async with AsyncExitStack() as labellers:
                for part in parts:
                    await labellers.enter_async_context(part.labeller)
                async with asyncio.TaskGroup() as group:
                    for part in parts:
                        self._start(group, self._start_workers(group, part))

    def _start(self, group: asyncio.TaskGroup, job: Coroutine[Any, Any, None]) -> None:
        task = group.create_task(job)
        self.workers.add(task)
        task.add_done_callback(self.workers.discard)

    async def _start_workers(self, group: asyncio.TaskGroup, part: LabellerPart) -> None:
        """Start a few workers for a part, and the others after the first answer."""
        waiting = iter(part.todo)
        answered = asyncio.Event()
        most = max(1, min(part.labeller.concurrency, len(part.todo)))
        for n in range(most):
            if n == _FEW:
                with idling():
                    await answered.wait()
            self._start(group, self._run_worker(part.labeller, waiting, answered))
            if n % _STARTED == _STARTED - 1:
                # If all started at once, no question would be sent before all had connected, and
                # the answers would arrive in one burst.
                await asyncio.sleep(0)

    async def _run_worker(
        self,
        labeller: Labeller,
        waiting: Iterator[tuple[str, Request]],
        answered: asyncio.Event,
    ) -> None:
        """A worker: ask questions from ``waiting`` until there are none or the run stops."""
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
                    self._learn_cost(labeller, outcome, reserved)
                    if outcome is None or outcome.status is Status.OK:
                        answered.set()
                    await self._record(labeller, key, request, outcome)
                except LabellerUnreachable as error:
                    self._stop(error)
                    return
                finally:
                    # Only after _record has counted the cost: in between, another worker would see
                    # more budget than is left.
                    self._release(reserved)
                if self.listener is not None and outcome is not None:
                    self.listener.answered(request, outcome)
                self.progress.step(outcome)
        finally:
            # However this worker ends, or _start_workers would wait for ever.
            answered.set()

    # -- outcomes --------------------------------------------------------------------------------

    async def _record(
        self, labeller: Labeller, key: str, request: Request, outcome: Outcome | None
    ) -> None:
        """Store an answer as a label, but hold back faults that may be the labeller's."""
        if outcome is None:
            self.tally.unanswered += 1
            return
        self.tally.spend(outcome, priced=labeller.id.kind == "model")
        self._note_model_name(labeller, outcome)
        label = new_label(labeller, key, request, outcome)
        streak = self.streaks.setdefault(id(labeller), _FaultStreak())
        if outcome.suspect and self.give_up_after:
            if id(labeller) in self.given_up:
                return
            cause = _PARTICULAR.sub("…", outcome.error or "")
            streak.equal = streak.equal + 1 if cause == streak.cause else 1
            streak.cause = cause
            streak.labels.append(label)
            count, same = len(streak.labels), streak.equal >= self.give_up_after
            if same or count >= _UNLIKE * self.give_up_after:
                self.given_up.add(id(labeller))
                streak.labels.clear()
                self._stop(_too_many_faults(labeller, count, outcome.error or "", same=same))
        else:
            before, streak.equal = self._release_held(streak), 0
            self._count(label)
            await self.writer.write(*before, label)

    def _release_held(self, streak: _FaultStreak) -> list[NewLabel]:
        """Count and return the labels that were held back: the faults were the requests'."""
        labels, streak.labels = streak.labels, []
        for label in labels:
            self._count(label)
        return labels

    def _count(self, label: NewLabel) -> None:
        self.tally.asked += 1
        self.tally.failed += label.status is Status.FAILED

    def _note_model_name(self, labeller: Labeller, outcome: Outcome) -> None:
        """Tell the user if the server gives its model another name than before."""
        name = outcome.detail.get("model")
        known = self.models.setdefault(id(labeller), {})
        if not isinstance(name, str) or name in known:
            return
        before = next(reversed(known), None)
        known[name] = None
        if before is not None and len(known) <= _NAMES:
            self.progress.note(
                f"{labeller.id.name}: the server's model was '{printable(before)}' and is now "
                f"'{printable(name)}'. Its labels still count; the report says how many are by "
                "each."
            )
        elif len(known) > _NAMES and str(len(known)).rstrip("0") == "1":  # 10, 100, …
            self.progress.note(
                f"{labeller.id.name}: the server has named {len(known):,} different models so far."
            )

    def _stop(self, error: LabellerUnreachable) -> None:
        self.unreachable = self.unreachable or error
        self.stop = self.stop or "unreachable"
        if self.leaving is None:
            self.leaving = asyncio.get_running_loop().create_task(self._leave(None))

    # -- stopping --------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        if self.stop == INTERRUPTED:
            raise KeyboardInterrupt
        self.stop = INTERRUPTED
        self.progress.note(
            f"Stopping: questions in progress have {_GRACE:g} s left (Ctrl-C again to leave now)."
        )
        if self.leaving is not None:
            self.leaving.cancel()
        self.leaving = asyncio.get_running_loop().create_task(self._leave(_GRACE))

    async def _leave(self, grace: float | None) -> None:
        """Cancel idle workers now, and all others after ``grace`` seconds. Then nobody is waited
        for any more: the thread of a user's labeller cannot be stopped."""
        loop = asyncio.get_running_loop()
        deadline = None if grace is None else loop.time() + grace
        # Without a deadline, this runs until all workers are done and _run_loop cancels it.
        while deadline is None or loop.time() < deadline:
            for task in self.workers & self.watch.idle:
                task.cancel()
            await asyncio.sleep(_POLL)
        for task in self.workers:
            task.cancel()
        # As a second Ctrl-C would: connections that do not close in time are left open.
        loop.call_later(_CLOSING, self._interrupt)

    # -- the budget ------------------------------------------------------------------------------

    async def _reserve(self, labeller: Labeller, request: Request) -> float | None:
        """Set aside the highest possible cost of a request, or return None if the budget is too
        small for it.

        Waits for answers in flight if the budget is short. If a labeller gives no price in advance
        (a user's own), its first answer is awaited, and then the cost of its dearest answer so far
        is set aside for each request.
        """
        if self.budget is None:
            self.in_flight += 1
            return 0.0
        most = labeller.estimate(request).at_most or 0.0
        while not most and id(labeller) not in self.highest_cost and self.in_flight:
            await self._next_answer()
        most = max(most, self.highest_cost.get(id(labeller), 0.0))
        while self.tally.spent + self.reserved + most > self.budget:
            if not self.in_flight or self.stop is not None:
                return None
            await self._next_answer()
        self.reserved += most
        self.in_flight += 1
        return most

    async def _next_answer(self) -> None:
        self.settled.clear()
        with idling():
            await self.settled.wait()

    def _learn_cost(self, labeller: Labeller, outcome: Outcome | None, most: float) -> None:
        """Update the highest cost, and what answers of unknown cost may have cost."""
        if self.budget is None or outcome is None:
            return
        before = self.highest_cost.get(id(labeller), 0.0)
        self.highest_cost[id(labeller)] = max(before, outcome.cost or 0.0)
        if outcome.cost is None:
            lost = outcome.detail.get("lost_replies")
            bound = most * (1 + lost if isinstance(lost, int) else 1)
            self.tally.at_most += bound if outcome.at_most is None else outcome.at_most

    def _release(self, most: float) -> None:
        self.in_flight -= 1
        # With nothing in flight, nothing is reserved; a sum of floats might not be exactly 0.
        self.reserved = self.reserved - most if self.in_flight else 0.0
        self.settled.set()


def _too_many_faults(
    labeller: Labeller, count: int, error: str, *, same: bool
) -> LabellerUnreachable:
    came = "all gave the same error" if same else "none was answered; the last error"
    return LabellerUnreachable(
        f"{labeller.id.name} was asked {count} questions in a row and {came}: {error}. They stay "
        "open, and the next run asks them again. Fix the cause first; if the questions themselves "
        "are the problem, raise give_up_after in [judging] of assay.toml (0: never stop)."
    )


@contextmanager
def _on_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Within this context, Ctrl-C and SIGTERM call ``interrupt``."""
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
            # asyncio restores Python's default handler, not the previous one. (None is a handler
            # that was not set from Python, which Python cannot restore.)
            if handler is not None:
                signal.signal(number, handler)


def _run_loop(job: Coroutine[Any, Any, None]) -> None:
    """Like asyncio.run, but without waiting for threads that a user's labeller has started."""
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(job)
    finally:
        try:
            remaining = asyncio.all_tasks(loop)
            for task in remaining:
                task.cancel()
            if remaining:
                done, _ = loop.run_until_complete(asyncio.wait(remaining, timeout=_CLOSING / 2))
                for task in done:
                    task.cancelled() or task.exception()  # retrieved, so that asyncio logs nothing
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
