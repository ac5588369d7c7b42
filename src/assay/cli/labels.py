"""``assay labels``: the ledger as people see it."""

from __future__ import annotations

import shlex
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from assay.api.labels import (
    export_lines,
    exported,
    found_labels,
    in_words,
    label_differences,
    one_label,
    shown_ledger,
    verified,
    where_used,
    with_contents,
)
from assay.api.labels_parquet import write_parquet
from assay.api.ledgers import Merged, copy_ledger, merge_ledgers
from assay.api.spreadsheet import Which, export_sheet, require_place, sheet_bytes
from assay.cli.common import FolderArgument, forms, group, present, put, remark, say
from assay.cli.judging import going, open_folder
from assay.cli.labels_import import import_command
from assay.cli.labels_people import people_command, short_name
from assay.judging.progress import unpriced_text
from assay.model.errors import SettingsError
from assay.model.labels import Label, Status
from assay.model.options import Argument, Option
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.folder import Folder
from assay.protocols.output import require_plain, write_bytes, write_pieces
from assay.tasks.registry import REGISTRY

_MOST = 8
"""Most places named for a label; the rest are only counted."""

app = group("View, export, check and import the ledger's labels.")

TaskOption = Annotated[str | None, Option(f"Only this task: {', '.join(REGISTRY)}.")]
LabellerFilter = Annotated[
    str | None, Option("Only labels by this labeller, as in 'stats'.", metavar="NAME")
]
StatusOption = Annotated[Status | None, Option("Only labels with this status.")]


@app.command("stats")
@forms("json", "csv")
def stats_command(folder: FolderArgument) -> None:
    """Count labels, tokens and cost by task and labeller, and what a server's cache saved.

    A labeller used with several settings is listed once for each; those names end in # and six
    digits.
    """
    with shown_ledger(folder, remark) as ledger:
        rows = ledger.stats()
    names = ("task", "labeller", "status", "labels", "tokens_in", "tokens_out", "cost",
             "cached", "cache_saved", "seconds")  # fmt: skip
    shown: tuple[str, ...] = ("task", "labeller", "status", "labels", "read", "written", "cost, $")
    if any(row["cached"] is not None or row["cache_saved"] is not None for row in rows):
        shown += ("cached", "saved, $")
    named = Counter(map(short_name, {row["task"] for row in rows}))
    cells = [
        (
            row["task"] if named[short_name(row["task"])] > 1 else short_name(row["task"]),
            *(row[name] for name in names[1 : len(shown)]),
        )
        for row in rows
    ]
    unpriced = sum(row["unpriced"] for row in rows)
    present(
        lambda: rows,
        [
            Table("Labels", shown, cells, digits=4),
            *([unpriced_text(unpriced)] if unpriced else []),
        ],
        (names, ([row[name] for name in names] for row in rows)),
    )


app.command("people")(people_command)


@app.command("list")
@forms("json")
def list_command(
    folder: FolderArgument,
    task: TaskOption = None,
    by: LabellerFilter = None,
    status: StatusOption = None,
    contains: Annotated[
        str | None, Option("Only labels whose unit or reason contains this text.")
    ] = None,
    limit: Annotated[int, Option("Show at most N labels; 0 shows all.", least=0)] = 50,
) -> None:
    """List labels, newest first: id, task, verdict, subject and labeller."""
    with shown_ledger(folder, remark) as ledger:
        newest: deque[Label] = deque(maxlen=limit or None)
        count = 0
        for label in found_labels(ledger, task=task, by=by, status=status, contains=contains):
            newest.append(label)
            count += 1
        shown = list(with_contents(ledger, newest))[::-1]
        where = where_used(partial(open_folder, folder), ledger, remark)

    def people() -> Iterator[Table | str]:
        rows = [
            (one.uid[:8], short_name(one.task), in_words(one), _about(content), one.labeller.name)
            for one, content in shown
        ]
        title, cut = f"{len(shown)} of {count} labels", frozenset(("verdict", "about"))
        yield Table(title, ("id", "task", "verdict", "about", "by"), rows, cut=cut)
        for label, _ in shown:
            places = where.of(label.unit, label.rowid)
            if len(places) > 1:
                named = ", ".join(map(str, places[:_MOST]))
                more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
                yield (
                    f"{label.uid[:8]} is one label for {len(places)} identical places: "
                    f"{named}{more}."
                )

    present(lambda: [exported(label, content, where) for label, content in shown], people())


