"""Ratings of runs from battles, with intervals over topics.

A rating is 1000 + r·400/ln 10 for a log-strength r of :mod:`assay.statistics.pair_models`, so 400
points are odds of 10 to 1. Ratings are finite if every run can be reached from every other along
battles won or tied (Ford 1957); otherwise runs are only rated with a prior.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford
from scipy.special import ndtri

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.bootstrap import Interval, percentile_interval, topic_counts
from assay.measures.settings import probability
from assay.statistics.battle_counts import Battles, components, components_of
from assay.statistics.corrected.leaderboard import RankSets, rank_sets_of
from assay.statistics.pair_models import BradleyTerry, Fit, Model, fit
from assay.statistics.resampling import blocks as row_blocks

BRADLEY_TERRY = BradleyTerry()
POINTS = 400 / np.log(10)
MIDDLE = 1000.0
WinRates = Literal["half", "opponents"]
"""``half``: (wins + ½ ties) / battles. ``opponents``: the mean over opponents of wins / battles,
where ties are not wins (as in Search Arena)."""

_RIDGE = 1e-5
"""This share of the battles is added to the diagonal of the sandwich's inner matrix (as
in arena-rank)."""
_CELLS_AT_ONCE = 1_000_000


def ratings(strength: Floats) -> Floats:
    """Convert log-strengths to ratings."""
    return np.asarray(MIDDLE + POINTS * strength)


def sandwich(battles: Battles, fitted: Fit, model: Model) -> Floats:
    """Standard errors of the n ratings, for independent battles.

    H⁻¹CH⁻¹, where H is the negative Hessian of the log-likelihood, and C the sum over battles of
    the outer products of their gradients. H needs 10⁻⁵ of the number of battles on its diagonal to
    have an inverse. (Huber 1967; as computed by arena-rank.)
    """
    n, counts = battles.runs, battles.total
    size = n + 1 if model.fitted and counts[1].any() else n
    inner, outer = fitted.hessian[0, :size, :size].copy(), fitted.outer[0, :size, :size]
    inner[np.arange(n), np.arange(n)] += _RIDGE * counts.sum()
    inverse = np.linalg.inv(inner)
    variance = np.maximum(np.diag(inverse @ outer @ inverse)[:n], 0.0)  # may round below 0
    return np.asarray(POINTS * np.sqrt(variance))


def win_rates(
    battles: Battles,
    counts: Floats,
    how: WinRates = "half",
    lacking: Floats | None = None,
    *,
    won: bool = False,
) -> Floats:
    """Win rates, B × n; NaN for a run without a battle.

    ``battles``: defines the runs and pairs. ``counts``: B × 3 × P. ``how``: see :data:`WinRates`.
    ``lacking``: the numbers of battles without a verdict, B × P, which both runs lose, or, with
    ``won``, both win; by default these do not count.
    """
    wins, ties, losses = np.moveaxis(counts, 1, 0)
    n = wins + ties + losses
    if lacking is not None:
        n = n + lacking
        if won:  # each run's rate is computed by itself, so both may win
            wins, losses = wins + lacking, losses + lacking
    pairs = np.arange(len(battles.first))
    shape = (len(pairs), battles.runs)
    first, second = (
        csr_array((np.ones(len(pairs)), (pairs, runs)), shape)
        for runs in (battles.first, battles.second)
    )
    if how == "half":
        points = (wins + ties / 2) @ first + (losses + ties / 2) @ second
        total = n @ first + n @ second
    else:
        met = n > 0
        share = np.divide(1.0, n, out=np.zeros_like(n), where=met)
        points = (wins * share) @ first + (losses * share) @ second
        total = met.astype(np.float64) @ (first + second)
    return np.asarray(np.divide(points, total, out=np.full_like(points, np.nan), where=total > 0))


@dataclass(frozen=True, eq=False)
class BattleRatings:
    """Ratings and win rates, one per run.

    ``parts``: the component of each run (:func:`assay.statistics.battle_counts.components`); −1 for
    a run without a battle. ``rating``: NaN if there is none. ``intervals``: of the ratings, over
    topics; resamples without a finite fit are left out, and counted as ``undefined``. ``errors``:
    standard errors by the :func:`sandwich`; NaN if there is no rating. ``tie``: the tie parameter;
    None if the model has none, or nothing is rated. ``rate``: win rates if battles without a
    verdict are lost; NaN for a run without a battle. ``rate_ceiling``: win rates if they are won.
    ``rate_intervals``: intervals that contain those of both. ``ranks``: simultaneous rank sets of
    the rated runs, in order; None without intervals. ``reason``: why there are no ratings, or None.
    """

    parts: Integers
    rating: Floats
    intervals: tuple[Interval | None, ...]
    errors: Floats
    tie: float | None
    rate: Floats
    rate_ceiling: Floats
    rate_intervals: tuple[Interval | None, ...]
    ranks: RankSets | None
    reason: str | None = None


def rate(
    battles: Battles,
    model: Model = BRADLEY_TERRY,
    *,
    prior: float = 0.0,
    win_rate: WinRates = "half",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> BattleRatings:
    """Ratings and win rates of all runs, with intervals over topics. Resamples draw topics with all
    of their battles, and are fitted anew.

    ``prior``: the number of virtual battles that each run ties with a run of rating 1000. With a
    prior, ratings are always finite, and their mean is not fixed. ``win_rate``: which win rate.
    ``level``: of the intervals and rank sets. ``resamples``: how often topics are drawn. ``seed``:
    of the draws. Raises ValueError if a setting is out of range.
    """
    probability(level, "level")
    if not 0 <= prior < np.inf:
        raise ValueError(f"the prior must not be below 0, got {prior}")
    n = battles.runs
    # Topics without a judged battle are not drawn.
    judged = battles.of_topics(battles.counts.any(axis=(1, 2)))
    topics = len(judged.counts)
    active = np.flatnonzero(battles.fought)
    parts = np.full(n, -1, dtype=np.int64)
    parts[active] = np.unique(components(battles)[active], return_inverse=True)[1]
    drawn = np.empty((0, len(active)))
    fitted = None
    among = battles.among(active)
    reason = _why_not(parts, among, model, prior)
    rating, errors, tie = np.full(n, np.nan), np.full(n, np.nan), None
    if reason is None:
        fitted = fit(among.total[None], among.first, among.second, len(active), model, prior)
        rating[active] = ratings(fitted.strength[0])
        errors[active] = sandwich(among, fitted, model)
        tie = None if np.isnan(fitted.tie[0]) else float(fitted.tie[0])
    if topics > 1 and reason is None:
        # Not held in a variable: without topics each battle is one, so the table may be large.
        drawn = resampled_ratings(
            judged, np.concatenate([*topic_counts(topics, resamples, seed)]), model, prior, fitted
        )[:, active]
    intervals: list[Interval | None] = [None] * n
    for run, interval in zip(active, _intervals(drawn, level, topics), strict=False):
        intervals[run] = interval
    return BattleRatings(
        parts,
        rating,
        tuple(intervals),
        errors,
        tie,
        *_rates(battles, win_rate, level, resamples, seed),
        _ranks(rating[active], drawn, level, topics, seed),
        reason,
    )


def _rates(
    battles: Battles, how: WinRates, level: float, resamples: int, seed: int
) -> tuple[Floats, Floats, tuple[Interval | None, ...]]:
    """Floors and ceilings of the win rates, and intervals that contain those of both."""
    known = battles.of_topics(battles.counts.any(axis=(1, 2)) | battles.lacking.any(axis=1))
    topics = len(known.counts)
    weights = np.ones((1, topics))
    if topics > 1:
        weights = np.concatenate([weights, *topic_counts(topics, resamples, seed)])

    def end(*, won: bool) -> Floats:
        parts = []
        for drawn, counts in _blocks(known, weights):
            more = drawn @ known.lacking if lacks else None
            parts.append(win_rates(known, counts, how, more, won=won))
        return np.concatenate(parts)

    lacks = bool(known.lacking.any())
    floor = end(won=False)
    ceiling = end(won=True) if lacks else floor
    intervals: list[Interval | None] = [None] * battles.runs
    both = (_intervals(drawn[1:], level, topics) for drawn in (floor, ceiling))
    ends = zip(*both, strict=True)
    for run, (worst, best) in enumerate(ends):
        if worst is not None and best is not None:
            intervals[run] = replace(worst, high=best.high)
    return floor[0], ceiling[0], tuple(intervals)


def error_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """The interval of a normally distributed estimate."""
    half = float(ndtri((1 + level) / 2)) * error
    return value - half, value + half


def _why_not(parts: Integers, among: Battles, model: Model, prior: float) -> str | None:
    total = among.total
    if not total.any():
        return "there is no battle with a verdict"
    if model.fitted and not total[[0, 2]].any():
        return "every battle is a tie"
    if not prior and parts.max() > 0:
        return "the ratings are not finite: not every run is tied to every other by wins and ties"
    if not _has_finite_fit(among, total[None], model, prior)[0]:
        return (
            "the ratings are not finite: this model's tie parameter and the distances between runs "
            "can grow together without end. Bradley-Terry's are, or a prior makes them so"
        )
    return None


def _bounded(among: Battles, counts: Floats) -> bool:
    """Whether the fitted tie parameter is finite, if wins and ties connect all runs.

    The strengths and the tie parameter can grow together for ever without loss of likelihood if and
    only if there are strengths δ with which every winner is at least 1 above the loser, and runs
    that tied differ by at most 1. These exist if no cycle of runs has more wins than ties along it.
    """
    wins, ties, losses = counts
    if not ties.any() or (wins.astype(bool) & losses.astype(bool)).any():
        return True
    signs = [np.where(won > 0, -1.0, np.sign(ties)) for won in (wins, losses)]
    source, target = np.r_[among.first, among.second], np.r_[among.second, among.first]
    decided = np.concatenate(signs) != 0
    entries = np.concatenate(signs)[decided], (source[decided], target[decided])
    try:
        bellman_ford(csr_array(entries, (among.runs, among.runs)), indices=0)
    except NegativeCycleError:
        return True
    return False


def resampled_ratings(
    battles: Battles,
    weights: Floats,
    model: Model = BRADLEY_TERRY,
    prior: float = 0.0,
    near: Fit | None = None,
) -> Floats:
    """The ratings of resamples of topics, B × n; NaN for a resample without finite ratings, and for
    runs without a battle.

    ``weights``: B × T, how often each topic was drawn. ``prior``: as in :func:`rate`. ``near``: the
    fit of the original data, from which to start.
    """
    active = np.flatnonzero(battles.fought)
    among = battles.among(active)
    resampled = np.full((len(weights), battles.runs), np.nan)
    start = 0
    for _, counts in _blocks(among, weights):
        finite = _has_finite_fit(among, counts, model, prior)
        if finite.any():
            fitted = fit(counts[finite], among.first, among.second, among.runs, model, prior, near)
            resampled[np.ix_(start + np.flatnonzero(finite), active)] = ratings(fitted.strength)
        start += len(counts)
    return resampled


def _blocks(battles: Battles, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of rows of ``weights``, each with the counts of these resamples, b × 3 × P."""
    flat = battles.counts.reshape(len(battles.counts), 3 * len(battles.first))
    for block in row_blocks(
        weights, _CELLS_AT_ONCE // max(1, flat.shape[1], (battles.runs + 1) ** 2)
    ):
        yield block, (block @ flat).reshape(len(block), *battles.counts.shape[1:])


def _has_finite_fit(among: Battles, counts: Floats, model: Model, prior: float) -> Bools:
    """Whether each resample has a finite fit. ``counts``: B × 3 × P."""
    if prior:
        return np.ones(len(counts), np.bool_)
    parts = components_of(among, counts)
    finite = (parts == parts[:, :1]).all(axis=1)
    if model.fitted:
        finite &= counts[:, [0, 2]].any(axis=(1, 2))
        finite[finite] = [_bounded(among, resample) for resample in counts[finite]]
    return np.asarray(finite)


def _intervals(drawn: Floats, level: float, topics: int) -> tuple[Interval | None, ...]:
    if not len(drawn):
        return ()
    return tuple(percentile_interval(column, level, topics) for column in drawn.T)


def _ranks(value: Floats, drawn: Floats, level: float, topics: int, seed: int) -> RankSets | None:
    finite = drawn[~np.isnan(drawn).any(axis=1)]
    if len(finite) < 2 or len(value) < 2:
        return None
    return rank_sets_of(
        value, np.cov(finite, rowvar=False), float(topics - 1), level=level, seed=seed
    )
