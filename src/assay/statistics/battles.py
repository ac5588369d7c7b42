"""Ratings of runs from battles: who beats whom, with intervals over topics.

A rating is 1000 + r·400/ln 10 for a log-strength r of :mod:`assay.statistics.pair_models`: 400
points are odds of 10 to 1. Ratings are finite where every run can be reached from every other along
battles that were won or tied (Ford 1957); where not, nothing is rated unless a prior is asked for.
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
from assay.statistics.battle_counts import Battles, components, parts_of
from assay.statistics.corrected.leaderboard import RankSets, rank_sets_of
from assay.statistics.pair_models import BradleyTerry, Fit, Model, fit
from assay.statistics.resampling import parts as in_parts

BRADLEY_TERRY = BradleyTerry()
POINTS = 400 / np.log(10)
MIDDLE = 1000.0
WinRates = Literal["half", "opponents"]
"""``half``: (wins + ½ ties) / battles. ``opponents``: the mean over opponents of wins / battles,
ties being no wins (as Search Arena has it)."""

_RIDGE = 1e-5
"""Of all battles, added to the diagonal of the sandwich's inner matrix (as arena-rank does)."""
_CELLS_AT_ONCE = 1_000_000


def ratings(strength: Floats) -> Floats:
    """Log-strengths on the scale of ratings."""
    return np.asarray(MIDDLE + POINTS * strength)


def sandwich(battles: Battles, found: Fit, model: Model) -> Floats:
    """The n standard errors of ratings, battles being independent.

    H⁻¹CH⁻¹ with H minus the second derivatives of the log-likelihood and C the sum of the squared
    first derivatives of the battles; H gets 10⁻⁵ of the number of battles on its diagonal, without
    which it has no inverse. (Huber 1967; as arena-rank computes it.)
    """
    n, counts = battles.runs, battles.total
    size = n + 1 if model.fitted and counts[1].any() else n
    inner, outer = found.hessian[0, :size, :size].copy(), found.outer[0, :size, :size]
    inner[np.arange(n), np.arange(n)] += _RIDGE * counts.sum()
    inverse = np.linalg.inv(inner)
    variance = np.maximum(np.diag(inverse @ outer @ inverse)[:n], 0.0)  # rounding below 0
    return np.asarray(POINTS * np.sqrt(variance))


def win_rates(
    battles: Battles,
    counts: Floats,
    how: WinRates = "half",
    lacking: Floats | None = None,
    *,
    won: bool = False,
) -> Floats:
    """B × n win rates, NaN for a run without a battle.

    ``battles``: of which runs. ``counts``: B × 3 × P. ``how``: see :data:`WinRates`. ``lacking``: B
    × P battles without a verdict, which each run loses, or wins where they are ``won``; without
    them they do not count.
    """
    wins, ties, losses = (counts[:, one] for one in range(3))
    n = wins + ties + losses
    if lacking is not None:
        n = n + lacking
        if won:  # each run by itself, so that both sides win
            wins, losses = wins + lacking, losses + lacking
    places = np.arange(len(battles.first))
    shape = (len(places), battles.runs)
    own, other = (
        csr_array((np.ones(len(places)), (places, runs)), shape)
        for runs in (battles.first, battles.second)
    )
    if how == "half":
        points, of = (wins + ties / 2) @ own + (losses + ties / 2) @ other, n @ own + n @ other
    else:
        met = n > 0
        share = np.divide(1.0, n, out=np.zeros_like(n), where=met)
        points = (wins * share) @ own + (losses * share) @ other
        of = met.astype(np.float64) @ (own + other)
    return np.asarray(np.divide(points, of, out=np.full_like(points, np.nan), where=of > 0))


