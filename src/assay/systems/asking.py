"""Requests of the baseline system, through the same engine and ledger as judging."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.judging.asking import INTERRUPTED
from assay.judging.engine import judge, plan
from assay.judging.progress import Progress, SilentProgress, Tally
from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger
from assay.model.labels import Label, Status


@dataclass
class Spending:
    """What all the models of a command were asked and cost together; ``budget`` in US dollars,
    None for no limit."""

    budget: float | None = None
    tally: Tally = field(default_factory=Tally)

    @property
    def left(self) -> float | None:
        """What may still be spent, None for anything."""
        return None if self.budget is None else max(self.budget - self.tally.spent, 0.0)


@dataclass
class Asker:
    """Puts requests to one labeller; ``spending`` adds up what was asked, ``faults`` why replies
    could not be used. What the ledger holds is not asked again (failures are with
    ``retry_failed``), so a run that was stopped goes on and nothing is paid twice."""

    ledger: Ledger
    labeller: Labeller
    progress: Progress = field(default_factory=SilentProgress)
    spending: Spending = field(default_factory=Spending)
    retry_failed: bool = False
    faults: Counter[str] = field(default_factory=Counter)

    def ask(self, title: str, requests: Sequence[Request]) -> list[Label | None]:
        """The label of each request: None where it is missing, a failed one where the model's
        reply could not be used. Raises SettingsError where the labeller cannot do the task, and
        KeyboardInterrupt (with what was answered kept) where a person stops it."""
        planned = plan(
            self.ledger,
            self.labeller,
            requests,
            retry_failed=self.retry_failed,
            across_tasks=False,  # what is handed back are labels of these very questions
        )
        left = self.spending.left
        made = judge([(title, planned)], self.ledger, progress=self.progress, budget=left)
        self.spending.tally += made
        if made.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        labels = known_labels(self.ledger, self.labeller, requests)
        self.faults.update(one.error or "" for one in labels if one and usable(one) is None)
        return labels


def known_labels(
    ledger: Ledger, labeller: Labeller, requests: Sequence[Request]
) -> list[Label | None]:
    """What the ledger has that the labeller said of each request; None where that is nothing."""
    keys = [request_key(labeller, request) for request in requests]
    units = (request.unit_hash for request in requests)
    found = ledger.by_key(zip(units, keys, strict=True))
    return [found.get(key) for key in keys]


def usable(label: Label | None) -> dict[str, Any] | None:
    """The verdict of a label that can be used."""
    if label is None or label.status is not Status.OK or label.verdict is None:
        return None
    return dict(label.verdict)
