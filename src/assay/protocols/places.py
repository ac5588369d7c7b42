"""Where labels are used: a label is about a content, which several runs and topics may hold."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from assay.model.labels import Label
from assay.protocols.counted import CountedLabels, LabelRow

if TYPE_CHECKING:
    from assay.protocols.book import Book

K = TypeVar("K", bound=Hashable)
Numbers = npt.NDArray[np.int64]

_KNOWN = 10_000  # names of a column that are looked up; more are not worth it


class Place(NamedTuple):
    """A place that a label is used at. What a label is not about is empty: a grade of a passage
    belongs to no run, and ``position`` (``nugget 3``, ``sentence 2 citation 1``) says the rest."""

    run: str = ""
    topic: str = ""
    position: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


class Used(NamedTuple):
    """A label that counted, and where."""

    label: Label
    place: Place


class _Names:
    """A column of names. The first that differ are held once each; where still more differ (a
    passage with a question, say) each is a piece of one text."""

    def __init__(self) -> None:
        self.codes = array("B")
        self._known: dict[str, int] = {}
        self._text = bytearray()
        self._ends = array("Q", [0])
        self._last: tuple[str | None, int] = (None, 0)

    def append(self, name: str) -> None:
        code = self._last[1] if name == self._last[0] else self._known.get(name)
        if code is None:
            code = len(self)
            if code < _KNOWN:
                self._known[name] = code
            else:
                self._text += name.encode(errors="surrogatepass")
                self._ends.append(len(self._text))
        self._last = name, code
        try:
            self.codes.append(code)
        except OverflowError:  # names are more than so few bytes can tell
            self.codes = array("H" if code < 1 << 16 else "I", self.codes)
            self.codes.append(code)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._known) + len(self._ends) - 1

    def at(self, which: npt.NDArray[Any]) -> Iterator[str]:
        """The names at some places of the column."""
        known = list(self._known)
        for code in np.frombuffer(self.codes, self.codes.typecode)[which].tolist():
            if code < len(known):
                yield known[code]
            else:
                begin, end = self._ends[code - len(known) : code - len(known) + 2]
                yield self._text[begin:end].decode(errors="surrogatepass")

    def counts(
        self, which: npt.NDArray[Any], times: npt.NDArray[np.int64] | None
    ) -> Iterator[tuple[str, int]]:
        """How often each name stands at these places, or how many ``times`` in all."""
        codes = np.frombuffer(self.codes, self.codes.typecode)[which]
        some, at = np.unique(codes, return_index=True)
        counts = np.bincount(codes, times, len(self))[some]
        yield from zip(self.at(which[at]), counts.astype(np.int64).tolist(), strict=True)


class PlaceColumns:
    """Places as columns. ``times`` is how often each uses its label (a label on several nuggets of
    an answer), unless it is once."""

    def __init__(self, places: Iterable[Place] = (), times: Sequence[int] = ()) -> None:
        self._columns = (_Names(), _Names(), _Names())
        self._times = np.array(times, np.int64) if times else None
        self.add(places)

    def add(self, places: Iterable[Place]) -> None:
        """Add places behind the others."""
        runs, topics, positions = (one.append for one in self._columns)
        for run, topic, position in places:
            runs(run)
            topics(topic)
            positions(position)

    def at(self, which: npt.NDArray[Any]) -> Iterator[Place]:
        """Some of the places."""
        yield from map(Place, *(one.at(which) for one in self._columns))

    def by_run(self, which: npt.NDArray[np.int64]) -> Iterator[tuple[str, int]]:
        """How often some places of each run use their labels."""
        return self._columns[0].counts(which, None if self._times is None else self._times[which])


class UsedLabels(Iterable[Used]):
    """The labels that counted and the places where they were used, in the order of use."""

    def __init__(self, used: Iterable[Used] = ()) -> None:
        self._noted: list[tuple[CountedLabels | LabelRow, PlaceColumns]] = []
        for one in used:
            self.note(*one)

    def note(self, label: Label, place: Place, book: Book | None = None) -> None:
        """Add a use of a label, which may be among those of ``book``."""
        labels, places = self._noted[-1] if self._noted else (None, None)
        if not isinstance(labels, LabelRow) or places is None or labels.book is not book:
            labels, places = LabelRow(book), PlaceColumns()
            self._noted.append((labels, places))
        labels.add(label)
        places.add((place,))

    def note_all(self, labels: CountedLabels, places: PlaceColumns) -> None:
        """Add the uses of a row of labels; where there is none, nothing was used."""
        self._noted.append((labels, places))

    @property
    def _parts(self) -> Iterator[tuple[CountedLabels, PlaceColumns]]:
        for labels, places in self._noted:
            yield labels.row() if isinstance(labels, LabelRow) else labels, places

    def __iter__(self) -> Iterator[Used]:
        for labels, places in self._parts:
            which = np.flatnonzero(labels.there)
            for at, place in zip(which.tolist(), places.at(which), strict=True):
                label = labels[at]
                if label is not None:
                    yield Used(label, place)

    def rows(self) -> Iterator[tuple[int, Place]]:
        """The number of each label in the ledger, and where it was used."""
        for numbers, places, which in self.columns():
            yield from zip(numbers.tolist(), places.at(which), strict=True)

    def columns(self) -> Iterator[tuple[Numbers, PlaceColumns, Numbers]]:
        """The same as columns: numbers of labels, and which of some places are theirs."""
        for labels, places in self._parts:
            which = np.flatnonzero(labels.there)
            yield labels.numbers(which), places, which

    def count(self, key: Callable[[Label], K]) -> dict[K, int]:
        """How many different labels there are by ``key``, which is the same for labels that are
        alike in task, labeller and detail."""
        numbers: defaultdict[K, array[int]] = defaultdict(lambda: array("q"))
        for labels, _ in self._parts:
            for label, which in labels.by_kind():
                numbers[key(label)].frombytes(labels.numbers(which).tobytes())
        return {
            one: len(np.unique(np.frombuffer(every, np.int64))) for one, every in numbers.items()
        }

    def by_run(self) -> dict[str, dict[str, tuple[int, int]]]:
        """By task and run, how often a label was used and how often a person's was."""
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for labels, places in self._parts:
            for label, which in labels.by_kind():
                of_task = found.setdefault(label.task, {})
                for run, count in places.by_run(which):
                    if run and count:
                        every, human = of_task.get(run, (0, 0))
                        of_task[run] = every + count, human + count * label.labeller.is_human
        return found

    def of_kind(self, kind: str) -> Iterator[Label]:
        """The labels by labellers of a kind, once for each place."""
        for labels, _ in self._parts:
            rows = [which for label, which in labels.by_kind() if label.labeller.kind == kind]
            found = (labels[at] for at in sorted(at for which in rows for at in which.tolist()))
            yield from (one for one in found if one is not None)


class WhereUsed:
    """The places of labels, also of those that do not count but are about the same."""

    def __init__(self, used: Iterable[Used]) -> None:
        units: dict[str, dict[Place, None]] = {}
        self._units = units
        # What a label says under another task than its own is about a unit of that task.
        self._others: dict[int, set[str]] = {}
        for label, place in used:
            units.setdefault(label.unit, {})[place] = None
            self._others.setdefault(label.rowid, set()).add(label.unit)

    def of(self, unit: str, rowid: int = 0) -> tuple[Place, ...]:
        """Where the labels of a unit, or the label with the number ``rowid``, are used."""
        places: dict[Place, None] = {}
        for one in sorted({unit} | self._others.get(rowid, set())):
            places.update(self._units.get(one, {}))
        return tuple(places)
