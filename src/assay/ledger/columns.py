"""The labels that can count, as columns: read once, sorted, and looked up by unit. Many labels are
kept in a memory-mapped file."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import orjson

from assay.ledger.hashes import SIZE, packed, unpacked
from assay.model.labels import Label, LabellerId, Status
from assay.model.scratch import Parts, Scratch, Texts

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

V = TypeVar("V")

HELD = 2_000_000
"""The most labels held in memory; more are kept in a file."""

_SORTED = 200_000  # labels sorted at once
_NOTHING: Mapping[str, Any] = {}  # the detail that nearly all labels have
_REMEMBERED = 10_000
_TEXTS = 2 << 20  # characters of texts held in memory; others are in a file
_AT_ONCE = 10_000  # labels whose texts are read from that file at once
_WEIGHED = 200_000  # labels compared at once
_AWAY = np.int64(1 << 32)  # above all codes of texts held in memory

Places = npt.NDArray[np.int64]
"""Indices of labels in the columns."""

_COLUMNS = ("high", "low", "row", "task", "who", "verdict", "detail")

_NOTHING_SAID = 0  # the code of no text; a label has no verdict if and only if it failed
NONE, CLOSELY = -1, -2
"""Instead of a place: no label counts, or the full policy must decide which one does."""


class Known:
    """Values that labels of some tasks share: labellers, tasks, verdicts and details."""

    def __init__(self, ledger: AnyLedger, versions: Mapping[str, str]) -> None:
        self._ledger = ledger
        self.labellers = dict(ledger.labellers())
        self.tasks = ledger.task_names()
        self.versions = versions
        scratch = Scratch()
        self.verdicts, self.details = _Codes(scratch), _Codes(scratch)
        self.samples: dict[int, int] = {}  # by label number, if not 0
        self.overrules: dict[int, str] = {}  # by label number, if it overrules another

    def row(self, newest: int) -> np.dtype[Any]:
        """The dtype of a label, as narrow as the ledger allows."""
        highest = (newest, *(max(one, default=0) for one in (self.tasks, self.labellers)))
        row, task, who = map(np.min_scalar_type, highest)
        kinds = ("u8", "u8", row, task, who, "i4", "i4")
        return np.dtype(list(zip(_COLUMNS, kinds, strict=True)))

    def read(self, newest: int, into: Callable[[Mapping[str, Any], int], None]) -> None:
        """Pass the labels' columns up to number ``newest`` to ``into``, in blocks, oldest first."""
        for block in self._ledger.of_versions(self.versions, newest):
            columns = zip(*block, strict=True)
            numbers, units, task, by, verdicts, samples, over, details = columns
            self.samples.update(compress(zip(numbers, samples, strict=True), samples))
            changed = compress(zip(numbers, over, strict=True), over)
            self.overrules.update((number, unpacked(uid)) for number, uid in changed)
            high, low = np.frombuffer(b"".join(units), ">u8").reshape(-1, 2).T
            said = list(map(self.verdicts.__getitem__, verdicts))
            more = list(map(self.details.__getitem__, details))
            made = (high, low, numbers, task, by, said, more)
            into(dict(zip(_COLUMNS, made, strict=True)), len(block))


