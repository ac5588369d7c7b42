"""What every ranking measure is: parameters, a name, and the checks before it scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from inspect import get_annotations
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, dataclass_transform

from assay.measures.grades import Grades

if TYPE_CHECKING:
    from assay.measures.arrays import Floats
    from assay.measures.hits import Hits
    from assay.measures.judgements import Ideals

_LARGEST_CUTOFF = 10**9

MEASURES: dict[str, type[Measure]] = {}
"""Every measure of ranking that is defined somewhere, by the name it is written with."""


_ABOUT = {"name", "cutoff", "only_gains", "uses_g_max", "by_subtopic"}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Measure(ABC):
    """A ranking measure with its parameters; equal parameters make equal, hashable measures.

    What a class of measures annotates, other than what is said about it here, are its parameters
    with their defaults. (Not dataclasses: making a class of each takes longer than all else that a
    short command loads of Assay.)

    ``measure @ k`` is the same measure with the cutoff ``k``, ``measure(name=value)`` with other
    parameters: ``nDCG(gain="exp") @ 20``. Raises ValueError if a parameter is outside its range;
    the message names it and the range.
    """

    k: int | None = None
    """The cutoff: only the first *k* documents count. ``None`` means the whole list."""

    name: ClassVar[str]
    """The name before the parameters and the cutoff, e.g. ``nDCG``."""
    cutoff: ClassVar[str] = "optional"
    """``optional``, ``required`` or ``none``: whether the measure takes ``@k``."""
    only_gains: ClassVar[bool] = False
    """Whether a document of grade 0 or below is the same to it as one that was not judged."""
    uses_g_max: ClassVar[bool] = False
    """Whether it sets grades against the highest one of the scale, so that none may be above it."""
    by_subtopic: ClassVar[bool] = False
    """Whether it looks at the grades of each subtopic."""

    parameters: ClassVar[Mapping[str, Any]] = {}
    """The parameters but the cutoff, and their defaults."""

    def __init_subclass__(cls) -> None:
        """Make the measure known by its name. Raises TypeError if another measure has the
        name."""
        own = get_annotations(cls)
        cls.parameters = {**cls.parameters, **{n: vars(cls)[n] for n in own if n not in _ABOUT}}
        if "name" in vars(cls):
            known = MEASURES.setdefault(cls.name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{known.__module__}.{known.__qualname__} is called {cls.name}")
            MEASURES[cls.name] = cls

    def __init__(self, **given: Any) -> None:
        for name in given:
            if name != "k" and name not in self.parameters:
                known = ", ".join(("k", *self.parameters))
                raise ValueError(f"{self.name} has no parameter {name!r}; its parameters: {known}")
        for name, default in self.parameters.items():
            vars(self)[name] = self._typed(name, given.get(name, default), default)
        vars(self)["k"] = self._checked_cutoff(given.get("k"))
        self.check()

    def check(self) -> None:  # noqa: B027 (most have none)
        """Refuse parameters outside their range. Raises ValueError if a parameter is."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} cannot be changed; make another measure of it")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({shown})"

    def _checked_cutoff(self, k: Any) -> int | None:
        if k is None:
            return None
        if self.cutoff == "none":
            raise ValueError(f"{self.name} takes no cutoff, but @{k} was given")
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= int(k) <= _LARGEST_CUTOFF:
            raise ValueError(
                f"the cutoff of {self.name} must be a whole number from 1 to {_LARGEST_CUTOFF}, "
                f"got {k}"
            )
        return int(k)

    def __matmul__(self, k: int) -> Self:
        """This measure with the cutoff ``k``. Raises ValueError if ``k`` is not a whole
        number from 1, or the measure takes no cutoff."""
        return type(self)(**{**vars(self), "k": k})

    def __call__(self, **parameters: Any) -> Self:
        """This measure with other parameters. Raises ValueError if a parameter is unknown
        or outside its range."""
        return type(self)(**{**vars(self), **parameters})

    def ready(self) -> Self:
        """This measure if it can score as it is. Raises ValueError if it needs a cutoff
        and has none."""
        if self.k is None and self.cutoff == "required":
            raise ValueError(f"{self.name} needs a cutoff, for example {self.name}@10")
        return self

    def __str__(self) -> str:
        """The measure's name with the parameters that are not at their default."""
        shown = [
            f"{name}={_plain(vars(self)[name])}"
            for name, default in self.parameters.items()
            if vars(self)[name] != default
        ]
        arguments = f"({','.join(shown)})" if shown else ""
        return f"{self.name}{arguments}" + ("" if self.k is None else f"@{self.k}")

    def score(self, grades: Grades, ideal: Sequence[float], g_max: float) -> float:
        """Score one ranked list of one topic.

        ``grades``: grades in rank order, ``None`` for an unjudged document. ``ideal``: all judged
        grades of the topic, in any order. ``g_max``: the highest grade of the scale (a grade, not a
        gain). Returns the score, from 0 to 1 as long as ``ideal`` holds the relevant grades that
        ``grades`` shows. Raises ValueError if a grade or ``g_max`` is NaN or infinite, a grade
        exceeds ``g_max`` in a measure that uses ``g_max``, or the measure needs a cutoff and has
        none.
        """
        # It needs numpy, which a measure that is only named does not.
        from assay.measures.batch import score_lists  # noqa: PLC0415

        return float(score_lists(self, [grades], [ideal], g_max)[0])

    @abstractmethod
    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        """A score for each ranked list: the definition of the measure. ``hits``: the judged
        documents of the lists, cut at ``k``: a list for each topic, and for several runs run after
        run. ``judged``: the ideal list of each topic, and the highest grade of the scale."""

    def _typed(self, name: str, value: Any, default: Any) -> Any:
        """A parameter's value as the type of its default."""
        if isinstance(default, StrEnum):
            try:
                return type(default)(value)
            except ValueError:
                choices = ", ".join(type(default))
                raise ValueError(
                    f"{name} of {self.name} must be one of {choices}, got {value!r}"
                ) from None
        if isinstance(default, float) or isinstance(value, str) > isinstance(default, str):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name} of {self.name} must be a number, got {value!r}")
            return float(value)
        return value

    def _require(self, condition: bool, wanted: str) -> None:
        if not condition:
            raise ValueError(f"{self.name}: {wanted}")


def _plain(value: object) -> str:
    """Write a parameter value so that it parses back to the same: ``2``, ``0.99``, ``exp``."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
