"""``assay label``: a list of pairs judged one by one, without an evaluation folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.api.labelling import COLUMNS, TITLE, PairJob, PairLabel, PairTask, pair_job, write_labels
from assay.cli.common import FORM, forms, present, remark, tell
from assay.cli.forecast import done_in_words, print_ahead, print_prompts
from assay.cli.judging import (
    BudgetOption,
    DryRunOption,
    FetchLines,
    PriceOption,
    RetryOption,
    ShowPromptsOption,
    judging_bar,
)
from assay.labellers.spec import SPEC_HELP
from assay.model.options import Argument, Option
from assay.page.tables import Table

_SHOWN = 40  # labels in a table for people


@forms("json", "csv")
def label_command(
    file: Annotated[
        Path,
        Argument(
            "FILE",
            "JSON Lines of {id, claim, passage}, {id, question, passage} or {id, question, "
            "answer, gold}; or .csv or .tsv with these columns.",
        ),
    ],
    task: Annotated[
        PairTask,
        Option(
            "support: does the passage support the claim? answers: does it answer the question? "
            "correct: is the answer correct by the gold answers?"
        ),
    ],
    output: Annotated[
        Path | None,
        Option(
            "File to write the labels to; a table if its name ends with .csv or .tsv.",
            flag="-o --output",
            metavar="OUT.jsonl|.csv|.tsv",
        ),
    ] = None,
    labeller: Annotated[str, Option(f"Who judges: {SPEC_HELP}.", metavar="SPEC")] = "embedded",
    ledger_file: Annotated[
        Path | None,
        Option(
            "Ledger of earlier answers (default: OUT.sqlite; without -o, none is kept).",
            flag="--ledger",
        ),
    ] = None,
    price: PriceOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    show_prompts: ShowPromptsOption = 0,
    retry_failed: RetryOption = False,
) -> None:
    """Judge the pairs of FILE one by one: yes, partly or no, with the probability of yes.

    OUT gets lines {id, task, label, yes, reason, warning} in the order of FILE. Labels in the
    ledger are never asked for again: if the command is stopped, run it again to continue. Exit
    status 1 if a record has no label.
    """
    job = pair_job(
        file, task, labeller, output, price=price, budget=budget, fetching=FetchLines(), note=remark
    )
    path = ledger_file
    if path is None and output is not None:
        path = output.with_suffix(".sqlite")
    if show_prompts or dry_run:
        outlook = job.look_ahead(None if show_prompts else path, retry_failed=retry_failed)
        plans = [(TITLE, outlook)]
        if show_prompts:
            print_prompts(plans, show_prompts)
        else:
            print_ahead(plans, price_cure="--price IN/OUT")
        return
    try:
        labels, tally = job.labels(
            path, progress=judging_bar(), budget=budget, retry_failed=retry_failed
        )
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):
            tell(note)
        raise
    if output is not None:
        write_labels(job, labels, file, output)
    present(
        lambda: {
            "task": job.task.value,
            "labeller": job.labeller.id.name,
            "judging": tally,
            "labels": [one._asdict() for one in labels],
            "file": None if output is None else str(output),
        },
        _people(job, labels, output),
        (COLUMNS, labels),
    )
    if not FORM.get():
        tell(done_in_words(tally))
    if any(one.label is None for one in labels):
        raise typer.Exit(1)


def _people(
    job: PairJob, labels: Sequence[PairLabel], output: Path | None
) -> Iterator[Table | str]:
    if output is None:
        yield _table(job, labels[:_SHOWN])
        if len(labels) > _SHOWN:
            yield f"… and {len(labels) - _SHOWN:,} more: -o OUT.jsonl writes them all."
    counts = Counter(one.label or "without a label" for one in labels)
    names = ("yes", "partly", "no", "without a label")
    said = ", ".join(f"{counts[name]:,} {name}" for name in names if counts[name])
    warned = sum(one.warning is not None for one in labels)
    yield f"{said}; {warned:,} with a warning." if warned else f"{said}."
    if output is not None:
        yield f"Labels: {output}"


def _table(job: PairJob, labels: Sequence[PairLabel]) -> Table:
    rows = []
    for one in labels:
        yes = "" if one.yes is None else f"{one.yes:.2f}".removeprefix("0")
        said = "\n".join(filter(None, (one.reason, one.warning and f"! {one.warning}")))
        rows.append((str(one.id), one.label or "–", yes, said))
    return Table(
        f"{job.task.value} (labeller: {job.labeller.id.name})",
        ("id", "label", "yes", "reason, warning"),
        rows,
        texts=frozenset(("reason, warning",)),
        numbers=frozenset(("yes",)),
    )
