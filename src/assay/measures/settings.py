"""Checks of settings, shared by measures and statistics."""

from __future__ import annotations

import numpy as np


def probability(value: float, name: str) -> float:
    """Return ``value`` as a float. Raises ValueError if it is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value}")
    return float(value)


def whole_number(value: int, name: str, least: int = 1) -> int:
    """Return ``value`` as an int. Raises ValueError unless it is a whole number from ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number from {least}, got {value}")
    return int(value)
