"""Numbers, lists and texts from files, worded for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

_LONGEST_QUOTE = 80


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun: ``1 question``, ``2,000 questions``."""
    return f"{n:,} {noun(n, one, many)}"


def noun(n: int, one: str, many: str | None = None) -> str:
    """The noun for a number: ``question`` for 1, otherwise ``questions``."""
    return one if n == 1 else many or one + "s"


def natural_key(value: object) -> tuple[object, ...]:
    """Sort key that puts ``q2`` and ``q02`` before ``q10``. Scripts may use numbers as topics."""
    name = str(value)
    parts = re.split("([0-9]+)", name)
    digits = [part.lstrip("0") for part in parts[1::2]]
    numbers = [(len(part), part) for part in digits]  # int() takes at most 4,300 digits
    return (*chain.from_iterable(zip(parts[::2], [*numbers, ()], strict=True)), name)


def and_list(items: list[str], most: int = 12) -> str:
    """``a, b and c``; of more than ``most`` items, the first ones and how many more there are."""
    if len(items) > most:
        return ", ".join(items[:most]) + f" and {len(items) - most:,} more"
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def printable(text: str) -> str:
    """``text`` with all characters escaped that a terminal would act on or not show.

    Control characters, line breaks, direction marks and lone surrogates become ``\\x1b``,
    ``\\u202e`` and so on, so that text from files is safe in messages.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def printable_lines(text: str) -> str:
    """Like :func:`printable`, but keeps line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def quoted(text: str) -> str:
    """Text from a file for a message: printable, shortened and in quotation marks."""
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return f"“{printable(short)}”"


def consecutive(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges of consecutive numbers: the first and the last number of each."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ranges


def range_text(bounds: tuple[int, int]) -> str:
    """A range of numbers: ``1–3``, or ``7``."""
    return "–".join(dict.fromkeys(map(str, bounds)))


def duration_text(seconds: float) -> str:
    """A duration in words: ``12 seconds``, ``3 minutes``, ``1.5 hours``."""
    if seconds < 90:
        return counted(round(seconds), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def as_sentence(error: object) -> str:
    """The text of an error with a capital letter and a full stop."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def joined(items: Iterable[str], most: int = 40) -> str:
    """``a, b, c``, made printable; of more than ``most`` items, the first and how many more."""
    every = [printable(item) for item in items]
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" … and {rest} more" if rest > 0 else "")
