"""Command-line options, declared at the parameter: ``n: Annotated[int, Option(…)]``."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Argument(NamedTuple):
    """A positional parameter of a command."""

    metavar: str | None = None
    help: str | None = None


class Option(NamedTuple):
    """An option: a parameter of a command or another function, or a field of a dataclass. ``flag``
    is its spelling if that is not its name (``-o --out``, ``--on/--off``); a flag that is true by
    default becomes ``--NAME/--no-NAME``. ``least`` and ``most`` bound a number. ``of`` lists the
    allowed words of a parameter that takes a str."""

    help: str
    flag: str = ""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    of: type[StrEnum] | None = None
