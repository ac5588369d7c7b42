"""Lookup of judged documents among very many: by hash, then by comparing ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from assay.formats.trec_fast.columns import LONGEST, PAD, Column, Words, hashed
from assay.measures.arrays import Integers
from assay.measures.judgements import Judgements


def spread(numbers: Integers) -> Words:
    """Spread small numbers over 64 bits."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


class Index:
    """An index of the judged documents, by hash."""

    def __init__(self, judged: Judgements) -> None:
        ids = "".join(chain.from_iterable(judged.grades.values()))
        size = len if ids.isascii() else lambda text: len(text.encode())
        every = map(size, chain.from_iterable(judged.grades.values()))
        lengths = np.fromiter(every, np.int64, len(judged.lists))
        self.usable = int(lengths.max(initial=0)) <= LONGEST
        if not self.usable:
            return
        starts = np.cumsum(lengths) - lengths + PAD
        column = Column(b"".join([bytes(PAD), ids.encode(), bytes(PAD)]), starts, lengths)
        words = list(column.words())
        keys = hashed(lengths, words) ^ spread(judged.lists)
        self.order = np.lexsort((keys,))
        self.keys, self.lengths = keys[self.order], lengths[self.order]
        self.words = [word[self.order] for word in words]
        self.usable = not (self.keys[1:] == self.keys[:-1]).any()
        # Most keys are found by their first bits, in a table that fits into the processor's cache.
        # It has the first of all keys that share these; the others follow, as keys are sorted.
        self.shift = np.uint64(64 - min(max(len(keys) * 8, 1 << 10).bit_length(), 24))
        slots = _slots(self.keys, self.shift)
        self.first = np.full(1 << (64 - int(self.shift)), -1, np.min_scalar_type(-len(keys) - 1))
        # Reversed, so that the first key of each slot is kept.
        self.first[slots[::-1]] = np.arange(len(keys))[::-1]

    def find(
        self, keys: Words, lengths: Integers, words: Sequence[Words]
    ) -> tuple[Integers, Integers] | None:
        """Find judged documents among many.

        ``keys``: for each document, the hash of its id, mixed with its topic's number. ``lengths``:
        the length of its id in bytes. ``words``: its id, eight bytes at a time. Returns the rows
        that are judged and the number of the judgement of each; None if two ids share a hash.
        """
        if not len(self.keys):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        slots = _slots(keys, self.shift)
        places = self.first[slots]
        rows = np.flatnonzero(places >= 0)
        places, wanted = places[rows].astype(np.int64), keys[rows]
        others = np.flatnonzero(self.keys[places] != wanted)
        if len(others):
            # If the first key of the slot differs, the others of the slot are tried, if any.
            following = self.keys[np.minimum(places[others] + 1, len(self.keys) - 1)]
            among = others[_slots(following, self.shift) == slots[rows[others]]]
            found = np.searchsorted(self.keys, wanted[among])
            places[among] = np.minimum(found, len(self.keys) - 1)
            equal = np.flatnonzero(self.keys[places] == wanted)
            rows, places = rows[equal], places[equal]
        same = lengths[rows] == self.lengths[places]
        for mine, theirs in zip(words, self.words, strict=False):
            same &= mine[rows] == theirs[places]
        return (rows, self.order[places]) if same.all() else None


def _slots(keys: Words, shift: np.uint64) -> Integers:
    return (keys >> shift).view(np.int64)
