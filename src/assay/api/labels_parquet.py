"""Labels as Parquet files, for tools that read columns: a folder for each task and labeller."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from assay.api.labels import tasks_named
from assay.ledger import Ledger
from assay.ledger.hashes import unpacked
from assay.ledger.lines import WHOLE
from assay.model.errors import SettingsError
from assay.tasks.base import content_hash

_AT_ONCE = 50_000  # labels in memory, and at most in a file
_LONGEST = 150  # characters of a folder's name
_HASHES = ("uid", "key", "unit_hash", "overrules")
_SCHEMA = {
    name: pl.Int64 if name in ("number", "sample")
    else pl.Float64 if name in ("tokens_in", "tokens_out", "cost", "seconds")
    else pl.String
    for name in WHOLE
}  # fmt: skip


def write_parquet(ledger: Ledger, folder: Path, task: str | None = None) -> int:
    """Write all labels, or those of one task, to ``task=TASK/labeller=NAME/part-N.parquet`` in a
    folder, and return how many. Raises SettingsError where the folder holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} holds something already. Name a folder that is not there.")
    at = [WHOLE.index(name) for name in _HASHES]
    count = 0
    for number, rows in enumerate(ledger.rows(tasks_named(task), _AT_ONCE)):
        frame = pl.DataFrame([_readable(row, at) for row in rows], _SCHEMA, orient="row")
        for (name, who), part in frame.partition_by(["task", "labeller"], as_dict=True).items():
            place = folder / f"task={_named(name)}" / f"labeller={_named(who)}"
            place.mkdir(parents=True, exist_ok=True)
            part.write_parquet(place / f"part-{number:05}.parquet")
        count += len(rows)
    return count


def _readable(row: tuple[Any, ...], hashes: list[int]) -> list[Any]:
    found = list(row)
    for at in hashes:
        found[at] = None if row[at] is None else unpacked(row[at])
    return found


def _named(name: str) -> str:
    """A text as part of a folder's name, in which each other text is another."""
    quoted = quote(name, safe="")
    if len(quoted) <= _LONGEST:
        return quoted
    return f"{quoted[:_LONGEST]}~{content_hash(name.encode())[:12]}"
