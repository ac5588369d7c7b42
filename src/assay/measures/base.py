"""What every ranking measure is: parameters, a name, and the checks before it scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from numbers import Integral
from typing import Any, ClassVar, Self

__all__ = ["RELEVANT", "APNorm", "Gain", "Grades", "Measure", "count_relevant"]

Grades = Sequence[float | None]
"""The grades of a ranked list, best rank first; ``None`` marks an unjudged document."""

_LARGEST_CUTOFF = 10**9

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
        if self is Gain.LINEAR:  # as ``of``, without a call a grade
            return [0.0 if grade is None or grade <= 0 else float(grade) for grade in grades]
        return [self.of(grade) for grade in grades]


class APNorm(StrEnum):
    """What average precision at k divides by: ``R`` (trec_eval) or ``min`` (k, R) (NTCIREVAL)."""

    R = "R"
    MIN = "min"


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A ranking measure with its parameters; equal parameters make equal, hashable measures.

    ``measure @ k`` is the same measure with the cutoff *k*, ``measure(name=value)`` with other
    parameters: ``nDCG(gain="exp") @ 20``.

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
    only_gains: ClassVar[bool] = False
    """Whether a document of grade 0 or below is the same to it as one that was not judged."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "k":
                object.__setattr__(self, field.name, _typed(self, field.name, field.default))
        if self.k is None:
            pass
        elif self.cutoff == "none":
            raise ValueError(f"{self.name} takes no cutoff, but @{self.k} was given")
        elif (
            isinstance(self.k, bool)
            or not isinstance(self.k, Integral)
            or not 1 <= self.k <= _LARGEST_CUTOFF
        ):
            raise ValueError(
                f"the cutoff of {self.name} must be a whole number from 1 to {_LARGEST_CUTOFF}, "
                f"got {self.k}"
            )
        else:
            object.__setattr__(self, "k", int(self.k))

    def __matmul__(self, k: int) -> Self:
        """Return this measure with the cutoff *k*.

        Raises:
            ValueError: *k* is not a whole number from 1, or the measure takes no cutoff.
        """
        return replace(self, k=k)

    def __call__(self, **parameters: Any) -> Self:
        """Return this measure with other parameters.

        Raises:
            ValueError: a parameter is unknown or outside its range.
        """
        known = [field.name for field in fields(self)]
        for name in parameters:
            if name not in known:
                raise ValueError(
                    f"{self.name} has no parameter {name!r}; its parameters: {', '.join(known)}"
                )
        return replace(self, **parameters)

    def ready(self) -> Self:
        """Return this measure if it can score as it is.

        Raises:
            ValueError: it needs a cutoff and has none.
        """
        if self.k is None and self.cutoff == "required":
            raise ValueError(f"{self.name} needs a cutoff, for example {self.name}@10")
        return self

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
            ValueError: a grade or *g_max* is NaN or infinite, a grade exceeds *g_max* in a
                measure that uses *g_max*, or the measure needs a cutoff and has none.
        """
        self.ready()
        shown = grades if self.k is None else grades[: self.k]
        if not math.isfinite(sum([grade for grade in shown if grade is not None])):
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


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _typed(measure: Measure, name: str, default: object) -> object:
    """Return a parameter's value as the type of its default."""
    value = getattr(measure, name)
    if isinstance(default, StrEnum):
        try:
            return type(default)(value)
        except ValueError:
            choices = ", ".join(type(default))
            raise ValueError(
                f"{name} of {measure.name} must be one of {choices}, got {value!r}"
            ) from None
    if isinstance(default, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} of {measure.name} must be a number, got {value!r}")
        return float(value)
    return value


def _plain(value: object) -> str:
    """Write a parameter value so that it parses back to the same: ``2``, ``0.99``, ``exp``."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def count_relevant(ideal: Sequence[float], rel: float = RELEVANT) -> int:
    """Return R, the number of judged documents with a grade of at least *rel*."""
    return len([grade for grade in ideal if grade >= rel])
