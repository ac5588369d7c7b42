"""Progress of a judging run, and its final tally."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

from assay.labellers.base import Outcome, Request


class Progress(Protocol):
    """Receives every step of a run; the command line draws a bar from it."""

    def begin(self, title: str, total: int, known: int) -> None:
        """A step starts: ``total`` distinct questions, ``known`` of them in the ledger."""

    def step(self, outcome: Outcome | None) -> None:
        """One more question was asked; ``outcome`` is None if the labeller had nothing to say."""

    def note(self, text: str) -> None:
        """Something that the user should know now."""

    def end(self) -> None:
        """No more questions follow."""


@runtime_checkable
class Listener(Protocol):
    """What a Progress may be as well: receives the answers themselves as they arrive."""

    @property
    def live(self) -> bool:
        """Whether to call :meth:`partial_reply`; replies are streamed only then."""

    def partial_reply(self, request: Request, text: str) -> None:
        """The reply to ``request`` so far. Called from several threads."""

    def answered(self, request: Request, outcome: Outcome) -> None:
        """The outcome of ``request``, which is stored by now."""


class SilentProgress:
    """A Progress that shows nothing."""

    def begin(self, title: str, total: int, known: int) -> None: ...

    def step(self, outcome: Outcome | None) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...

    def at(self, what: str, done: int, share: float | None) -> None: ...


@dataclass(slots=True)
class Tally:
    """What a judging run did. Questions are distinct; money is in US dollars.

    ``known`` questions were in the ledger already, ``known_failed`` of them as failures. For
    ``unanswered`` ones the labeller had nothing to say. ``skipped`` ones were not asked (stopped,
    or out of budget).

    Of ``tokens_in``, the server had ``tokens_cached`` in its cache and added ``tokens_cache_write``
    to it. ``cache_saved`` is what that saved (negative if it cost more), without
    ``cache_unpriced`` tokens, whose cache price is unknown. ``cost`` leaves out the ``unpriced``
    answers, whose cost is unknown; ``at_most`` is what these may have cost, as far as a budget set
    that aside. ``waiting`` are the titles of steps that wait for labels of the shards
    ``waiting_for``.
    """

    wanted: int = 0
    known: int = 0
    known_failed: int = 0
    asked: int = 0
    failed: int = 0
    unanswered: int = 0
    skipped: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_cache_write: int = 0
    cache_saved: float = 0.0
    cache_unpriced: int = 0
    cost: float = 0.0
    unpriced: int = 0
    at_most: float = 0.0
    stopped: str | None = None
    waiting: tuple[str, ...] = ()
    waiting_for: tuple[int, ...] = ()

    @property
    def spent(self) -> float:
        """US dollars that count as spent against a budget."""
        return self.cost + self.at_most

    def spend(self, outcome: Outcome, *, priced: bool) -> None:
        """Add the tokens and cost of an answer; ``priced`` if every answer has a price, known or
        not."""
        self.tokens_in += outcome.tokens_in or 0
        self.tokens_out += outcome.tokens_out or 0
        read, written, saved = (
            _number(outcome.detail.get(name))
            for name in ("cached_tokens", "cache_write_tokens", "cache_saved")
        )
        self.tokens_cached += int(read or 0)
        self.tokens_cache_write += int(written or 0)
        self.cache_saved += saved or 0.0
        if saved is None:
            self.cache_unpriced += int(read or 0) + int(written or 0)
        if outcome.cost is not None:
            self.cost += outcome.cost
        elif priced or outcome.tokens_in or outcome.tokens_out:
            self.unpriced += 1

    def __add__(self, other: Tally) -> Tally:
        sums = {
            one.name: getattr(self, one.name) + getattr(other, one.name)
            for one in fields(self)
            if one.name not in ("stopped", "waiting_for")
        }
        shards = tuple(sorted({*self.waiting_for, *other.waiting_for}))
        return Tally(**sums, stopped=self.stopped or other.stopped, waiting_for=shards)


def cache_savings(dollars: float) -> str:
    """What a server's cache saved, in words."""
    if dollars < 0:
        return f"the cache has cost ${-dollars:.4f} more than it saved so far"
    return f"the cache saved ${dollars:.4f}"


def unpriced_text(count: int) -> str:
    """A sentence that the cost of ``count`` answers is unknown."""
    whose = "1 answer" if count == 1 else f"{count:,} answers"
    return f"The cost of {whose} is unknown (no price, no token counts, or a lost reply)."


def _number(value: object) -> float | None:
    """A number from a label's detail, or None; a user's labeller may put anything there."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value
