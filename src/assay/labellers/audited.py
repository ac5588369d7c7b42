"""A labeller under audit: it is asked as ever, but what it says then enters no score.

Labels count by who gave them (:mod:`assay.ledger.policy`). Those of an audit are in the ledger
under a name of their own, with what they are in their detail, so that no policy counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from assay.labellers.base import Estimate, Labeller, Outcome, Request
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.guarded import behind
from assay.model.labels import AUDIT, LabellerId
from assay.tasks.base import AnyTask
from assay.tasks.rendering import Messages

STRIDE = 1000
"""Sample numbers of one asking: an ensemble takes as many as it has samples, 1000 at most."""

DAYS = 10_000
"""Numbers of askings from here on are days: the very question of before, not another sample."""


@dataclass(frozen=True)
class AuditedLabeller:
    """``inner`` under the name ``audit:NAME``. ``origins`` says for units (by hash) what they are:
    the probe's variant and the unit that they were made of."""

    inner: Labeller
    origins: Mapping[str, Mapping[str, Any]]

    @cached_property
    def id(self) -> LabellerId:
        own = self.inner.id
        return LabellerId(f"{AUDIT}:{own.name}", own.kind, own.params)

    @property
    def concurrency(self) -> int:
        return self.inner.concurrency

    @property
    def varies(self) -> bool:
        return self.inner.varies

    def refusal(self, task: AnyTask) -> str | None:
        return self.inner.refusal(task)

    def rendered(self, request: Request) -> bytes:
        return self.inner.rendered(request)

    def preview(self, request: Request) -> Messages:
        return self.inner.preview(request)

    def estimate(self, request: Request) -> Estimate:
        return self.inner.estimate(request)

    async def label(self, request: Request) -> Outcome | None:
        asking, sample = divmod(request.sample, STRIDE)
        asked = replace(request, sample=sample) if asking >= DAYS else request
        outcome = await self.inner.label(asked)
        if outcome is None:
            return None
        origin = self.origins.get(request.unit_hash, {})
        return replace(outcome, detail={**outcome.detail, AUDIT: {"asking": asking, **origin}})

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.inner.__aexit__(kind, error, trace)


def audited(labeller: Labeller, origins: Mapping[str, Mapping[str, Any]]) -> Labeller:
    """A labeller under audit; of an ensemble all members are."""
    ensemble = behind(labeller)
    if isinstance(ensemble, EnsembleLabeller):
        members = [audited(member, origins) for member in ensemble.members]
        return ensemble.renamed(f"{AUDIT}:{ensemble.name}", members)
    return AuditedLabeller(labeller, origins)
