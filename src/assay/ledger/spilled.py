"""The labels that can count as columns in a file: for more of them than memory has room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from assay.ledger.columns import NONE, Columns, Known, Places, by_part
from assay.ledger.hashes import packed
from assay.model.labels import Label, LabellerId
from assay.model.scratch import Parts, Scratch

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

V = TypeVar("V")
Records = npt.NDArray[Any]

HELD = 2_000_000
"""Labels that are held in memory; more lie in a file."""

_AT_ONCE = 200_000  # labels that are sorted, or looked at, at once
_BUCKET = 32  # labels that are read for one unit
_SPARSE = 16 << 10  # bytes between two labels from which each is read on its own


def columns_of(ledger: AnyLedger, versions: Mapping[str, str]) -> Columns:
    """All labels of tasks in these versions, in memory or not, as many as they are."""
    kind = SpilledColumns if ledger.count() > HELD else Columns
    return kind.of_ledger(ledger, versions)


class _Some(NamedTuple):
    """Some of the labels in memory, and the place of each among all, in ascending order."""

    columns: Columns
    places: Places

    def here(self, places: Places) -> Places:
        """From places among all to places among these."""
        return np.searchsorted(self.places, places)

    def there(self, places: Places) -> Places:
        """From places among these to places among all; NONE and the like stay what they are."""
        found = places.astype(np.int64)
        found[places >= 0] = self.places[places[places >= 0]]
        return found

    def has(self, places: Places) -> bool:
        """Whether all of these are there."""
        if not len(places) or not len(self.places):
            return not len(places)
        at = np.minimum(self.here(places), len(self.places) - 1)
        return bool((self.places[at] == places).all())


class SpilledColumns(Columns):
    """The same labels in a file, sorted by their units' hashes; of every 32nd the hash is in
    memory, half a byte a label. The labels of some units are read into memory as columns, which
    then say what is asked of them: what holds of columns is said there alone.

    To sort them they are first put into parts by the first bits of their hashes, so that twice the
    room is taken on disk, some sixty bytes a label, for a while.
    """

    def __init__(
        self, known: Known, row: npt.DTypeLike, records: Scratch, begins: Places, heads: Records
    ) -> None:
        self._known = known
        self._kind, self._records = np.dtype(row), records
        self._begins, self._heads = begins, heads
        self._units = self._last = self._made(np.zeros(0, self._kind), np.zeros(0, np.int64))

    @classmethod
    def of_ledger(cls, ledger: AnyLedger, versions: Mapping[str, str]) -> SpilledColumns:
        """All labels of tasks in these ``versions``."""
        newest = ledger.size()  # others may be adding labels: those are left out
        known = Known(ledger, versions)
        row = np.dtype(known.row(newest))
        parts = _Sorting(row, ledger.count())
        known.read(newest, parts.add)
        records, begins, heads = Scratch(), [], []
        for part in parts.sorted():
            high = part["high"]
            # A unit's labels are in one bucket.
            starts = np.unique(np.searchsorted(high, high[::_BUCKET]))
            begins.append(starts + len(records) // row.itemsize)
            heads.append(high[starts])
            records.add(part.tobytes())
        begins.append(np.array([len(records) // row.itemsize]))
        return cls(
            known, row, records, np.concatenate(begins), np.concatenate([*heads, _NO_HASHES])
        )

    def __len__(self) -> int:
        return int(self._begins[-1])

    def _made(self, records: Records, places: Places) -> _Some:
        columns = {name: np.array(records[name]) for name in self._kind.names or ()}
        return _Some(Columns(self._known, columns), places)

    def _records_of(self, begin: int, end: int) -> Records:
        size = self._kind.itemsize
        return np.frombuffer(self._records.read(begin * size, (end - begin) * size), self._kind)

    def _of(self, high: Records) -> _Some:
        """All labels of units whose hashes begin with these."""
        buckets = np.searchsorted(self._heads, np.unique(high), side="right") - 1
        buckets = np.unique(buckets[buckets >= 0])
        begins, ends = self._begins[buckets], self._begins[buckets + 1]
        found = [
            self._records_of(*ends) for ends in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        records = np.concatenate([np.zeros(0, self._kind), *found])
        sizes = ends - begins
        places = np.arange(len(records)) + np.repeat(begins - np.cumsum(sizes) + sizes, sizes)
        which = np.isin(records["high"], high)
        return self._made(records[which], places[which])

    def _at(self, places: Places) -> tuple[_Some, Places]:
        """The labels at some places, and where they are among those."""
        for some in (self._units, self._last):
            if some.has(places):
                return some, some.here(places)
        which = np.unique(places)
        some = self._last = self._made(self._gathered(which), which)  # other threads may look, too
        return some, some.here(places)

    def _gathered(self, places: Places) -> Records:
        """The records at ascending places."""
        found = np.zeros(len(places), self._kind)
        if len(places) * _SPARSE < (int(places[-1]) - int(places[0])) * self._kind.itemsize:
            for number, place in enumerate(places.tolist()):
                found[number : number + 1] = self._records_of(place, place + 1)
            return found
        for begin in range(int(places[0]), int(places[-1]) + 1, _AT_ONCE):
            first, last = np.searchsorted(places, [begin, begin + _AT_ONCE]).tolist()
            if first < last:
                end = int(places[last - 1]) + 1
                found[first:last] = self._records_of(begin, end)[places[first:last] - begin]
        return found

    def _of_unit(self, unit: str) -> _Some:
        high = int.from_bytes(packed(unit)[:8], "big")
        return self._of(np.array([high], np.uint64))

    # -- as columns in memory say it ---------------------------------------------------------------

    def of(self, unit: str) -> list[Label]:
        return self._of_unit(unit).columns.of(unit)

    def places(self, unit: str) -> Iterator[int]:
        some = self._of_unit(unit)
        yield from some.places[list(some.columns.places(unit))].tolist()

    def place_of(self, label: Label) -> int:
        some = self._units  # as nearly always
        if some.columns.place_of(label) == NONE:
            some = self._of_unit(label.unit)
        return int(some.there(np.array([some.columns.place_of(label)]))[0])

    def places_of(self, name: str) -> dict[int, int]:
        return {
            number: int(some.places[place])
            for some in self._every()
            for number, place in some.columns.places_of(name).items()
        }

    def labelled_again(self, task: str, name: str) -> Iterator[Places]:
        for some in self._every():
            yield from (some.places[one] for one in some.columns.labelled_again(task, name))

    def _every(self) -> Iterator[_Some]:
        """All labels, some at a time, those of one unit at once."""
        step = max(1, _AT_ONCE // _BUCKET)
        for first in range(0, len(self._heads), step):
            begin, end = self._begins[[first, min(first + step, len(self._heads))]].tolist()
            yield self._made(self._records_of(begin, end), np.arange(begin, end))

    def labels(self, places: Places) -> Iterator[Label]:
        for _, some, at in self._portions(places):
            yield from some.columns.labels(at)

    def at(self, place: int) -> Label:
        some, places = self._at(np.array([place]))
        return some.columns.at(int(places[0]))

    def first(self, units: bytes) -> Places:
        some = self._units = self._of(np.frombuffer(units, ">u8")[::2].astype(np.uint64))
        return some.there(some.columns.first(units))

    def several(self, first: Places) -> npt.NDArray[np.bool_]:
        some = self._with_others(first)
        return some.columns.several(some.here(first))

    def _with_others(self, first: Places) -> _Some:
        """All labels of units whose oldest stand at these places."""
        if self._units.has(first):
            return self._units
        at, here = self._at(first)
        return self._of(at.columns.first_halves(here))

    def counting(
        self, weight: Callable[[Label], int], by_label: Callable[[Label], bool]
    ) -> Callable[[Places], Places]:
        known = (self._units, self._units.columns.counting(weight, by_label))

        def counted(first: Places) -> Places:
            nonlocal known
            if self._units is not known[0]:
                known = (self._units, self._units.columns.counting(weight, by_label))
            some, counting = self._with_others(first), known[1]
            if some is not known[0]:
                counting = some.columns.counting(weight, by_label)
            return some.there(counting(some.here(first)))

        return counted

    def rows(self, places: Places) -> npt.NDArray[np.int64]:
        found = np.empty(len(places), np.int64)
        for which, some, at in self._portions(places):
            found[which] = some.columns.rows(at)
        return found

    def failed(self, places: Places) -> npt.NDArray[np.bool_]:
        found = np.empty(len(places), np.bool_)
        for which, some, at in self._portions(places):
            found[which] = some.columns.failed(at)
        return found

    def by_who(self, places: Places, value: Callable[[LabellerId], bool]) -> npt.NDArray[np.bool_]:
        found = np.empty(len(places), np.bool_)
        for which, some, at in self._portions(places):
            found[which] = some.columns.by_who(at, value)
        return found

    def verdicts(
        self, places: Places, value: Callable[[Mapping[str, Any]], V]
    ) -> Iterator[tuple[Places, list[V | None], Places]]:
        for which, some, at in self._portions(places):
            for held, values, each in some.columns.verdicts(at, value):
                yield held + which.start, values, each

    def by_kind(self, places: Places) -> Iterator[tuple[Label, Places]]:
        for which, some, at in self._portions(places):
            for label, group in some.columns.by_kind(at):
                yield label, group + which.start

    def _portions(self, places: Places) -> Iterator[tuple[slice, _Some, Places]]:
        for begin in range(0, len(places), _AT_ONCE):
            which = slice(begin, min(begin + _AT_ONCE, len(places)))
            yield which, *self._at(places[which])


_NO_HASHES = np.zeros(0, np.uint64)


class _Sorting:
    """Labels put into parts by the first bits of their hashes, each of which can be sorted in
    memory."""

    def __init__(self, row: np.dtype[Any], most: int) -> None:
        self._row, self._parts = row, Parts(Scratch())
        self._bits = max(1, (most // _AT_ONCE).bit_length())
        self._new = np.zeros(_AT_ONCE + (1 << 16), row)
        self._count = 0

    def add(self, columns: Mapping[str, Any], size: int) -> None:
        """Add the next labels."""
        if self._count + size > len(self._new):
            self._put()
        some = self._new[self._count : self._count + size]
        for name, values in columns.items():
            some[name] = values
        self._count += size

    def _put(self) -> None:
        some = self._new[: self._count]
        for part, records in by_part(some["high"] >> np.uint64(64 - self._bits), some):
            self._parts.add(part, records.tobytes())
        self._count = 0

    def sorted(self) -> Iterator[Records]:
        """Part after part in the order of hashes, labels of one unit oldest first."""
        self._put()
        for number in range(1 << self._bits):
            part = np.frombuffer(self._parts.read(number), self._row)
            yield part[np.argsort(part["high"], kind="stable")]
