"""Base classes of labellers that ask other labellers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self, TypeVar

from assay.labellers.base import Estimate, Labeller, Outcome, Request
from assay.model.labels import LabellerId
from assay.tasks.base import AnyTask
from assay.tasks.rendering import Messages

T = TypeVar("T")


class AskingLabeller:
    """Asks ``others``, which it opens and closes."""

    def __init__(self, others: Sequence[Labeller]) -> None:
        self._others = tuple(others)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for other in self._others:
            await self._open.enter_async_context(other)
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._open.__aexit__(*raised)


class ForwardingLabeller(AskingLabeller):
    """Wraps ``inner`` and forwards everything that a subclass does not do itself, including other
    attributes (a price, thresholds). Implements :class:`assay.labellers.base.Labeller`."""

    def __init__(self, inner: Labeller) -> None:
        super().__init__((inner,))
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name.startswith("_"):  # not set yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _forward(self, name: str, ask: Callable[[Labeller], T]) -> T:
        """The answer of ``inner`` for the member ``name``; subclasses may check it."""
        return ask(self.inner)

    @property
    def id(self) -> LabellerId:
        return self._forward("id", lambda inner: inner.id)

    @property
    def concurrency(self) -> int:
        return self._forward("concurrency", lambda inner: inner.concurrency)

    @property
    def varies(self) -> bool:
        return bool(self._forward("varies", lambda inner: inner.varies))

    def refusal(self, task: AnyTask) -> str | None:
        return self._forward("refusal", lambda inner: inner.refusal(task))

    def rendered(self, request: Request) -> bytes:
        return self._forward("rendered", lambda inner: inner.rendered(request))

    def preview(self, request: Request) -> Messages:
        return self._forward("preview", lambda inner: inner.preview(request))

    def estimate(self, request: Request) -> Estimate:
        return self._forward("estimate", lambda inner: inner.estimate(request))

    async def label(self, request: Request) -> Outcome | None:
        return await self.inner.label(request)
