"""Answers into the ledger, as they come."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

from assay.labellers.base import Labeller, Outcome, Request
from assay.ledger import Ledger, NewLabel


class Keeper:
    """Writes answers that arrive in the same round of the event loop in one transaction. (To wait
    for further rounds would save a tenth of the CPU, and lose more where the process is killed.)

    Where the ledger is on another machine, a thread writes, and answers go on arriving: what has
    come when one transaction is done goes into the next.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._labels: list[NewLabel] = []
        self._written: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1) if ledger.remote else None
        self._sent: Future[list[str]] | None = None  # what the thread is writing
        self._sending: list[NewLabel] = []
        self._fresh = True

    async def keep(self, *labels: NewLabel) -> None:
        """When the labels survive a kill; raises what the ledger raises."""
        if not labels:
            return
        if self._written is None:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            if self._sent is None:
                loop.call_soon(self._write)
        self.take(*labels)
        await self._written

    def take(self, *labels: NewLabel) -> None:
        """Hold labels for the next time that something is written."""
        self._labels += labels

    def _write(self) -> None:
        written, self._written = self._written, None
        if self._thread is not None:
            self._send(self._thread, written)
            return
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 (handed on, or raised by the last flush)
            _tell(written, error)
        else:
            _tell(written, None)

    def _send(self, thread: ThreadPoolExecutor, written: asyncio.Future[None] | None) -> None:
        """Have the thread write what waits."""
        self._sending, self._labels = self._labels, []
        self._sent = thread.submit(self._ledger.add, self._sending, fresh=self._fresh)

        loop = asyncio.get_running_loop()

        def done(sent: Future[list[str]]) -> None:
            _tell(written, self._settled(sent.exception()))
            if self._written is not None:
                self._write()

        def tell(sent: Future[list[str]]) -> None:
            with suppress(RuntimeError):  # where the loop has ended, the last flush sees to it
                loop.call_soon_threadsafe(done, sent)

        self._sent.add_done_callback(tell)

    def _settled(self, error: BaseException | None) -> BaseException | None:
        """Note what became of what was sent: where nobody knows, it is sent again, and looked for
        before that."""
        if error is not None:
            self._labels = self._sending + self._labels
            self._fresh = False
        self._sending, self._sent = [], None
        return error

    def flush(self) -> None:
        """Write what waits (where workers were cancelled, nobody is left to wait for it), or keep
        it for the next time."""
        if self._sent is not None:
            self._settled(self._sent.exception())
        if self._labels:
            self._ledger.add(self._labels, fresh=self._fresh)
            self._labels = []


def _tell(written: asyncio.Future[None] | None, error: BaseException | None) -> None:
    """Whoever waits goes on, or raises the error. Where nobody waits any more, the last flush tries
    again, and raises."""
    if written is not None and not written.done():
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


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
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        detail=outcome.detail,
    )
