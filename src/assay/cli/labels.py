"""``assay labels``: the ledger as people see it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from assay.api.labels import (
    differences,
    export_lines,
    exported,
    found_labels,
    one_label,
    shown_ledger,
    where_used,
)
from assay.api.verdicts import in_words
from assay.cli.common import (
    CsvOption,
    FolderArgument,
    JsonOption,
    out,
    plain_table,
    print_csv,
    print_json,
    remark,
    safe,
)
from assay.cli.folders import open_folder
from assay.cli.labels_import import import_command
from assay.cli.labels_verify import verify_command
from assay.model.wording import counted
from assay.protocols.output import write_pieces
from assay.tasks.registry import REGISTRY

app = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode=None, help="The ledger of labels."
)

TaskOption = Annotated[
    str | None, typer.Option("--task", help=f"Only this task: {', '.join(REGISTRY)}.")
]
LabellerFilter = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Only labels by this labeller.")
]
StatusOption = Annotated[str | None, typer.Option("--status", help="Only ok, or only failed.")]


@app.command("stats")
def stats_command(
    folder: FolderArgument, as_json: JsonOption = False, as_csv: CsvOption = False
) -> None:
    """Count labels, tokens and cost by task and labeller."""
    with shown_ledger(folder, remark) as ledger:
        rows = ledger.stats()
    if as_json:
        print_json(rows)
        return
    names = ("task", "labeller", "status", "labels", "tokens_in", "tokens_out", "cost", "seconds")
    if as_csv:
        print_csv(names, ([row[name] for name in names] for row in rows))
        return
    table = plain_table("Labels")
    shown = {"tokens_in": "read", "tokens_out": "written", "cost": "cost, $"}
    for name in names[:-1]:
        text = name in names[:3]
        table.add_column(
            shown.get(name, name),
            justify="left" if text else "right",
            no_wrap=name != "labeller",
            overflow="fold",
        )
    for row in rows:
        short = {**row, "task": str(row["task"]).rpartition(".")[2]}
        table.add_row(*(_cell(short[name]) for name in names[:-1]))
    out().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else safe(value)


_MOST = 8
"""Places of a label that are named; of more only the number is."""


@app.command("list")
def list_command(
    folder: FolderArgument,
    task: TaskOption = None,
    by: LabellerFilter = None,
    status: StatusOption = None,
    contains: Annotated[
        str | None, typer.Option("--contains", help="Only labels whose unit or reason holds this.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="At most N labels; 0: all.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List labels, newest first: id, task, verdict, what it is about, who gave it."""
    with shown_ledger(folder, remark) as ledger:
        found = list(found_labels(ledger, task=task, by=by, status=status, contains=contains))
        found.reverse()
        shown = found[:limit] if limit else found
        where = where_used(partial(open_folder, folder), ledger, remark)
    if as_json:
        print_json([exported(label, content, where) for label, content in shown])
        return
    table = plain_table(f"{len(shown)} of {len(found)} labels")
    console = out()
    for name, width in (("id", 8), ("task", 12), ("verdict", 18)):
        table.add_column(name, no_wrap=True, width=width)
    # Rich would shrink every column alike; ids must stay whole, the text may be cut.
    table.add_column("about", no_wrap=True, width=max(16, console.width - 68))
    table.add_column("by", no_wrap=True, width=14)
    for label, content in shown:
        table.add_row(
            label.uid[:8],
            label.task.rpartition(".")[2],
            safe(in_words(label)),
            safe(_about(content)),
            safe(label.labeller.name),
        )
    console.print(table)
    for label, _ in shown:
        places = where.of(label.unit, label.rowid)
        if len(places) > 1:
            more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
            named = ", ".join(map(str, places[:_MOST]))
            console.print(
                f"{label.uid[:8]} is one label for {len(places)} places, which are equal: "
                f"{safe(named)}{more}.",
                soft_wrap=True,
            )


def _about(content: Mapping[str, Any]) -> str:
    texts = [value for value in content.values() if isinstance(value, str) and value]
    return " | ".join(reversed(texts))


@app.command("show")
def show_command(
    folder: FolderArgument,
    uid: Annotated[str, typer.Argument(metavar="ID", help="A label's id, or its beginning.")],
    as_json: JsonOption = False,
) -> None:
    """Show one label whole, with every other label of the same unit."""
    with shown_ledger(folder, remark) as ledger:
        label, content, same = one_label(ledger, uid)
        where = where_used(partial(open_folder, folder), ledger, remark)
    others = [exported(other, content, where) for other in same]
    document = {**exported(label, content, where), "others": others}
    if as_json:
        print_json(document)
        return
    console = out()
    for line in orjson.dumps(document, option=orjson.OPT_INDENT_2).decode().splitlines():
        console.print(safe(line), soft_wrap=True)


@app.command("export")
def export_command(
    folder: FolderArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
    task: TaskOption = None,
) -> None:
    """Write labels as JSON Lines, oldest first, each with the places (run, topic, position) that
    it is used at. 'import' reads them back."""
    count = 0

    def counting(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    with shown_ledger(folder, remark) as ledger:
        where = where_used(partial(open_folder, folder), ledger, remark)
        if output is None:
            sys.stdout.buffer.writelines(export_lines(ledger, task, where))
            return
        write_pieces(output, counting(export_lines(ledger, task, where)))
    out().print(f"{counted(count, 'label')} written to {safe(output)}", soft_wrap=True)


app.command("import")(import_command)


app.command("verify")(verify_command)


@app.command("diff")
def diff_command(
    folder: FolderArgument,
    first: Annotated[str, typer.Argument(metavar="A", help="A labeller's name, as in 'stats'.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another labeller's name.")],
    task: TaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two labellers on the units that both labelled. Exit status 1 where they differ."""
    with shown_ledger(folder, remark) as ledger:
        both, differ = differences(ledger, first, second, task)
    if as_json:
        rows = [one.document(first, second) for one in differ]
        print_json({"both": both, "differ": len(differ), "rows": rows})
    else:
        table = plain_table(f"{len(differ)} of {both} units differ")
        for name in ("task", "about", first, second):
            table.add_column(safe(name), ratio=2 if name == "about" else 1)
        for one in differ:
            cells = (
                one.first.task.rpartition(".")[2],
                _about(one.content),
                in_words(one.first),
                in_words(one.second),
            )
            table.add_row(*(safe(cell) for cell in cells))
        out().print(table)
    raise typer.Exit(1 if differ else 0)
