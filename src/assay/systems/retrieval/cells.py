"""An inverted file over vectors, in which only the cells nearest to a query are searched.

Spherical k-means assigns vectors to cells; a query is compared with the centres, then with every
vector of the nearest cells. Method: Jégou, Douze and Schmid, *Product quantization for nearest
neighbor search* (TPAMI 2011), only the coarse part: without quantisation, so that scores are exact.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.systems.retrieval.embedders import Vectors
from assay.systems.retrieval.stored import Rows

FILE = "cells.npz"

_SAMPLE = 64  # vectors per cell to learn the centres from
_ROUNDS = 8
_CHUNK = 16_384
_SHARE = 16  # one cell in this many is searched
_FEWEST = 8  # fewest cells searched
_SEED = 20251013


class Cells:
    """Centres of the cells (one per row), and the members of all cells, cell after cell."""

    def __init__(
        self, centres: NDArray[np.float32], members: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> None:
        self._centres = centres
        self._members = members
        self._starts = starts

    @classmethod
    def open(cls, folder: Path) -> Cells:
        """Open the cells that :func:`build_cells` wrote into ``folder``."""
        with np.load(folder / FILE) as found:
            return cls(found["centres"], found["members"], found["starts"])

    def __len__(self) -> int:
        return len(self._centres)

    def members(self, query: NDArray[np.float32], least: int) -> NDArray[np.int64]:
        """The rows in the cells nearest to ``query``: one cell in 16, at least 8, and more until
        there are ``least`` rows."""
        nearest = np.argsort(-(self._centres @ query), kind="stable")
        wanted = max(_FEWEST, math.ceil(len(nearest) / _SHARE))
        parts: list[NDArray[np.int64]] = []
        count = 0
        for place, cell in enumerate(nearest):
            if place >= wanted and count >= least:
                break
            part = self._members[self._starts[cell] : self._starts[cell + 1]]
            parts.append(part)
            count += len(part)
        return np.concatenate(parts)


def build_cells(folder: Path, vectors: Rows) -> None:
    """Assign the rows of ``vectors`` to 2·√n cells and write these into ``folder``. The same
    vectors give the same cells."""
    chance = np.random.default_rng(_SEED)
    count = max(1, round(2 * math.sqrt(len(vectors))))
    chosen = np.sort(chance.choice(len(vectors), min(len(vectors), count * _SAMPLE), replace=False))
    sample = vectors[chosen]
    centres = sample[chance.choice(len(sample), count, replace=False)].copy()
    for _ in range(_ROUNDS):
        owner = _nearest(sample, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, owner, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        alive = lengths[:, 0] > 0
        centres[alive] = sums[alive] / lengths[alive]
    owner = _nearest(vectors, centres)
    members = np.argsort(owner, kind="stable").astype(np.int64)
    starts = np.searchsorted(owner[members], np.arange(count + 1)).astype(np.int64)
    fresh = folder / f".{FILE}.part.npz"
    np.savez(fresh, centres=centres, members=members, starts=starts)
    fresh.replace(folder / FILE)


def _nearest(vectors: Rows | Vectors, centres: Vectors) -> NDArray[np.int64]:
    owner = np.empty(len(vectors), dtype=np.int64)
    for start in range(0, len(vectors), _CHUNK):
        part = vectors[start : start + _CHUNK]
        owner[start : start + len(part)] = (part @ centres.T).argmax(axis=1)
    return owner
