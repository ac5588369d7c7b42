"""The engine: from requests to labels in the ledger.

What the ledger already holds is never asked again. Every answer is committed before whoever got
it asks the next question, so a kill at any moment loses at most what was under way.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace

from assay.judging.claims import claimed
from assay.judging.keeper import Keeper
from assay.judging.progress import Progress, Silent, Tally
from assay.judging.shared import told_elsewhere
from assay.labellers.base import Estimate, Labeller, Outcome, Request, request_key
from assay.labellers.ensemble import EnsembleLabeller
from assay.ledger import Asked, Ledger, NewLabel
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import Status

_STARTED = 8  # workers that begin in the same round of the event loop
_JOINED = 5000  # joint labels that are made in one transaction


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of one labeller: distinct keys with their requests, and what is known.

    For an ensemble, ``todo`` are the joint labels to be made and ``members`` what is asked for
    them; a plan whose members know everything asks nothing. ``seen`` is how many labels the
    ledger held when the plan was made.
    """

    labeller: Labeller
    todo: tuple[tuple[str, Request], ...]
    known: int
    known_failed: int
    members: tuple[Plan, ...] = ()
    seen: int = 0

    @property
    def asked(self) -> tuple[Plan, ...]:
        """The plans that put questions to somebody: the members', or this one."""
        return self.members or (self,)

    def estimate(self) -> Estimate:
        """Calls, tokens and US dollars ahead."""
        total = Estimate()
        for part in self.asked:
            for _, request in part.todo:
                total += part.labeller.estimate(request)
        return total


def plan(
    ledger: Ledger | None,
    labeller: Labeller,
    requests: Iterable[Request],
    *,
    retry_failed: bool = False,
    alike: bool = True,
) -> Plan:
    """Which of ``requests`` must be asked. Raises SettingsError where the labeller cannot do
    the task; ``ledger`` None means that nothing is known yet. With
    ``alike`` what a label of the same labeller under another task tells is known too
    (tasks.shared)."""
    seen = 0 if ledger is None else ledger.size()  # before anything is looked up
    distinct: dict[str, Request] = {}
    refusals: dict[str, str] = {}
    for request in requests:
        if request.task.name not in refusals:
            refusals[request.task.name] = labeller.refusal(request.task) or ""
        if refusals[request.task.name]:
            raise SettingsError(refusals[request.task.name])
        distinct.setdefault(request_key(labeller, request), request)
    known = {} if ledger is None else ledger.statuses(map(_asked, distinct.items()))
    told: set[str] = set()
    if ledger is not None and alike:
        unknown = {k: r for k, r in distinct.items() if known.get(k) is not Status.OK}
        told = told_elsewhere(ledger, labeller, unknown)
        for key in told:
            del distinct[key]
            known.pop(key, None)
    members: tuple[Plan, ...] = ()
    again: set[str] = set()
    if isinstance(labeller, EnsembleLabeller):
        members = tuple(
            plan(
                ledger,
                member,
                (each for request in distinct.values() for each in labeller.asked(index, request)),
                retry_failed=retry_failed,
                alike=False,  # joint labels are made of the members' under this very task
            )
            for index, member in enumerate(labeller.members)
        )
        renewed = {key for each in members for key, _ in each.todo}
        again = {
            key
            for key, request in distinct.items()
            if retry_failed and any(one in renewed for _, _, one in labeller.keys(request))
        }
    failed = sum(1 for status in known.values() if status is Status.FAILED)
    missing = [
        (key, request)
        for key, request in distinct.items()
        if key not in known or key in again or (retry_failed and known[key] is Status.FAILED)
    ]
    # Units begin with what they share (the passage, the question): asked one after the other,
    # their prompts have a prefix in common that servers and the embedded model have cached.
    missing.sort(key=lambda item: [str(value) for value in item[1].content.values()])
    todo = tuple(missing)
    reused = len(distinct) - len(todo) + len(told)
    return Plan(labeller, todo, reused, 0 if retry_failed else failed, members, seen)


def _still_open(plan_: Plan, ledger: Ledger) -> Plan:
    """The plan without what the ledger has been told by others since it was made."""
    members = tuple(_still_open(member, ledger) for member in plan_.members)
    if members or ledger.size() == plan_.seen:
        return replace(plan_, members=members)
    known = ledger.statuses(map(_asked, plan_.todo))
    todo = tuple(item for item in plan_.todo if known.get(item[0]) is not Status.OK)
    return replace(plan_, todo=todo, known=plan_.known + len(plan_.todo) - len(todo))


