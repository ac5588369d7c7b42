"""Requests of the baseline system, through the same engine and ledger as judging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.judging.engine import judge, plan
from assay.judging.progress import Progress, Silent, Tally
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.model.labels import Label, Status


@dataclass
class Asker:
    """Puts requests to one labeller; ``tally`` adds up what was asked. What the ledger holds is
    not asked again, so a run that was stopped goes on and nothing is paid twice."""

    ledger: Ledger
    labeller: Labeller
    progress: Progress = field(default_factory=Silent)
    budget: float | None = None
    tally: Tally = field(default_factory=Tally)

    def ask(self, title: str, requests: Sequence[Request]) -> list[Label | None]:
        """The label of each request: None where it is missing, a failed one where the model's
        reply could not be used. Raises SettingsError where the labeller cannot do the task."""
        left = None if self.budget is None else max(self.budget - self.tally.cost, 0.0)
        planned = plan(self.ledger, self.labeller, requests)
        self.tally += judge([(title, planned)], self.ledger, progress=self.progress, budget=left)
        keys = [request_key(self.labeller, request) for request in requests]
        units = (request.unit_hash for request in requests)
        found = self.ledger.by_key(zip(units, keys, strict=True))
        return [found.get(key) for key in keys]


def usable(label: Label | None) -> dict[str, Any] | None:
    """The verdict of a label that can be used."""
    if label is None or label.status is not Status.OK or label.verdict is None:
        return None
    return dict(label.verdict)
