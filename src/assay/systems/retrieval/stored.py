"""Unit vectors on disk, one row per passage, in half precision or 8 bits.

In 8 bits, a vector is stored as its components divided by their largest magnitude and scaled to
integers from -127 to 127, preceded by that magnitude over 127 as a 32-bit float.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.systems.retrieval.embedders import Vectors

_STEPS = 127


class Precision(StrEnum):
    """The precision of a component, 2 bytes or 1."""

    F16 = "f16"
    INT8 = "int8"


class Rows:
    """Vectors on disk, read as 32-bit floats by slices or arrays of row numbers."""

    def __init__(self, data: NDArray[Any]) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, which: slice | NDArray[np.int64] | list[int]) -> Vectors:
        part = self._data[which]
        values = np.asarray(part["values"], dtype=np.float32)
        return values * part["scale"][:, None] if "scale" in (part.dtype.names or ()) else values


@dataclass(frozen=True, slots=True)
class Packing:
    """The storage format of vectors of ``size`` components."""

    form: Precision
    size: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a row."""
        if self.form is Precision.F16:
            return np.dtype([("values", "<f2", (self.size,))])
        return np.dtype([("scale", "<f4"), ("values", "i1", (self.size,))])

    def packed(self, rows: Vectors) -> bytes:
        """The bytes of ``rows``. Reading these bytes and packing the result gives the same
        bytes."""
        made = np.zeros(len(rows), dtype=self.dtype)
        if self.form is Precision.F16:
            made["values"] = rows
        else:
            scale = (np.abs(rows).max(axis=1, initial=0.0) / _STEPS).astype(np.float32)
            made["scale"] = scale
            made["values"] = np.rint(rows / np.where(scale == 0, 1, scale)[:, None])
        return made.tobytes()

    def rows(self, path: Path, count: int) -> Rows:
        """Open ``count`` vectors in the file ``path``. Raises ValueError if it does not hold
        them."""
        if not count:
            return Rows(np.zeros(0, dtype=self.dtype))
        return Rows(np.memmap(path, dtype=self.dtype, mode="r", shape=(count,)))
