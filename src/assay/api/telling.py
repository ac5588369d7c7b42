"""Progress of judging as lines of text, for scripts and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from assay.judging.progress import Progress, Silent, Tally, saved_words
from assay.labellers.base import Outcome
from assay.model.labels import Status

_EVERY = 5.0  # seconds between two lines


class ProgressLines:
    """A Progress that writes a line to standard error now and then."""

    def __init__(self) -> None:
        self._title = ""
        self._todo = self._done = self._failed = 0
        self._spent = Tally()
        self._told = 0.0

    def begin(self, title: str, total: int, known: int) -> None:
        self._title, self._todo = title, total - known
        self._done = self._failed = 0
        self._told = time.monotonic()
        if self._todo:
            self.note(f"{title}: {self._todo:,} to ask, {known:,} known")

    def step(self, outcome: Outcome | None) -> None:
        self._done += 1
        if outcome is not None:
            self._failed += outcome.status is Status.FAILED
            self._spent.spend(outcome, priced=False)
        self._show()

    def _show(self) -> None:
        if self._done == self._todo or time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            told = ", ".join((f"{self._done:,}/{self._todo:,}", *self._extras()))
            self.note(f"{self._title}: {told}")

    def _extras(self) -> Iterator[str]:
        if self._spent.cost:
            yield f"${self._spent.cost:.4f}"
        if self._spent.cache_saved:
            yield saved_words(self._spent.cache_saved)
        if self._failed:
            yield f"{self._failed:,} failed"

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None: ...


def progress_of(given: Progress | bool) -> Progress:
    """The Progress that a caller means: lines, silence, or one of their own."""
    if isinstance(given, bool):
        return ProgressLines() if given else Silent()
    return given
