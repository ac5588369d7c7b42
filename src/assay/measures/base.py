"""What every ranking measure is: parameters, a name, and the checks before it scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar

__all__ = ["RELEVANT", "APNorm", "Gain", "Grades", "Measure", "count_relevant"]

Grades = Sequence[float | None]
"""The grades of a ranked list, best rank first; ``None`` marks an unjudged document."""

RELEVANT = 1.0
"""The lowest grade that counts as relevant unless a measure says otherwise."""


class Gain(StrEnum):
    """How a grade becomes a gain: ``linear`` (the grade) or ``exp`` (2^grade − 1)."""

    LINEAR = "linear"
    EXP = "exp"

    def of(self, grade: float | None) -> float:
        """Return the gain of a grade; 0 for ``None`` and for grades of 0 and below.

        Raises:
            ValueError: the exponential gain of the grade is too large for a float.
        """
        if grade is None or grade <= 0:
            return 0.0
        if self is Gain.LINEAR:
            return float(grade)
        try:
            return float(2.0 ** float(grade) - 1.0)
        except OverflowError:
            raise ValueError(f"the exponential gain of grade {grade} is too large") from None

    def all_of(self, grades: Iterable[float | None]) -> list[float]:
        """Return the gains of *grades*, in the same order."""
        return [self.of(grade) for grade in grades]


class APNorm(StrEnum):
    """What average precision at k divides by: ``R`` (trec_eval) or ``min`` (k, R) (NTCIREVAL)."""

    R = "R"
    MIN = "min"


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A ranking measure with its parameters; equal parameters make equal, hashable measures.

    Args:
        k: the cutoff: only the first *k* documents count. ``None`` means the whole list.

    Raises:
        ValueError: a parameter is outside its range; the message names it and the range.
    """

    k: int | None = None

    name: ClassVar[str]
    """The name before the parameters and the cutoff, e.g. ``nDCG``."""
    cutoff: ClassVar[str] = "optional"
    """``optional``, ``required`` or ``none``: whether the measure takes ``@k``."""

    def __post_init__(self) -> None:
        if self.k is None:
            if self.cutoff == "required":
                raise ValueError(f"{self.name} needs a cutoff, for example {self.name}@10")
        elif self.cutoff == "none":
            raise ValueError(f"{self.name} takes no cutoff, but @{self.k} was given")
        elif isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(
                f"the cutoff of {self.name} must be a whole number from 1, got {self.k}"
            )

    def __str__(self) -> str:
        """Return the measure's name with the parameters that are not at their default."""
        shown = [
            f"{field.name}={_plain(getattr(self, field.name))}"
            for field in fields(self)
            if field.name != "k" and getattr(self, field.name) != field.default
        ]
        arguments = f"({','.join(shown)})" if shown else ""
        return f"{self.name}{arguments}" + ("" if self.k is None else f"@{self.k}")

    def score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        """Score one ranked list of one topic.

        Args:
            grades: grades in rank order, ``None`` for an unjudged document.
            ideal: all judged grades of the topic, in any order.
            g_max: the highest grade of the scale (a grade, not a gain).

        Returns:
            The score, from 0 to 1 as long as *ideal* holds the relevant grades that *grades* shows.

        Raises:
            ValueError: a grade or *g_max* is NaN or infinite, or a grade exceeds *g_max* in a
                measure that uses *g_max*.
        """
        shown = grades if self.k is None else grades[: self.k]
        if not math.isfinite(sum(grade for grade in shown if grade is not None)):
            raise ValueError(f"a ranked grade is not a finite number: {list(shown)}")
        if not math.isfinite(sum(ideal)):
            raise ValueError(f"an ideal grade is not a finite number: {list(ideal)}")
        if not math.isfinite(g_max):
            raise ValueError(f"g_max is not a finite number: {g_max}")
        return float(self._score(shown, ideal, g_max))

    @abstractmethod
    def _score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        """Score grades that are checked and already cut at *k*."""

    def _best(self, ideal: Sequence[float]) -> list[float]:
        """Return the grades of the ideal list: the highest first, cut at *k*."""
        return sorted(ideal, reverse=True)[: self.k]

    def _require(self, condition: bool, wanted: str) -> None:
        if not condition:
            raise ValueError(f"{self.name}: {wanted}")


def _plain(value: object) -> str:
    """Write a parameter value so that it parses back to the same: ``2``, ``0.99``, ``exp``."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def count_relevant(ideal: Sequence[float], rel: float = RELEVANT) -> int:
    """Return R, the number of judged documents with a grade of at least *rel*."""
    return sum(grade >= rel for grade in ideal)
