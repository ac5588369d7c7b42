"""Numbers, lists and texts of files in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

_LONGEST_QUOTE = 80


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 question``, ``2,000 questions``."""
    return f"{n:,} {named(n, one, many)}"


def named(n: int, one: str, many: str | None = None) -> str:
    """The noun that goes with a number: ``question`` with 1, else ``questions``."""
    return one if n == 1 else many or one + "s"


def in_order(one: object) -> tuple[object, ...]:
    """The key by which names are sorted: ``q2`` and ``q02`` before ``q10``. Scripts may have
    numbers for topics."""
    name = str(one)
    parts = re.split("([0-9]+)", name)
    digits = [part.lstrip("0") for part in parts[1::2]]
    numbers = [(len(one), one) for one in digits]  # int() takes no more than 4,300 digits
    return (*chain.from_iterable(zip(parts[::2], [*numbers, ()], strict=True)), name)


def listing(items: list[str], most: int = 12) -> str:
    """``a, b and c``, or the first ones and how many more there are."""
    if len(items) > most:
        return ", ".join(items[:most]) + f" and {len(items) - most:,} more"
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def printable(text: str) -> str:
    """``text`` with everything escaped that a terminal would act on or not show.

    Control characters, line breaks, text direction marks and lone surrogates become ``\\x1b``,
    ``\\u202e`` and so on, so that file text may go into messages.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def printable_lines(text: str) -> str:
    """The same of a text whose line breaks are meant."""
    return "\n".join(map(printable, text.split("\n")))


def quoted(text: str) -> str:
    """``text`` from a file, made printable, shortened and quoted for a message."""
    short = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return f"“{printable(short)}”"


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as rows of those that follow each other: the first and the last of each."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def span_text(span: tuple[int, int]) -> str:
    """``1–3``, or ``7``."""
    return "–".join(dict.fromkeys(map(str, span)))


def lasting(seconds: float) -> str:
    """How long something takes, as people say it: ``12 seconds``, ``3 minutes``, ``1.5 hours``."""
    if seconds < 90:
        return counted(round(seconds), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def sentence(said: object) -> str:
    """What was said, as an error says it, with a capital and a full stop."""
    text = str(said)
    return f"{text[:1].upper()}{text[1:]}."


def listed(items: Iterable[str], most: int = 40) -> str:
    """``a, b, c``, and how many more where there are more than ``most``."""
    every = [printable(item) for item in items]
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" … and {rest} more" if rest > 0 else "")
