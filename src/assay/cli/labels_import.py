"""``assay labels import``: labels that people made or changed, into the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.common import FolderArgument, JsonOption, out, print_json
from assay.ledger.exchange import Read, person, read_file
from assay.protocols.folder import Folder


def import_command(
    folder: FolderArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Labels as JSON Lines.")],
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="human:NAME", help="Whose the changed labels are."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read labels from JSON Lines into the ledger, all or nothing.

    To correct a machine's label: export, change "verdict" (and "reason", if you like) in the lines
    concerned, and import them with --by human:NAME. The old label stays beside the new one.
    """
    who = None if by is None else person(by)
    with Folder.open(folder).open_ledger() as ledger:
        read = read_file(ledger, file, who)
        added = len(ledger.add(read.new))
    if as_json:
        print_json({"added": added, "known": read.known, "outdated": read.outdated})
    else:
        _tell(read, added)


def _tell(read: Read, added: int) -> None:
    out().print(f"{added} labels added, {read.known} were known.")
    if read.outdated:
        out().print(
            f"Of the known ones {read.outdated} do not count: the same person has said otherwise "
            "since. To go back to one, change the person's newer label (labels export).",
            soft_wrap=True,
        )
