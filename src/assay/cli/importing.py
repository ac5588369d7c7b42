"""``assay import``: answers from traces and data sets of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.api.importing import KINDS, Choices, import_files, said
from assay.cli.common import forms, one_of, present, takes
from assay.model.options import Argument, Option


@forms("json")
@takes(Choices, passages="split", redact="not_truncated")
def import_command(
    kind: Annotated[str, Argument("KIND", " | ".join(KINDS))],
    files: Annotated[list[Path], Argument("FILE...", "Files as the tool exports them.")],
    out: Annotated[
        Path, Option("JSON Lines file to write the records to.", flag="-o --out", metavar="FILE")
    ],
    *,
    fields: Annotated[
        list[str] | None,
        Option("hf: which column holds which field.", flag="--map", metavar="KEY=FIELD"),
    ] = None,
    passages: Annotated[Path | None, Option("Texts of passages by id.", metavar="FILE")] = None,
    redact: Annotated[
        Path | None, Option("File of regular expressions for text to hide.", metavar="FILE")
    ] = None,
    **options: Any,
) -> None:
    """Import answers from traces and data sets of other tools, as records of the rag protocol.

    Reads files and fetches nothing; you need no other tool's package. Text is masked only with
    --redact. Scores by other tools become metadata, never labels. Exit status 1 if anything was
    dropped.
    """
    one_of(kind, KINDS, "KIND")
    one_of(options["turns"], ("all", "first", "last"), "--turns")
    choices = Choices(fields=dict(_pairs(fields or ())), **options)
    done = import_files(kind, files, out, choices, passages=passages, redact=redact)
    present(done.document, said(done))
    if done.dropped:
        raise typer.Exit(1)


def _pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [one.partition("=") for one in texts]
    for name, sign, field in pairs:
        if not (name and sign and field):
            raise typer.BadParameter("must be KEY=FIELD", param_hint="--map")
    return [(name, field) for name, _, field in pairs]
