"""Checks of settings that measures and statistics share: a ``ValueError`` says what is wrong."""

from __future__ import annotations

import numpy as np


def probability(value: float, name: str) -> float:
    """``value``, which must lie strictly between 0 and 1. Raises ValueError if it does
    not."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value}")
    return float(value)


def whole_number(value: int, name: str, least: int = 1) -> int:
    """``value``, which must be a whole number of at least ``least``. Raises ValueError if
    it is not."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number from {least}, got {value}")
    return int(value)
