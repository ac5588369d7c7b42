"""Labellers under audit, whose labels enter no score.

Which labels count depends on the labeller's name (:mod:`assay.ledger.policy`). An audit's labels
are in the ledger under a name of their own, which no policy counts; their detail says what they
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from assay.labellers.base import Labeller, Outcome, Request
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.forwarding import ForwardingLabeller
from assay.labellers.guarded import unwrapped
from assay.model.labels import AUDIT, LabellerId

STRIDE = 1000
"""Sample numbers reserved for one repetition: an ensemble uses one per sample, at most 1000."""

DAYS = 10_000
"""Repetitions from this number on are days: they ask the original question again, not for another
sample."""


class AuditedLabeller(ForwardingLabeller):
    """``inner`` under the name ``audit:NAME``. ``origins`` maps the hash of a changed unit to the
    probe's variant and the original unit."""

    def __init__(self, inner: Labeller, origins: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(inner)
        self._origins = origins

    @cached_property
    def id(self) -> LabellerId:
        own = self.inner.id
        return LabellerId(f"{AUDIT}:{own.name}", own.kind, own.params)

    async def label(self, request: Request) -> Outcome | None:
        repetition, sample = divmod(request.sample, STRIDE)
        original = replace(request, sample=sample) if repetition >= DAYS else request
        outcome = await self.inner.label(original)
        if outcome is None:
            return None
        origin = self._origins.get(request.unit_hash, {})
        return replace(outcome, detail={**outcome.detail, AUDIT: {"asking": repetition, **origin}})


def audited(labeller: Labeller, origins: Mapping[str, Mapping[str, Any]]) -> Labeller:
    """The labeller under audit; of an ensemble, all its members."""
    ensemble = unwrapped(labeller)
    if isinstance(ensemble, EnsembleLabeller):
        members = [audited(member, origins) for member in ensemble.members]
        return ensemble.renamed(f"{AUDIT}:{ensemble.name}", members)
    return AuditedLabeller(labeller, origins)
