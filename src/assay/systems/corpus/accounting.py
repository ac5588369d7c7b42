"""What became of a page's templates: how often, and how many words were lost on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

_LONGEST_NAME = 80
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class Fate(StrEnum):
    """``rendered``: said in words as the wiki would. ``unwrapped``: not known, the texts of its
    parameters shown. ``dropped``: not shown."""

    RENDERED = "rendered"
    UNWRAPPED = "unwrapped"
    DROPPED = "dropped"


class Became(NamedTuple):
    """Templates of one name and one fate. ``lost``: words of two letters or more in their
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
        """Add to what is known of templates of this name."""
        row = self._rows.setdefault((name[:_LONGEST_NAME], fate), [0, 0])
        row[0] += times
        row[1] += lost

    def compared(self, name: str, fate: Fate, values: Iterable[str], text: str) -> None:
        """A template with these values became ``text``: a value that is not in it is lost."""
        lost = sum(words(value) for value in values if value not in text)
        self.note(name, fate, 1, lost)

    def add(self, rows: Iterable[Sequence[str | int]]) -> None:
        """Take up rows of another account."""
        for name, fate, times, lost in rows:
            self.note(str(name), str(fate), int(times), int(lost))

    @property
    def rows(self) -> list[Became]:
        """Most words lost first, then the commonest."""
        found = [Became(*key, *counts) for key, counts in self._rows.items()]
        return sorted(found, key=lambda row: (-row.lost, -row.times, row.name, row.fate))


def words(text: str) -> int:
    """Words of two letters or more."""
    return len(_LETTERS.findall(text))
