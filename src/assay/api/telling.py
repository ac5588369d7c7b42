"""Progress of judging and other long-running work as lines of text, for scripts and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from assay.judging.progress import Progress, SilentProgress, Tally, cache_savings
from assay.labellers.base import Outcome
from assay.model.labels import Status
from assay.model.progress import ProgressCallback, no_progress
from assay.model.wording import duration_text

_EVERY = 5.0  # seconds between two lines
_SOON = 1.0  # seconds before a rate is meaningful


class ProgressLines:
    """A Progress that writes a line to standard error every few seconds. :meth:`at` reports work
    without labellers in the same form, but prints nothing if it ends at once."""

    def __init__(self) -> None:
        self._title = ""
        self._todo = self._done = self._failed = 0
        self._share: float | None = 0.0
        self._spent = Tally()
        self._first = (0, 0.0)  # count and share at the first report, the basis of the rate
        self._began = self._last_shown = 0.0

    def begin(self, title: str, total: int, known: int) -> None:
        self._start(title, total - known)
        if self._todo:
            self.note(f"{title}: {self._todo:,} to ask, {known:,} known")

    def step(self, outcome: Outcome | None) -> None:
        self._done += 1
        self._share = self._done / self._todo if self._todo else 1.0
        if outcome is not None:
            self._failed += outcome.status is Status.FAILED
            self._spent.spend(outcome, priced=False)
        self._show(last=self._done == self._todo)

    def at(self, what: str, done: int, share: float | None) -> None:
        """A :data:`assay.model.progress.ProgressCallback`."""
        if what != self._title or self._todo or done < self._done:
            self._start(what, 0)
            self._first = done, share or 0.0
        self._done, self._share = done, share
        self._show(last=share == 1.0 and self._last_shown > self._began)

    def _start(self, title: str, todo: int) -> None:
        self._title, self._todo = title, todo
        self._done = self._failed = 0
        self._share, self._first = 0.0, (0, 0.0)
        self._spent = Tally()
        self._began = self._last_shown = time.monotonic()

    def _show(self, *, last: bool) -> None:
        if last or time.monotonic() - self._last_shown >= _EVERY:
            self._last_shown = time.monotonic()
            self.note(": ".join(filter(None, (self._title, self._in_words()))))

    def _in_words(self) -> str:
        return ", ".join(self._said())

    def _said(self) -> Iterator[str]:
        """How much is done, the rate, the time left at that rate, the cost and the failures."""
        if self._todo:
            yield f"{self._done:,}/{self._todo:,}"
        else:
            if self._done:
                yield f"{self._done:,}"
            if self._share is not None:
                yield f"{self._share:.0%}"
        took = time.monotonic() - self._began
        done, share = self._first
        if took >= _SOON and self._done > done:
            rate = (self._done - done) / took
            yield f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
            if self._share is not None and share < self._share < 1:
                left = took * (1 - self._share) / (self._share - share)
                yield f"{duration_text(max(left, 1))} left"
        if self._spent.cost:
            yield f"${self._spent.cost:.4f}"
        if self._spent.cache_saved:
            yield cache_savings(self._spent.cache_saved)
        if self._failed:
            yield f"{self._failed:,} failed"

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None: ...


def progress_callback(given: ProgressCallback | bool) -> ProgressCallback:
    """The callback for an argument ``progress`` of work without labellers: lines if True, none if
    False, or the caller's own."""
    if isinstance(given, bool):
        return ProgressLines().at if given else no_progress
    return given


def progress_of(given: Progress | bool) -> Progress:
    """The Progress for an argument ``progress``: lines if True, none if False, or the caller's own.
    Raises TypeError for anything else."""
    if isinstance(given, bool):
        return ProgressLines() if given else SilentProgress()
    if not hasattr(given, "begin"):
        raise TypeError(f"progress must be True, False or a Progress, not {given!r:.80}")
    return given
