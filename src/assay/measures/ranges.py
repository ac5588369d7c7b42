"""A value that hangs on what is missing: where it lies, worst and best (partial identification).

Source: Manski 2003, chapter 1; the residual of rank-biased precision (Moffat & Zobel 2008) is the
example that retrieval knows.
"""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterator, Mapping, ValuesView
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assay.measures.arrays import Floats

ROUNDING = 1e-12
"""Values of no more than 1 that differ by no more are one value, summed in two orders; so are
others that differ by no more than this share of the largest."""


class Range(NamedTuple):
    """A value's ``floor`` if everything missing turned out worst for the run, its ``ceiling`` if
    it turned out best. Where less is better (ECE, Brier) the floor is the greater number. Nothing
    is missing, or nothing hangs on it, where they are equal."""

    floor: float
    ceiling: float

    @classmethod
    def certain(cls, value: float) -> Range:
        """A value on which nothing is missing."""
        return cls(value, value)

    @property
    def value(self) -> float | None:
        """The value, where it is certain."""
        return self.floor if abs(self.floor - self.ceiling) <= ROUNDING else None


OPEN = Range(0.0, 1.0)
"""A value of which no more is known than that it is a share."""


class IfDefined(Range):
    """Where a value lies if there is one: whether the measure is defined at all hangs on what is
    missing, too."""

    __slots__ = ()

    @property
    def value(self) -> None:
        """Never certain."""
        return None


class Ranges(Mapping[str, Range]):
    """Ranges by name, such as those of topics, as two columns."""

    def __init__(self, places: Mapping[str, int], floors: Floats, ceilings: Floats) -> None:
        self._places = places
        self.floors, self.ceilings = floors, ceilings

    def __getitem__(self, name: str) -> Range:
        at = self._places[name]
        return Range(float(self.floors[at]), float(self.ceilings[at]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def items(self) -> ItemsView[str, Range]:
        """Name and range of each."""
        ends = map(Range, self.floors.tolist(), self.ceilings.tolist())
        return dict(zip(self._places, ends, strict=True)).items()

    def values(self) -> ValuesView[Range]:
        """The ranges."""
        return dict(self.items()).values()

    def of(self, names: Collection[str]) -> Ranges:
        """Those of some names, in the order of all."""
        chosen = [name for name in self._places if name in names]
        places = [self._places[name] for name in chosen]
        index = {name: place for place, name in enumerate(chosen)}
        return Ranges(index, self.floors[places], self.ceilings[places])

    @property
    def uncertain(self) -> list[str]:
        """The names of those that hang on what is missing."""
        names = list(self._places)
        apart = abs(self.floors - self.ceilings) > ROUNDING
        return [names[at] for at in apart.nonzero()[0].tolist()]

    @property
    def certain(self) -> list[float]:
        """The values; none at all where one of them is open."""
        return [] if self.uncertain else self.floors.tolist()

    @property
    def mean(self) -> Range:
        """The mean of them, of which there is at least one."""
        floor, ceiling = (fsum(ends.tolist()) / len(self) for ends in (self.floors, self.ceilings))
        return Range(floor, ceiling)
