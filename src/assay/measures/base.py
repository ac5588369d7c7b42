"""The base class of ranking measures: parameters, names, and checks before scoring."""

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
"""Every ranking measure that has been defined, by name."""

# Annotated attributes of Measure that describe a class of measures and are no parameters.
_CLASS_SETTINGS = {"name", "cutoff", "only_gains", "uses_g_max", "by_subtopic"}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Measure(ABC):
    """A ranking measure with its parameters.

    Measures are immutable and hashable, and equal if their parameters are equal. The parameters of
    a subclass are its annotated attributes, each with its default; the class attributes documented
    below are no parameters. (Subclasses are not dataclasses, because creating those would take
    most of the time in which a short command loads Assay.)

    ``measure @ k`` is the same measure with the cutoff ``k``, and ``measure(name=value)`` the same
    with another parameter: ``nDCG(gain="exp") @ 20``. Raises ValueError if a parameter is out of
    range; the message names the parameter and the range.
    """

    k: int | None = None
    """The cutoff: only the first *k* documents count. ``None`` means the whole list."""

    name: ClassVar[str]
    """The name before the parameters and the cutoff, e.g. ``nDCG``."""
    cutoff: ClassVar[str] = "optional"
    """``optional``, ``required`` or ``none``: whether the measure takes ``@k``."""
    only_gains: ClassVar[bool] = False
    """Whether documents of grade 0 or below count the same as unjudged ones."""
    uses_g_max: ClassVar[bool] = False
    """Whether grades are compared with the highest grade of the scale, which none may exceed."""
    by_subtopic: ClassVar[bool] = False
    """Whether the measure uses the grades of each subtopic."""

    parameters: ClassVar[Mapping[str, Any]] = {}
    """The default of each parameter except the cutoff."""

    def __init_subclass__(cls) -> None:
        """Register the measure under its name. Raises TypeError if another measure has the name."""
        own = [name for name in get_annotations(cls) if name not in _CLASS_SETTINGS]
        cls.parameters = {**cls.parameters, **{name: vars(cls)[name] for name in own}}
        if "name" in vars(cls):
            known = MEASURES.setdefault(cls.name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"{known.__module__}.{known.__qualname__} is called {cls.name}")
            MEASURES[cls.name] = cls

    def __init__(self, **parameters: Any) -> None:
        for name in parameters:
            if name != "k" and name not in self.parameters:
                known = ", ".join(("k", *self.parameters))
                raise ValueError(f"{self.name} has no parameter {name!r}; its parameters: {known}")
        for name, default in self.parameters.items():
            vars(self)[name] = self._coerced(name, parameters.get(name, default), default)
        vars(self)["k"] = self._checked_cutoff(parameters.get("k"))
        self.check()

    def check(self) -> None:  # noqa: B027 (most measures need no check)
        """Check the parameters. Raises ValueError if one is out of range."""

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
        """The same measure with the cutoff ``k``. Raises ValueError if ``k`` is not a whole
        number from 1, or the measure takes no cutoff."""
        return type(self)(**{**vars(self), "k": k})

    def __call__(self, **parameters: Any) -> Self:
        """The same measure with other parameters. Raises ValueError if one is invalid."""
        return type(self)(**{**vars(self), **parameters})

    def require_cutoff(self) -> Self:
        """Return the measure itself. Raises ValueError if it needs a cutoff and has none."""
        if self.k is None and self.cutoff == "required":
            raise ValueError(f"{self.name} needs a cutoff, for example {self.name}@10")
        return self

    def __str__(self) -> str:
        """The canonical name: parameters that have their default are left out."""
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
        gain). The score is from 0 to 1 if ``ideal`` includes the relevant grades in ``grades``.
        Raises ValueError if a grade or ``g_max`` is NaN or infinite, a grade exceeds ``g_max`` and
        the measure uses ``g_max``, or the measure needs a cutoff and has none.
        """
        # Imported here so that naming a measure does not load numpy.
        from assay.measures.batch import score_lists  # noqa: PLC0415

        return float(score_lists(self, [grades], [ideal], g_max)[0])

    @abstractmethod
    def scores(self, hits: Hits, judged: Ideals) -> Floats:
        """Score many ranked lists; this is the definition of the measure.

        ``hits``: the judged documents of the lists, already cut at ``k``. There is one list per
        topic; with several runs, the lists of one run follow those of another. ``judged``: the
        ideal list of each topic, and the highest grade of the scale. Returns one score per list.
        """

    def _coerced(self, name: str, value: Any, default: Any) -> Any:
        """The value of a parameter, converted to the type of its default."""
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

    def _require(self, condition: bool, message: str) -> None:
        if not condition:
            raise ValueError(f"{self.name}: {message}")


def _plain(value: object) -> str:
    """Format a parameter value so that it parses back to the same: ``2``, ``0.99``, ``exp``."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
