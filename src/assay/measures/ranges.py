"""A value that hangs on what is missing: where it lies, worst and best (partial identification).

Source: Manski 2003, chapter 1; the residual of rank-biased precision (Moffat & Zobel 2008) is the
example that retrieval knows.
"""

from __future__ import annotations

from typing import NamedTuple

ROUNDING = 1e-12
"""Ends that differ by no more are one value, summed in two orders."""


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


class IfDefined(Range):
    """Where a value lies if there is one: whether the measure is defined at all hangs on what is
    missing, too."""

    __slots__ = ()

    @property
    def value(self) -> None:
        """Never certain."""
        return None
