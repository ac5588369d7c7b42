"""The labels that count for many units at once, as places in the ledger's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from assay.ledger.columns import NONE, Columns, Places
from assay.measures.arrays import Bools, Floats, Integers
from assay.model.labels import Label
from assay.model.scratch import Numbers, Scratch

if TYPE_CHECKING:
    from assay.protocols.unit_labels import UnitLabels

V = TypeVar("V")

_BLOCK = 4096  # labels that are looked at together


@dataclass(frozen=True, eq=False)
class CountedLabels(Sequence[Label | None]):
    """The label that counts for each of a row of units, None if there is none. A label is only made
    when it is accessed; ``map`` and ``failed`` make none. ``places`` are places in the columns of
    ``by_unit``, −1 if there is none. ``others`` has, by index in the row, the labels that are in no
    column: those derived from other tasks, and all labels if they are read whole."""

    by_unit: UnitLabels | None
    places: npt.NDArray[np.signedinteger[Any]]
    others: Mapping[int, Label] = field(default_factory=dict)

    def without(self, which: Bools) -> CountedLabels:
        """A copy without the labels that ``which`` marks."""
        others = {at: label for at, label in self.others.items() if not which[at]}
        return CountedLabels(self.by_unit, np.where(which, NONE, self.places), others)

    def spread(self, which: Bools) -> CountedLabels:
        """The labels in a longer row: at the positions that ``which`` marks, with None
        elsewhere."""
        at = np.flatnonzero(which)
        places = np.full(len(which), NONE, np.int64)
        places[at] = self.places
        return CountedLabels(self.by_unit, places, {int(at[n]): o for n, o in self.others.items()})

    def replaced(self, by: Mapping[int, Label]) -> CountedLabels:
        """A copy with other labels at some indexes of the row."""
        if not by:
            return self
        places = self.places.astype(np.int64)
        for at, label in by.items():
            places[at] = NONE if self.by_unit is None else self.by_unit.place(label)
        away = {at: label for at, label in by.items() if places[at] == NONE}
        others = {at: label for at, label in self.others.items() if at not in by}
        return CountedLabels(self.by_unit, places, {**others, **away})

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> Label | None: ...
    @overload
    def __getitem__(self, at: slice) -> CountedLabels: ...
    def __getitem__(self, at: int | slice) -> Label | CountedLabels | None:
        if isinstance(at, slice):
            start, stop, _ = at.indices(len(self))
            some = range(start, stop) if self.others else ()
            others = {at - start: self.others[at] for at in some if at in self.others}
            return CountedLabels(self.by_unit, self.places[start:stop], others)
        at = range(len(self))[at]
        place = int(self.places[at])
        if place >= 0 and self.by_unit is not None:
            return self.by_unit.columns.at(place)
        return self.others.get(at)

    def __iter__(self) -> Iterator[Label | None]:
        for begin in range(0, len(self), _BLOCK):
            places = self.places[begin : begin + _BLOCK]
            in_columns = places[places >= 0]
            found: Iterator[Label] = iter(())
            if self.by_unit is not None and len(in_columns):
                found = self.by_unit.columns.labels(in_columns.astype(np.int64))
            for at, place in enumerate(places.tolist(), begin):
                yield next(found) if place >= 0 else self.others.get(at)

    @property
    def in_columns(self) -> Integers:
        """The indexes of the labels that are in the columns."""
        return np.flatnonzero(self.places >= 0).astype(np.int64)

    def map(self, value: Callable[[Mapping[str, Any]], float]) -> Floats:
        """``value`` of each verdict; NaN if there is no verdict, or ``value`` is None. It is called
        once for equal verdicts."""
        found = np.full(len(self), np.nan)
        for which, values, each in self._verdicts(value):
            found[which] = np.array(values, np.float64)[each]  # None becomes NaN
        return found

    def each(self, value: Callable[[Mapping[str, Any]], V]) -> list[V | None]:
        """Like :meth:`map`, for values of any type; None if there is no verdict."""
        found = np.full(len(self), None, object)
        for which, values, each in self._verdicts(value):
            found[which] = np.fromiter(values, object, len(values))[each]
        values_of_row: list[V | None] = found.tolist()
        return values_of_row

    def _verdicts(
        self, value: Callable[[Mapping[str, Any]], V]
    ) -> Iterator[tuple[Integers, list[V | None], Integers]]:
        """Like :meth:`assay.ledger.columns.Columns.verdicts`, for the row."""
        held = self.in_columns
        if self.by_unit is not None and len(held):
            for which, values, each in self.by_unit.columns.verdicts(self.places[held], value):
                yield held[which], values, each
        for number, label in self.others.items():
            own = None if label.verdict is None else value(label.verdict)
            yield np.array([number]), [own], np.array([0])

    @property
    def present(self) -> Bools:
        """Where there is a label, which may be a failed one."""
        found: Bools = self.places >= 0
        if self.others:
            found = found.copy()
            found[list(self.others)] = True
        return found

    @property
    def failed(self) -> Bools:
        """Where the label is a failed one."""
        return self._where(Columns.failed, lambda label: label.verdict is None)

    @property
    def human(self) -> Bools:
        """Where the label is a person's."""
        by_who = partial(Columns.by_who, value=lambda who: who.is_human)
        return self._where(by_who, lambda label: label.labeller.is_human)

    def _where(
        self, held_are: Callable[[Columns, Places], Bools], label_is: Callable[[Label], bool]
    ) -> Bools:
        found, held = np.zeros(len(self), np.bool_), self.in_columns
        if self.by_unit is not None and len(held):
            found[held] = held_are(self.by_unit.columns, self.places[held])
        for number, label in self.others.items():
            found[number] = label_is(label)
        return found

    def by_kind(self) -> Iterator[tuple[Label, Integers]]:
        """Group labels of the same task, labeller and detail: one label of each group, and all
        indexes."""
        held = self.in_columns
        if self.by_unit is not None and len(held):
            for label, group in self.by_unit.columns.by_kind(self.places[held]):
                yield label, held[group]
        for number, label in self.others.items():
            yield label, np.array([number])

    def numbers(self, which: Integers) -> Integers:
        """The numbers in the ledger of the labels at some indexes."""
        numbers = self.places[which].astype(np.int64)
        in_columns = numbers >= 0
        if self.by_unit is not None:
            numbers[in_columns] = self.by_unit.columns.rows(numbers[in_columns])
        for at in np.flatnonzero(~in_columns).tolist():
            numbers[at] = self.others[int(which[at])].rowid
        return numbers


