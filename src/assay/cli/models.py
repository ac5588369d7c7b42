"""``assay models``: the embedded models that Assay knows."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from assay.cli.common import forms, group, present, say
from assay.cli.screen import err
from assay.labellers import judge
from assay.labellers.judge.model import settings
from assay.labellers.known_models import DEFAULT_MODEL, MODELS
from assay.labellers.models import cache_folder, fetch_model
from assay.page.tables import Table

app = group("Embedded models.")


@app.command("list")
@forms("json")
def list_command() -> None:
    """The known models, their size and licence, and whether they are here."""
    folder = cache_folder()
    rows: list[dict[str, Any]] = [packaged_judge()]
    rows += [
        {
            "name": model.name,
            "default": False,
            "size": model.size,
            "licence": model.licence,
            "sha256": model.sha256,
            "about": model.about,
            "path": str(folder / model.file) if (folder / model.file).is_file() else None,
        }
        for model in MODELS.values()
    ]
    cells = [
        (
            row["name"],
            f"{row['size'] / 1e6:,.0f} MB",
            row["licence"],
            "yes" if row["path"] else "no",
            row["about"],
        )
        for row in rows
    ]
    columns = ("name", "size", "licence", "here", "about")
    present(lambda: rows, [Table("Embedded models", columns, cells)])


def packaged_judge() -> dict[str, Any]:
    """The row of the judge, which the package holds."""
    path = resources.files("assay.labellers.judge").joinpath("data", "judge.onnx")
    return {
        "name": judge.NAME,
        "default": True,
        "size": len(path.read_bytes()),
        "licence": "Apache-2.0",
        "sha256": settings().sha256,
        "about": f"Assay's own judge, version {settings().version}; the default; in the package",
        "path": str(path),
    }


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(MODELS)}.")] = DEFAULT_MODEL,
) -> None:
    """Fetch a model into the cache and verify it; nothing is done where it is there already."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(name, total=None)

        def tell(what: str, done: int, size: int) -> None:
            bar.update(task, description=what, completed=done, total=size)

        file = fetch_model(name, tell)
    say(f"{name}: {file.path}")
