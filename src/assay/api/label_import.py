"""Labels that people made or changed, into a folder's ledger."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.api.consequences import consequences
from assay.api.marked_import import Imported, Note, import_marked
from assay.api.opened import Opened
from assay.formats.text import read_text
from assay.ledger import Ledger
from assay.ledger.exchange import person, read_file
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.model.wording import printable
from assay.protocols.folder import Folder


def import_labels(
    folder: Path,
    paths: list[Path],
    *,
    by: str | None = None,
    correct: Iterable[str] = (),
    wrong: Iterable[str] = (),
    reason: str | None = None,
    dry_run: bool = False,
    note: Note = lambda _text: None,
) -> Imported:
    """Read one file of labels as JSON Lines, or marked answer runs, into the ledger, all or
    nothing; with ``dry_run`` only say what would follow.

    ``by`` (``human:NAME``) is whose the changed labels are; ``correct`` and ``wrong`` name answers
    of marked runs (``[RUN/]QUESTION``), ``reason`` says why. ``note`` hears what the person should
    know. Raises SettingsError for files and options that do not go together, FormatError with all
    faults, LedgerError.
    """
    opened = Folder.open(folder)
    who = None if by is None else person(by)
    words = [*((text, True) for text in correct), *((text, False) for text in wrong)]
    marked = [path for path in paths if _is_marked(path)]
    if marked and len(marked) < len(paths):
        raise SettingsError("Give either marked answer runs or labels as JSON Lines, not both.")
    if not marked and (words or reason):
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
        with opened.open_ledger(create=False) as ledger:
            return import_marked(
                opened, ledger, marked, who, words, reason, dry_run=dry_run, note=note
            )
    if len(paths) != 1:
        raise SettingsError("Give one file of labels at a time.")
    with opened.open_ledger(create=not dry_run) as ledger:
        return _import_lines(opened, ledger, paths[0], who, dry_run=dry_run)


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
