"""A labeller under audit: it is asked as ever, but what it says then enters no score.

Labels count by who gave them (:mod:`assay.ledger.policy`). Those of an audit are in the ledger
under a name of their own, with what they are in their detail, so that no policy counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from assay.labellers.base import Labeller, Outcome, Request
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.forwarding import ForwardingLabeller
from assay.labellers.guarded import behind
from assay.model.labels import AUDIT, LabellerId

STRIDE = 1000
"""Sample numbers of one asking: an ensemble takes as many as it has samples, 1000 at most."""

DAYS = 10_000
"""Numbers of askings from here on are days: the very question of before, not another sample."""


class AuditedLabeller(ForwardingLabeller):
    """``inner`` under the name ``audit:NAME``. ``origins`` says for units (by hash) what they are:
    the probe's variant and the unit that they were made of."""

    def __init__(self, inner: Labeller, origins: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(inner)
        self._origins = origins

    @cached_property
    def id(self) -> LabellerId:
        own = self.inner.id
        return LabellerId(f"{AUDIT}:{own.name}", own.kind, own.params)

    async def label(self, request: Request) -> Outcome | None:
        asking, sample = divmod(request.sample, STRIDE)
        asked = replace(request, sample=sample) if asking >= DAYS else request
        outcome = await self.inner.label(asked)
        if outcome is None:
            return None
        origin = self._origins.get(request.unit_hash, {})
        return replace(outcome, detail={**outcome.detail, AUDIT: {"asking": asking, **origin}})


def audited(labeller: Labeller, origins: Mapping[str, Mapping[str, Any]]) -> Labeller:
    """A labeller under audit; of an ensemble all members are."""
    ensemble = behind(labeller)
    if isinstance(ensemble, EnsembleLabeller):
        members = [audited(member, origins) for member in ensemble.members]
        return ensemble.renamed(f"{AUDIT}:{ensemble.name}", members)
    return AuditedLabeller(labeller, origins)