def _about(content: Mapping[str, Any]) -> str:
    texts = [value for value in content.values() if isinstance(value, str) and value]
    return " | ".join(reversed(texts))


@app.command("show")
@forms("json")
def show_command(
    folder: FolderArgument,
    uid: Annotated[str, Argument("ID", "A label's id, or the beginning of it.")],
) -> None:
    """Show one label in full, with every other label of the same unit."""
    with shown_ledger(folder, remark) as ledger:
        label, content, same = one_label(ledger, uid)
        where = where_used(partial(open_folder, folder), ledger, remark)
    others = [exported(other, content, where) for other in same]
    document = {**exported(label, content, where), "others": others}
    lines = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode().splitlines()
    present(lambda: document, lines)


@app.command("export")
@forms()
def export_command(
    folder: FolderArgument,
    output: Annotated[
        Path | None, Option("File to write (default: standard output).", flag="--output -o")
    ] = None,
    task: TaskOption = None,
    by: LabellerFilter = None,
    parquet: Annotated[bool, Option("Write Parquet files into the new folder --output.")] = False,
    sheet: Annotated[
        bool, Option("Write the units of one --task as CSV, with empty verdicts to fill in.")
    ] = False,
    units: Annotated[
        Which,
        Option(
            "With --sheet: all units that are asked about; open ones, which have no usable label; "
            "or drawn ones of the newest draw that no person has labelled."
        ),
    ] = Which.ALL,
    semicolons: Annotated[
        bool,
        Option(
            "With --sheet: separate cells by semicolons, as Excel expects in locales with decimal "
            "commas (French, German, Spanish …)."
        ),
    ] = False,
) -> None:
    """Write labels as JSON Lines, oldest first, each with the places (run, topic, position) that
    use it. 'import' reads them back.

    With --parquet, they go into a new folder, as files by task and labeller, for DuckDB, polars and
    similar tools.

    With --sheet, a person can fill them in with a spreadsheet, without seeing earlier labels;
    'import' reads that too.
    """
    if output is not None and not parquet:
        require_plain(output)
        Folder.open(folder).require_no_input(output)
        require_place(output, sheet=sheet)
    if not sheet and (units is not Which.ALL or semicolons):
        given = "--semicolons" if units is Which.ALL else f"--units {units.value}"
        raise SettingsError(f"{given} only works with --sheet: add --sheet.")
    if by is not None and (sheet or parquet):
        raise SettingsError("--by only works with JSON Lines: leave out --sheet and --parquet.")
    if sheet:
        if parquet or output is None:
            raise SettingsError("--sheet writes one file: name it with --output NAME.csv.")
        opened = open_folder(folder)
        with opened.ledger() as ledger:
            where = where_used(lambda: opened, ledger, remark)
            header, rows = export_sheet(opened, ledger, task, units, where)
        write_bytes(output, sheet_bytes(header, rows, output, semicolons=semicolons))
        say(f"{counted(len(rows), 'unit')} written to {output}")
        return
    if parquet:
        if output is None:
            raise SettingsError("--parquet writes a folder: name it with --output.")
        with shown_ledger(folder, remark) as ledger:
            count = write_parquet(ledger, output, task)
        say(f"{counted(count, 'label')} written to {output}")
        return
    count = 0

    def counting(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    with shown_ledger(folder, remark) as ledger:
        where = where_used(partial(open_folder, folder), ledger, remark)
        if output is None:
            put(export_lines(ledger, task, where, by))
            return
        write_pieces(output, counting(export_lines(ledger, task, where, by)))
    say(f"{counted(count, 'label')} written to {output}")


@app.command("diff")
@forms("json")
def diff_command(
    folder: FolderArgument,
    first: Annotated[str, Argument("A", "A labeller's name, as in 'stats'.")],
    second: Annotated[str, Argument("B", "Another labeller's name.")],
    task: TaskOption = None,
) -> None:
    """Compare two labellers on the units that both labelled. Exit status 1 if they differ."""
    with shown_ledger(folder, remark) as ledger:
        both, differ = label_differences(ledger, first, second, task)
    cells = [
        (short_name(one.first.task), _about(one.content), in_words(one.first), in_words(one.second))
        for one in differ
    ]
    table = Table(f"{len(differ)} of {both} units differ", ("task", "about", first, second), cells)
    rows = (one.document(first, second) for one in differ)
    present(lambda: {"both": both, "differ": len(differ), "rows": list(rows)}, [table])
    raise typer.Exit(1 if differ else 0)


@app.command("verify")
@forms("json")
def verify_command(folder: FolderArgument) -> None:
    """Check that every label is as it was written and that none is missing. Exit status 1 if not.

    Checks the file's structure, the texts that labels are about, each label's id (a hash of its
    content) and the running digest over all labels. Also checks that the digest in each
    manifest.json in out/ was once the ledger's.
    """
    with going() as shown:
        found = verified(folder, shown.at)
    head, many = found.head, len(found.faults)
    what = (
        f"{head.labels:,} labels, head {head.digest.hex()}, {counted(found.manifests, 'manifest')}"
    )
    faults = [{"label": one.uid, "why": one.why} for one in found.faults]
    present(
        lambda: {**head.in_manifest(), "manifests": found.manifests, "faults": faults},
        (
            *map(str, found.faults),
            f"{what}: {counted(many, 'fault') if many else 'all as written'}.",
            *found.cures,
        ),
    )
    raise typer.Exit(1 if found.faults else 0)


@app.command("merge")
@forms("json")
def merge_command(
    folder: FolderArgument,
    others: Annotated[
        list[str], Argument("OTHER...", "Folders, ledger files, or postgresql:// URLs.")
    ],
) -> None:
    """Add labels and draws of other ledgers to the folder's, with their ids and times.

    All ledgers are checked first, and labels that the folder already has are not added again. Use
    this to combine shards judged on machines that share no storage.
    """
    with going() as shown:
        done = merge_ledgers(folder, others, shown.at)
    present(lambda: [{"ledger": name, **one._asdict()} for name, one in done], map(_merged, done))


def _merged(done: tuple[str, Merged]) -> str:
    name, one = done
    draws = f" and {counted(one.draws, 'draw')}" if one.draws else ""
    told = f"{name}: {counted(one.added, 'label')}{draws} added, {one.known:,} known."
    if one.later:
        told += (
            f" {one.later:,} of them now count although the same person has given another label "
            "later: the label added last counts."
        )
    for who, count in one.namesakes.items():
        told += (
            f" {count:,} of them are by {who}, on units that {who} has labelled here. If these are "
            "two people, merge again into a ledger without these labels, one of the two renamed: "
            f"'assay labels copy {shlex.quote(name)} NEW.sqlite --rename "
            f"{shlex.quote(who)}=human:OTHER'."
        )
    if one.second:
        paid = f", for ${one.cost:.4f} more" if one.cost else ""
        told += (
            f" {one.second:,} of them answer questions that the same labeller had already "
            f"answered here{paid}: its first answers count. Make sure that no shard is judged "
            "twice."
        )
    return told


@app.command("copy")
@forms("json")
def copy_command(
    source: Annotated[str, Argument("FROM", "A ledger: folder, file or URL.")],
    target: Annotated[str, Argument("TO", "Folder, file or URL of the copy.")],
    renames: Annotated[
        list[str] | None,
        Option(
            "Rename a person in the copy; repeatable. The person's reasons are left out, unless "
            "OTHER is only another spelling of NAME.",
            flag="--rename",
            metavar="human:NAME=human:OTHER",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        Option("Leave out a person's labels in the copy; repeatable.", metavar="human:NAME"),
    ] = None,
) -> None:
    """Copy a ledger from a file to PostgreSQL, or back: every label with its id, number and digest.

    Exports of both are byte-identical, and manifests made from one are valid for the other. If TO
    is an earlier copy, only newer labels are written; any other ledger is left unchanged. With
    --rename or --without, the copy is a separate ledger in which people have other names, or are
    left out.
    """
    with going() as shown:
        people = {"renames": renames or (), "without": without or ()}
        added, head = copy_ledger(source, target, shown.at, **people)
    place = "the copy" if any(people.values()) else "both"
    there = f"{head.labels:,} in {place}, head {head.digest.hex()}"
    said = f"{counted(added, 'label')} copied; {there}."
    present(lambda: {"copied": added, **head.in_manifest()}, [said])


app.command("import")(import_command)
