"""``assay import``: answers from traces and data sets of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.api.importing import KINDS, Choices, import_files, said
from assay.cli.common import forms, one_of, present


@forms("json")
def import_command(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=" | ".join(KINDS))],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="As the tool exports.")],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="JSON Lines of records.")
    ],
    run: Annotated[str | None, typer.Option("--run", help="The run's name.")] = None,
    id_from: Annotated[
        str | None,
        typer.Option(
            "--id-from",
            metavar="KEY",
            help="Ids from metadata: a gate needs ids that stay the same from day to day.",
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="KEY=FIELD", help="hf: which column is which field."),
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="deepeval's CSV: what joins contexts.")
    ] = None,
    passages: Annotated[
        Path | None,
        typer.Option("--passages", metavar="FILE", help="Texts of passages by id."),
    ] = None,
    retrievers: Annotated[
        str,
        typer.Option(
            "--retrievers",
            metavar="answer|first|last|NAME",
            help="Of several in a trace: those that the answer had, or one.",
        ),
    ] = "answer",
    retriever: Annotated[
        str | None, typer.Option("--retriever", metavar="NAME", help="langfuse: a span's name.")
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="otel: retrieval by this tool.")
    ] = None,
    question_path: Annotated[
        str | None, typer.Option("--question-path", metavar="POINTER", help="In the root's input.")
    ] = None,
    answer_path: Annotated[
        str | None, typer.Option("--answer-path", metavar="POINTER", help="In the root's output.")
    ] = None,
    turns: Annotated[
        str, typer.Option("--turns", metavar="all|first|last", help="Of a conversation.")
    ] = "all",
    drop_unretrieved: Annotated[
        bool, typer.Option("--drop-unretrieved", help="Leave out what retrieved nothing.")
    ] = False,
    not_truncated: Annotated[
        bool, typer.Option("--not-truncated", help="Take no text for cut.")
    ] = False,
    redact: Annotated[
        Path | None,
        typer.Option("--redact", metavar="FILE", help="Regular expressions of what to hide."),
    ] = None,
    keep_users: Annotated[
        bool, typer.Option("--keep-users", help="Keep ids of users in metadata.")
    ] = False,
) -> None:
    """Answers from traces and data sets of other tools, as records of the protocol rag.

    Reads files, fetches nothing; no tool's package is needed. Nothing is masked unless --redact
    says so. Scores by other tools become metadata, never labels. Exit status 1 where anything was
    dropped.
    """
    one_of(kind, KINDS, "KIND")
    one_of(turns, ("all", "first", "last"), "--turns")
    choices = Choices(
        run, id_from, dict(_pairs(fields or ())), split, retrievers, retriever, tool,
        question_path, answer_path, turns, drop_unretrieved, not_truncated, keep_users,
    )  # fmt: skip
    done = import_files(kind, files, out, choices, passages=passages, redact=redact)
    present(done.document, said(done))
    if done.dropped:
        raise typer.Exit(1)


def _pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [one.partition("=") for one in given]
    for name, sign, field in pairs:
        if not (name and sign and field):
            raise typer.BadParameter("must be KEY=FIELD", param_hint="--map")
    return [(name, field) for name, _, field in pairs]
