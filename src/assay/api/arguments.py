"""Arguments that a script gave: what is of another kind is told by the argument's name, before
anything is asked or written."""

from __future__ import annotations

from numbers import Integral, Real


def number_of(given: float | None, name: str, what: str) -> float | None:
    """A number, or None. Raises TypeError, which says ``what`` of the argument ``name`` is wanted,
    for anything else."""
    if given is None or (isinstance(given, Real) and not isinstance(given, bool)):
        return given
    raise TypeError(f"{name} must be {what}, not {given!r:.80}")


def whole_of(given: int, name: str, what: str) -> int:
    """A whole number that is not below 0. Raises TypeError, or ValueError, as above."""
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise TypeError(f"{name} must be {what}, not {given!r:.80}")
    if given < 0:
        raise ValueError(f"{name} must be {what}, not {given!r}")
    return int(given)


def text_of(given: str | None, name: str, what: str) -> str | None:
    """A text, or None. Raises TypeError as above."""
    if given is None or isinstance(given, str):
        return given
    raise TypeError(f"{name} must be {what}, not {given!r:.80}")


def budget_of(given: float | None) -> float | None:
    """The argument ``budget``."""
    return number_of(given, "budget", "a number of US dollars, or None for no limit")


def price_of(given: tuple[float, float] | None) -> tuple[float, float] | None:
    """The argument ``price``."""
    if given is None:
        return None
    wanted = "(IN, OUT), US dollars for a million tokens read and written"
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"price must be {wanted}, not {given!r:.80}")
    for one in given:
        if one is None or number_of(one, "price", wanted) is None:
            raise TypeError(f"price must be {wanted}, not {given!r:.80}")
    return given[0], given[1]