class Columns:
    """The labels of some tasks in their present versions, sorted by unit.

    A label takes some thirty bytes: 16 for the unit's hash, the rest as narrow as the ledger
    allows. More than :data:`HELD` labels are kept in a memory-mapped file, whose pages the system
    can reclaim. Only what scores need is kept: frequent verdicts and details in memory, others in a
    file. The ledger has the rest (:meth:`assay.ledger.Ledger.whole`,
    :meth:`assay.ledger.Ledger.keys`).
    """

    def __init__(self, known: Known, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """``columns`` must be sorted by ``high``, labels of one unit oldest first."""
        self._known = known
        # Memory views return plain integers fastest.
        views: list[Any] = [columns[name].data for name in _COLUMNS]
        self._high, self._low, self._row, self._task, self._labeller = views[:5]
        self._verdict, self._detail = views[5:]

    @classmethod
    def of_ledger(cls, ledger: AnyLedger, versions: Mapping[str, str]) -> Columns:
        """All labels of tasks in these ``versions``."""
        newest = ledger.size()  # others may be adding labels: those are left out
        most = ledger.count()
        known = Known(ledger, versions)
        row = known.row(newest)
        labels = _Sorting(row, most)
        known.read(newest, labels.add)
        kinds = {name: row[name] for name in _COLUMNS} | {
            "verdict": known.verdicts.kind(), "detail": known.details.kind()
        }  # fmt: skip
        columns = {name: Scratch(sys.maxsize if most <= HELD else 0) for name in _COLUMNS}
        for part in labels.sorted():
            for name, column in columns.items():
                column.add(part[name].astype(kinds[name]).tobytes())
        return cls(
            known,
            {name: np.frombuffer(one.whole(), kinds[name]) for name, one in columns.items()},
        )

    def __len__(self) -> int:
        return len(self._row)

    def of(self, unit: str) -> list[Label]:
        """The labels of a unit, oldest first."""
        return [self._label(place, unit) for place in self.places(unit)]

    def place(self, unit: str) -> int:
        """The place of the oldest label of a unit, or NONE."""
        return next(self.places(unit), NONE)

    def place_of(self, label: Label) -> int:
        """The place of a label among those of its unit, or NONE."""
        places = self.places(label.unit)
        return next((one for one in places if self._row[one] == label.rowid), NONE)

    def places(self, unit: str) -> Iterator[int]:
        """The places of the labels of a unit, oldest first."""
        start = packed(unit)
        high, low = int.from_bytes(start[:8], "big"), int.from_bytes(start[8:], "big")
        place = bisect_left(self._high, high)
        while place < len(self._high) and self._high[place] == high:
            if self._low[place] == low:
                yield place
            place += 1

    def labelled_again(self, task: str, name: str) -> Iterator[Places]:
        """The places of labels by labellers of a name for a task, if a unit has several, in blocks
        that never divide a unit."""
        tasks = [number for number, one in self._known.tasks.items() if one == task]
        who = [number for number, one in self._known.labellers.items() if one.name == name]
        for some in self._blocks():
            given = np.isin(np.asarray(self._task)[some], tasks)
            given &= np.isin(np.asarray(self._labeller)[some], who)
            own = np.flatnonzero(given) + some.start
            high = np.asarray(self._high)[own]
            repeated = np.zeros(len(own), np.bool_)
            repeated[1:] |= high[1:] == high[:-1]
            repeated[:-1] |= repeated[1:]
            if repeated.any():
                yield own[repeated]

    def _blocks(self) -> Iterator[slice]:
        """All places in blocks that never divide a unit."""
        high, end = np.asarray(self._high), 0
        while end < len(self):
            begin, last = end, min(end + _WEIGHED, len(self)) - 1
            end = int(np.searchsorted(high, high[last], side="right"))
            yield slice(begin, end)

    def at(self, place: int) -> Label:
        """The label at a place."""
        return self._label(place, self._unit(place))

    def labels(self, places: Places) -> Iterator[Label]:
        """The labels at some places."""
        return map(self.at, places.tolist())

    def several(self, first: Places) -> npt.NDArray[np.bool_]:
        """Which units, given by the places of their oldest labels, have several labels (or share
        half of their hash with another unit)."""
        high = np.asarray(self._high)
        after = np.minimum(first + 1, len(high) - 1)
        found: npt.NDArray[np.bool_] = (after > first) & (high[after] == high[first])
        return found

    def first(self, units: bytes) -> Places:
        """The place of each unit's oldest label, or NONE. ``units`` is the units' 16-byte hashes,
        concatenated."""
        high, low = np.frombuffer(units, ">u8").reshape(-1, 2).astype(np.uint64).T
        places = np.searchsorted(np.asarray(self._high), high)
        inside = np.minimum(places, max(len(self) - 1, 0))
        found = np.full(len(places), NONE, np.int64)
        if len(self):
            same_half = np.asarray(self._high)[inside] == high
            same = same_half & (np.asarray(self._low)[inside] == low)
            found[same] = inside[same]
            for odd in np.flatnonzero(
                same_half & ~same
            ).tolist():  # half of the hash is another's, too
                found[odd] = self.place(units[odd * SIZE : (odd + 1) * SIZE].hex())
        return found

    def counting(
        self, weight: Callable[[Label], int], by_label: Callable[[Label], bool]
    ) -> Callable[[Places], Places]:
        """A function from the places of units' oldest labels to the places of the labels that
        count: the only one of the highest ``weight``, NONE if all weigh 0, CLOSELY in a tie.

        ``weight`` must be the same for all labels of one labeller and task, except for those for
        which ``by_label`` is true."""
        counts = np.full(len(self), NONE, np.min_scalar_type(-len(self) - 1))
        for some in self._blocks():
            self._count(some, counts[some], weight, by_label)
        return counts.__getitem__

    def _count(
        self,
        some: slice,
        counts: npt.NDArray[Any],
        weight: Callable[[Label], int],
        by_label: Callable[[Label], bool],
    ) -> None:
        high, low = np.asarray(self._high)[some], np.asarray(self._low)[some]
        pairs = (
            np.asarray(self._task)[some].astype(np.int64) << 32 | np.asarray(self._labeller)[some]
        )
        _, firsts, which = np.unique(pairs, return_index=True, return_inverse=True)
        models = [self.at(some.start + place) for place in firsts.tolist()]
        weights = np.array([weight(one) for one in models], np.int8)[which]
        for number, one in enumerate(models):
            if by_label(one):
                for place in np.flatnonzero(which == number).tolist():
                    weights[place] = weight(self.at(some.start + place))
        begins = np.flatnonzero(np.concatenate(([True], high[1:] != high[:-1])))
        sizes = np.diff(np.append(begins, len(high)))
        most = np.repeat(np.maximum.reduceat(weights, begins), sizes)
        best = (weights == most) & (weights > 0)
        places = np.arange(some.start, some.stop)
        chosen = np.maximum.reduceat(np.where(best, places, NONE), begins)
        several = np.add.reduceat(best.astype(np.int64), begins) > 1
        counts[begins] = np.where(several, CLOSELY, chosen)
        mixed = np.flatnonzero((high[1:] == high[:-1]) & (low[1:] != low[:-1]))
        for odd in mixed.tolist():  # units that have half of their hash in common
            counts[high == high[odd]] = CLOSELY

    def rows(self, places: Places) -> npt.NDArray[np.int64]:
        """The labels' numbers in the ledger."""
        return np.asarray(self._row)[places]

    def failed(self, places: Places) -> npt.NDArray[np.bool_]:
        """Which labels failed."""
        found: npt.NDArray[np.bool_] = np.asarray(self._verdict)[places] == _NOTHING_SAID
        return found

    def by_who(self, places: Places, value: Callable[[LabellerId], bool]) -> npt.NDArray[np.bool_]:
        """``value`` of each label's labeller."""
        who = np.asarray(self._labeller)[places]
        some, which = np.unique(who, return_inverse=True)
        return np.array([value(self._known.labellers[one]) for one in some.tolist()], np.bool_)[
            which
        ]

    def verdicts(
        self, places: Places, value: Callable[[Mapping[str, Any]], V]
    ) -> Iterator[tuple[Places, list[V | None], Places]]:
        """``value`` of the labels' verdicts in blocks of (indices into ``places``, values of the
        distinct verdicts, index of each label's value). The value of a failed label is None."""
        codes = np.asarray(self._verdict)[places]
        held, away = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        away_at_once = (away[at : at + _AT_ONCE] for at in range(0, len(away), _AT_ONCE))
        for which in (held, *away_at_once):
            some, each = np.unique(codes[which], return_inverse=True)
            said = map(self._known.verdicts.parsed, some.tolist())
            yield which, [None if one is None else value(one) for one in said], each

    def by_kind(self, places: Places) -> Iterator[tuple[Label, Places]]:
        """Groups of labels of equal task, labeller and detail: one of the labels, and the indices
        into ``places`` of all."""
        columns = [np.asarray(one)[places] for one in (self._task, self._labeller, self._detail)]
        columns[-1] = np.where(columns[-1] < 0, _AWAY - columns[-1], columns[-1])
        order = np.lexsort(columns)
        changes = np.zeros(len(order), np.bool_)
        changes[:1] = True
        for one in columns:
            changes[1:] |= one[order][1:] != one[order][:-1]
        for group in np.split(order, np.flatnonzero(changes)[1:]) if len(order) else ():
            yield self.at(int(places[group[0]])), group

    def _unit(self, at: int) -> str:
        return f"{self._high[at]:016x}{self._low[at]:016x}"

    def _label(self, at: int, unit: str) -> Label:
        known, row = self._known, self._row[at]
        task = known.tasks[self._task[at]]
        return Label(
            "", "", task, known.versions[task], unit, known.labellers[self._labeller[at]],
            Status.FAILED if self._verdict[at] == _NOTHING_SAID else Status.OK,
            known.verdicts.parsed(self._verdict[at]),
            sample=known.samples.get(row, 0), overrules=known.overrules.get(row),
            detail=known.details.parsed(self._detail[at]) or _NOTHING, rowid=row,
        )  # fmt: skip


class _Sorting:
    """Sorts labels by unit, in parts by the first bits of the hash that each fit into memory."""

    def __init__(self, row: np.dtype[Any], most: int) -> None:
        self._row, self._parts = row, Parts(Scratch())
        self._bits = max(1, (most // _SORTED).bit_length())
        self._new: list[npt.NDArray[Any]] = []

    def add(self, columns: Mapping[str, Any], size: int) -> None:
        """Add the next labels."""
        some = np.empty(size, self._row)
        for name, values in columns.items():
            some[name] = values
        self._new.append(some)
        if sum(map(len, self._new)) >= _SORTED:
            self._put()

    def _put(self) -> None:
        some, self._new = np.concatenate([np.empty(0, self._row), *self._new]), []
        for part, records in by_part(some["high"] >> np.uint64(64 - self._bits), some):
            self._parts.add(part, records.tobytes())

    def sorted(self) -> Iterator[npt.NDArray[Any]]:
        """The parts in the order of hashes, labels of one unit oldest first."""
        self._put()
        for number in range(1 << self._bits):
            part = np.frombuffer(self._parts.read(number), self._row)
            yield part[np.argsort(part["high"], kind="stable")]


def by_part(
    parts: npt.NDArray[Any], records: npt.NDArray[Any]
) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Group ``records`` by the part of each, keeping their order."""
    order = np.argsort(parts, kind="stable")
    some, begins = np.unique(parts[order], return_index=True)
    for part, which in zip(some.tolist(), np.split(order, begins[1:]), strict=False):
        yield part, records[which]


class _Codes(dict[str | None, int]):
    """Codes for JSON texts that many labels share. Each text is held once; beyond a limit texts go
    to ``scratch`` and get negative codes."""

    def __init__(self, scratch: Scratch) -> None:
        super().__init__({None: _NOTHING_SAID})
        self._size = 0
        self._texts: list[str | None] = [None]
        self._read: dict[int, Any] = {}
        self._more = Texts(scratch)

    def __missing__(self, text: str) -> int:
        if self._size < _TEXTS:
            self[text] = len(self._texts)
            self._texts.append(text)
            self._size += len(text)
            return self[text]
        self._more.append(text)
        return -len(self._more)

    def kind(self) -> np.dtype[Any]:
        """The narrowest integer dtype for the codes."""
        away, last = len(self._more), len(self._texts) - 1
        return np.min_scalar_type(-max(away, last + 1) if away else last)

    def parsed(self, code: int) -> Any:
        """The parsed text of a code; None for the code of no text."""
        if code in self._read:
            return self._read[code]
        text = self._texts[code] if code >= 0 else self._more[-code - 1]
        value = None if text is None else orjson.loads(text)
        if code >= 0 and len(self._read) < _REMEMBERED:
            self._read[code] = value
        return value
