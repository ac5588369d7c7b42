"""Random draws of what people should label, with probabilities known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.ranges import ROUNDING
from assay.measures.settings import whole_number
from assay.statistics.checks import numbers
from assay.statistics.corrected.estimates import Estimates, difference_variance
from assay.statistics.corrected.inputs import mask, weight_matrix
from assay.statistics.corrected.leaderboard import rank_sets

Design = Literal["leverage", "uniform", "pairs"]
"""What the draw is optimised for: the runs' scores, nothing, or the differences between runs."""

_LEAST_UNCERTAINTY = 0.2
"""The least uncertainty assumed, because a judge that seems certain may be wrong."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Items that were each drawn independently, so that their number varies.

    ``pi``: the probability of each of I items, which sum to the expected number. They must be kept
    with the draw for ever. ``drawn``: whether each item was drawn.
    """

    pi: Floats
    drawn: Bools


def draw(
    weights: npt.ArrayLike,
    n: int,
    *,
    uncertainty: npt.ArrayLike | None = None,
    design: Design = "leverage",
    mix: float = 0.1,
    seed: int,
) -> Draw:
    """Draw about ``n`` items for measures θ_r = c_r + Σ_i w_ri y_i.

    The sum of the runs' variances is lowest for π_i ∝ ℓ_i u_i, with ℓ_i = √Σ_r w_ri² for
    ``leverage`` (scores) and √(R Σ_r w_ri² − (Σ_r w_ri)²) for ``pairs`` (differences, in which what
    all runs share cancels). π_i is capped at 1 and mixed with an equal share for all items, so that
    every item that counts can be drawn. Source: the specification of trust, section 4; active
    inference (Zrnic & Candès 2024).

    ``weights``: R × I; an item without weight in any run is never drawn. ``n``: the expected number
    of labels; the number drawn has a standard deviation of at most √n. ``uncertainty``: u for each
    item, about √(p(1 − p)) for a probability p that people say yes, from an earlier batch or
    guessed from the judge's grade; at least .2 is used. By default it is equal. ``design``: see
    :data:`Design`. ``mix``: the share of ``n`` that is spread evenly, above 0 and at most 1.
    ``seed``: item i is drawn if ``default_rng(seed).random(I)[i] < pi[i]``. Each draw from the same
    items needs a different seed. Raises ValueError if ``n`` is more than the items that count,
    ``mix`` is 0, or a number is missing or out of range.
    """
    w = weight_matrix(weights)
    squares = (w**2).sum(axis=0)
    if design == "leverage":
        leverage = np.sqrt(squares)
    elif design == "pairs":
        shared = len(w) * squares
        spread = shared - w.sum(axis=0) ** 2
        # Items with equal weight in all runs have no spread, except for rounding.
        leverage = np.sqrt(np.where(spread > ROUNDING * shared, spread, 0.0))
    elif design == "uniform":
        leverage = np.ones(w.shape[1])
    else:
        raise ValueError(f"design must be one of {', '.join(get_args(Design))}, got {design!r}")
    if design != "uniform":
        leverage = leverage * _uncertainty(uncertainty, w.shape[1])
    return _draw_items(leverage, squares > 0, n, mix, (whole_number(seed, "seed", 0),))


def draw_topics(n_topics: int, n: int, seed: int) -> Bools:
    """Draw exactly ``n`` of ``n_topics`` topics, each set of ``n`` with equal probability. Returns
    whether each topic was drawn. Raises ValueError if there are fewer than ``n`` topics, or an
    argument is not a whole number in range."""
    whole_number(n_topics, "n_topics")
    whole_number(n, "n")
    whole_number(seed, "seed", 0)
    if n > n_topics:
        raise ValueError(f"{n} of {n_topics} topics cannot be drawn: give n from 1 to {n_topics}")
    drawn = np.zeros(n_topics, dtype=np.bool_)
    drawn[np.random.default_rng(seed).choice(n_topics, n, replace=False)] = True
    return drawn


