"""Shards: an evaluation's questions in disjoint shares, for several machines.

A question's shard is a function of its unit's content alone: the same on every machine and in any
order, whatever else is asked. Units that begin alike (the same passage, with another claim) are in
one shard, so that the server which has read a passage is asked all about it.
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
"""Characters that a unit's first fields must come to, for units that share them to be kept
together: a prompt of which less is shared is read anew as fast, and a question that all passages
of a topic share would make shards uneven."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The share ``number`` (from 1) of ``count``."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """``2/8`` as a shard. Raises SettingsError for what is none."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", str(text).strip(), re.ASCII)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise SettingsError(
                f"--shard {text!r} names no share. Write NUMBER/COUNT, such as 2/8 for the second "
                "of eight."
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, request: Request) -> bool:
        """Whether the request is of this share."""
        return self.of(request) == self.number

    def of(self, request: Request) -> int:
        """The number of the share that a request is of."""
        beginning: list[object] = []
        size = 0
        for value in request.content.values():
            beginning.append(value)
            size += len(value) if isinstance(value, str) else len(canonical(value))
            if size >= _BEGINNING:
                break
        digest = hashlib.sha256(canonical(beginning)).digest()
        return int.from_bytes(digest[:8]) % self.count + 1