@dataclass(frozen=True, eq=False)
class Rated:
    """Runs, rated. Lists have an entry a run, None for what is undefined.

    ``parts``: which part of the graph each run belongs to; −1 for a run without a battle.
    ``rating``: NaN if there is none. ``intervals``: of the ratings, over topics; ``undefined``
    counts the resamples without a finite fit, which are left out. ``errors``: standard errors by
    the sandwich; NaN if there is none. ``tie``: the fitted or fixed tie parameter, None if
    the model has none or nothing is rated. ``rate``: win rates, NaN for a run without a battle; a
    run loses what has no verdict. ``rate_ceiling``: the same, but that it wins that.
    ``rate_intervals``: of both together, over topics. ``ranks``: simultaneous rank sets of the
    rated runs, in their order; None without intervals. ``reason``: why there is no rating; None
    if there is.
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
) -> Rated:
    """Ratings and win rates of all runs, with intervals over topics: topics are drawn with
    replacement, each with all of its battles, and everything is fitted anew.

    ``battles``: counted. ``model``: Bradley–Terry by default. ``prior``: how many virtual drawn
    battles each run has against a run of rating 1000. With one, runs have ratings that are finite
    whatever they won, and their mean is free. ``win_rate``: which win rate. ``level``: of the
    intervals and of the rank sets. ``resamples``: how often topics are drawn. ``seed``: of the
    draws. Raises ValueError if a setting is out of range.
    """
    probability(level, "level")
    if not 0 <= prior < np.inf:
        raise ValueError(f"the prior must not be below 0, got {prior}")
    n = battles.runs
    # A topic without a battle says nothing, so that nothing is drawn of it.
    judged = battles.of_topics(battles.counts.any(axis=(1, 2)))
    topics = len(judged.counts)
    active = np.flatnonzero(battles.fought)
    parts = np.full(n, -1, dtype=np.int64)
    parts[active] = np.unique(components(battles)[active], return_inverse=True)[1]
    drawn = np.empty((0, len(active)))
    found = None
    among = battles.among(active)
    reason = _why_not(parts, among, model, prior)
    rating, errors, tie = np.full(n, np.nan), np.full(n, np.nan), None
    if reason is None:
        found = fit(among.total[None], among.first, among.second, len(active), model, prior)
        rating[active] = ratings(found.strength[0])
        errors[active] = sandwich(among, found, model)
        tie = None if np.isnan(found.tie[0]) else float(found.tie[0])
    if topics > 1 and reason is None:
        # Without topics each battle is one: such a table of weights is large, and not kept.
        drawn = resampled_ratings(
            judged, np.concatenate([*topic_counts(topics, resamples, seed)]), model, prior, found
        )[:, active]
    intervals: list[Interval | None] = [None] * n
    for run, interval in zip(active, _intervals(drawn, level, topics), strict=False):
        intervals[run] = interval
    return Rated(
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
    """The win rates, at worst and at best, and the intervals of both together."""
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
    """The ends of an interval of a normal estimate."""
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
    if not _fits(among, total[None], model, prior)[0]:
        return (
            "the ratings are not finite: this model's tie parameter and the distances between runs "
            "can grow together without end. Bradley-Terry's are, or a prior makes them so"
        )
    return None


def _bounded(among: Battles, counts: Floats) -> bool:
    """Whether a fitted tie parameter is finite where runs are tied to each other by wins and ties.

    All strengths δ and the tie parameter can grow together, at no loss of likelihood, if and only
    if some δ put every winner ahead of who it beat by 1 at least, and who tied apart by 1 at most:
    such differences exist where no circle of runs has more wins along it than ties.
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
    """The ratings of resamples of topics, B × n; NaN for a resample without finite ratings,
    and for runs that have no battle at all.

    ``battles``: counted. ``weights``: B × T, how often each topic was drawn. ``model``: the model.
    ``prior``: as in :func:`rate`. ``near``: the fit of the data themselves, where there is one.
    """
    active = np.flatnonzero(battles.fought)
    among = battles.among(active)
    found = np.full((len(weights), battles.runs), np.nan)
    start = 0
    for _, counts in _blocks(among, weights):
        good = _fits(among, counts, model, prior)
        if good.any():
            fitted = fit(counts[good], among.first, among.second, among.runs, model, prior, near)
            found[np.ix_(start + np.flatnonzero(good), active)] = ratings(fitted.strength)
        start += len(counts)
    return found


def _blocks(battles: Battles, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Rows of ``weights`` with the counts of their resamples, b × 3 × P, as many at once as fit
    into memory."""
    flat = battles.counts.reshape(len(battles.counts), 3 * len(battles.first))
    for block in in_parts(
        weights, _CELLS_AT_ONCE // max(1, flat.shape[1], (battles.runs + 1) ** 2)
    ):
        yield block, (block @ flat).reshape(len(block), *battles.counts.shape[1:])


def _fits(among: Battles, counts: Floats, model: Model, prior: float) -> Bools:
    """Which resamples, B × 3 × P counts, have a finite fit."""
    if prior:
        return np.ones(len(counts), np.bool_)
    parts = parts_of(among, counts)
    good = (parts == parts[:, :1]).all(axis=1)
    if model.fitted:
        good &= counts[:, [0, 2]].any(axis=(1, 2))
        good[good] = [_bounded(among, one) for one in counts[good]]
    return np.asarray(good)


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
