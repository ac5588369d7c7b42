"""Labels as Parquet files for columnar tools, in a folder for each task and labeller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

import polars as pl

from assay.api.labels import tasks_named
from assay.ledger import Ledger
from assay.ledger.chain import Head
from assay.ledger.hashes import unpacked
from assay.ledger.parquet import AT_ONCE, HASHES, SCHEMA, WRITTEN
from assay.model.errors import SettingsError
from assay.protocols.output import json_bytes, write_bytes
from assay.tasks.base import content_hash

_LONGEST = 150  # most characters in a folder's name


def write_parquet(ledger: Ledger, folder: Path, task: str | None = None) -> int:
    """Write all labels, or those of one task, to ``task=TASK/labeller=NAME/part-N.parquet`` in a
    folder, with the ledger's head, which identifies a whole export. The folder appears only when
    complete. Returns the number of labels written. Raises SettingsError if the folder is not empty
    or cannot be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} is not empty. Name a new folder.")
    folder = folder.resolve()  # a symbolic link to a folder is kept
    if folder.is_mount():
        raise SettingsError(f"{folder} is the root of a disk. Name a folder on it.")
    head, count = ledger.head(), 0
    part = folder.with_name(f".{folder.name}.part")
    rmtree(part, ignore_errors=True)  # left by an export that was killed
    try:
        for number, some in enumerate(ledger.rows(tasks_named(task), AT_ONCE)):
            rows = list(
                takewhile(lambda row: row[0] <= head.labels, some)
            )  # others may be adding labels
            write_part(rows, part, number)
            count += len(rows)
        write_head(head, part)
        part.replace(folder)
    finally:
        rmtree(part, ignore_errors=True)
    return count


def write_part(rows: Iterable[Sequence[Any]], folder: Path, number: int) -> None:
    """Write labels, rows of :data:`assay.ledger.lines.WHOLE`, as files of part ``number``."""
    readable = [
        [unpacked(x) if at in HASHES and x is not None else x for at, x in enumerate(row)]
        for row in rows
    ]
    frame = pl.DataFrame(readable, SCHEMA, orient="row")
    for (name, who), part in frame.partition_by(["task", "labeller"], as_dict=True).items():
        place = folder / f"task={_named(name)}" / f"labeller={_named(who)}"
        data = BytesIO()
        part.write_parquet(data)
        write_bytes(place / f"part-{number:05}.parquet", data.getbuffer())


def write_head(head: Head, folder: Path) -> None:
    """Write the head of the exported ledger, once the folder holds all its labels."""
    write_bytes(folder / WRITTEN, json_bytes(head.in_manifest()))


def _named(name: str) -> str:
    """Encode a text as part of a folder's name; different texts give different names."""
    quoted = quote(name, safe="")
    if len(quoted) <= _LONGEST:
        return quoted
    return f"{quoted[:_LONGEST]}~{content_hash(name.encode())[:12]}"
