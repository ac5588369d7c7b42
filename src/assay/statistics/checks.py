"""Checks of the input of statistics; the ``ValueError`` says what is wrong and where."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.confidence import refuse_masked

LARGEST = 1e100
"""No score or label may be larger, because sums of squares times counts would overflow."""


def numbers(values: npt.ArrayLike, what: str, *, missing: bool = False) -> Floats:
    """Convert ``values`` to an array of floats.

    ``values``: numbers in any shape; ``None`` and NaN mean missing. ``what``: the name of the
    values in messages, e.g. ``labels``. ``missing``: whether missing values are allowed; they are
    NaN in the result. Raises ValueError if a value is not a number, is infinite, beyond
    ±:data:`LARGEST` or masked, or is missing where this is not allowed.
    """
    refuse_masked(values, what)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"the {what} are not all numbers, or their rows differ in length"
        ) from None
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        place = ", ".join(str(i + 1) for i in np.argwhere(bad)[0]) or "1"
        raise ValueError(f"the {what} hold {array[bad].flat[0]} at position {place}")
    huge = np.abs(array) > LARGEST
    if huge.any():
        place = ", ".join(str(i + 1) for i in np.argwhere(huge)[0]) or "1"
        raise ValueError(
            f"the {what} hold {array[huge].flat[0]} at position {place}, and numbers beyond "
            f"{LARGEST:g} cannot be counted with: scale them down"
        )
    return array


def score_matrix(values: npt.ArrayLike) -> Floats:
    """Check a topics × runs matrix of scores. Raises ValueError if it is not two-dimensional, has
    fewer than 2 rows or columns, or a score is missing or infinite."""
    array = numbers(values, "scores (topic, run)")
    if array.ndim != 2:
        raise ValueError(f"give a matrix of topics × runs, got {array.ndim} dimensions")
    if min(array.shape) < 2:
        raise ValueError(
            f"{array.shape[0]} topics × {array.shape[1]} runs are too few: at least 2 topics"
            " and 2 runs are needed"
        )
    return array


def score_pair(x: npt.ArrayLike, y: npt.ArrayLike, *, least: int = 2) -> tuple[Floats, Floats]:
    """Check two lists of scores of the same length. Raises ValueError if they are not flat, differ
    in length, have fewer than ``least`` values, or contain anything but finite numbers."""
    first, second = numbers(x, "first scores"), numbers(y, "second scores")
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(f"give two flat lists, got shapes {first.shape} and {second.shape}")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first scores, but {len(second)} second ones")
    if len(first) < least:
        raise ValueError(f"{len(first)} pairs of scores are too few: at least {least} are needed")
    return first, second


def defined(value: float | np.floating) -> float | None:
    """``value`` as a float, or ``None`` if it is NaN or infinite."""
    return float(value) if math.isfinite(value) else None
