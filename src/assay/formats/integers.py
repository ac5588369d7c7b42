"""Integers as the formats write them: in ASCII digits."""

from __future__ import annotations

_MOST_DIGITS = 9


def parse_integer(text: str) -> int | None:
    """An integer in ASCII digits with an optional minus sign, or None."""
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return int(text)
    return None
