"""Grades of documents: which are relevant, and how they become gains."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

Grades = Sequence[float | None]
"""The grades of a ranked list, best rank first; ``None`` marks an unjudged document."""

RELEVANT = 1.0
"""The lowest grade that counts as relevant unless a measure says otherwise."""


class Gain(StrEnum):
    """How a grade above 0 becomes a gain: ``linear`` (the grade itself) or ``exp`` (2^grade − 1).
    All other grades, and unjudged documents, have a gain of 0."""

    LINEAR = "linear"
    EXP = "exp"
