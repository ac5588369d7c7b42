"""Figures of the confidences and correctness of a run's answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.measures.confidence import (
    Closed,
    bin_numbers,
    check,
    reliability_bins,
    risk_coverage,
)
from assay.page.parts import Bin, Curve, Reliability
from assay.page.wording import percent


def risk_curve(name: str, p: npt.ArrayLike, c: npt.ArrayLike) -> Curve:
    """A run's risk–coverage curve. Raises ValueError as
    :func:`assay.measures.confidence.check` does."""
    steps = risk_coverage(p, c)
    return Curve(
        name,
        tuple((step.coverage, step.risk) for step in steps),
        tuple(
            f"answering from confidence {step.threshold * 100:.0f} up covers"
            f" {percent(step.coverage)}, {percent(step.risk)} of it wrong"
            for step in steps
        ),
    )


def reliability(
    name: str, p: npt.ArrayLike, c: npt.ArrayLike, *, bins: int, closed: Closed
) -> Reliability:
    """A run's reliability diagram. Raises ValueError as
    :func:`assay.measures.confidence.check` does."""
    confidence, correct = check(p, c)
    numbers = bin_numbers(confidence, bins, closed)
    right = np.bincount(numbers[correct], minlength=bins).tolist()
    wrong = np.bincount(numbers[~correct], minlength=bins).tolist()
    table = reliability_bins(confidence, correct, bins=bins, closed=closed)
    found = (
        Bin(one.low, one.high, ups, downs, one.mean_confidence, one.accuracy)
        for one, ups, downs in zip(table, right, wrong, strict=True)
    )
    return Reliability(name, tuple(found))
