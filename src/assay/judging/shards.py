"""Shards: disjoint parts of an evaluation's questions, for several machines.

A question's shard depends only on the content of its unit, so it is the same on every machine,
whatever else is asked and in whatever order. Units that begin alike (one passage, several claims)
are in the same shard, so that the server that has the passage in its cache gets all of them.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from assay.labellers.base import Request
from assay.model.errors import SettingsError
from assay.tasks.base import canonical

_BEGINNING = 256
"""Units are kept together if their first fields are equal and have at least this many characters.
A shorter common prefix saves no time, and a question that all passages of a topic share would make
shards uneven."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard ``number`` (from 1) of ``count``."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``2/8``. Raises SettingsError if ``text`` is not a shard."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", str(text).strip(), re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise SettingsError(
                f"--shard {text!r} is not valid. Write NUMBER/COUNT, e.g. 2/8 for the second of "
                "eight."
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, request: Request) -> bool:
        """Whether the request belongs to this shard."""
        return self.of(request) == self.number

    def of(self, request: Request) -> int:
        """The number of the shard that a request belongs to."""
        beginning: list[object] = []
        size = 0
        for value in request.content.values():
            beginning.append(value)
            size += len(value) if isinstance(value, str) else len(canonical(value))
            if size >= _BEGINNING:
                break
        digest = hashlib.sha256(canonical(beginning)).digest()
        return int.from_bytes(digest[:8]) % self.count + 1
