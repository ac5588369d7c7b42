"""``assay audit``: what a folder's judge can be fooled by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from assay.api.audit.findings import COLUMNS, Finding
from assay.api.audit.tables import document, remarks, summary, tables, write_audit
from assay.api.auditing import ALL, USUAL, Audit, Wanted
from assay.cli.common import (
    FolderArgument,
    Paragraph,
    forms,
    named_values,
    present,
    seed_option,
)
from assay.cli.forecast import print_ahead, tell_of
from assay.cli.judging import (
    BudgetOption,
    DryRunOption,
    LabellerOption,
    RetryOption,
    judging_bar,
    open_folder,
)
from assay.model.options import Option
from assay.page.tables import Table


@forms("json", "csv")
def audit_command(
    folder: FolderArgument,
    probe: Annotated[
        list[str] | None,
        Option(f"One of {', '.join(ALL)} (default: all but drift).", metavar="NAME"),
    ] = None,
    n: Annotated[int, Option("Units per probe and task.", least=1, most=1_000_000)] = 100,
    seed: Annotated[int, seed_option("Seed of the sample of units.")] = 1,
    repeats: Annotated[int, Option("How often a unit is asked again.", least=1, most=100)] = 3,
    level: Annotated[float, Option("Confidence level of the intervals.")] = 0.95,
    family: Annotated[
        list[str] | None,
        Option(
            "Family of a run or a labeller (* matches anything), in addition to [audit.families].",
            metavar="NAME=FAMILY",
        ),
    ] = None,
    used: Annotated[
        list[str] | None, Option("A run that used the judge (* matches anything).", metavar="RUN")
    ] = None,
    labeller: LabellerOption = None,
    budget: BudgetOption = None,
    dry_run: DryRunOption = False,
    retry_failed: RetryOption = False,
) -> None:
    """Test how the judge can be fooled, on altered copies of the folder's own units.

    Run it after 'assay judge'. It asks the folder's labellers and keeps every answer in the ledger
    under the name audit:…, where no score uses it. Writes out/audit.json and out/audit.html. Exit
    status 1 if answers are missing or the judge drifts.
    """
    families = named_values(family or (), "--family", "NAME=FAMILY")
    wanted = Wanted(
        tuple(dict.fromkeys(probe or USUAL)), n, seed, repeats, level, families,
        tuple(used or ()),
    )  # fmt: skip
    opened = open_folder(folder, labeller)
    with opened.ledger(create=False) as ledger:
        audit = Audit(opened, ledger, wanted)
        if dry_run:
            print_ahead(audit.plans())
            return
        tally = audit.ask(progress=judging_bar(), budget=budget, retry_failed=retry_failed)
        tell_of(tally)
        found = audit.findings()
        files = write_audit(audit, found)
    present(
        lambda: document(audit, found, tally),
        _people(found, str(files[-1])),
        (COLUMNS, (one.row for one in found)),
        remarks(found),
    )
    if any(one.missing or one.alarm for one in found):
        raise typer.Exit(1)


def _people(found: Sequence[Finding], file: str) -> Iterator[Table | Paragraph | str]:
    yield from tables(found)
    for line in summary(found):
        yield Paragraph(line)
    for line in remarks(found):
        yield Paragraph(f"• {line}")
    yield f"With examples: {file}"
