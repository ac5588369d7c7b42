"""Batch files, split if the questions do not fit into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from assay.labellers.batch import BatchLine
from assay.protocols.output import write_bytes, write_pieces


def write_batches(
    path: Path, lines: Iterable[tuple[int, BatchLine]]
) -> tuple[tuple[Path, ...], int]:
    """Write lines, each paired with its file's number, as JSON Lines (line by line) or Parquet
    (file by file). Returns the files and their line counts. Raises SettingsError if one cannot be
    written."""
    files: list[Path] = []
    count = 0

    def counted(some: Iterable[tuple[int, BatchLine]]) -> Iterator[BatchLine]:
        nonlocal count
        for _, line in some:
            count += 1
            yield line

    for number, some in groupby(lines, key=itemgetter(0)):
        files.append(path if number == 1 else path.with_stem(f"{path.stem}-{number}"))
        _write(files[-1], counted(some))
    if not files:
        _write(path, ())
    return tuple(files or (path,)), count


def _write(path: Path, lines: Iterable[BatchLine]) -> None:
    if path.suffix == ".parquet":
        import polars as pl  # noqa: PLC0415 (takes long, and most files are JSON lines)

        table = BytesIO()
        pl.DataFrame([line.cells() for line in lines]).write_parquet(table)
        write_bytes(path, table.getvalue())
    else:
        write_pieces(path, (line.json for line in lines))
