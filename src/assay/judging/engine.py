"""The engine: from requests to labels in the ledger.

What the ledger already holds is never asked again. Every answer is committed before the next
step, so a kill at any moment loses nothing that arrived.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from assay.labellers.base import Estimate, Labeller, Outcome, Request, request_key
from assay.ledger import Ledger, NewLabel
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import Status


class Progress(Protocol):
    """Told of every step; the command line draws a bar from it."""

    def begin(self, title: str, total: int, known: int) -> None:
        """``total`` distinct questions are wanted, ``known`` of them are in the ledger."""

    def step(self, outcome: Outcome | None) -> None:
        """One more was asked; None where the labeller had nothing to say."""

    def note(self, text: str) -> None:
        """Something that a person should know now."""

    def end(self) -> None:
        """No more steps."""


class Silent:
    """A Progress that says nothing."""

    def begin(self, title: str, total: int, known: int) -> None: ...

    def step(self, outcome: Outcome | None) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """What a judging run did, in distinct questions. ``known`` were in the ledger already,
    ``known_failed`` of them as failures; ``unanswered`` had no answer from the labeller;
    ``skipped`` were not asked (stopped, out of budget). Cost in US dollars."""

    wanted: int = 0
    known: int = 0
    known_failed: int = 0
    asked: int = 0
    failed: int = 0
    unanswered: int = 0
    skipped: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    stopped: str | None = None

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            wanted=self.wanted + other.wanted,
            known=self.known + other.known,
            known_failed=self.known_failed + other.known_failed,
            asked=self.asked + other.asked,
            failed=self.failed + other.failed,
            unanswered=self.unanswered + other.unanswered,
            skipped=self.skipped + other.skipped,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=self.cost + other.cost,
            stopped=self.stopped or other.stopped,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of one labeller: distinct keys with their requests, and what is known."""

    labeller: Labeller
    todo: tuple[tuple[str, Request], ...]
    known: int
    known_failed: int

    def estimate(self) -> Estimate:
        """Calls and tokens ahead."""
        parts = [self.labeller.estimate(request) for _, request in self.todo]
        return Estimate(
            sum(part.calls for part in parts),
            sum(part.tokens_in for part in parts),
            sum(part.tokens_out for part in parts),
        )


def plan(
    ledger: Ledger | None,
    labeller: Labeller,
    requests: Iterable[Request],
    *,
    retry_failed: bool = False,
) -> Plan:
    """Which of ``requests`` must be asked. Raises SettingsError where the labeller cannot do
    the task; ``ledger`` None means that nothing is known yet."""
    distinct: dict[str, Request] = {}
    refusals: dict[str, str] = {}
    for request in requests:
        if request.task.name not in refusals:
            refusals[request.task.name] = labeller.refusal(request.task) or ""
        if refusals[request.task.name]:
            raise SettingsError(refusals[request.task.name])
        distinct.setdefault(request_key(labeller, request), request)
    known = ledger.statuses(distinct) if ledger is not None else {}
    failed = sum(1 for status in known.values() if status is Status.FAILED)
    missing = [
        (key, request)
        for key, request in distinct.items()
        if key not in known or (retry_failed and known[key] is Status.FAILED)
    ]
    # Units begin with what they share (the passage, the question): asked one after the other,
    # their prompts have a prefix in common that servers and the embedded model have cached.
    missing.sort(key=lambda item: [str(value) for value in item[1].content.values()])
    todo = tuple(missing)
    return Plan(labeller, todo, len(distinct) - len(todo), 0 if retry_failed else failed)


@dataclass(slots=True)
class _Run:
    """What one run of a plan has done so far."""

    tally: Tally
    stop: str | None = None
    unreachable: LabellerUnreachable | None = None


async def _execute(
    plan_: Plan, ledger: Ledger, progress: Progress, budget: float | None, title: str
) -> tuple[Tally, LabellerUnreachable | None]:
    run = _Run(Tally(len(plan_.todo) + plan_.known, plan_.known, plan_.known_failed))
    progress.begin(title, run.tally.wanted, plan_.known)
    waiting = iter(plan_.todo)

    def interrupt() -> None:
        if run.stop is not None:
            raise KeyboardInterrupt
        run.stop = "interrupted"
        progress.note("Stopping: waiting for the answers under way (Ctrl-C again to leave now).")

    async def work() -> None:
        for key, request in waiting:
            if run.stop is not None:
                return
            try:
                outcome = await plan_.labeller.label(request)
            except LabellerUnreachable as error:
                run.stop = "unreachable"
                run.unreachable = error
                return
            if outcome is not None:
                ledger.add([new_label(plan_.labeller, key, request, outcome)])
            run.tally = _count(run.tally, outcome)
            progress.step(outcome)
            if budget is not None and run.tally.cost >= budget:
                run.stop = run.stop or "budget"
                return

    loop = asyncio.get_running_loop()
    handled = False
    with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
        loop.add_signal_handler(signal.SIGINT, interrupt)
        handled = True
    try:
        async with plan_.labeller, asyncio.TaskGroup() as group:
            for _ in range(max(1, min(plan_.labeller.concurrency, len(plan_.todo)))):
                group.create_task(work())
    except BaseExceptionGroup as group_error:
        # One cause is enough for a person: the first fault that stopped a worker.
        raise group_error.exceptions[0] from None
    finally:
        if handled:
            loop.remove_signal_handler(signal.SIGINT)
        progress.end()
    done = run.tally.asked + run.tally.unanswered
    return (
        replace(run.tally, skipped=len(plan_.todo) - done, stopped=run.stop),
        run.unreachable,
    )


def judge(
    plans: Sequence[tuple[str, Plan]],
    ledger: Ledger,
    *,
    progress: Progress | None = None,
    budget: float | None = None,
) -> Tally:
    """Carry out plans one after the other and return what was done.

    ``budget`` is in US dollars for this call; it is checked after every answer, so that at most
    the answers under way go beyond it. Raises LabellerUnreachable (after everything that was
    answered is kept) and KeyboardInterrupt on a second Ctrl-C.
    """
    told = progress or Silent()
    total = Tally()
    for title, each in plans:
        left = None if budget is None else budget - total.cost
        if total.stopped:
            total += Tally(
                wanted=len(each.todo) + each.known,
                known=each.known,
                known_failed=each.known_failed,
                skipped=len(each.todo),
            )
            continue
        tally, unreachable = asyncio.run(_execute(each, ledger, told, left, title))
        total += tally
        if unreachable is not None:
            kept = f"{total.asked} answers of this run are kept" if total.asked else "Nothing lost"
            raise LabellerUnreachable(f"{unreachable}\n{kept}; run again to go on from here.")
    return total


def _count(tally: Tally, outcome: Outcome | None) -> Tally:
    if outcome is None:
        return replace(tally, unanswered=tally.unanswered + 1)
    return replace(
        tally,
        asked=tally.asked + 1,
        failed=tally.failed + (outcome.status is Status.FAILED),
        tokens_in=tally.tokens_in + (outcome.tokens_in or 0),
        tokens_out=tally.tokens_out + (outcome.tokens_out or 0),
        cost=tally.cost + (outcome.cost or 0.0),
    )


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
