"""``assay status``, and ``assay`` alone in an evaluation folder: what exists, and what comes
next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.api.status import Stands, status
from assay.cli.common import Paragraph, forms, present
from assay.model.options import Argument
from assay.page.tables import Table


@forms("json")
def status_command(
    folder: Annotated[Path, Argument("[FOLDER]", "Evaluation folder with an assay.toml.")] = Path(),
) -> None:
    """Show what an evaluation folder contains, what is missing, and the commands to run next.

    'assay' on its own in a folder shows the same. Exit status 1 if something is missing.
    """
    found = status(folder)
    present(lambda: found, _people(found))
    if found.lacks:
        raise typer.Exit(1)


def _people(found: Stands) -> Iterator[Table | Paragraph]:
    rows = ((name.replace("stands on", "based on"), said) for name, said in found.rows)
    yield Table("", ("", ""), [*rows])
    for line in found.lacks:
        yield Paragraph(f"Missing: {line}")
    columns = ("command", "what it does")
    if found.next:
        yield Table("Next", columns, found.next, whole=frozenset(columns[:1]))
