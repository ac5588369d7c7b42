"""The ranked lists that the lines of a block belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.formats.trec_blocks import Block
from assay.formats.trec_columns import Column
from assay.measures.hits import Integers

__all__ = ["Lists", "Names"]


class Names:
    """Topics as text. Most runs have the same ones in the same order: those are decoded once."""

    def __init__(self) -> None:
        self._seen: npt.NDArray[np.uint64] = np.zeros((0, 0), dtype=np.uint64)
        self._texts: list[str] = []

    def of(self, topics: Column) -> list[str]:
        """Return each token as text."""
        seen = np.stack([topics.lengths.astype(np.uint64), *topics.words()])
        if not np.array_equal(seen, self._seen):
            self._texts = list(map(topics.text, range(len(topics))))
            self._seen = seen
        return self._texts


@dataclass(frozen=True, slots=True)
class Lists:
    """The ranked lists of a block in order of appearance: file and topic of each."""

    files: Integers
    topics: list[str]
    rows: Integers
    """For every row the number of its list."""

    @classmethod
    def of(cls, block: Block, names: Names) -> Lists:
        files = np.searchsorted(block.files, block.lists, side="right") - 1
        seen: dict[tuple[int, str], int] = {}
        texts = [
            text
            for some in np.split(np.arange(len(files)), np.flatnonzero(np.diff(files)) + 1)
            for text in names.of(block.topics.rows(some))
        ]
        pairs = zip(files.tolist(), texts, strict=True)
        numbers = [seen.setdefault(pair, len(seen)) for pair in pairs]
        rows = np.repeat(np.array(numbers), np.diff(block.lists, append=len(block.documents)))
        return cls(np.array([file for file, _ in seen]), [topic for _, topic in seen], rows)
