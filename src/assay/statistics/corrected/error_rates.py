"""Correction by a judge's error rates on another collection: a sensitivity analysis only."""

from __future__ import annotations

import math

from assay.measures.settings import probability, whole_number

_NEAR_CHANCE = 1.1
"""A judge whose sensitivity + specificity is no higher says too little; 1 is chance."""


def rogan_gladen(
    positive: int,
    n: int,
    true_positive: int,
    m1: int,
    true_negative: int,
    m0: int,
    *,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """The share that people would call right if the judge made the same errors here as elsewhere.

    θ̂ = (p̂ + q₀ − 1)/(q₀ + q₁ − 1) with sensitivity q₁ and specificity q₀, clipped to 0 to 1. The
    interval does not account for differences between the two collections. Never compare runs by it:
    the specificity of a judge that favours models of its own family is different for these. Source:
    the specification of trust, section 7; Rogan & Gladen 1978; Lee et al. 2025.

    ``positive``: how many of the ``n`` units here the judge calls right. ``true_positive``: how
    many it called right of the ``m1`` units elsewhere that people called right. ``true_negative``:
    how many it called wrong of the ``m0`` units elsewhere that people called wrong. ``level``: of
    the interval. Returns the share and the ends of its interval. Raises ValueError if a count is
    out of range, or sensitivity + specificity is at most 1.1.
    """
    for part, whole, names in (
        (positive, n, ("positive", "n")),
        (true_positive, m1, ("true_positive", "m1")),
        (true_negative, m0, ("true_negative", "m0")),
    ):
        whole_number(whole, names[1])
        whole_number(part, names[0], 0)
        if part > whole:
            raise ValueError(f"{names[0]} is {part}, more than {names[1]}, which is {whole}")
    sensitivity, specificity = true_positive / m1, true_negative / m0
    if sensitivity + specificity <= _NEAR_CHANCE:
        raise ValueError(
            f"the judge is near chance: sensitivity {sensitivity:.3f} + specificity"
            f" {specificity:.3f} is at most {_NEAR_CHANCE}; let people label units drawn here"
        )
    from scipy import special  # noqa: PLC0415 (slow to load)

    z = float(special.ndtri((1.0 + probability(level, "level")) / 2.0))
    p = (positive + z * z / 2.0) / (n + z * z)
    q1, q0 = (true_positive + 1.0) / (m1 + 2.0), (true_negative + 1.0) / (m0 + 2.0)
    gain = q0 + q1 - 1.0
    centre = (p + q0 - 1.0) / gain
    variance = (
        p * (1.0 - p) / (n + z * z)
        + (1.0 - centre) ** 2 * q0 * (1.0 - q0) / (m0 + 2.0)
        + centre**2 * q1 * (1.0 - q1) / (m1 + 2.0)
    ) / gain**2
    half = z * math.sqrt(variance)
    value = (positive / n + specificity - 1.0) / (sensitivity + specificity - 1.0)
    return _clipped(value), _clipped(centre - half), _clipped(centre + half)


def _clipped(share: float) -> float:
    return min(max(share, 0.0), 1.0)
