"""``assay models``: the embedded models that Assay knows."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.cli.common import forms, group, present, say
from assay.cli.judging import FetchLines
from assay.labellers.judge.packages import JUDGES, SMALL, JudgePackage
from assay.labellers.known_models import DEFAULT_MODEL, MODELS
from assay.labellers.models import cached_file, fetch_model
from assay.model.errors import PrerequisiteError
from assay.page.tables import Table

app = group("Embedded models.")


@app.command("list")
@forms("json")
def list_command() -> None:
    """List the known models with their size and licence, and whether they are installed."""
    rows: list[dict[str, Any]] = [_judge(one) for one in JUDGES.values()]
    rows += [
        {
            "name": model.name,
            "default": False,
            "size": model.size,
            "licence": model.licence,
            "sha256": model.sha256,
            "about": model.about,
            "path": path and str(path),
        }
        for model in MODELS.values()
        for path in [cached_file(model)]
    ]
    cells = [
        (
            row["name"],
            "–" if row["size"] is None else f"{row['size'] / 1e6:,.0f} MB",
            row["licence"],
            "yes" if row["path"] else "no",
            row["about"],
        )
        for row in rows
    ]
    columns = ("name", "size", "licence", "here", "about")
    present(lambda: rows, [Table("Embedded models", columns, cells)])


def _judge(judge: JudgePackage) -> dict[str, Any]:
    """The row of one of Assay's own judges; says so if it is missing or damaged."""
    default = judge is SMALL
    row = {"name": judge.name, "default": default, "size": None, "licence": "Apache-2.0"}
    try:
        about, pieces = judge.settings, judge.pieces()
    except PrerequisiteError as error:
        return {**row, "sha256": None, "about": str(error), "path": None}
    kind = "the default; in the package" if default else "larger, slower and better"
    return {
        **row,
        "size": sum(len(one.read_bytes()) for one in pieces),
        "sha256": about.sha256,
        "about": f"Assay's own judge, version {about.version}; {kind}",
        "path": str(pieces[0] if default else judge.folder()),
    }


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(MODELS)}.")] = DEFAULT_MODEL,
) -> None:
    """Fetch a model into the cache and verify it; nothing happens if it is already there."""
    file = fetch_model(name, FetchLines())
    say(f"{name}: {file.path}")
