"""``assay labels import``: labels that people made or changed, into the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.api.opened import Opened
from assay.api.paths import expanded
from assay.cli.common import FolderArgument, JsonOption, out, print_json
from assay.cli.consequences import consequences
from assay.cli.labels_marked import Imported, import_marked
from assay.formats.parsed import printable
from assay.formats.text import read_text
from assay.ledger import Ledger
from assay.ledger.exchange import person, read_file
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.protocols.folder import Folder


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
    opened = Folder.open(folder)
    who = None if by is None else person(by)
    paths = [path for given in files for path in expanded(given)]
    marked = [path for path in paths if _is_marked(path)]
    if marked and len(marked) < len(paths):
        raise SettingsError("Give either marked answer runs or labels as JSON Lines, not both.")
    if not marked and (correct or wrong or reason):
        raise SettingsError(
            "--correct, --wrong and --reason are for marked answer runs; in JSON Lines each line "
            "says it."
        )
    if marked:
        if "r2c2" not in opened.protocols:
            raise SettingsError(
                f"{printable(str(marked[0]))} is not labels as JSON Lines. Marked answer runs are "
                f"R2C2's; under {', '.join(opened.protocols)} change the lines that 'assay labels "
                "export' writes."
            )
        if who is None:
            raise SettingsError("Say whose the marks are: --by human:NAME.")
        words = [
            *((text, True) for text in correct or ()),
            *((text, False) for text in wrong or ()),
        ]
        with opened.open_ledger(create=False) as ledger:
            done = import_marked(opened, ledger, marked, who, words, reason, dry_run=dry_run)
    elif len(paths) != 1:
        raise SettingsError("Give one file of labels at a time.")
    else:
        with opened.open_ledger(create=not dry_run) as ledger:
            done = _import_lines(opened, ledger, paths[0], who, dry_run=dry_run)
    if as_json:
        print_json({**done.document(), "dry_run": dry_run})
    else:
        done.show(out(), dry_run=dry_run)


def _is_marked(path: Path) -> bool:
    """Whether a file is an answer run; anything that does not look like JSON is taken for one."""
    if path.name.endswith((".jsonl", ".json")):
        return False
    first = next((line for line in read_text(path).lines if line.strip()), "")
    return not first.lstrip().startswith("{")


def _import_lines(
    folder: Folder, ledger: Ledger, path: Path, who: LabellerId | None, *, dry_run: bool
) -> Imported:
    opened = Opened.of(folder) if dry_run else None
    with ledger.trial() as trial:  # of two imports at once, the second is to see the first's labels
        ledger.checked()  # before anybody's label takes the place of another
        read = read_file(ledger, path, who)
        before = None if opened is None else opened.score(ledger)
        trial.add(read.new)
        follows = None
        if opened is not None and before is not None:
            follows = consequences(before, opened.score(ledger))
        trial.keep = not dry_run
    return Imported(len(read.new), read.known, read.outdated, follows=follows)
