"""The leaderboard as a whole: rank sets, the agreement of two orders, and shrinkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats
from assay.measures.ranges import ROUNDING
from assay.measures.settings import probability, whole_number
from assay.statistics.checks import numbers
from assay.statistics.corrected.estimates import Estimates, difference_variance

_CELLS_AT_ONCE = 500_000
"""How many drawn scores (draws × runs) are in memory at a time: 4 MB."""


@dataclass(frozen=True, eq=False)
class RankSets:
    """The ranks that each run may have. All statements hold together with probability ``level``.

    ``best``: the best rank of each run: 1 + the number of runs that are certainly better.
    ``worst``: the worst rank: R − the number of runs that are certainly worse. ``decided``: R × R,
    whether it is certain which of two runs is better. ``critical``: by how many standard errors two
    runs must differ for that; 0 if no difference varies.
    """

    best: npt.NDArray[np.int64]
    worst: npt.NDArray[np.int64]
    decided: Bools
    critical: float


def rank_sets(
    estimates: Estimates, *, level: float = 0.95, draws: int = 10_000, seed: int = 0
) -> RankSets:
    """The simultaneous rank sets of all runs.

    The critical value is the ``level``-quantile of max_{r<s} |Z_r − Z_s|/se_rs over draws of Z from
    Student's t with the covariance of the estimates, and the median of their degrees of freedom. A
    pair is decided if its difference is greater than this many standard errors, or, without any
    error, if it is not 0. Source: the specification of trust, section 6; Mogstad, Romano, Shaikh &
    Wilhelm 2024.

    ``level``: the probability that all pairs called decided are decided correctly. ``draws``: the
    number of draws of Z; at least 1/(1 − ``level``), to reach so high a quantile. ``seed``: of the
    draws. Raises ValueError if a setting is out of range.
    """
    df = float(np.median(estimates.df))
    return rank_sets_of(
        estimates.value, estimates.covariance, df, level=level, draws=draws, seed=seed
    )


def rank_sets_of(
    value: Floats,
    covariance: Floats,
    df: float,
    *,
    level: float,
    draws: int = 10_000,
    seed: int = 0,
) -> RankSets:
    """:func:`rank_sets` for any R scores with an R × R covariance and degrees of freedom. Raises
    ValueError if a setting is out of range."""
    probability(level, "level")
    whole_number(draws, "draws")
    whole_number(seed, "seed", 0)
    if draws * (1.0 - level) < 1.0 - 1e-9:
        raise ValueError(f"{draws} draws do not tell a level of {level:.10g}: give more")
    se = np.sqrt(difference_variance(covariance))
    largest = _largest_differences(covariance, se, df, draws, seed)
    critical = float(np.quantile(largest, level))
    difference, least = score_differences(value), critical * se
    better, worse = difference > least, difference < -least
    runs = len(se)
    return RankSets(
        best=1 + worse.sum(axis=1, dtype=np.int64),
        worst=runs - better.sum(axis=1, dtype=np.int64),
        decided=better | worse,
        critical=critical,
    )


def _largest_differences(
    covariance: Floats, se: Floats, df: float, draws: int, seed: int
) -> Floats:
    """For each draw, the largest difference of two runs in standard errors."""
    runs = len(se)
    # The symmetric root, because the eigenvectors of equal eigenvalues depend on the machine.
    roots, axes = np.linalg.eigh(covariance)
    factor = (axes * np.sqrt(np.maximum(roots, 0.0))) @ axes.T
    per_error = np.divide(1.0, se, out=np.zeros_like(se), where=se > 0)
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // runs)
    blocks = []
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        z = factor @ generator.standard_normal((rows, runs)).T
        largest = np.zeros(rows)
        for run in range(runs - 1):
            distance = np.abs(z[run + 1 :] - z[run]) * per_error[run + 1 :, run, None]
            np.maximum(largest, distance.max(axis=0), out=largest)
        blocks.append(largest / np.sqrt(generator.chisquare(df, rows) / df))
    return np.concatenate(blocks)


def score_differences(value: Floats) -> Floats:
    """Each score (row) minus each other (column), R × R; 0 if they differ by rounding only, as in
    :func:`assay.statistics.ranks.near_ranks`. (Scores of equal runs may differ in the last
    digit.)"""
    difference = value[:, None] - value[None, :]
    return np.where(np.abs(difference) > ROUNDING * np.abs(value).max(initial=0), difference, 0.0)


def tau_bounds(
    decided: npt.ArrayLike, value_a: npt.ArrayLike, value_b: npt.ArrayLike
) -> tuple[float, float]:
    """The lowest and the highest Kendall's τ possible between an estimated and a known order.

    ((C − D − U)/P, (C − D + U)/P), where of all P pairs C are decided and in the same order, D
    decided and in opposite orders, and U undecided. (Noise would bias a bootstrap of τ towards 0.)

    ``decided``: R × R, from :class:`RankSets` of ``value_a``. ``value_a``: R estimated scores.
    ``value_b``: R known scores, such as the judge's own. Raises ValueError if there are fewer than
    2 runs, or the shapes do not fit.
    """
    a, b = numbers(value_a, "first scores"), numbers(value_b, "second scores")
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(f"give two lists of the same 2 runs or more, got {a.shape} and {b.shape}")
    sure = np.asarray(decided)
    if sure.dtype != np.bool_ or sure.shape != (len(a), len(a)):
        raise ValueError(
            f"decided must be {len(a)} × {len(a)} booleans, as of rank_sets, got {sure.dtype} of"
            f" shape {sure.shape}"
        )
    first, second = np.triu_indices(len(a), 1)
    known = sure[first, second]
    surplus = np.sign(score_differences(a) * score_differences(b))[first, second][known].sum()
    undecided, pairs = int((~known).sum()), len(known)
    return float((surplus - undecided) / pairs), float((surplus + undecided) / pairs)


def shrink(estimates: Estimates, judge: npt.ArrayLike) -> tuple[Floats, float]:
    """The best guess of the order of runs, with corrections shrunk towards their mean.

    Unbiased scores do not order runs best: with few labels, each run's correction is mostly noise.
    θ̃ = judge + mean + s (corr − mean), corr = θ̂ − judge, s = max(0, 1 − tr(PCP)/‖P corr‖²),
    P = 1 − 11ᵀ/R. Use these values for the order only; for scores and intervals, use ``estimates``.
    Source: the specification of trust, section 6; Li & Ignatiadis, prediction-powered shrinkage.
    ``estimates``: the corrected scores. ``judge``: R scores by the judge alone. Returns R values,
    and s, which is 1 if each run has its full correction, and 0 if all have the mean one. Raises
    ValueError if the judge's scores are not R numbers.
    """
    alone = numbers(judge, "judge's scores")
    if alone.shape != estimates.value.shape:
        raise ValueError(
            f"the judge's scores have shape {alone.shape}, but there are {len(estimates.value)}"
            " runs: give one score for each"
        )
    correction = estimates.value - alone
    mean = float(correction.mean())
    own = correction - mean
    noise = float(np.trace(estimates.covariance) - estimates.covariance.sum() / len(own))
    size = float(own @ own)
    s = max(0.0, 1.0 - max(noise, 0.0) / size) if size > 0 else 0.0
    return alone + mean + s * own, s
