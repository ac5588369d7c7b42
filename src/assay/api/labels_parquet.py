"""Labels as Parquet files, for tools that read columns: a folder for each task and labeller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import orjson
import polars as pl

from assay.api.labels import tasks_named
from assay.ledger import Ledger, NewLabel
from assay.ledger.hashes import unpacked
from assay.ledger.lines import WHOLE
from assay.model.errors import SettingsError
from assay.model.going import Told, unheard
from assay.model.labels import LabellerId, Status
from assay.tasks.base import content_hash, unit_hash

_AT_ONCE = 50_000  # labels in memory, and at most in a file
_LONGEST = 150  # characters of a folder's name
_HASHES = ("uid", "key", "unit_hash", "overrules")
_SCHEMA = pl.Schema({
    name: pl.Int64 if name in ("number", "sample")
    else pl.Float64 if name in ("tokens_in", "tokens_out", "cost", "seconds")
    else pl.String
    for name in WHOLE
})  # fmt: skip


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


@contextmanager
def parquet_ledger(folder: Path, told: Told = unheard) -> Iterator[Ledger]:
    """A ledger in the system's temporary folder that holds all labels of an export, as long as the
    context lasts: whatever reads a ledger reads it. Files are read in turns, so that memory holds
    few labels. Raises SettingsError where they are not a whole ledger's, as they were written."""
    with (
        TemporaryDirectory(prefix="assay-") as place,
        Ledger.open(Path(place) / "labels.sqlite") as ledger,
    ):
        ledger.told = told
        ledger.expect({}, by_index=False)
        last, labellers = 0, dict[tuple[str, ...], LabellerId]()
        for frame in _in_order(folder):
            rows = frame.rows(named=True)
            for number, row in enumerate(rows, last + 1):
                if row["number"] != number:
                    raise SettingsError(
                        f"{folder}: label {number:,} is not there, or is there twice. Scores need "
                        "all labels of a ledger: export them all, into one folder."
                    )
            try:
                made = [_label(row, labellers) for row in rows]
                fine = [unit_hash(one.task, one.content) == one.unit for one in made]
                uids = ledger.add(made, fresh=True)
            except (ValueError, TypeError) as error:
                where = f"labels {last + 1:,} to {last + len(rows):,}"
                raise SettingsError(
                    f"{folder}: {where} cannot be read: {error}. Export the labels anew."
                ) from error
            for at, row in enumerate(rows):
                if not fine[at] or uids[at : at + 1] != [row["uid"]]:
                    raise SettingsError(
                        f"{folder}: label {row['number']:,} (uid {row['uid']}) is not as it was "
                        "written: what it says, of what, by whom or when was changed. Export the "
                        "labels anew."
                    )
            last += len(rows)
        yield ledger


def _in_order(folder: Path) -> Iterator[pl.DataFrame]:
    """The labels in a folder's files by their numbers, some at a time. A file is read when the
    numbers that it begins with come."""
    begins = []
    for path in sorted(folder.rglob("*.parquet")):
        with _explained(path):
            least = pl.scan_parquet(path, hive_partitioning=False).select(pl.min("number"))
            begins.append((least.collect(engine="streaming").item() or 0, path))
    if not begins:
        raise SettingsError(
            f"{folder}: no Parquet files are there. 'assay labels export FOLDER -o "
            f"{folder.name} --parquet' writes them."
        )
    begins.sort()
    pending = pl.DataFrame(schema=_SCHEMA)
    for (_, path), after in zip(begins, [*begins[1:], None], strict=True):
        with _explained(path):
            lazy = pl.scan_parquet(path, hive_partitioning=False).select(WHOLE)
            pending = pl.concat([pending, lazy.cast(_SCHEMA).collect(engine="streaming")])
        due = pl.lit(value=True) if after is None else pl.col("number") < after[0]
        ready = pending.filter(due)
        pending = pending.filter(~due)
        yield from ready.sort("number").iter_slices(_AT_ONCE)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        why = str(error).partition("\n")[0]
        raise SettingsError(
            f"{path}: is no file that 'assay labels export --parquet' writes: {why}."
        ) from error


def _label(row: Mapping[str, Any], labellers: dict[tuple[str, ...], LabellerId]) -> NewLabel:
    who = (row["labeller"], row["kind"], row["params"])
    if who not in labellers:
        labellers[who] = LabellerId(*who[:2], orjson.loads(who[2]))
    same = ("key", "task", "version", "reason", "error", "sample", "overrules", "tokens_in",
            "tokens_out", "cost", "seconds", "created")  # fmt: skip
    return NewLabel(
        **{name: row[name] for name in same},
        unit=row["unit_hash"],
        content=orjson.loads(row["unit"]),
        labeller=labellers[who],
        status=Status(row["status"]),
        verdict=None if row["verdict"] is None else orjson.loads(row["verdict"]),
        detail=orjson.loads(row["detail"]),
    )


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
