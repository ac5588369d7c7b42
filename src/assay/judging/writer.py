"""Write answers to the ledger as they arrive."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

from assay.labellers.base import Labeller, Outcome, Request
from assay.ledger import Ledger, NewLabel


class LabelWriter:
    """Writes the answers of one iteration of the event loop in one transaction. (Waiting longer
    would save a tenth of the CPU, but lose more if the process is killed.)

    If the ledger is on another machine, a thread writes while answers go on arriving; those that
    have arrived when a transaction is done go into the next.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._labels: list[NewLabel] = []
        self._written: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1) if ledger.remote else None
        self._sent: Future[list[str]] | None = None  # what the thread is writing
        self._sending: list[NewLabel] = []
        self._fresh = True

    async def write(self, *labels: NewLabel) -> None:
        """Return once the labels are committed; raises what the ledger raises."""
        if not labels:
            return
        if self._written is None:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            if self._sent is None:
                loop.call_soon(self._write)
        self.queue(*labels)
        await self._written

    def queue(self, *labels: NewLabel) -> None:
        """Keep labels for the next transaction."""
        self._labels += labels

    def _write(self) -> None:
        written, self._written = self._written, None
        if self._thread is not None:
            self._send(self._thread, written)
            return
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 (passed on, or raised by the last flush)
            _resolve(written, error)
        else:
            _resolve(written, None)

    def _send(self, thread: ThreadPoolExecutor, written: asyncio.Future[None] | None) -> None:
        """Have the thread write the queued labels."""
        self._sending, self._labels = self._labels, []
        self._sent = thread.submit(self._ledger.add, self._sending, fresh=self._fresh)

        loop = asyncio.get_running_loop()

        def done(sent: Future[list[str]]) -> None:
            _resolve(written, self._sent_with(sent.exception()))
            if self._written is not None:
                self._write()

        def done_in_thread(sent: Future[list[str]]) -> None:
            with suppress(RuntimeError):  # if the loop has ended, the last flush takes over
                loop.call_soon_threadsafe(done, sent)

        self._sent.add_done_callback(done_in_thread)

    def _sent_with(self, error: BaseException | None) -> BaseException | None:
        """Finish a transaction of the thread. After an error, the labels are sent again, and looked
        up first (not ``fresh``), as they may have been written."""
        if error is not None:
            self._labels = self._sending + self._labels
            self._fresh = False
        self._sending, self._sent = [], None
        return error

    def flush(self) -> None:
        """Write the queued labels; if that fails, they stay queued."""
        if self._sent is not None:
            self._sent_with(self._sent.exception())
        if self._labels:
            self._ledger.add(self._labels, fresh=self._fresh)
            self._labels = []


def _resolve(written: asyncio.Future[None] | None, error: BaseException | None) -> None:
    """Wake those who wait, with the error if any. If nobody waits (the workers were cancelled), the
    last flush tries again and raises."""
    if written is not None and not written.done():
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


def new_label(labeller: Labeller, key: str, request: Request, outcome: Outcome) -> NewLabel:
    """The label to store for an answer."""
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
