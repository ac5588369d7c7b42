"""Scoring from the Parquet files of an export that holds a whole ledger.

Polars scans the files in the order of the labels' numbers, so that few labels are in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import orjson
import polars as pl

from assay.ledger.chain import Head, chained
from assay.ledger.checking import (
    DIGEST_COLUMNS,
    TEXT_COLUMNS,
    UID_COLUMNS,
    Verdicts,
    are_texts_of,
    of_each,
    uids_of,
)
from assay.ledger.hashes import SIZE, as_stored, packed, unpacked
from assay.ledger.ledger import Ledger
from assay.ledger.lines import ROWS, WHOLE, Lines, labeller_json, lines_of
from assay.ledger.reading import as_counted_for, by_reason, label_of
from assay.model.errors import SettingsError
from assay.model.labels import Label, LabellerId, Status
from assay.model.progress import ProgressCallback, fraction_done, no_progress
from assay.model.scratch import Scratch
from assay.tasks.base import canonical

WRITTEN = "ledger.json"
"""The file with the exported ledger's head, written last."""
AT_ONCE = 50_000
"""The most labels read at once, or written to one file."""
_ROWS = 2_000  # labels that are Python objects at once
_EACH = pl.lit(value=True)
SCHEMA = pl.Schema({
    name: pl.Int64 if name in ("number", "sample")
    else pl.Float64 if name in ("tokens_in", "tokens_out", "cost", "seconds")
    else pl.String
    for name in WHOLE
})  # fmt: skip
"""The columns of :data:`assay.ledger.lines.WHOLE`; hashes are hexadecimal."""
HASHES = tuple(map(WHOLE.index, ("uid", "key", "unit_hash", "overrules")))
"""The positions of the hash columns in it."""
_STORED: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("uid", "unit_hash"), packed),
    **dict.fromkeys(("key", "overrules"), as_stored),
    **dict.fromkeys(("tokens_in", "tokens_out"), lambda value: value if value % 1 else int(value)),
}
_SCORED = ("number", "unit_hash", "task", "labeller", "kind", "params", "verdict", "sample",
           "overrules", "detail")  # fmt: skip

Who = tuple[str, str, str]
"""A labeller: name, kind and parameters (JSON)."""


