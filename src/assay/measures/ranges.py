"""Ranges: the worst and best value of a measure, given the labels that are missing.

This is partial identification (Manski 2003, chapter 1). The example known in retrieval is the
residual of rank-biased precision (Moffat & Zobel 2008).
"""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterator, Mapping, ValuesView
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assay.measures.arrays import Floats

ROUNDING = 1e-12
"""Values up to 1 that differ by no more than this count as equal, because sums in different orders
round differently. For larger values it is a share of the largest."""


class Range(NamedTuple):
    """The worst (``floor``) and best (``ceiling``) value for the run, over everything that is
    missing. If lower is better (ECE, Brier), the floor is the greater number. The two are equal if
    nothing is missing, or the value does not depend on it."""

    floor: float
    ceiling: float

    @classmethod
    def certain(cls, value: float) -> Range:
        """The range of a value that does not depend on anything missing."""
        return cls(value, value)

    @property
    def value(self) -> float | None:
        """The value if it is certain, else None."""
        return self.floor if abs(self.floor - self.ceiling) <= ROUNDING else None


OPEN = Range(0.0, 1.0)
"""The range of a share of which nothing is known."""


class RangeIfDefined(Range):
    """The range of a measure that may be undefined, depending on what is missing."""

    __slots__ = ()

    @property
    def value(self) -> None:
        """None: the value is never certain."""
        return None


class Ranges(Mapping[str, Range]):
    """Ranges by name (for example by topic), held as arrays of floors and ceilings."""

    def __init__(self, index: Mapping[str, int], floors: Floats, ceilings: Floats) -> None:
        self._index = index
        self.floors, self.ceilings = floors, ceilings

    def __getitem__(self, name: str) -> Range:
        place = self._index[name]
        return Range(float(self.floors[place]), float(self.ceilings[place]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def items(self) -> ItemsView[str, Range]:
        """Names and ranges. Faster than looking up each name."""
        ranges = map(Range, self.floors.tolist(), self.ceilings.tolist())
        return dict(zip(self._index, ranges, strict=True)).items()

    def values(self) -> ValuesView[Range]:
        """The ranges."""
        return dict(self.items()).values()

    def of(self, names: Collection[str]) -> Ranges:
        """The ranges of some names, in the present order."""
        chosen = [name for name in self._index if name in names]
        places = [self._index[name] for name in chosen]
        index = {name: place for place, name in enumerate(chosen)}
        return Ranges(index, self.floors[places], self.ceilings[places])

    @property
    def uncertain(self) -> list[str]:
        """The names whose floor and ceiling differ."""
        names = list(self._index)
        differ = abs(self.floors - self.ceilings) > ROUNDING
        return [names[place] for place in differ.nonzero()[0].tolist()]

    @property
    def certain(self) -> list[float]:
        """All values, or an empty list if any of them is uncertain."""
        return [] if self.uncertain else self.floors.tolist()

    @property
    def mean(self) -> Range:
        """The mean of the ranges, of which there must be at least one."""
        floor, ceiling = (fsum(ends.tolist()) / len(self) for ends in (self.floors, self.ceilings))
        return Range(floor, ceiling)
