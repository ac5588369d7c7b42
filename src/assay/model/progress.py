"""Progress of long-running work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

ProgressCallback = Callable[[str, int, float | None], None]
"""Takes what is being done ("passages embedded"), how many so far, and the fraction of the whole,
or None if the total is unknown."""

_EVERY = 500  # items between two reports


def no_progress(_what: str, _done: int, _fraction: float | None) -> None:
    """A ProgressCallback that does nothing."""


def with_progress(
    items: Iterable[T], what: str, total: int | None, report: ProgressCallback
) -> Iterator[T]:
    """Yield ``items`` and report now and then how many of ``total`` were taken."""
    done = 0
    for done, item in enumerate(items, 1):
        if done % _EVERY == 0 and done != total:
            report(what, done, fraction_done(done, total))
        yield item
    if done:
        report(what, done, 1.0)


def fraction_done(done: int, total: int | None) -> float | None:
    """``done / total``, at most 1, or None if the total is unknown."""
    return min(done / total, 1.0) if total and total > 0 else None
