"""Answers into the ledger, as they come."""

from __future__ import annotations

import asyncio

from assay.ledger import Ledger, NewLabel


class Keeper:
    """Writes answers that arrive in the same round of the event loop in one transaction. (To wait
    for further rounds would save a tenth of the CPU, and lose more where the process is killed.)"""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._labels: list[NewLabel] = []
        self._written: asyncio.Future[None] | None = None

    async def keep(self, label: NewLabel) -> None:
        """Return when the label survives a kill; raises what the ledger raises."""
        if self._written is None:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            loop.call_soon(self._write)
        self._labels.append(label)
        await self._written

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
