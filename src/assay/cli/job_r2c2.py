"""R2C2 for the commands of an evaluation folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from assay import __version__
from assay.cli.ending import keep_to_the_end
from assay.cli.jobs import Outlook, Plans, Results
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.protocols.folder import Folder
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings, load_inputs
from assay.protocols.r2c2.judge import (
    ENTAILED_SHARE,
    active_tasks,
    labellers_for,
    look_ahead,
    plans_now,
    run_judging,
)
from assay.protocols.r2c2.output import labels_ahead, write_outputs
from assay.protocols.r2c2.results import R2C2Result
from assay.protocols.r2c2.score import score
from assay.reports.r2c2 import render_report
from assay.reports.tables import leaderboard_tables
from assay.tasks.base import AnyTask

LARGE = 300_000
"""Labels in a ledger from which on ``score`` goes through it group by group: a label takes some
four thousand bytes where all are held."""


class Job:
    """An R2C2 folder (a :class:`assay.cli.jobs.Job`)."""

    def __init__(self, folder: Folder, policy: str | None) -> None:
        self.folder = folder
        self._settings = folder.settings(R2C2Settings)
        self.policy = Policy.parse(policy or self._settings.policy)

    @cached_property
    def _inputs(self) -> Inputs:
        return load_inputs(self.folder, self._settings)

    def read(self) -> None:
        _ = self._inputs

    def inputs_in_words(self) -> str:
        inputs = self._inputs
        return (
            f"{len(inputs.questions)} questions, {len(inputs.pr_runs)} PR runs, "
            f"{len(inputs.ac_files)} AC runs"
        )

    def tasks(self) -> Sequence[AnyTask]:
        return active_tasks(self.folder)

    def labellers(self) -> Mapping[str, Labeller]:
        return labellers_for(self.folder)

    def look_ahead(self, ledger: Ledger | None) -> Outlook:
        ahead = look_ahead(self.folder, self._inputs, ledger, self.policy)
        note = (
            "Answers are judged after bogus nuggets are found; these figures take "
            f"{ENTAILED_SHARE:.0%} of the nuggets that are not labelled yet as entailed."
        )
        return Outlook(ahead.plans, note if ahead.answers_assumed else "", ahead.answers_assumed)

    def plans_now(self, ledger: Ledger, *, retry_failed: bool) -> Plans:
        return plans_now(self.folder, self._inputs, ledger, self.policy, retry_failed=retry_failed)

    def judge(
        self, ledger: Ledger, *, progress: Progress, budget: float | None, retry_failed: bool
    ) -> Tally:
        return run_judging(
            self.folder,
            self._inputs,
            ledger,
            self.policy,
            progress=progress,
            budget=budget,
            retry_failed=retry_failed,
        )

    def score(self, ledger: Ledger) -> Results:
        return _results(score(self.folder, self._inputs, ledger, self.policy, self._settings))

    def write(self, ledger: Ledger, *, brief: bool = False) -> tuple[Results, list[Path]]:
        keep_to_the_end(self)  # looking for cycles and freeing would take a fifth of the time
        large = brief and ledger.size() > LARGE
        with nullcontext() if large else labels_ahead(ledger, brief=brief) as ahead:
            inputs = self._inputs  # in ``score`` read only now, while a thread reads the ledger
            results = _results(
                score(
                    self.folder,
                    inputs,
                    ledger,
                    self.policy,
                    self._settings,
                    brief=brief,
                    large=large,
                    blocks=None if ahead is None else ahead.brief(),
                )
            )
            keep_to_the_end(results)
            written = write_outputs(self.folder, inputs, ledger.path, ahead or (), results.value)
            return results, written

    def report(self, results: Results) -> str:
        return render_report(results.value, generated_by=f"Assay {__version__}")


def _results(result: R2C2Result) -> Results:
    return Results(
        value=result,
        policy=result.policy,
        labellers={
            task: None if who is None else who.name for task, who in result.labellers.items()
        },
        scores=[
            one
            for table in (result.scores, result.pr_scores)
            for scores in table.values()
            for one in scores.values()
        ],
        tables=leaderboard_tables(result),
        missing=_missing(result),
        missing_what="answers, nuggets or passages",
        warnings=result.warnings,
        more={
            "attempted": [asdict(s) for t in result.attempted.values() for s in t.values()],
            "runs": {name: asdict(notes) for name, notes in result.notes.items()},
            "juries": [asdict(jury) for jury in result.juries],
        },
    )


def _missing(result: R2C2Result) -> int:
    """How many answers, nuggets and checked passages have no usable label."""
    passages = result.relevance.missing if result.relevance else 0
    return passages + sum(
        notes.missing_answers + notes.failed_answers + notes.unmarked_nuggets
        for notes in result.notes.values()
    )
