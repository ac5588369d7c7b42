"""``assay labels import``: labels that people made or changed, into the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from assay.api.label_import import import_labels
from assay.api.marked_import import Imported, Written
from assay.api.paths import expanded
from assay.cli.common import (
    FolderArgument,
    JsonOption,
    out,
    plain_table,
    print_json,
    remark,
    safe,
)
from assay.cli.consequences import show
from assay.model.wording import listed, printable


def import_command(
    folder: FolderArgument,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Labels as JSON Lines, or marked answer runs (or their folder)."
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="human:NAME", help="Whose the changed labels are."),
    ] = None,
    correct: Annotated[
        list[str] | None,
        typer.Option(
            "--correct",
            metavar="[RUN/]QUESTION",
            help="Of marked runs: this answer is right. May be given several times.",
        ),
    ] = None,
    wrong: Annotated[
        list[str] | None,
        typer.Option(
            "--wrong",
            metavar="[RUN/]QUESTION",
            help="Of marked runs: this answer is wrong. May be given several times.",
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Of marked runs: why, for all that was changed.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would follow; write nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read labels into the ledger, all or nothing: from JSON Lines, or from marked answer runs.

    To correct labels: export, change "verdict" (and "reason", if you like) in the lines concerned,
    and import them with --by human:NAME. Or change marks in a copy of out/marked/RUN.txt and import
    that: what differs from what scoring would write now becomes labels. The old labels stay beside
    the new ones. Importing a file twice adds nothing.
    """
    done = import_labels(
        folder,
        [path for given in files for path in expanded(given)],
        by=by,
        correct=correct or (),
        wrong=wrong or (),
        reason=reason,
        dry_run=dry_run,
        note=remark,
    )
    if as_json:
        print_json({**done.document(), "dry_run": dry_run})
    else:
        _show(out(), done, dry_run=dry_run)


def _show(console: Console, done: Imported, *, dry_run: bool) -> None:
    verb = "would be added" if dry_run else "added"
    if done.labels is None:
        console.print(f"{done.added} labels {verb}, {done.known} were known.")
    elif not done.labels:
        console.print("Nothing differs from what is published: 0 labels added.")
    else:
        _show_labels(console, done.labels)
    if done.outdated:
        console.print(
            f"Of the known ones {done.outdated} do not count: the same person has said "
            "otherwise since. To go back to one, change the person's newer label (labels "
            "export).",
            soft_wrap=True,
        )
    if done.follows is not None:
        show(console, done.follows)
    if done.labels:
        console.print(f"{done.added} labels {verb}.")


def _show_labels(console: Console, labels: Sequence[Written]) -> None:
    table = plain_table("Labels")
    for name in ("of", "says", "over"):
        table.add_column(name, overflow="fold")
    for one in labels:
        over = "" if one.before is None else f"{one.before} ({one.before_by})"
        cells = (str(one.place), one.after, over)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
    for one in labels:
        if one.also:
            places = listed(map(str, one.also), 8)
            console.print(
                f"{safe(one.place)} is equal to {safe(places)}: one label.", soft_wrap=True
            )
