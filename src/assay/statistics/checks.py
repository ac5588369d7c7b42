"""Checks of what the statistics are given: a ``ValueError`` says what is wrong and where."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.confidence import refuse_masked

LARGEST = 1e100
"""No score or label may be larger: sums of its square with counts would overflow."""


def numbers(values: npt.ArrayLike, what: str, *, missing: bool = False) -> Floats:
    """``values`` as an array of floats.

    ``values``: numbers in any shape; ``None`` and NaN mean missing. ``what``: the name of the
    values in messages, e.g. ``labels``. ``missing``: whether missing values are allowed; they are
    NaN in the result. Raises ValueError if something is not a number, is infinite or beyond
    ±:data:`LARGEST`, is masked, or is missing and must not be.
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
    """A complete topics × runs matrix of scores. Raises ValueError if it is not
    two-dimensional, too small, or a score is missing or infinite."""
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
    """Two flat arrays of equal length, at least ``least`` values each. Raises ValueError
    if they are not flat, differ in length, are too short or hold a non-number."""
    first, second = numbers(x, "first scores"), numbers(y, "second scores")
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(f"give two flat lists, got shapes {first.shape} and {second.shape}")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} first scores, but {len(second)} second ones")
    if len(first) < least:
        raise ValueError(f"{len(first)} pairs of scores are too few: at least {least} are needed")
    return first, second


def defined(value: float | np.floating) -> float | None:
    """``value`` as a float, ``None`` if it is NaN or infinite."""
    return float(value) if math.isfinite(value) else None