def next_batch(
    weights: npt.ArrayLike,
    estimates: Estimates,
    uncertainty: npt.ArrayLike | None,
    known: npt.ArrayLike,
    n: int,
    *,
    mix: float = 0.1,
    level: float = 0.95,
    draws: int = 2000,
    seed: int,
) -> Draw:
    """Draw about ``n`` more items, preferring those that help to decide undecided pairs of runs.

    π ∝ u_i √Σ (w_ri − w_si)²/se_rs² over the undecided pairs. In the next estimate, the labels of
    the known items belong in ``offset`` of :func:`items`, with weights of 0. Source: the
    specification of trust, section 6.

    ``weights``: R × I, as for :func:`draw`. ``estimates``: of earlier batches; they tell which
    pairs are undecided. ``uncertainty``: as for :func:`draw`. ``known``: whether people have
    labelled each item; if so, its pi is 0. ``n``: the expected number of labels. ``mix``: the share
    of ``n`` that is spread evenly over the items not known. ``level``, ``draws``: as for
    :func:`rank_sets`. ``seed``: of the draw; together with the number of known items, it gives each
    batch its own random numbers. Raises ValueError if no pair is left to decide, ``n`` is more than
    the items that count and are not known, or a number is missing or out of range.
    """
    w = weight_matrix(weights)
    if len(w) != len(estimates.value):
        raise ValueError(f"weights of {len(w)} runs, but estimates of {len(estimates.value)}")
    labelled = mask(known, w.shape[1], "known", "item")
    u = _uncertainty(uncertainty, w.shape[1])
    # This uses other random numbers than the draw, which must not depend on those that determined
    # the probabilities.
    decided = rank_sets(estimates, level=level, draws=draws).decided
    variance = difference_variance(estimates.covariance)
    precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
    precision[decided] = 0.0
    if not precision.any():
        raise ValueError(
            "every pair of runs is decided, or known in full: more labels change no order; to make"
            " the scores' intervals narrower, draw with design 'leverage'"
        )
    # Σ_{r<s} a_rs (w_r − w_s)² = Σ_r w_r² Σ_s a_rs − Σ_rs a_rs w_r w_s
    own = precision.sum(axis=1) @ w**2
    gain = own - (w * (precision @ w)).sum(axis=0)
    gain = np.where(gain > ROUNDING * own, gain, 0.0)  # rounding, where all have the same weight
    # Each batch needs its own random numbers: that an earlier batch with this seed did not draw an
    # item would mean that its random number is large.
    seeds = (whole_number(seed, "seed", 0), int(labelled.sum()))
    return _draw_items(np.sqrt(gain) * u, w.any(axis=0) & ~labelled, n, mix, seeds)


def _uncertainty(values: npt.ArrayLike | None, count: int) -> Floats:
    if values is None:
        return np.ones(count)
    u = numbers(values, "uncertainties")
    if u.shape != (count,):
        raise ValueError(f"uncertainty has shape {u.shape}, but there are {count} items")
    if (u < 0).any():
        raise ValueError(f"uncertainty of item {int(np.argmax(u < 0)) + 1} is below 0")
    return np.maximum(u, _LEAST_UNCERTAINTY)


def _draw_items(size: Floats, eligible: Bools, n: int, mix: float, seeds: tuple[int, ...]) -> Draw:
    """Draw about ``n`` of the ``eligible`` items, with probabilities that rise with ``size``."""
    whole_number(n, "n")
    if not 0 < mix <= 1:
        raise ValueError(
            f"mix must be above 0 and at most 1, got {mix}: without an even share some items that"
            " count have almost no chance, and one such label would dominate the score"
        )
    count = int(eligible.sum())
    if n > count:
        raise ValueError(f"{n} labels, but only {count} items to draw from: give n up to {count}")
    pi = np.zeros(len(size))
    pi[eligible] = (1.0 - mix) * _water_filled(size[eligible], n) + mix * n / count
    np.minimum(pi, 1.0, out=pi)  # rounding may exceed 1 if all are drawn
    return Draw(pi, np.random.default_rng(seeds).random(len(pi)) < pi)


def _water_filled(size: Floats, n: int) -> Floats:
    """Probabilities that sum to ``n``, and are proportional to ``size`` except where capped at 1.
    If there are fewer than ``n`` items with a size above 0, the others share the rest equally."""
    share = np.zeros(len(size))
    free = size > 0
    if free.sum() <= n:
        share[free] = 1.0
        rest = int((~free).sum())
        share[~free] = (n - free.sum()) / rest if rest else 0.0
        return share
    left = float(n)
    while True:
        share[free] = left * size[free] / size[free].sum()
        full = free & (share >= 1.0)
        if not full.any():
            return share
        share[full] = 1.0
        free &= ~full
        left = n - float((share >= 1.0).sum())
        if left <= 0 or not free.any():
            share[free] = 0.0
            return share
