"""Numbers in sentences."""

from __future__ import annotations


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return ``1 question``, ``2,000 questions``."""
    return f"{n:,} {named(n, one, many)}"


def named(n: int, one: str, many: str | None = None) -> str:
    """Return the noun that goes with a number: ``question`` with 1, else ``questions``."""
    return one if n == 1 else many or one + "s"


def listing(items: list[str], most: int = 12) -> str:
    """Return ``a, b and c``, or the first ones and how many more there are."""
    if len(items) > most:
        return ", ".join(items[:most]) + f" and {len(items) - most:,} more"
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]
