"""``assay evaluate``, ``judge``, ``score`` and ``report``: an evaluation folder's commands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.common import (
    BudgetOption,
    CsvOption,
    FolderArgument,
    JsonOption,
    JudgingBar,
    LabellerOption,
    PolicyOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
    safe,
)
from assay.cli.jobs import Job, Plans, Results, open_job
from assay.judging.batch import export_batch, import_batch
from assay.judging.engine import Plan, judge
from assay.judging.progress import Tally
from assay.labellers.openai import OpenAILabeller
from assay.labellers.prices import checked
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.protocols.output import write_bytes
from assay.protocols.scores import SCORE_COLUMNS

RetryOption = Annotated[
    bool, typer.Option("--retry-failed", help="Ask again where a labeller's reply was unusable.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the calls and tokens ahead; ask nothing.")
]


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
    job = open_job(folder, labeller, policy)
    if dry_run:
        _print_ahead(job, as_json=as_json)
        return
    quiet = as_json or as_csv
    with job.folder.open_ledger() as ledger:
        tally = _judge(job, ledger, budget=budget, retry_failed=retry_failed, quiet=quiet)
        results, files = job.write(ledger)
        report = _write_report(job, results)
    _show(results, tally, [*files, report], as_json=as_json, as_csv=as_csv)


def judge_command(
    folder: FolderArgument,
    labeller: LabellerOption = None,
    policy: PolicyOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: Annotated[
        int,
        typer.Option("--show-prompts", metavar="N", min=0, help="Print N prompts; ask nothing."),
    ] = 0,
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
    job = open_job(folder, labeller, policy)
    if batch_out is not None or batch_in is not None:
        _batch(job, batch_out, batch_in, retry_failed=retry_failed, as_json=as_json)
        return
    if show_prompts:
        _print_prompts(job, show_prompts, as_json=as_json)
        return
    if dry_run:
        _print_ahead(job, as_json=as_json)
        return
    with job.folder.open_ledger() as ledger:
        tally = _judge(job, ledger, budget=budget, retry_failed=retry_failed, quiet=as_json)
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
    job = open_job(folder, labeller, policy)
    with job.folder.open_ledger(create=False) as ledger:
        results, files = job.write(ledger, brief=True)
    _show(results, None, files, as_json=as_json, as_csv=as_csv)


def report_command(
    folder: FolderArgument, policy: PolicyOption = None, labeller: LabellerOption = None
) -> None:
    """Write out/report.html from the ledger; asks no labeller."""
    job = open_job(folder, labeller, policy)
    with job.folder.open_ledger(create=False) as ledger:
        results = job.score(ledger)
    report = _write_report(job, results)
    out().print(f"Report: {safe(report)}", soft_wrap=True)
    raise typer.Exit(1 if results.missing else 0)


# -- judging ------------------------------------------------------------------------------------


def _judge(
    job: Job, ledger: Ledger, *, budget: float | None, retry_failed: bool, quiet: bool
) -> Tally:
    limit = budget if budget is not None else job.folder.config.judging.budget
    if limit is not None:
        _require_prices(job)
    tally = job.judge(
        ledger, progress=JudgingBar(quiet=quiet), budget=limit, retry_failed=retry_failed
    )
    if not quiet:
        err().print(_told(tally), markup=False)
    return tally


def _batch(
    job: Job,
    batch_out: Path | None,
    batch_in: Path | None,
    *,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Import results if there are any, then export what can be asked now."""
    document: dict[str, Any] = {}
    with job.folder.open_ledger() as ledger:

        def plans() -> Plans:
            return job.plans_now(ledger, retry_failed=retry_failed)

        if batch_in is not None:
            taken = import_batch(plans(), ledger, batch_in)
            document["imported"] = asdict(taken)
            if not as_json:
                out().print(
                    f"{taken.added} labels added, {taken.failed} of them unusable; {taken.known} "
                    f"were known, {taken.unanswered} not answered, {taken.unasked} not asked for."
                )
        if batch_out is not None:
            # What costs nothing is done at once; it has no place in a batch file.
            free = [(t, p) for t, p in plans() if p.labeller.id.kind == "rules"]
            judge(free, ledger, progress=JudgingBar(quiet=as_json))
            data, count = export_batch(plans())
            write_bytes(batch_out, data)
            document["exported"] = count
            if not as_json:
                out().print(f"{count} questions written to {safe(batch_out)}", soft_wrap=True)
    if as_json:
        print_json(document)


def _require_prices(job: Job) -> None:
    """A budget means nothing for a model whose price is unknown: say so before calling it."""
    for labeller in job.labellers().values():
        for member in getattr(labeller, "members", (labeller,)):
            if isinstance(member, OpenAILabeller) and member.price is None:
                model = member.id.params["model"]
                raise SettingsError(
                    f"A budget needs the price of '{model}'. Add to assay.toml:\n"
                    f'[prices."{model}"]\ninput = 0.0   # US dollars for a million tokens\n'
                    "output = 0.0"
                )


