"""Every protocol on the common ground, for the commands of an evaluation folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.table import Table

from assay.cli.jobs import Outlook, Plans, Results
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.model.version import __version__
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.r2c2.results import Found
from assay.protocols.registry import find_protocol
from assay.protocols.results import Result
from assay.reports import r2c2
from assay.reports.general import board_tables, render_report
from assay.reports.tables import leaderboard_tables
from assay.tasks.base import AnyTask


class Job:
    """A folder under a protocol of ``assay.protocols.base`` (a :class:`assay.cli.jobs.Job`)."""

    def __init__(self, folder: Folder, policy: str | None) -> None:
        protocol = find_protocol(folder.protocol)
        self.evaluation = Evaluation.open(folder, protocol, policy)
        self.folder = self.evaluation.folder
        self.policy = self.evaluation.policy

    def inputs_in_words(self) -> str:
        return self.evaluation.protocol.inputs_in_words(self.evaluation.inputs)

    def tasks(self) -> Sequence[AnyTask]:
        # Only those that the inputs leave something to ask of.
        return tuple(dict.fromkeys(step.task for step in self.evaluation.steps))

    def labellers(self) -> Mapping[str, Labeller]:
        return self.evaluation.labellers()

    def look_ahead(self, ledger: Ledger | None) -> Outlook:
        ahead = self.evaluation.look_ahead(ledger)
        return Outlook(ahead.plans, ahead.note, bool(ahead.note))

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> Plans:
        return self.evaluation.plans_now(ledger, retry_failed=retry_failed)

    def judge(
        self, ledger: Ledger, *, progress: Progress, budget: float | None, retry_failed: bool
    ) -> Tally:
        return self.evaluation.judge(
            ledger, progress=progress, budget=budget, retry_failed=retry_failed
        )

    def score(self, ledger: Ledger) -> Results:
        return results(self.evaluation.score(ledger))

    def write(self, ledger: Ledger, *, whole: bool = True) -> tuple[Results, list[Path]]:
        result, files = self.evaluation.write(ledger, whole=whole)
        return results(result), files

    def report(self, results: Results) -> str:
        result: Result = results.value
        if isinstance(result.findings.detail, Found):
            return r2c2.render_report(result, generated_by=f"Assay {__version__}")
        return render_report(result, generated_by=f"Assay {__version__}")


def _tables(result: Result) -> Sequence[Table]:
    if isinstance(result.findings.detail, Found):
        return leaderboard_tables(result)
    return board_tables(result)


def results(result: Result) -> Results:
    """A result as the commands show it."""
    return Results(
        value=result,
        policy=result.policy,
        labellers={
            task: None if who is None else who.name for task, who in result.labellers.items()
        },
        scores=[one for scores in result.findings.scores.values() for one in scores.values()],
        tables=partial(_tables, result),
        missing=result.unlabelled.count,
        missing_what=result.unlabelled.what,
        warnings=result.warnings,
        more={
            **result.findings.document,
            "juries": [asdict(jury) for jury in result.juries],
        },
    )
