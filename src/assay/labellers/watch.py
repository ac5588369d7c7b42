"""How a labeller reports to the run that asks it: that it is idle, and messages for the user.

Outside a run, these reports are ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assay.labellers.base import Request
from assay.labellers.streams import TextCallback


@dataclass
class Watch:
    """Receives the reports of labellers. ``note`` takes messages for the user. ``partial_reply``
    takes replies while they are written, if somebody watches. ``idle`` holds the tasks that wait
    for their turn or for another attempt, so that nothing is lost if they are cancelled."""

    note: Callable[[str], None] = lambda _: None
    partial_reply: Callable[[Request, str], None] | None = None
    idle: set[asyncio.Task[Any]] = field(default_factory=set)


WATCH: ContextVar[Watch] = ContextVar("WATCH")


def notify(text: str) -> None:
    """Show the user a message."""
    watch = WATCH.get(None)
    if watch is not None:
        watch.note(text)


def text_callback(request: Request) -> TextCallback | None:
    """The callback for the reply to ``request`` while it is written, or None if nobody watches."""
    watch = WATCH.get(None)
    return (
        None
        if watch is None or watch.partial_reply is None
        else partial(watch.partial_reply, request)
    )


@contextmanager
def idling() -> Iterator[None]:
    """In this context, the current task counts as idle: cancelling it loses nothing."""
    watch, task = WATCH.get(None), asyncio.current_task()
    if watch is None or task is None:
        yield
        return
    watch.idle.add(task)
    try:
        yield
    finally:
        watch.idle.discard(task)
