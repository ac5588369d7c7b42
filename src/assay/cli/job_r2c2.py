"""R2C2 for the commands of an evaluation folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.cli.ending import keep_to_the_end
from assay.cli.jobs import Outlook, Plans, Results
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.protocols.checked import LARGE
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.protocol import R2C2
from assay.tasks.base import AnyTask

MANY = 50_000
"""Labels in a ledger from which on another process computes the numbers: with fewer, starting it
would take longer than it saves."""


class Job:
    """An R2C2 folder (a :class:`assay.cli.jobs.Job`)."""

    def __init__(self, folder: Folder, policy: str | None) -> None:
        self.folder = replace(folder, policy=policy or None)
        self._settings = folder.settings(R2C2Settings)
        self.policy = Policy.parse(policy or self._settings.policy)

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation.open(self.folder, R2C2, self.policy.name)

    @property
    def _inputs(self) -> Inputs:
        inputs: Inputs = self._evaluation.inputs
        return inputs

    def read(self) -> None:
        _ = self._evaluation

    def inputs_in_words(self) -> str:
        return R2C2.inputs_in_words(self._inputs)

    def tasks(self) -> Sequence[AnyTask]:
        return self._evaluation.tasks

    def labellers(self) -> Mapping[str, Labeller]:
        return self._evaluation.labellers()

    def look_ahead(self, ledger: Ledger | None) -> Outlook:
        ahead = self._evaluation.look_ahead(ledger)
        return Outlook(ahead.plans, ahead.note, bool(ahead.note))

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> Plans:
        return self._evaluation.plans_now(ledger, retry_failed=retry_failed)

    def judge(
        self, ledger: Ledger, *, progress: Progress, budget: float | None, retry_failed: bool
    ) -> Tally:
        return self._evaluation.judge(
            ledger, progress=progress, budget=budget, retry_failed=retry_failed
        )

    def score(self, ledger: Ledger) -> Results:
        results: Results = self._scoring.scored(
            self.folder, self._inputs, ledger, self.policy, self._settings
        )
        return results

    def write(self, ledger: Ledger, *, brief: bool = False) -> tuple[Results, list[Path]]:
        keep_to_the_end(self)  # looking for cycles and freeing would take a fifth of the time
        scoring = self._scoring
        with scoring.numbers_aside(start=ledger.size() >= MANY) as aside:
            results, files = scoring.written(
                self.folder,
                self._inputs,
                ledger,
                self.policy,
                self._settings,
                aside,
                brief=brief,
                large=brief and ledger.size() > LARGE,
            )
        keep_to_the_end(results)
        return results, files

    def report(self, results: Results) -> str:
        text: str = self._scoring.report(results)
        return text

    @property
    def _scoring(self) -> Any:
        return import_module("assay.cli.r2c2_scores")  # late: judging needs none of it