def _asked(item: tuple[str, Request]) -> Asked:
    key, request = item
    return request.unit_hash, key


def join_votes(ledger: Ledger, plan_: Plan) -> int:
    """Make the joint labels of an ensemble's plan from what its members have said, and return
    how many. A unit that some member has not answered is left for later."""
    ensemble = plan_.labeller
    if not isinstance(ensemble, EnsembleLabeller):
        return 0
    made = 0
    for start in range(0, len(plan_.todo), _JOINED):
        part = plan_.todo[start : start + _JOINED]
        said = ledger.by_key(
            (request.unit_hash, key) for _, request in part for _, _, key in ensemble.keys(request)
        )
        joint = ((key, request, ensemble.from_labels(request, said)) for key, request in part)
        labels = [
            new_label(ensemble, key, request, outcome)
            for key, request, outcome in joint
            if outcome is not None
        ]
        made += len(ledger.add(labels))
    return made


@dataclass(slots=True)
class _Run:
    """What one run of a plan has done so far. ``reserved`` US dollars are what the answers under
    way may still cost, ``dearest`` what the dearest answer of each labeller cost; ``settled`` is
    set whenever an answer has arrived."""

    tally: Tally
    budget: float | None
    stop: str | None = None
    unreachable: LabellerUnreachable | None = None
    reserved: float = 0.0
    under_way: int = 0
    dearest: dict[int, float] = field(default_factory=dict)
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, labeller: Labeller, request: Request) -> float | None:
        """Set aside what a request may cost at most, waiting for answers under way where the
        budget is short; None where it does not fit into what is left.

        Where a labeller does not say ahead what it costs (one of a user's own), its first answer is
        waited for, and then what its dearest one cost is set aside for each."""
        if self.budget is None:
            self.under_way += 1
            return 0.0
        most = labeller.estimate(request).at_most or 0.0
        while not most and id(labeller) not in self.dearest and self.under_way:
            self.settled.clear()
            await self.settled.wait()
        most = max(most, self.dearest.get(id(labeller), 0.0))
        while self.tally.spent + self.reserved + most > self.budget:
            if not self.under_way or self.stop is not None:
                return None
            self.settled.clear()
            await self.settled.wait()
        self.reserved += most
        self.under_way += 1
        return most

    def settle(self, labeller: Labeller, outcome: Outcome | None, most: float) -> None:
        """Learn from an answer what answers cost."""
        if self.budget is None or outcome is None:
            return
        before = self.dearest.get(id(labeller), 0.0)
        self.dearest[id(labeller)] = max(before, outcome.cost or 0.0)
        if outcome.cost is None:
            self.tally.at_most += most

    def release(self, most: float) -> None:
        self.under_way -= 1
        self.reserved = self.reserved - most if self.under_way else 0.0
        self.settled.set()


async def _execute(
    plan_: Plan, ledger: Ledger, progress: Progress, budget: float | None, title: str
) -> tuple[Tally, LabellerUnreachable | None]:
    parts = plan_.asked
    todo = sum(len(part.todo) for part in parts)
    known = sum(part.known for part in parts)
    known_failed = sum(part.known_failed for part in parts)
    run = _Run(Tally(todo + known, known, known_failed), budget)
    keeper = Keeper(ledger)
    progress.begin(title, run.tally.wanted, known)

    def interrupt() -> None:
        if run.stop is not None:
            raise KeyboardInterrupt
        run.stop = "interrupted"
        progress.note("Stopping: waiting for the answers under way (Ctrl-C again to leave now).")

    async def work(labeller: Labeller, waiting: Iterator[tuple[str, Request]]) -> None:
        for key, request in waiting:
            if run.stop is not None:
                return
            reserved = await run.reserve(labeller, request)
            if reserved is None:
                run.stop = run.stop or "budget"
                return
            try:
                outcome = await labeller.label(request)
                run.settle(labeller, outcome, reserved)
                if outcome is not None:
                    await keeper.keep(new_label(labeller, key, request, outcome))
                _count(run.tally, outcome, labeller)
            except LabellerUnreachable as error:
                run.stop = "unreachable"
                run.unreachable = error
                return
            finally:
                run.release(reserved)
            progress.step(outcome)

    loop = asyncio.get_running_loop()
    handled = False
    with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
        loop.add_signal_handler(signal.SIGINT, interrupt)
        handled = True
    try:
        async with AsyncExitStack() as labellers:
            for part in parts:
                await labellers.enter_async_context(part.labeller)
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    waiting = iter(part.todo)
                    for n in range(max(1, min(part.labeller.concurrency, len(part.todo)))):
                        group.create_task(work(part.labeller, waiting))
                        if n % _STARTED == _STARTED - 1:
                            # All at once, no question would leave before all had connected,
                            # and their answers would come back in one heap.
                            await asyncio.sleep(0)
    except BaseExceptionGroup as group_error:
        # One cause is enough for a person: the first fault that stopped a worker.
        raise group_error.exceptions[0] from None
    finally:
        if handled:
            loop.remove_signal_handler(signal.SIGINT)
        try:
            keeper.flush()
        finally:
            progress.end()
    join_votes(ledger, plan_)
    done = run.tally.asked + run.tally.unanswered
    return replace(run.tally, skipped=todo - done, stopped=run.stop), run.unreachable


