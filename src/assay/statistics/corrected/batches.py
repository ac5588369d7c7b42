"""Labels in several batches: combined estimates, and intervals valid at any time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.settings import probability
from assay.statistics.checks import numbers
from assay.statistics.corrected.estimates import Estimates, half_widths, satterthwaite


def combine(
    batches: Sequence[Estimates], sizes: npt.ArrayLike, *, level: float = 0.95
) -> Estimates:
    """Combine the estimates of several batches of labels.

    The value is Σ a_b θ̂_b and the covariance Σ a_b² C_b, with weights a_b ∝ size that were *fixed
    beforehand*. (Weights by inverse variance would depend on the labels, and bias the scores.)
    Batches of whole topics need not be combined: topics drawn from the remaining ones can be
    treated as part of the first draw. Source: the specification of trust, section 6.

    ``batches``: estimates of the same runs, from independent draws, about ``these`` units and with
    intervals of ``level``. ``sizes``: the planned number of labels of each batch, not the number it
    got. For batches that are each drawn from the items that earlier ones left, n/(M(M − n)) is
    best, for n of M remaining items: size alone would give too much weight to the first batch,
    which leaves out the most. ``level``: of the intervals. Degrees of freedom are Welch and
    Satterthwaite's; ``judge_weight`` is the weighted mean of the batches. Raises ValueError if
    there is no batch, the sizes do not fit, the batches are of different runs, are about topics
    ``like these``, or have intervals of another level.
    """
    shares = numbers(sizes, "sizes")
    if not len(batches) or shares.shape != (len(batches),) or not (shares > 0).all():
        raise ValueError(
            f"give a planned size above 0 for each of {len(batches)} batches, got {shares.tolist()}"
        )
    probability(level, "level")
    for number, batch in enumerate(batches, 1):
        _check(batch, number, len(batches[0].value), level)
    a = (shares / shares.sum())[:, None]
    value = (a * [batch.value for batch in batches]).sum(axis=0)
    covariance = (a[:, :, None] ** 2 * [batch.covariance for batch in batches]).sum(axis=0)
    parts = a**2 * [np.diag(batch.covariance) for batch in batches]
    df = satterthwaite(parts, np.array([batch.df for batch in batches]))
    alone = (a * [batch.human_only_value for batch in batches]).sum(axis=0)
    halves = [(batch.human_only_high - batch.human_only_low) / 2.0 for batch in batches]
    alone_half = np.sqrt((a**2 * np.square(halves)).sum(axis=0))
    return Estimates.of(
        (value, covariance, df),
        (alone, alone_half),
        level=level,
        judge_weight=float(a[:, 0] @ [batch.judge_weight for batch in batches]),
        labels=sum(batch.labels for batch in batches),
        population=batches[0].population,
    )


def _check(batch: Estimates, number: int, runs: int, level: float) -> None:
    if len(batch.value) != runs:
        raise ValueError(
            f"batch 1 is of {runs} runs, batch {number} of {len(batch.value)}: estimate the same"
            " runs from each"
        )
    if batch.population != "these":
        raise ValueError(
            f"batch {number} is about topics like these: the batches share these topics, so that"
            " their errors do not average out; estimate each with population='these'"
        )
    half: Floats = (batch.high - batch.low) / 2.0
    if not np.allclose(half, half_widths(np.diag(batch.covariance), batch.df, level)):
        raise ValueError(f"the intervals of batch {number} are not of level {level:g}: give theirs")


def half_width(variance: float, n: int, tightest: float, *, level: float = 0.95) -> float:
    """Half the width of an asymptotic confidence sequence for a mean.

    The sequence holds for all n at once, so it may be checked after every label, and labelling
    stopped at any time. (An ordinary interval checked often misses the mean at some point.)

    √(2(Vρ² + 1)/(t²ρ²) · ln(√(Vρ² + 1)/α)), ρ² = (−2 ln α + ln(1 − 2 ln α))/V*.

    Source: the specification of trust, section 6; Waudby-Smith et al. 2024.

    ``variance``: V, the sum of the estimated variances of the labels' contributions so far. ``n``:
    t, the number of labels. ``tightest``: V*, the V at which the sequence should be narrowest,
    fixed beforehand. ``level``: 1 − α. Raises ValueError if a number is out of range.
    """
    if not (math.isfinite(variance) and variance >= 0 and n >= 1):
        raise ValueError(f"variance must be from 0 and n from 1, got {variance} and {n}")
    if not (math.isfinite(tightest) and tightest > 0):
        raise ValueError(f"tightest must be above 0, got {tightest}")
    alpha = 1.0 - probability(level, "level")
    rho = (-2.0 * math.log(alpha) + math.log(1.0 - 2.0 * math.log(alpha))) / tightest
    spread = variance * rho + 1.0
    return math.sqrt(2.0 * spread / (n * n * rho) * math.log(math.sqrt(spread) / alpha))
