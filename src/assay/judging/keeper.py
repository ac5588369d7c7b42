"""Answers into the ledger, as they come."""

from __future__ import annotations

import asyncio

from assay.labellers.base import Labeller, Outcome, Request
from assay.ledger import Ledger, NewLabel


class Keeper:
    """Writes answers that arrive in the same round of the event loop in one transaction. (To wait
    for further rounds would save a tenth of the CPU, and lose more where the process is killed.)"""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._labels: list[NewLabel] = []
        self._written: asyncio.Future[None] | None = None

    async def keep(self, *labels: NewLabel) -> None:
        """Return when the labels survive a kill; raises what the ledger raises."""
        if not labels:
            return
        if self._written is None:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            loop.call_soon(self._write)
        self.take(*labels)
        await self._written

    def take(self, *labels: NewLabel) -> None:
        """Hold labels for the next time that something is written."""
        self._labels += labels

    def _write(self) -> None:
        written, self._written = self._written, None
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001 (handed on, or raised by the last flush)
            if written is not None and not written.done():
                written.set_exception(error)  # whoever waits for it raises it
            # Where nobody waits any more, the last flush tries again, and raises.
        else:
            if written is not None and not written.done():
                written.set_result(None)

    def flush(self) -> None:
        """Write what waits (where workers were cancelled, nobody is left to wait for it), or keep
        it for the next time."""
        if self._labels:
            self._ledger.add(self._labels, fresh=True)
            self._labels = []


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