class ParquetLedger:
    """The labels of an export, checked on opening: all that the ledger held, each once, unchanged.
    Their keys are kept in a temporary file.

    Raises SettingsError if the check fails or a file cannot be read.
    """

    def __init__(self, folder: Path, progress: ProgressCallback = no_progress) -> None:
        self.name = str(folder)
        self._head = _head(folder)  # first: a wrong folder may be a whole disk to search
        self._pieces = _pieces(folder)
        self._tasks: dict[str, int] = {}
        self._who: dict[Who, int] = {}
        self._versions = Counter[tuple[str, str]]()
        self._firsts: dict[tuple[str, int], int] = {}
        self._by_people: set[str] = set()
        self._keys, self._odd = Scratch(), dict[int, str]()
        self._check(progress)

    # -- checking --------------------------------------------------------------------------

    def _check(self, progress: ProgressCallback) -> None:
        who, verdicts = dict[Who, orjson.Fragment](), Verdicts({None: None})
        count, digest = 0, Head().digest
        for frame in self._frames():
            numbers = np.arange(count + 1, count + 1 + len(frame))
            wrong = np.flatnonzero(frame["number"].to_numpy() != numbers)[:1].tolist()
            for row in (rows := list(_rows(frame.head(wrong[0]) if wrong else frame))):
                try:
                    self._take(row, who)
                except (TypeError, ValueError) as error:
                    self._refuse(f"label {row[0]:,} cannot be read: {error}")
            if rows:
                digest = self._checked(rows, digest, who, verdicts)
            if wrong:
                self._lacks(count + 1 + wrong[0])
            count += len(frame)
            progress("labels checked", count, fraction_done(count, self._head.labels))
        if count < self._head.labels:
            self._lacks(count + 1)
        if (count, digest) != self._head[:2]:
            self._refuse(
                f"its {count:,} labels are not the {self._head.labels:,} that were "
                "exported: some were added, or a key, error, token, cost, second or detail was "
                "changed"
            )

    def _checked(
        self,
        rows: Sequence[tuple[Any, ...]],
        digest: bytes,
        who: Mapping[Who, orjson.Fragment],
        verdicts: Verdicts,
    ) -> bytes:
        """Check rows that follow the label with ``digest``; return the digest of the last one."""
        columns = [*zip(*rows, strict=True)]
        uids = of_each(partial(uids_of, who, verdicts), *UID_COLUMNS(columns))
        texts = of_each(are_texts_of, *TEXT_COLUMNS(columns))
        for row, uid, same in zip(rows, uids, texts, strict=True):
            if uid != row[1] or not same:
                self._refuse(
                    f"label {row[0]:,} (uid {unpacked(row[1])}) is not as it was written: its "
                    "verdict, subject, labeller or time was changed"
                )
        try:
            return chained(digest, *DIGEST_COLUMNS(columns))[-1]
        except TypeError as error:
            self._refuse(f"one of labels {rows[0][0]:,} to {rows[-1][0]:,} is not a label: {error}")

    def _take(self, row: tuple[Any, ...], who: dict[Who, orjson.Fragment]) -> None:
        """Note what later look-ups need from a row."""
        number, _, key, task, version, _, _, labeller, _, status, *_, detail = row
        name, kind, params = labeller
        if labeller not in who:
            who[labeller] = orjson.Fragment(canonical([name, kind, orjson.loads(params)]))
            self._who[labeller] = len(who)
        self._tasks.setdefault(task, len(self._tasks) + 1)
        self._versions[task, version] += 1
        if kind == "human":
            self._by_people.add(task)
        if status == Status.OK:
            self._firsts.setdefault((task, self._who[labeller]), number)
        if isinstance(key, str):
            self._odd[number] = key
        self._keys.add(key if isinstance(key, bytes) else bytes(SIZE))
        if detail != "{}":
            orjson.loads(detail)

    def _lacks(self, number: int) -> None:
        self._refuse(
            f"label {number:,} is missing or duplicated. Scoring needs all labels of a ledger, in "
            "one folder"
        )

    def _refuse(self, why: str) -> NoReturn:
        raise SettingsError(f"{self.name}: {why}. Export the labels again.")

    def checked(self) -> Head:
        """The head of the ledger that was exported."""
        return self._head

    head = checked

    # -- reading, as assay.ledger.Ledger does it ---------------------------------------------

    def size(self) -> int:
        return self._head.labels

    count = size

    def tasks(self) -> set[str]:
        return set(self._tasks)

    def task_names(self) -> dict[int, str]:
        return {number: name for name, number in self._tasks.items()}

    def labellers(self) -> dict[int, LabellerId]:
        return {number: _labeller(*who) for who, number in self._who.items()}

    def judged_by_people(self) -> set[str]:
        return self._by_people

    def why_failed(self, task: str, by: Collection[int]) -> Counter[str]:
        who = (one for one, number in self._who.items() if number in by)
        by_these = pl.any_horizontal(
            ~_EACH,
            *(
                (pl.col("labeller") == name)
                & (pl.col("kind") == kind)
                & (pl.col("params") == given)
                for name, kind, given in who
            ),
        )
        of_task = (pl.col("task") == task) & by_these
        usable = pl.col("status") == Status.OK.value
        newest: dict[str, str | None] = {}
        for frame in self._frames(("unit_hash", "error"), of_task & ~usable):
            newest |= frame.iter_rows()
        of_these = of_task & usable & _among("unit_hash", newest)
        for frame in self._frames(("unit_hash",), of_these):
            for unit in frame["unit_hash"]:
                newest.pop(unit, None)
        return by_reason(Counter(newest.values()).items())

    def of_other_versions(self, versions: Mapping[str, str]) -> int:
        every = self._versions.items()
        return sum(count for (task, one), count in every if versions.get(task, one) != one)

    def of_versions(
        self, versions: Mapping[str, str], newest: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        some = ((pl.col("task") == t) & (pl.col("version") == v) for t, v in versions.items())
        of_these = pl.any_horizontal(~_EACH, *some)
        for frame in self._frames(_SCORED, of_these & (pl.col("number") <= newest)):
            yield [
                (number, unit, self._tasks[task], self._who[labeller, kind, params], verdict,
                 sample, overrules, None if detail == "{}" else detail)
                for number, unit, task, labeller, kind, params, verdict, sample, overrules, detail
                in _stored(frame)
            ]  # fmt: skip

    def keys(self, rowids: Iterable[int]) -> dict[int, str]:
        return {
            one: self._odd.get(one) or self._keys.read(SIZE * (one - 1), SIZE).hex()
            for one in rowids
        }

    def usable_by_each(self) -> Iterator[Label]:
        first = _among("number", self._firsts.values())
        by_people = (pl.col("status") == Status.OK.value) & (pl.col("kind") == "human")
        yield from self._labels(first | by_people)

    def whole(self, labels: Iterable[Label]) -> Iterator[Label]:
        every = list(labels)
        where = _among("number", (one.rowid for one in every))
        found = {one.rowid: one for one in self._labels(where)}
        return (as_counted_for(found[one.rowid], one) for one in every)

    def contents(self, units: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        which = _among("unit_hash", units)
        found = chain.from_iterable(map(_stored, self._frames(("unit_hash", "unit"), which)))
        return {unpacked(unit): orjson.loads(content) for unit, content in found}

    def unit_contents(self, tasks: Iterable[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        seen = set[bytes]()
        for frame in self._frames(("unit_hash", "unit"), _among("task", tasks)):
            for unit, content in _stored(frame):
                if unit not in seen:
                    seen.add(unit)
                    yield unpacked(unit), orjson.loads(content)

    def checked_lines(self, tasks: Iterable[str], since: Head) -> Iterator[Lines]:
        who = {one: labeller_json(*one) for one in self._who}
        for frame in self._frames(where=_among("task", tasks)):
            for some in frame.iter_slices(ROWS):
                yield lines_of([*zip(*_rows(some), strict=True)], who)

    def _labels(self, where: pl.Expr) -> Iterator[Label]:
        for frame in self._frames(where=where):
            for row in _stored(frame):
                yield _label(*row)

    def _frames(
        self, columns: Iterable[str] = WHOLE, where: pl.Expr = _EACH
    ) -> Iterator[pl.DataFrame]:
        """Columns of the labels ``where`` the condition holds, in blocks ordered by number. A piece
        of a file is read when its lowest number is due."""
        wanted = list(columns)
        read = [pl.col(one).cast(SCHEMA[one]) for one in dict.fromkeys(("number", *wanted))]
        pending = pl.DataFrame(schema={one: SCHEMA[one] for one in ("number", *wanted)})
        for (_, path, at), after in zip(self._pieces, [*self._pieces[1:], None], strict=True):
            with _explained(path):
                piece = pl.scan_parquet(path, hive_partitioning=False).slice(at, AT_ONCE)
                new = piece.filter(where).select(read).collect(engine="streaming")
            pending = pl.concat([pending, new])
            due = _EACH if after is None else pl.col("number") < after[0]
            ready = pending.filter(due)
            pending = pending.filter(~due)
            if len(ready):
                yield from ready.sort("number").select(wanted).iter_slices(_ROWS)


def _among(column: str, values: Iterable[Any]) -> pl.Expr:
    """Whether a column has one of these values. They are passed as one list, as polars would check
    separate values one by one against the statistics of every piece of a file."""
    return pl.col(column).is_in(pl.Series([*values], dtype=SCHEMA[column]).implode())


AnyLedger = Ledger | ParquetLedger
"""A source of labels to score by."""


def _pieces(folder: Path) -> list[tuple[int, Path, int]]:
    """The files in a folder as pieces: the lowest label number, the file, and the first row."""
    found: list[tuple[int, Path, int]] = []
    for path in sorted(folder.rglob("*.parquet")):
        with _explained(path):
            lazy = pl.scan_parquet(path, hive_partitioning=False).select("number")
            numbers = lazy.cast(pl.Int64).collect(engine="streaming")["number"]
        for at in range(0, len(numbers), AT_ONCE):
            found.append((int(numbers[at : at + AT_ONCE].to_numpy().min()), path, at))
    if not found:
        raise SettingsError(
            f"{folder}: there are no Parquet files. Write them with 'assay labels export FOLDER "
            f"-o {folder.name} --parquet'."
        )
    return sorted(found)


def _head(folder: Path) -> Head:
    """Read the head of the exported ledger."""
    try:
        found = orjson.loads((folder / WRITTEN).read_bytes())
        return Head(int(found["labels"]), bytes.fromhex(found["head"]), (*found.get("draws", ()),))
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise SettingsError(
            f"{folder / WRITTEN}: does not say how many labels were exported ({error}): the "
            "export was interrupted, or an older Assay made it, or this is another folder. Write "
            f"it with 'assay labels export FOLDER -o {folder.name or 'labels'} --parquet'."
        ) from error


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        why = str(error).partition("\n")[0]
        raise SettingsError(
            f"{path}: is not a file written by 'assay labels export --parquet': {why}."
        ) from error


def _stored(frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows with values converted to how a ledger stores them."""
    columns = []
    for name in frame.columns:
        values, stored = frame[name].to_list(), _STORED.get(name)
        columns.append(
            values if stored is None else [None if v is None else stored(v) for v in values]
        )
    return zip(*columns, strict=True)


def _rows(frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Rows with the columns :data:`assay.ledger.lines.COLUMNS`, but labellers instead of their
    numbers."""
    return ((*row[:7], row[7:10], *row[10:]) for row in _stored(frame))


def _labeller(name: str, kind: str, params: str) -> LabellerId:
    return LabellerId(name, kind, orjson.loads(params))


def _label(*row: Any) -> Label:
    number, uid, key, task, version, unit, _, *who, sample, status, verdict = row[:13]
    reason, error, *rest = row[13:]
    about = (number, uid, key, task, version, unit, _labeller(*who), status, verdict)
    return label_of(*about, reason, error, sample, *rest)