def judge(
    plans: Sequence[tuple[str, Plan]],
    ledger: Ledger,
    *,
    progress: Progress | None = None,
    budget: float | None = None,
) -> Tally:
    """Carry out plans one after the other and return what was done.

    ``budget`` is in US dollars for this call. What each request may cost at most is set aside
    before it is sent, so that the budget is not passed. Raises LedgerError where another process
    is asking the same of the same labeller, LabellerUnreachable (after everything that was
    answered is kept) and KeyboardInterrupt on a second Ctrl-C.
    """
    told = progress or Silent()
    wanted = [
        (part.labeller.id, task)
        for _, each in plans
        for part in each.asked
        for task in {request.task.name for _, request in part.todo}
    ]
    with claimed(ledger.path, wanted):
        now = [(title, _still_open(each, ledger)) for title, each in plans]
        return _carry_out(now, ledger, told, budget)


def _carry_out(
    plans: Sequence[tuple[str, Plan]], ledger: Ledger, told: Progress, budget: float | None
) -> Tally:
    total = Tally()
    for title, each in plans:
        left = None if budget is None else budget - total.spent
        if total.stopped:
            for part in each.asked:
                total += Tally(
                    wanted=len(part.todo) + part.known,
                    known=part.known,
                    known_failed=part.known_failed,
                    skipped=len(part.todo),
                )
            continue
        tally, unreachable = asyncio.run(_execute(each, ledger, told, left, title))
        total += tally
        if unreachable is not None:
            kept = f"{total.asked} answers of this run are kept" if total.asked else "Nothing lost"
            raise LabellerUnreachable(f"{unreachable}\n{kept}; run again to go on from here.")
    return total


def _count(tally: Tally, outcome: Outcome | None, labeller: Labeller) -> None:
    if outcome is None:
        tally.unanswered += 1
        return
    tally.asked += 1
    tally.failed += outcome.status is Status.FAILED
    tally.tokens_in += outcome.tokens_in or 0
    tally.tokens_out += outcome.tokens_out or 0
    tally.tokens_cached += int(outcome.detail.get("cached_tokens") or 0)
    if outcome.cost is not None:
        tally.cost += outcome.cost
    elif labeller.id.kind == "model" or outcome.tokens_in or outcome.tokens_out:
        tally.unpriced += 1


def new_label(labeller: Labeller, key: str, request: Request, outcome: Outcome) -> NewLabel:
    """An answer as the label that the ledger keeps."""
    verdict = None if outcome.verdict is None else outcome.verdict.model_dump(mode="json")
    return NewLabel(
        key=key,
        task=request.task.name,
        version=request.task.version,
        unit=request.unit_hash,
        content=request.content,
        labeller=labeller.id,
        status=outcome.status,
        verdict=verdict,
        reason=(verdict or {}).get("reason") or None,
        error=outcome.error,
        sample=request.sample,
        tokens_in=outcome.tokens_in,
        tokens_out=outcome.tokens_out,
        cost=outcome.cost,
        seconds=outcome.seconds,
        detail=outcome.detail,
    )
