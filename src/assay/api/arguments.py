"""Checks of arguments from scripts, before anything is asked or written."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

from assay.model.errors import SettingsError

E = TypeVar("E", bound=StrEnum)


def number_of(given: float | None, name: str, what: str) -> float | None:
    """Check for a number or None. Raises TypeError otherwise, saying that the argument ``name``
    must be ``what``."""
    if given is None or _is(Real, given):
        return given
    raise TypeError(f"{name} must be {what}, not {given!r:.80}")


def whole_of(given: int, name: str, what: str) -> int:
    """Check for an integer of at least 0. Raises TypeError or ValueError as :func:`number_of`."""
    if not _is(Integral, given):
        raise TypeError(f"{name} must be {what}, not {given!r:.80}")
    if given < 0:
        raise ValueError(f"{name} must be {what}, not {given!r}")
    return int(given)


def _is(kind: type, given: object) -> bool:
    """Whether an object is a number of a kind; Python counts bool among them, this does not."""
    return isinstance(given, kind) and not isinstance(given, bool)


def text_of(given: str, name: str, what: str = "a text") -> str:
    """Check for a str. Raises TypeError as :func:`number_of`."""
    if isinstance(given, str):
        return given
    raise TypeError(f"{name} must be {what}, not {given!r:.80}")


def budget_of(given: float | None) -> float | None:
    """Check the argument ``budget``."""
    return number_of(given, "budget", "a number of US dollars, or None for no limit")


def price_of(given: tuple[float, float] | None) -> tuple[float, float] | None:
    """Check the argument ``price``."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    if given is None or (pair and all(_is(Real, one) for one in given)):
        return given and (given[0], given[1])
    wanted = "(IN, OUT), US dollars per million tokens read and written"
    raise TypeError(f"price must be {wanted}, not {given!r:.80}")


def one_of(kind: type[E], value: str, name: str) -> E:
    """The member of ``kind`` with this value. Raises SettingsError listing the valid values of the
    argument ``name``."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(f"'{one.value}'" for one in kind)
        raise SettingsError(f"{name} is {value!r}; it must be one of {known}.") from None


def path_of(given: object, name: str) -> Path:
    """Convert the argument ``name`` to a Path. Raises TypeError if it is not a path."""
    if isinstance(given, str | PathLike) and isinstance(found := fspath(given), str):
        return Path(found)
    raise TypeError(f"{name} must be a path (a str or a Path), not {given!r}")


def path_or_none(given: object, name: str) -> Path | None:
    """:func:`path_of` for an optional argument."""
    return None if given is None else path_of(given, name)


def paths_of(given: object, name: str) -> tuple[Path, ...]:
    """:func:`path_of` for one or several paths; a single str is one path, not its characters."""
    if isinstance(given, str | bytes | PathLike) or not isinstance(given, Iterable):
        return (path_of(given, name),)
    return tuple(path_of(one, name) for one in given)
