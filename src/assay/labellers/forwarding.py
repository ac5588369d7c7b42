"""Labellers that ask other labellers, and are open while these are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Self

from assay.labellers.base import Estimate, Labeller, Outcome, Request
from assay.model.labels import LabellerId
from assay.tasks.base import AnyTask
from assay.tasks.rendering import Messages


class AskingLabeller:
    """Asks ``others``."""

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
    """Stands before ``inner``, which does all that a class does not do itself and has all other
    attributes (a price, thresholds). Implements :class:`assay.labellers.base.Labeller`."""

    def __init__(self, inner: Labeller) -> None:
        super().__init__((inner,))
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name.startswith("_"):  # not set yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    def _forward(self, name: str, *given: Any) -> Any:
        """An attribute of ``inner``, or what its method ``name`` says to ``given``."""
        found = getattr(self.inner, name)
        return found(*given) if given else found

    @property
    def id(self) -> LabellerId:
        found: LabellerId = self._forward("id")
        return found

    @property
    def concurrency(self) -> int:
        return int(self._forward("concurrency"))

    @property
    def varies(self) -> bool:
        return bool(self._forward("varies"))

    def refusal(self, task: AnyTask) -> str | None:
        why: str | None = self._forward("refusal", task)
        return why

    def rendered(self, request: Request) -> bytes:
        asked: bytes = self._forward("rendered", request)
        return asked

    def preview(self, request: Request) -> Messages:
        messages: Messages = self._forward("preview", request)
        return messages

    def estimate(self, request: Request) -> Estimate:
        expected: Estimate = self._forward("estimate", request)
        return expected

    async def label(self, request: Request) -> Outcome | None:
        return await self.inner.label(request)
