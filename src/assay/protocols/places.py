"""Where labels are used. A label is about content, which several runs and topics may share."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Integers
from assay.model.labels import Label
from assay.model.scratch import Numbers, Scratch, Texts
from assay.protocols.counted_labels import CountedLabels, LabelRow, SeenNumbers

if TYPE_CHECKING:
    from assay.protocols.unit_labels import UnitLabels

K = TypeVar("K", bound=Hashable)

_MOST_IN_MEMORY = 10_000  # names of a column that are looked up; more are not worth it
_BLOCK = 1 << 16  # labels that are looked at together


class Place(NamedTuple):
    """A place where a label is used. Fields that do not apply are empty: the grade of a passage
    belongs to no run. ``position`` is what else is needed (``nugget 3``, ``sentence 2 citation
    1``)."""

    run: str = ""
    topic: str = ""
    position: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


_place: Callable[[Iterable[str]], Place] = partial(tuple.__new__, Place)


class Used(NamedTuple):
    """A label that counted, and where."""

    label: Label
    place: Place


class _Names:
    """The distinct names in a column. The first ones are kept in memory; the rest (passages with
    their questions, say) go into a scratch, where a name is stored again if others came between."""

    def __init__(self, scratch: Scratch) -> None:
        self._known: dict[str, int] = {}
        self._names: list[str] = []
        self._more = Texts(scratch)
        self._last: str | None = None  # of those in the scratch

    def codes(self, names: Sequence[str]) -> array[int]:
        """The numbers of some names, which are added if they are new."""
        try:
            return array("I", map(self._known.__getitem__, names))
        except KeyError:
            self._hold(names)
        more: list[str] = []
        before, last, codes = _MOST_IN_MEMORY + len(self._more) - 1, self._last, array("I")
        for name in names:
            code = self._known.get(name)
            if code is None:
                if name != last:
                    last = name
                    more.append(name)
                code = before + len(more)
            codes.append(code)
        self._last = last
        self._more.extend(more)
        return codes

    def _hold(self, names: Iterable[str]) -> None:
        """Keep new names in memory, up to the limit."""
        if len(self._names) < _MOST_IN_MEMORY:
            new = [one for one in dict.fromkeys(names) if one not in self._known]
            for code, name in enumerate(
                new[: _MOST_IN_MEMORY - len(self._names)], len(self._names)
            ):
                self._known[name] = code
                self._names.append(name)

    def named(self, codes: Sequence[int]) -> Iterator[str]:
        """The names with these numbers."""
        stored = [code - _MOST_IN_MEMORY for code in codes if code >= _MOST_IN_MEMORY]
        if not stored:
            return map(self._names.__getitem__, codes)
        more = self._more.get_many(stored)
        return (self._names[code] if code < _MOST_IN_MEMORY else next(more) for code in codes)


class SomePlaces(NamedTuple):
    """Some places, in memory: the numbers of their names, n × 3, and how often each is used."""

    columns: PlaceColumns
    codes: npt.NDArray[np.uint32]
    times: npt.NDArray[np.uint32]

    def at(self, which: Integers) -> Iterator[Place]:
        """The places at some indexes."""
        return self.columns.named(self.codes[which])

    def by_run(self, which: Integers) -> Iterator[tuple[str, int]]:
        """How often places of each run use their labels."""
        some, of = np.unique(self.codes[which, 0], return_inverse=True)
        counts = np.bincount(of, self.times[which], len(some)).astype(np.int64)
        yield from zip(self.columns.names[0].named(some.tolist()), counts.tolist(), strict=True)


class PlaceColumns:
    """Places as columns in a scratch. ``times`` is how often each uses its label (a label on
    several nuggets of an answer), once if not given."""

    def __init__(
        self,
        places: Iterable[Place] = (),
        times: Iterable[int] | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        scratch = scratch or Scratch()
        self.names = (_Names(scratch), _Names(scratch), _Names(scratch))
        self._codes = Numbers(scratch, "I")
        self._times = None if times is None else Numbers(scratch, "I")
        if self._times is not None:
            self._times.extend(times or ())
        self.add(places)

    def add(self, places: Iterable[Place]) -> None:
        """Append places."""
        remaining = iter(places)
        while some := list(islice(remaining, _BLOCK)):
            columns = zip(self.names, zip(*some, strict=True), strict=True)
            codes = [np.frombuffer(names.codes(own), np.uint32) for names, own in columns]
            self._codes.extend(np.stack(codes, axis=1).tobytes())

    def some(self, begin: int, end: int) -> SomePlaces:
        """The places from ``begin`` to before ``end``."""
        codes = np.frombuffer(self._codes.slice(3 * begin, 3 * end), np.uint32).reshape(-1, 3)
        if self._times is None:
            return SomePlaces(self, codes, np.ones(len(codes), np.uint32))
        return SomePlaces(self, codes, np.frombuffer(self._times.slice(begin, end), np.uint32))

    def named(self, codes: npt.NDArray[np.uint32]) -> Iterator[Place]:
        """The places with these numbers of names."""
        pairs = zip(self.names, codes.T.tolist(), strict=True)
        # tuple.__new__ is what Place(...) calls, without the overhead.
        return map(_place, zip(*(names.named(column) for names, column in pairs), strict=True))


class UsedLabels(Iterable[Used]):
    """The labels that counted and where they were used, in the order of use. They are stored in
    ``scratch`` and read in blocks. Labels whose numbers are in ``beside`` count together with
    another label of the same unit, as when several people's are averaged."""

    def __init__(self, used: Iterable[Used] = ()) -> None:
        self.scratch = Scratch()
        self.beside: set[int] = set()
        self._noted: list[tuple[LabelRow, PlaceColumns]] = []
        self._last: tuple[LabelRow, PlaceColumns] | None = None
        for one in used:
            self.note(*one)

    def note(self, label: Label, place: Place, by_unit: UnitLabels | None = None) -> None:
        """Add a use of a label, which may be in the columns of ``by_unit``."""
        if self._last is None or self._last[0].by_unit is not by_unit:
            self._last = LabelRow(by_unit, self.scratch), PlaceColumns(scratch=self.scratch)
            self._noted.append(self._last)
        labels, places = self._last
        labels.add(label)
        places.add((place,))

    def note_all(self, labels: LabelRow, places: PlaceColumns) -> None:
        """Add the uses of a row of labels. Where the row has none, nothing was used."""
        self._noted.append((labels, places))
        self._last = None

    @property
    def _parts(self) -> Iterator[tuple[CountedLabels, SomePlaces]]:
        for labels, places in self._noted:
            for begin in range(0, len(labels), _BLOCK):
                end = min(begin + _BLOCK, len(labels))
                yield labels[begin:end], places.some(begin, end)

    def __iter__(self) -> Iterator[Used]:
        for labels, places in self._parts:
            which = np.flatnonzero(labels.present)
            for at, place in zip(which.tolist(), places.at(which), strict=True):
                label = labels[at]
                if label is not None:
                    yield Used(label, place)

    def rows(self) -> Iterator[tuple[int, Place]]:
        """The number of each label in the ledger, and where it was used."""
        for numbers, places, which in self.columns():
            yield from zip(numbers.tolist(), places.at(which), strict=True)

    def topics(self, numbers: Collection[int]) -> dict[int, str]:
        """The topic in which each of the labels with these numbers is (last) used."""
        wanted, found = np.array(sorted(numbers), dtype=np.int64), dict[int, str]()
        for own, places, which in self.columns():
            some = np.isin(own, wanted)
            topics = (place.topic for place in places.at(which[some]))
            found.update(zip(own[some].tolist(), topics, strict=True))
        return found

    def columns(self) -> Iterator[tuple[Integers, SomePlaces, Integers]]:
        """The labels' numbers in the ledger, places, and the indexes of those of use, in blocks."""
        for labels, places in self._parts:
            which = np.flatnonzero(labels.present)
            yield labels.numbers(which), places, which

    def count(self, key: Callable[[Label], K]) -> dict[K, int]:
        """The number of different labels for each value of ``key``, which must be equal for labels
        of the same task, labeller and detail."""
        seen, found = defaultdict[K, SeenNumbers](SeenNumbers), Counter[K]()
        for labels, _ in self._parts:
            for own, which in _by(key, labels):
                found[own] += len(seen[own].new(labels.numbers(which)))
        return dict(found)

    def by_run(self) -> dict[str, dict[str, tuple[int, int]]]:
        """By task and run: the number of uses with a label, and of those with a person's."""
        found: dict[str, dict[str, tuple[int, int]]] = {}
        beside = list(self.beside)
        for labels, places in self._parts:
            for (task, human), which in _by(lambda one: (one.task, one.labeller.is_human), labels):
                of_task = found.setdefault(task, {})
                alone = which[~np.isin(labels.numbers(which), beside)] if beside else which
                for run, count in places.by_run(alone):
                    if run and count:
                        every, people = of_task.get(run, (0, 0))
                        of_task[run] = every + count, people + count * human
        return found

    def of_kind(self, kind: str) -> Iterator[Label]:
        """The labels by labellers of a kind, once for each place."""
        for labels, _ in self._parts:
            rows = [which for label, which in labels.by_kind() if label.labeller.kind == kind]
            found = (labels[at] for at in sorted(at for which in rows for at in which.tolist()))
            yield from (one for one in found if one is not None)


def _by(key: Callable[[Label], K], labels: CountedLabels) -> Iterator[tuple[K, Integers]]:
    """Group labels by a key that is equal for labels of the same task, labeller and detail, and
    yield their indexes. (A judge that states probabilities has hardly two equal details.)"""
    found: dict[K, list[Integers]] = {}
    for label, which in labels.by_kind():
        found.setdefault(key(label), []).append(which)
    for own, each in found.items():
        yield own, np.concatenate(each)


class WhereUsed:
    """Finds the places where a unit's labels are used, including for labels that do not count."""

    def __init__(self, used: Iterable[Used]) -> None:
        units: dict[str, dict[Place, None]] = {}
        self._units = units
        # A label that counts under another task is used for a unit of that task.
        self._others: dict[int, set[str]] = {}
        for label, place in used:
            units.setdefault(label.unit, {})[place] = None
            self._others.setdefault(label.rowid, set()).add(label.unit)

    def of(self, unit: str, rowid: int = 0) -> tuple[Place, ...]:
        """Where labels of a unit, or the label with the number ``rowid``, are used."""
        places: dict[Place, None] = {}
        for one in sorted({unit} | self._others.get(rowid, set())):
            places.update(self._units.get(one, {}))
        return tuple(places)
