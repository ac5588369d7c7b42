"""Counts of what happened to a page's templates, and of the words lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

_LONGEST_NAME = 80
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class Fate(StrEnum):
    """What happens to a template. ``rendered``: written out as on the wiki. ``unwrapped``: unknown,
    so the texts of its parameters are shown. ``dropped``: not shown."""

    RENDERED = "rendered"
    UNWRAPPED = "unwrapped"
    DROPPED = "dropped"


class Became(NamedTuple):
    """Templates of one name and fate. ``lost`` counts words of two or more letters in their
    parameters that are not in the text."""

    name: str
    fate: str
    times: int
    lost: int


class Account:
    """Counts of templates by name and fate."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[int]] = {}

    def note(self, name: str, fate: str, times: int, lost: int) -> None:
        """Add to the counts of templates of this name and fate."""
        row = self._rows.setdefault((name[:_LONGEST_NAME], fate), [0, 0])
        row[0] += times
        row[1] += lost

    def compared(self, name: str, fate: Fate, values: Iterable[str], text: str) -> None:
        """Count a template with these values that became ``text``; values not in it are lost."""
        lost = sum(words(value) for value in values if value not in text)
        self.note(name, fate, 1, lost)

    def add(self, rows: Iterable[Sequence[str | int]]) -> None:
        """Add the rows of another account."""
        for name, fate, times, lost in rows:
            self.note(str(name), str(fate), int(times), int(lost))

    @property
    def rows(self) -> list[Became]:
        """The counts, most words lost first, then most frequent."""
        found = [Became(*key, *counts) for key, counts in self._rows.items()]
        return sorted(found, key=lambda row: (-row.lost, -row.times, row.name, row.fate))


def words(text: str) -> int:
    """The number of words of two or more letters."""
    return len(_LETTERS.findall(text))
