"""How work that takes long tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

Told = Callable[[str, int, float | None], None]
"""Told of work that goes on: what is done ("passages embedded"), how many of them so far, and which
share of the whole that is, None where nobody can know."""

_OFTEN = 500


def unheard(_what: str, _done: int, _share: float | None) -> None:
    """A Told that says nothing."""


def counting(items: Iterable[T], what: str, total: int | None, told: Told) -> Iterator[T]:
    """``items``, of which ``told`` hears now and then how many of ``total`` were taken."""
    done = 0
    for done, item in enumerate(items, 1):
        if done % _OFTEN == 0 and done != total:
            told(what, done, share_of(done, total))
        yield item
    if done:
        told(what, done, 1.0)


def share_of(done: int, total: int | None) -> float | None:
    """Which share of ``total`` is done; None where nobody knows how many there are."""
    return min(done / total, 1.0) if total and total > 0 else None
