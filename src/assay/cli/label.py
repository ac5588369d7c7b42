"""``assay label``: a list of pairs judged one by one, without an evaluation folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.api.labelling import COLUMNS, Bounds, Labelled, PairJob, label_pairs
from assay.api.run_manifest import write_manifest
from assay.cli.common import (
    CsvOption,
    JsonOption,
    err,
    out,
    plain_table,
    print_csv,
    print_json,
    safe,
)
from assay.cli.forecast import print_ahead, print_prompts, told
from assay.cli.judging import (
    BudgetOption,
    DryRunOption,
    FetchLines,
    JudgingBar,
    PriceOption,
    RetryOption,
    ShowPromptsOption,
)
from assay.formats.jsonl import dump_line
from assay.formats.pairs import PairTask, read_pairs
from assay.judging.progress import Tally
from assay.labellers.prices import given_prices, require_prices
from assay.labellers.spec import SPEC_HELP, LabellerOptions, make_labeller
from assay.model.errors import SettingsError
from assay.protocols.output import write_bytes
from assay.tasks.rendering import Renderer

_SHOWN = 40  # labels in a table for people


def label_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.jsonl",
            help="Lines {id, claim, passage}, {id, question, passage} or {id, question, answer, "
            "gold}.",
        ),
    ],
    task: Annotated[
        PairTask,
        typer.Option(
            "--task",
            help="Does the passage support the claim? Does it answer the question? Is the answer "
            "correct by the gold answers?",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT.jsonl", help="Where the labels are written."),
    ] = None,
    labeller: Annotated[
        str, typer.Option("--labeller", metavar="SPEC", help=f"Who judges: {SPEC_HELP}.")
    ] = "embedded",
    ledger_file: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            help="What was asked already (beside OUT.jsonl, as OUT.sqlite; without -o, forgotten).",
        ),
    ] = None,
    price: PriceOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: ShowPromptsOption = 0,
    retry_failed: RetryOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Judge the pairs of FILE.jsonl one by one: yes, partly or no, with the probability of yes.

    OUT.jsonl gets lines {id, task, label, yes, reason, warning} in the order of FILE.jsonl. What
    the ledger holds is never asked again: run the same command again after whatever stopped it.
    Exit status 1 where a record has no label.
    """
    parsed = read_pairs(file, task)
    for fault in parsed.warnings:
        err().print(f"Note: {fault}", markup=False, soft_wrap=True)
    pairs = parsed.require()
    if output is not None and output.resolve() == file.resolve():
        raise SettingsError(f"-o {output}: that is the file that is read. Name another one.")
    options = LabellerOptions(prices=given_prices(labeller, price), fetching=FetchLines())
    who = make_labeller(labeller, folder=Path(), renderer=Renderer(), options=options)
    if budget is not None:
        require_prices([who], "Give it: --price IN/OUT, in US dollars for a million tokens.")
    job = PairJob(task, pairs, who)
    path = ledger_file
    if path is None and output is not None:
        path = output.with_suffix(".sqlite")
    if show_prompts:
        plans = [(job.title, job.look_ahead(None, retry_failed=retry_failed))]
        print_prompts(plans, show_prompts, as_json=as_json)
        return
    if dry_run:
        plans = [(job.title, job.look_ahead(path, retry_failed=retry_failed))]
        print_ahead(plans, as_json=as_json, price_cure="--price IN/OUT")
        return
    quiet = as_json or as_csv
    try:
        bounds = Bounds(budget, retry_failed, JudgingBar(quiet=quiet))
        labels, tally = label_pairs(job, path, bounds)
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):
            err().print(note, markup=False, soft_wrap=True)
        raise
    if output is not None:
        write_bytes(output, b"".join(dump_line(one._asdict()) for one in labels))
        settings = {"task": task.value}
        write_manifest(
            output, "label", settings, labellers=[who.id], inputs=[file], outputs=[output]
        )
    _show(job, labels, tally, output, as_json=as_json, as_csv=as_csv)
    if any(one.label is None for one in labels):
        raise typer.Exit(1)


def _show(
    job: PairJob,
    labels: Sequence[Labelled],
    tally: Tally,
    output: Path | None,
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    if as_json:
        print_json(
            {
                "task": job.task.value,
                "labeller": job.labeller.id.name,
                "judging": asdict(tally),
                "labels": [one._asdict() for one in labels],
                "file": None if output is None else str(output),
            }
        )
        return
    if as_csv:
        print_csv(COLUMNS, labels)
        return
    console = out()
    if output is None:
        console.print(_table(job, labels))
        if len(labels) > _SHOWN:
            console.print(f"… and {len(labels) - _SHOWN:,} more: -o OUT.jsonl writes them all.")
    counts = Counter(one.label or "without a label" for one in labels)
    warned = sum(one.warning is not None for one in labels)
    parts = [
        f"{counts[name]:,} {name}" for name in ("yes", "partly", "no", "without a label")
        if counts[name]
    ]  # fmt: skip
    said = f"{', '.join(parts)}; {warned:,} with a warning." if warned else f"{', '.join(parts)}."
    console.print(said, markup=False)
    if output is not None:
        console.print(f"Labels: {safe(output)}", soft_wrap=True)
    err().print(told(tally), markup=False)


def _table(job: PairJob, labels: Sequence[Labelled]) -> object:
    table = plain_table(f"{job.task.value} (labeller: {safe(job.labeller.id.name)})")
    table.add_column("id", overflow="fold")
    table.add_column("label")
    table.add_column("yes", justify="right")
    table.add_column("reason, warning", overflow="fold")
    for one in labels[:_SHOWN]:
        yes = "" if one.yes is None else f"{one.yes:.2f}".removeprefix("0")
        said = "\n".join(filter(None, (one.reason, one.warning and f"! {one.warning}")))
        table.add_row(safe(one.id), one.label or "–", yes, "\n".join(map(safe, said.split("\n"))))
    return table
