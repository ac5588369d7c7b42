"""Requests of the baseline system to models, through the same engine and ledger as judging."""

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
    """Requests and cost of all models of a command together. ``budget`` is in US dollars, None for
    no limit."""

    budget: float | None = None
    tally: Tally = field(default_factory=Tally)

    @property
    def left(self) -> float | None:
        """US dollars that may still be spent, None for no limit."""
        return None if self.budget is None else max(self.budget - self.tally.spent, 0.0)


@dataclass
class Asker:
    """Sends requests to one labeller. ``spending`` accumulates requests and cost, ``faults`` counts
    why replies were unusable. Requests with a label in the ledger are not sent again (failed ones
    are with ``retry_failed``), so a stopped run can continue and nothing is paid for twice."""

    ledger: Ledger
    labeller: Labeller
    progress: Progress = field(default_factory=SilentProgress)
    spending: Spending = field(default_factory=Spending)
    retry_failed: bool = False
    faults: Counter[str] = field(default_factory=Counter)

    def ask(self, title: str, requests: Sequence[Request]) -> list[Label | None]:
        """The label of each request: None if missing, a failed one if the reply was unusable.
        Raises SettingsError if the labeller cannot do the task, and KeyboardInterrupt if a person
        stops it (answers received so far are kept)."""
        planned = plan(
            self.ledger,
            self.labeller,
            requests,
            retry_failed=self.retry_failed,
            across_tasks=False,  # only labels of these very questions are returned
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
    """The labeller's label in the ledger for each request, or None."""
    keys = [request_key(labeller, request) for request in requests]
    units = (request.unit_hash for request in requests)
    found = ledger.by_key(zip(units, keys, strict=True))
    return [found.get(key) for key in keys]


def usable(label: Label | None) -> dict[str, Any] | None:
    """The verdict of a label, or None if it is missing or failed."""
    if label is None or label.status is not Status.OK or label.verdict is None:
        return None
    return dict(label.verdict)
