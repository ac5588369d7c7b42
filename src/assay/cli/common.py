"""What commands share: consoles, tables, JSON and CSV output."""

from __future__ import annotations

import csv
import errno
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from assay.model.csv_cells import ACTED_ON, csv_cell
from assay.model.wording import printable

FolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Evaluation folder with an assay.toml.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
CsvOption = Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")]


def topics_file(topics: str) -> Path | None:
    """The file that ``--topics`` names, None where it is ``qrels`` or ``answered``."""
    if topics in ("qrels", "answered"):
        return None
    if not Path(topics).is_file():
        raise typer.BadParameter(
            f"must be 'qrels', 'answered' or a file with one topic id a line; there is no file "
            f"{printable(topics)!r}",
            param_hint="--topics",
        )
    return Path(topics)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to ``main`` that nobody reads on; rich would end with a failure."""
        raise BrokenPipeError(errno.EPIPE, "the output is not read any more")


def out() -> Console:
    """Console for results: standard output, never wider than the screen."""
    return _Console(highlight=False, emoji=False)


def err() -> Console:
    """Console for progress and remarks: standard error."""
    return _Console(stderr=True, highlight=False, emoji=False)


def remark(text: str) -> None:
    """A remark on standard error."""
    err().print(f"Note: {text}", markup=False, soft_wrap=True)


def print_json(document: Any) -> None:
    """One JSON document on standard output; numbers at full precision, undefined ones null, and
    nothing in it that a terminal acts on."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    if not text.isascii():
        text = ACTED_ON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    sys.stdout.write(text + "\n")


def print_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """CSV on standard output; numbers at full precision, undefined ones empty.

    What a terminal would act on is escaped, and what a spreadsheet would calculate guarded
    (:func:`assay.model.csv_cells.csv_cell`); line breaks and tabs in a cell stay.
    """
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(map(csv_cell, row))


def safe(text: object) -> str:
    """Text from files and labels as it may be shown: controls visible, no Rich markup."""
    return printable(str(text)).replace("[", r"\[")


def plain_table(title: str, *, header: bool = True) -> Table:
    """A table without a frame, narrow enough for 80 columns and easy to read as text."""
    return Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_header=header
    )
