"""What the command line says of a parameter, at it: ``n: Annotated[int, Option(…)]``."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Argument(NamedTuple):
    """A parameter of a command that is known by its place."""

    metavar: str | None = None
    help: str | None = None


class Option(NamedTuple):
    """A parameter of a command or another function, or a field of a dataclass, that is an option.

    ``flag`` is how it is written where that is not its name (``-o --out``, ``--on/--off``);
    ``least`` and ``most`` are its ends; ``of`` are the words that there are, where a function takes
    a text. One that is true by itself is written ``--NAME`` and ``--no-NAME``.
    """

    help: str
    flag: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    of: type[StrEnum] | None = None