def _told(tally: Tally) -> str:
    """What a judging run did, in a sentence."""
    if tally.asked == tally.unanswered == tally.skipped == 0:
        text = f"Nothing to ask: all {tally.known} labels are in the ledger."
    else:
        text = f"Asked {tally.asked}, reused {tally.known}."
    if tally.tokens_in:
        cached = f" ({tally.tokens_cached:,} from the cache)" if tally.tokens_cached else ""
        text += f" {tally.tokens_in:,} tokens read{cached}, {tally.tokens_out:,} written."
    if tally.cost:
        text += f" ${tally.cost:.4f}."
    if tally.unpriced:
        text += (
            f" The cost of {tally.unpriced} answers is unknown (no [prices] entry, or no token "
            "counts in the replies)."
        )
    failed = tally.failed + tally.known_failed
    if failed:
        text += f" {failed} replies could not be used (--retry-failed asks them again)."
    if tally.unanswered:
        text += f" {tally.unanswered} have no answer from the labeller."
    if tally.stopped == "budget":
        text += f" Stopped at the budget with {tally.skipped} left."
    elif tally.stopped:
        text += f" Stopped ({tally.stopped}) with {tally.skipped} left; run again to go on."
    return text


def _print_ahead(job: Job, *, as_json: bool) -> None:
    ledger = job.folder.open_ledger() if job.folder.ledger_path.exists() else None
    try:
        ahead = job.look_ahead(ledger)
    finally:
        if ledger is not None:
            ledger.close()
    rows = []
    seen: set[str] = set()  # what several steps or protocols need is asked once
    for title, plan in ahead.plans:
        for part in plan.asked:
            todo = tuple(one for one in part.todo if one[0] not in seen)
            seen.update(key for key, _ in todo)
            estimate = Plan(part.labeller, todo, 0, 0).estimate()
            rows.append(
                {
                    "task": title,
                    "labeller": part.labeller.id.name,
                    "known": part.known,
                    "shared": len(part.todo) - len(todo),
                    "to_ask": len(todo),
                    "calls": estimate.calls,
                    "tokens_in": estimate.tokens_in,
                    "tokens_out": estimate.tokens_out,
                    "cost": estimate.cost,
                }
            )
    if as_json:
        print_json({"ahead": rows, "answers_assumed": ahead.assumed})
        return
    table = plain_table("Ahead (nothing was asked)")
    table.add_column("task", overflow="fold")
    table.add_column("labeller", overflow="fold")
    columns = {"known": "known", "shared": "above", "to_ask": "to ask", "calls": "calls",
               "tokens_in": "read", "tokens_out": "written"}  # fmt: skip
    if not any(row["shared"] for row in rows):
        del columns["shared"]
    for name in (*columns.values(), "cost, $"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = (row[key] for key in columns)
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        table.add_row(str(row["task"]), safe(row["labeller"]), *(f"{n:,}" for n in counts), cost)
    console = out()
    console.print(table)
    console.print("Read, written: tokens, estimated from words; replies may be shorter or longer.")
    if "shared" in columns:
        console.print("Above: what a line above asks already; it is asked once.")
    if any(row["cost"] is None for row in rows):
        console.print('For the cost, give a price: [prices."MODEL"] in assay.toml.', markup=False)
    elif any(row["cost"] for row in rows):
        said = f"Prices: [prices] of assay.toml, else list prices of {checked()}."
        console.print(said, markup=False)
    if ahead.note:
        console.print(ahead.note)


def _print_prompts(job: Job, count: int, *, as_json: bool) -> None:
    ahead = job.look_ahead(None)
    document: list[dict[str, Any]] = []
    for title, plan in ahead.plans:
        for _, request in plan.todo[:count]:
            messages = plan.labeller.preview(request)
            if messages:
                document.append(
                    {
                        "task": request.task.name,
                        "labeller": plan.labeller.id.name,
                        "title": title,
                        "messages": [dict(message) for message in messages],
                    }
                )
    if as_json:
        print_json(document)
        return
    console = out()
    for shown in document:
        console.rule(safe(f"{shown['task']} · {shown['labeller']}"), align="left")
        for message in shown["messages"]:
            console.print(f"({message['role']})", style="bold", markup=False)
            for line in message["content"].splitlines():
                console.print(safe(line), soft_wrap=True)
            console.print()
    if not document:
        console.print("These labellers use no prompts.")


# -- results ------------------------------------------------------------------------------------


def _write_report(job: Job, results: Results) -> Path:
    path = job.folder.out / "report.html"
    write_bytes(path, job.report(results).encode())
    return path


def _show(
    results: Results, tally: Tally | None, files: list[Path], *, as_json: bool, as_csv: bool
) -> None:
    if as_json:
        print_json(
            {
                "policy": results.policy,
                "labellers": dict(results.labellers),
                "judging": None if tally is None else asdict(tally),
                "scores": [asdict(one) for one in results.scores],
                **results.more,
                "missing": results.missing,
                "warnings": list(results.warnings),
                "files": [str(path) for path in files],
            }
        )
    elif as_csv:
        print_csv(
            SCORE_COLUMNS,
            (tuple(getattr(one, name) for name in SCORE_COLUMNS) for one in results.scores),
        )
    else:
        console = out()
        for table in results.tables:
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
