"""What a judging run tells while it goes on, and what it did in the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

from assay.labellers.base import Outcome, Request


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


@runtime_checkable
class Listener(Protocol):
    """What a Progress may be beside: told of answers themselves as they come."""

    @property
    def live(self) -> bool:
        """Whether :meth:`heard` is to be called; replies come in pieces only then."""

    def heard(self, request: Request, text: str) -> None:
        """All that is written so far of the reply to ``request``; of several threads."""

    def came(self, request: Request, outcome: Outcome) -> None:
        """What came of ``request``; it is kept by now."""


class Silent:
    """A Progress that says nothing, nor of other work."""

    def begin(self, title: str, total: int, known: int) -> None: ...

    def step(self, outcome: Outcome | None) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...

    def at(self, what: str, done: int, share: float | None) -> None: ...


@dataclass(slots=True)
class Tally:
    """What a judging run did, in distinct questions. ``known`` were in the ledger already,
    ``known_failed`` of them as failures; ``unanswered`` had no answer from the labeller;
    ``skipped`` were not asked (stopped, out of budget). ``tokens_cached`` of ``tokens_in`` the
    server had read before, ``tokens_cache_write`` it put into its cache; ``cache_saved`` is what
    that saved in US dollars, fewer than 0 where it cost more, without ``cache_unpriced`` of these
    tokens, whose price in a cache is unknown. Cost in US dollars; ``unpriced`` answers have an
    unknown cost, which is not in it. ``at_most`` US dollars are what those may have cost, as far as
    a budget set that aside for them. ``waiting`` are the steps, by title, that wait for labels
    of other shards, whose numbers are ``waiting_for``."""

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
        """US dollars that a budget must take for spent."""
        return self.cost + self.at_most

    def spend(self, outcome: Outcome, *, priced: bool) -> None:
        """Add what an answer took; ``priced`` where every answer has a price, known or not."""
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


def saved_words(dollars: float) -> str:
    """What a server's cache saved, as a person reads it."""
    if dollars < 0:
        return f"the cache has cost ${-dollars:.4f} more than it saved so far"
    return f"the cache saved ${dollars:.4f}"


def unpriced_words(count: int) -> str:
    """That the cost of so many answers is not in a sum."""
    whose = "1 answer" if count == 1 else f"{count:,} answers"
    return f"The cost of {whose} is unknown (no price, no token counts, or a reply that was lost)."


def _number(said: object) -> float | None:
    """What a detail says; those of a user's labeller may say anything."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        return None
    return said
