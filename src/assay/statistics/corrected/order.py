"""The leaderboard as a whole: which ranks each run may have, and how two orders agree."""

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
"""How many drawn scores (draws × runs) are held at a time: 4 MB."""


@dataclass(frozen=True, eq=False)
class RankSets:
    """Which ranks each run may have; all statements hold together with probability *level*.

    ``best``: R best ranks, 1 + how many runs are surely better. ``worst``: R worst ranks, R − how
    many are surely worse. ``decided``: R × R, whether it is sure which of two runs is better.
    ``critical``: by how many standard errors two runs must differ; 0 if none can vary.
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
    Student's t with the estimates' covariance, df the median of the runs'. A pair is decided where
    its difference is more than so many standard errors; one without any error, where it differs.

    Source: the specification of trust, section 6; Mogstad, Romano, Shaikh & Wilhelm 2024.

    ``estimates``: with their joint covariance. ``level``: the probability with which all pairs that
    are called decided are rightly so. ``draws``: of Z; 1/(1 − ``level``) at least, as fewer do not
    reach so high a quantile. ``seed``: of the draws. Raises ValueError if a setting is out of
    range.
    """
    df = float(np.median(estimates.df))
    return ranks_between(
        estimates.value, estimates.covariance, df, level=level, draws=draws, seed=seed
    )


def ranks_between(
    value: Floats,
    covariance: Floats,
    df: float,
    *,
    level: float,
    draws: int = 10_000,
    seed: int = 0,
) -> RankSets:
    """The rank sets of :func:`rank_sets` for any R scores with an R × R covariance and
    degrees of freedom. Raises ValueError if a setting is out of range."""
    probability(level, "level")
    whole_number(draws, "draws")
    whole_number(seed, "seed", 0)
    if draws * (1.0 - level) < 1.0 - 1e-9:
        raise ValueError(f"{draws} draws do not tell a level of {level:.10g}: give more")
    se = np.sqrt(difference_variance(covariance))
    largest = _largest_differences(covariance, se, df, draws, seed)
    critical = float(np.quantile(largest, level))
    difference, least = apart(value), critical * se
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
    """Of each draw the largest difference of two runs in standard errors."""
    runs = len(se)
    # The symmetric root: equal eigenvalues have any axes, and which comes out hangs on the machine.
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
            apart = np.abs(z[run + 1 :] - z[run]) * per_error[run + 1 :, run, None]
            np.maximum(largest, apart.max(axis=0), out=largest)
        blocks.append(largest / np.sqrt(generator.chisquare(df, rows) / df))
    return np.concatenate(blocks)


def apart(value: Floats) -> Floats:
    """Each score (row) less each other (column), R × R; 0 if rounding alone tells them apart, as
    in :func:`assay.statistics.ranks.near_ranks`.

    Equal runs have equal rows, but sums of their products may differ in the last digit.
    """
    difference = value[:, None] - value[None, :]
    return np.where(np.abs(difference) > ROUNDING * np.abs(value).max(initial=0), difference, 0.0)


def tau_bounds(
    decided: npt.ArrayLike, value_a: npt.ArrayLike, value_b: npt.ArrayLike
) -> tuple[float, float]:
    """The least and the greatest Kendall's τ between an estimated and a known order.

    ((C − D − U)/P, (C − D + U)/P): of all P pairs, C are decided and alike in both orders, D
    decided and opposite, U undecided. A bootstrap of τ would be drawn to 0 by the noise.

    ``decided``: R × R, as of :class:`RankSets`, for ``value_a``. ``value_a``: R estimated scores.
    ``value_b``: R known scores, such as the judge's own. Raises ValueError if there are fewer
    than 2 runs, or the shapes do not fit.
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
    concordant = np.sign(apart(a) * apart(b))[first, second][known].sum()
    undecided, pairs = int((~known).sum()), len(known)
    return float((concordant - undecided) / pairs), float((concordant + undecided) / pairs)


def shrink(estimates: Estimates, judge: npt.ArrayLike) -> tuple[Floats, float]:
    """The best guess of the order: corrections drawn towards their mean.

    An unbiased score is not a better ordered one: with few labels, each run's correction is mostly
    noise. θ̃ = judge + mean + s (corr − mean), corr = θ̂ − judge,
    s = max(0, 1 − tr(PCP)/‖P corr‖²), P = 1 − 11ᵀ/R. Scores and intervals stay those of
    ``estimates``; these values only order.

    Source: the specification of trust, section 6; Li & Ignatiadis, prediction-powered shrinkage.
    ``estimates``: the corrected scores. ``judge``: R scores by the judge alone. Returns R values,
    and s: 1 if each run keeps its correction, 0 if all share the mean one. Raises ValueError
    if the judge's scores are not R numbers.
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
