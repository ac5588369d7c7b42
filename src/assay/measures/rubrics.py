"""How far an answer meets a weighted rubric.

S = Σ w·v / Σ_{w>0} w, v = 1 satisfied, ½ in part (binary: 0), 0 not. A criterion with a negative
weight describes a failing, so that satisfying it costs: S is at most 1 and may be below 0.

Sources: ResearchRubrics (its compliance score) and RAGDoll's rubric scores, which are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.measures.ranges import Range

RUBRIC_MEASURES = ("ternary", "binary")

Failed = Literal["out", "zero", "range"]
"""What becomes of a criterion whose judging failed: it leaves both sums, counts as not satisfied,
or the score lies between the worst and the best that it can be."""


def rubric_score(
    weights: Sequence[float],
    values: Sequence[float | None],
    *,
    binary: bool = False,
    failed: Failed = "out",
) -> Range | None:
    """The score of one answer.

    ``weights``: of the criteria. ``values``: 1, ½ or 0; None if judging failed. ``binary``:
    whether ½ counts as 0. ``failed``: see :data:`Failed`. Returns None if no criterion that
    counts has a positive weight. Raises ValueError if the lengths differ, or a value is not 0, ½
    or 1.
    """
    if len(weights) != len(values):
        raise ValueError(f"{len(values)} values for {len(weights)} criteria")
    if any(value not in (None, 0.0, 0.5, 1.0) for value in values):
        raise ValueError("a criterion's value is 0, 0.5 or 1")
    low = high = most = 0.0
    for weight, value in zip(weights, values, strict=True):
        if value is None and failed == "out":
            continue
        most += max(weight, 0.0)
        if value is None:
            ends = (min(weight, 0.0), max(weight, 0.0)) if failed == "range" else (0.0, 0.0)
        else:
            worth = weight * (value == 1.0 if binary else value)
            ends = (worth, worth)
        low, high = low + ends[0], high + ends[1]
    return Range(low / most, high / most) if most > 0 else None


def unmet(weight: float, value: float | None) -> bool:
    """Whether an answer falls short of a criterion: not fully satisfied, or, with a negative
    weight, satisfied or in part. One whose judging failed is not counted."""
    if value is None:
        return False
    return value > 0 if weight < 0 else value < 1
