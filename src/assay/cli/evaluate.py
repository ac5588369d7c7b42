"""``assay evaluate``, ``judge``, ``score`` and ``report``: an evaluation folder's commands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.api.opened import Opened
from assay.api.results import Results
from assay.cli import batch
from assay.cli.common import (
    CsvOption,
    FolderArgument,
    JsonOption,
    err,
    out,
    print_csv,
    print_json,
    safe,
)
from assay.cli.folders import open_folder, tables
from assay.cli.forecast import print_ahead, print_prompts, told
from assay.cli.judging import (
    BudgetOption,
    DryRunOption,
    JudgingBar,
    LabellerOption,
    PolicyOption,
    RetryOption,
    ShowPromptsOption,
)
from assay.judging.asking import INTERRUPTED
from assay.judging.progress import Tally
from assay.model.errors import SettingsError
from assay.protocols.scores import SCORE_COLUMNS, score_row


def evaluate_command(
    folder: FolderArgument,
    labeller: LabellerOption = None,
    policy: PolicyOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    retry_failed: RetryOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Judge what is not judged yet, score, write out/ and its report, print the leaderboards.

    Run it again at any time: what the ledger holds is never asked twice. Exit status 1 where
    labels are still missing.
    """
    opened = open_folder(folder, labeller, policy)
    if dry_run:
        _print_ahead(opened, as_json=as_json)
        return
    quiet = as_json or as_csv
    opened.labellers()  # what is wrong with one is said before a ledger is made
    with opened.ledger() as ledger:
        tally = opened.judge(
            ledger, progress=JudgingBar(quiet=quiet), budget=budget, retry_failed=retry_failed
        )
        _tell(tally, quiet=quiet)
        results, files = opened.write(ledger)
        report = opened.write_report(results)
    _show(results, tally, [*files, report], as_json=as_json, as_csv=as_csv)


def judge_command(
    folder: FolderArgument,
    labeller: LabellerOption = None,
    policy: PolicyOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: ShowPromptsOption = 0,
    retry_failed: RetryOption = False,
    batch_out: Annotated[
        Path | None,
        typer.Option("--export-batch", metavar="FILE", help="Write an OpenAI batch file instead."),
    ] = None,
    batch_in: Annotated[
        Path | None,
        typer.Option("--import-batch", metavar="FILE", help="Take the results of a batch file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask labellers for every label that is missing, and keep each as it comes.

    With batch files: export, have the file run (by an endpoint's batch service, or vllm
    run-batch), import the results; then again, for the answers that wait for step 3.
    """
    opened = open_folder(folder, labeller, policy)
    if batch_out is not None or batch_in is not None:
        if dry_run or show_prompts or budget is not None:
            raise SettingsError(
                "Batch files go with none of --dry-run, --show-prompts and --budget: a batch file "
                "asks nobody by itself. Give those without it, to see what it would cost."
            )
        batch.run(opened, batch_out, batch_in, retry_failed=retry_failed, as_json=as_json)
        return
    if show_prompts:
        print_prompts(opened.anew().plans, show_prompts, as_json=as_json)
        return
    if dry_run:
        _print_ahead(opened, as_json=as_json)
        return
    opened.labellers()  # what is wrong with one is said before a ledger is made
    with opened.ledger() as ledger:
        tally = opened.judge(
            ledger, progress=JudgingBar(quiet=as_json), budget=budget, retry_failed=retry_failed
        )
    _tell(tally, quiet=as_json)
    if as_json:
        print_json(asdict(tally))
    if tally.failed or tally.known_failed or tally.unanswered or tally.skipped:
        raise typer.Exit(1)


def score_command(
    folder: FolderArgument,
    policy: PolicyOption = None,
    labeller: LabellerOption = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Recompute every score from the ledger; asks no labeller. Exit status 1 where labels miss."""
    opened = open_folder(folder, labeller, policy)
    with opened.ledger(create=False, by_index=False) as ledger:
        results, files = opened.write(ledger, whole=False)
    _show(results, None, files, as_json=as_json, as_csv=as_csv)


def report_command(
    folder: FolderArgument, policy: PolicyOption = None, labeller: LabellerOption = None
) -> None:
    """Write out/ with its report from the ledger; asks no labeller."""
    opened = open_folder(folder, labeller, policy)
    with opened.ledger(create=False) as ledger:
        results, _ = opened.write(ledger)
    report = opened.write_report(results)
    out().print(f"Report: {safe(report)}", soft_wrap=True)
    raise typer.Exit(1 if results.missing else 0)


# -- judging ------------------------------------------------------------------------------------


def _tell(tally: Tally, *, quiet: bool) -> None:
    """Say what was asked; raises KeyboardInterrupt where a person stopped it."""
    if not quiet:
        err().print(told(tally), markup=False)
    if tally.stopped == INTERRUPTED:
        raise KeyboardInterrupt


def _print_ahead(opened: Opened, *, as_json: bool) -> None:
    ahead = opened.look_ahead()
    print_ahead(
        ahead.plans,
        as_json=as_json,
        price_cure='[prices."MODEL"] in assay.toml',
        notes=(ahead.note,) if ahead.note else (),
        answers_assumed=ahead.assumed,
    )


# -- results ------------------------------------------------------------------------------------


def _show(
    results: Results, tally: Tally | None, files: list[Path], *, as_json: bool, as_csv: bool
) -> None:
    if as_json:
        print_json(
            {
                "policy": results.policy,
                "labellers": results.labellers,
                "judging": None if tally is None else asdict(tally),
                "scores": [asdict(one) for one in results.scores],
                **results.document,
                "missing": results.missing,
                "warnings": list(results.warnings),
                "files": [str(path) for path in files],
            }
        )
    elif as_csv:
        print_csv(SCORE_COLUMNS, map(score_row, results.scores))
    else:
        console = out()
        for table in tables(results):
            console.print(table)
        for warning in results.warnings:
            err().print(f"Note: {warning}", markup=False, soft_wrap=True)
        last = files[-1]
        name = "Report" if last.suffix == ".html" else "Files"
        console.print(
            f"{name}: {safe(last if last.suffix == '.html' else last.parent)}", soft_wrap=True
        )
    if results.missing:
        err().print(
            f"{results.missing} {results.missing_what} have no usable label; 'assay judge' asks "
            "for missing ones, --retry-failed for failed ones.",
            markup=False,
        )
        raise typer.Exit(1)
