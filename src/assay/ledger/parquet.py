"""A ledger made again of the Parquet files of an export, to score by where it is not at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import orjson
import polars as pl

from assay.ledger.chain import Head, linked
from assay.ledger.checking import LINKS, is_text_of
from assay.ledger.draws import Draw
from assay.ledger.hashes import as_stored, packed, unpacked
from assay.ledger.ledger import Ledger
from assay.ledger.lines import WHOLE
from assay.ledger.sqlite import SqliteStore
from assay.ledger.store import Store
from assay.model.errors import SettingsError
from assay.model.going import Told, share_of, unheard
from assay.model.locking import PassingFolder

WRITTEN = "ledger.json"
"""Beside the files: the head of the ledger that they hold, and its draws; written last."""
AT_ONCE = 50_000
"""Labels in memory, and at most in a file that is written."""
CURE = "Export the labels anew."
_ROWS = 2_000  # labels of which there are objects
SCHEMA = pl.Schema({
    name: pl.Int64 if name in ("number", "sample")
    else pl.Float64 if name in ("tokens_in", "tokens_out", "cost", "seconds")
    else pl.String
    for name in WHOLE
})  # fmt: skip
"""The columns of :data:`assay.ledger.lines.WHOLE`; hashes are hexadecimal."""
HASHES = tuple(map(WHOLE.index, ("uid", "key", "unit_hash", "overrules")))
"""Which of them are hashes, or what stands in place of one."""
_STORED: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("uid", "unit_hash"), packed),
    **dict.fromkeys(("key", "overrules"), as_stored),
    **dict.fromkeys(("tokens_in", "tokens_out"), lambda value: value if value % 1 else int(value)),
}
"""How values that the files have otherwise stand in a ledger."""


@contextmanager
def exported_ledger(folder: Path, told: Told = unheard) -> Iterator[Ledger]:
    """The ledger whose labels an export holds, in the system's temporary folder, as long as the
    context lasts.

    Raises SettingsError, or LedgerError, where they are not what was exported: one lacks, is there
    twice, or was changed, or a file is not to be read.
    """
    head, drawn = _head(folder)  # first: a folder that is another may be a whole disk
    pieces = _pieces(folder)
    with closing(PassingFolder("labels")) as passing:
        store = SqliteStore.at(passing.path / "labels.sqlite")
        with Ledger(store) as ledger:
            ledger.name, ledger.cure, ledger.told = str(folder), CURE, told
            ledger.expect({}, by_index=False)
            with store.explained():
                _fill(store, _frames(pieces), folder, head, told)
            for one in drawn:
                ledger.add_draw(one)
            if ledger.head() != head:
                _refuse(
                    folder,
                    f"{ledger.size():,} labels are not the {head.labels:,} that were exported: "
                    "some were added, or a key, error, token, cost, second or detail was changed",
                )
            yield ledger


def _fill(
    store: Store, frames: Iterable[pl.DataFrame], folder: Path, head: Head, told: Told
) -> None:
    """Write the labels of an export with their numbers and digests."""
    tasks: dict[str, int] = {}
    who: dict[tuple[str, str, str], int] = {}
    last, digest = Head()[:2]
    for frame in frames:
        units: dict[bytes, tuple[bytes, int, str]] = {}
        labels = []
        store.begin()
        for row in _stored(frame):
            number, uid, key, task, version, unit, content, *labeller, sample = row[:11]
            last += 1
            if number != last:
                _lacks(folder, min(last, number))
            if not is_text_of(unit, task, content):
                _refuse(folder, f"the text of label {number:,} (uid {unpacked(uid)}) was changed")
            try:
                digest = linked(digest, *LINKS((*row[:7], None, *row[10:])))
            except TypeError as error:
                _refuse(folder, f"label {number:,} cannot be read: {error}")
            if task not in tasks:
                tasks[task] = len(tasks) + 1
                store.fill("tasks", [(tasks[task], task)])
            named = (*labeller,)
            if named not in who:
                who[named] = len(who) + 1
                store.fill("labellers", [(who[named], *named)])
            units[unit] = (unit, tasks[task], content)
            ids = (number, uid, key, tasks[task], version, unit, who[named])
            labels.append((*ids, *row[11:15], sample, *row[15:], digest))
        store.insert(units.values(), labels)
        store.commit()
        told("labels read", last, share_of(last, head.labels))
    if last < head.labels:
        _lacks(folder, last + 1)


def _lacks(folder: Path, number: int) -> NoReturn:
    _refuse(
        folder,
        f"label {number:,} is not there, or is there twice. Scores need all labels of a ledger, in "
        "one folder",
    )


def _refuse(folder: Path, why: str) -> NoReturn:
    raise SettingsError(f"{folder}: {why}. {CURE}")


def _head(folder: Path) -> tuple[Head, list[Draw]]:
    """The head of the ledger that was exported, and its draws."""
    try:
        found = orjson.loads((folder / WRITTEN).read_bytes())
        head = Head(int(found["labels"]), bytes.fromhex(found["head"]), (*found.get("draws", ()),))
        listed = ("tasks", "names", "pi", "drawn")
        return head, [
            Draw(**one | {name: tuple(one[name]) for name in listed})
            for one in found.get("drawn", ())
        ]
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise SettingsError(
            f"{folder / WRITTEN}: does not say how many labels were exported ({error}): the export "
            "was stopped, or is an older Assay's, or the folder is another. 'assay labels export "
            f"FOLDER -o {folder.name or 'labels'} --parquet' writes it."
        ) from error


def _pieces(folder: Path) -> list[tuple[int, Path, int]]:
    """The files in a folder in pieces: the least number of each, its file, and where it begins
    there."""
    found: list[tuple[int, Path, int]] = []
    for path in sorted(folder.rglob("*.parquet")):
        with _explained(path):
            lazy = pl.scan_parquet(path, hive_partitioning=False).select("number")
            numbers = lazy.cast(pl.Int64).collect(engine="streaming")["number"]
        for at in range(0, len(numbers), AT_ONCE):
            found.append((int(numbers[at : at + AT_ONCE].to_numpy().min()), path, at))
    if not found:
        raise SettingsError(
            f"{folder}: no Parquet files are there. 'assay labels export FOLDER -o "
            f"{folder.name} --parquet' writes them."
        )
    return sorted(found)


def _frames(pieces: list[tuple[int, Path, int]]) -> Iterator[pl.DataFrame]:
    """The labels by their numbers, some at a time. A piece of a file is read when the numbers that
    it begins with come."""
    read = [pl.col(name).cast(kind) for name, kind in SCHEMA.items()]
    pending = pl.DataFrame(schema=SCHEMA)
    for (_, path, at), after in zip(pieces, [*pieces[1:], None], strict=True):
        with _explained(path):
            piece = pl.scan_parquet(path, hive_partitioning=False).slice(at, AT_ONCE)
            pending = pl.concat([pending, piece.select(read).collect(engine="streaming")])
        due = pl.lit(value=True) if after is None else pl.col("number") < after[0]
        yield from pending.filter(due).sort("number").iter_slices(_ROWS)
        pending = pending.filter(~due)


def _stored(frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows with values as a ledger stores them."""
    columns = []
    for name in frame.columns:
        values, stored = frame[name].to_list(), _STORED.get(name)
        columns.append(
            values if stored is None else [None if v is None else stored(v) for v in values]
        )
    return zip(*columns, strict=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        why = str(error).partition("\n")[0]
        raise SettingsError(
            f"{path}: is no file that 'assay labels export --parquet' writes: {why}."
        ) from error
