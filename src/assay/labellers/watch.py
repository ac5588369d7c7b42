"""What a labeller lets the run know that asks it: that it only waits, and what a person should be
told at once. Outside a run nobody listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assay.labellers.base import Request
from assay.labellers.streams import Heard


@dataclass
class Watch:
    """``note`` takes what a person should know; ``idle`` are the tasks that wait for their turn or
    for another try, so that nothing is lost where they are cancelled. ``heard`` takes replies as
    they are written, where somebody looks on."""

    note: Callable[[str], None] = lambda _: None
    heard: Callable[[Request, str], None] | None = None
    idle: set[asyncio.Task[Any]] = field(default_factory=set)


WATCH: ContextVar[Watch] = ContextVar("WATCH")


def tell(text: str) -> None:
    """Let a person know now."""
    watch = WATCH.get(None)
    if watch is not None:
        watch.note(text)


def hearing(request: Request) -> Heard | None:
    """Who is to be told of the reply to ``request`` while it is written; None where nobody is."""
    watch = WATCH.get(None)
    return None if watch is None or watch.heard is None else partial(watch.heard, request)


@contextmanager
def idling() -> Iterator[None]:
    """While it lasts, the task has nothing under way that could be lost."""
    watch, task = WATCH.get(None), asyncio.current_task()
    if watch is None or task is None:
        yield
        return
    watch.idle.add(task)
    try:
        yield
    finally:
        watch.idle.discard(task)
