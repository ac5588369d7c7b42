"""Rubric scores: how far an answer meets a list of weighted criteria.

S = Σ w·v / Σ_{w>0} w, where v is 1 if the criterion is satisfied, ½ if in part (0 in the binary
score), else 0. A criterion with a negative weight describes a fault, so satisfying it lowers the
score: S is at most 1 and may be below 0.

Sources: the compliance score of ResearchRubrics, and RAGDoll's rubric scores, which are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.measures.ranges import Range

RUBRIC_MEASURES = ("ternary", "binary")

FailedCriteria = Literal["out", "zero", "range"]
"""How a criterion counts whose judging failed: it is left out of both sums (``out``), counts as not
satisfied (``zero``), or makes the score a range from worst to best (``range``)."""


def rubric_score(
    weights: Sequence[float],
    values: Sequence[float | None],
    *,
    binary: bool = False,
    failed: FailedCriteria = "out",
) -> Range | None:
    """The score of one answer, or None if no criterion that counts has a positive weight.

    ``weights``: the weights of the criteria. ``values``: 1, ½ or 0 for each; None if judging
    failed. ``binary``: whether ½ counts as 0. ``failed``: see :data:`FailedCriteria`. Raises
    ValueError if the lengths differ, or a value is not 0, ½ or 1.
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
    """Whether an answer falls short of a criterion: it is not fully satisfied or, with a negative
    weight, at least partly satisfied. False if judging failed."""
    if value is None:
        return False
    return value > 0 if weight < 0 else value < 1
