"""What every ranking measure is: parameters, a name, and the checks before it scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

from assay.measures.grades import Grades

if TYPE_CHECKING:
    from assay.measures.hits import Floats, Hits
    from assay.measures.judgements import Ideals

__all__ = ["MEASURES", "Measure"]

_LARGEST_CUTOFF = 10**9

MEASURES: dict[str, type[Measure]] = {}
"""Every measure of ranking that is defined somewhere, by the name it is written with."""


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
    uses_g_max: ClassVar[bool] = False
    """Whether it sets grades against the highest one of the scale, so that none may be above it."""

    def __init_subclass__(cls) -> None:
        """Make the measure known by its name.

        Raises:
            TypeError: another measure has the name.
        """
        if "name" in vars(cls):
            known = MEASURES.setdefault(cls.name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{known.__module__}.{known.__qualname__} is called {cls.name}")
            MEASURES[cls.name] = cls

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
        # It needs numpy, which a measure that is only named does not.
        from assay.measures.batch import score_lists  # noqa: PLC0415

        return float(score_lists(self, [grades], [ideal], g_max)[0])

    @abstractmethod
    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        """Return a score for each ranked list: the definition of the measure.

        Args:
            hits: the judged documents of the lists, cut at *k*: a list for each topic, and for
                several runs run after run.
            judged: the ideal list of each topic, and the highest grade of the scale.
        """

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
