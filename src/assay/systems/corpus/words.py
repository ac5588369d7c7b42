"""Word lists, written as text."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The entries of ``text`` in order: separated by semicolons if it holds any, else by blanks."""
    parts = text.split(";") if ";" in text else text.split()
    return tuple(" ".join(part.split()) for part in parts if part.strip())


def name_set(text: str) -> frozenset[str]:
    """The entries of ``text``, for look-ups."""
    return frozenset(listed(text))
