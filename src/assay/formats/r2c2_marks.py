"""Where in the bytes of an R2C2 answer run the marks of its nuggets belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from assay.model.rag import Nugget
from assay.model.scratch import Numbers, Scratch


class NuggetBlock(NamedTuple):
    """The nuggets of a question, with the byte offset of each one's mark and the length of the
    letter there."""

    nuggets: Sequence[Nugget]
    offsets: Sequence[int]
    lengths: Sequence[int]


class MarkPlaces:
    """The places of all nuggets of a file, in its order, six bytes each, in a scratch."""

    def __init__(self, scratch: Scratch) -> None:
        self._counts, self._nums = Numbers(scratch, "B"), Numbers(scratch, "B")
        self._offsets = Numbers(scratch, "I")  # no file is larger (assay.formats.text)
        self._lengths = Numbers(scratch, "B")

    def add(self, nums: bytes, offsets: Sequence[int], lengths: Sequence[int]) -> None:
        """Add the nuggets of the next answer, by their numbers."""
        self._counts.append(len(nums))
        self._nums.extend(nums)
        self._offsets.extend(offsets)
        self._lengths.extend(lengths)

    def blocks(self) -> Iterator[Iterator[tuple[int, int, int]]]:
        """The nuggets of each answer: number, the byte offset where the mark belongs, and the
        length of the letter there. To be gone through in this order, each to its end."""
        rest = zip(self._nums, self._offsets, self._lengths, strict=True)
        for count in self._counts:
            yield islice(rest, count)