class LabelRow(Sequence[Label | None]):
    """A growing row of labels. Only the places of labels in the columns of ``by_unit`` are kept, in
    ``scratch``; slices of the row are in memory."""

    def __init__(self, by_unit: UnitLabels | None, scratch: Scratch) -> None:
        self.by_unit = by_unit
        self._places = Numbers(scratch, "q")
        self._others: dict[int, Label] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, label: Label | None) -> None:
        """Append a label."""
        place = NONE if self.by_unit is None else self.by_unit.place(label)
        if label is not None and place == NONE:
            self._others[len(self._places)] = label
        self._places.append(place)

    def extend(self, labels: CountedLabels) -> None:
        """Append labels of the same evaluation."""
        self._others.update((len(self) + at, label) for at, label in labels.others.items())
        self._places.extend(labels.places.astype(np.int64).tobytes())

    @overload
    def __getitem__(self, at: int) -> Label | None: ...
    @overload
    def __getitem__(self, at: slice) -> CountedLabels: ...
    def __getitem__(self, at: int | slice) -> Label | CountedLabels | None:
        if isinstance(at, int):
            at = range(len(self))[at]
            if at in self._others:
                return self._others[at]
            place = self._places[at]
            return (
                self.by_unit.columns.at(place) if place >= 0 and self.by_unit is not None else None
            )
        start, stop, _ = at.indices(len(self))
        some = range(start, stop) if self._others else ()
        others = {at - start: self._others[at] for at in some if at in self._others}
        places = np.frombuffer(self._places.slice(start, stop), np.int64)
        # The ledger of the columns may be closed by now, so a row without labels does not use it.
        by_unit = self.by_unit if (places >= 0).any() else None
        kind = np.min_scalar_type(-int(places.max(initial=0)) - 1)  # the narrowest that holds them
        return CountedLabels(by_unit, places.astype(kind), others)

    def __iter__(self) -> Iterator[Label | None]:
        for begin in range(0, len(self), _BLOCK):
            yield from self[begin : begin + _BLOCK]


class SeenNumbers:
    """A set of whole numbers, stored as one bit each."""

    def __init__(self) -> None:
        self._bits = np.zeros(1024, np.uint8)

    def new(self, numbers: Integers) -> Integers:
        """Add numbers, and return the indexes of those that are new."""
        some, at = np.unique(numbers, return_index=True)
        if not len(some):
            return at
        # They are sorted, so numbers in the same byte are adjacent.
        bytes_, bits = some >> 3, (1 << (some & 7)).astype(np.uint8)
        self._make_room(int(bytes_[-1]))
        found: Integers = at[self._bits[bytes_] & bits == 0]
        begins = np.flatnonzero(np.diff(bytes_, prepend=-1))
        self._bits[bytes_[begins]] |= np.bitwise_or.reduceat(bits, begins)
        return found

    def add(self, number: int) -> bool:
        """Add a number, and return whether it is new."""
        byte, bit = number >> 3, 1 << (number & 7)
        self._make_room(byte)
        before = int(self._bits[byte])
        self._bits[byte] = before | bit
        return not before & bit

    def _make_room(self, byte: int) -> None:
        if byte >= len(self._bits):
            more = byte + 1 + len(self._bits) // 4
            self._bits = np.concatenate([self._bits, np.zeros(more - len(self._bits), np.uint8)])
