"""Coverage of exam questions: EXAM-Cover, EXAM-Label, and α-nDCG with questions as intents.

Source: Farzi & Dietz, EXAM++, equations 1 and 2; Clarke et al. 2008 for α-nDCG. All functions take
the grades of one query: a matrix with a row a passage and a column a question. What one list shows
may be what many show, with an axis for the lists before the others: values then have that axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.ranges import ROUNDING, Range
from assay.model.exam_grades import NO_GRADE, GradeMatrix

_POOLS = 64
"""Pools whose ideal lists are made side by side."""


@dataclass(frozen=True, slots=True)
class Cover:
    """EXAM-Cover of some passages at one τ.

    ``floor``: the share of the questions' weight that is covered if every missing grade were 0, 0
    if there are no questions. ``ceiling``: the same if every missing grade were the best. Both
    ends are reached. ``covered``: which questions are covered. ``unknown``: which questions may be
    covered or not, for want of a grade.
    """

    floor: Floats
    ceiling: Floats
    covered: Bools
    unknown: Bools

    @property
    def ends(self) -> Range:
        """Both ends of a single list's share."""
        return Range(float(self.floor), float(self.ceiling))


def cover(
    grades: GradeMatrix, tau: int, weights: npt.ArrayLike | None = None, *, of: object = None
) -> Cover:
    """EXAM-Cover: the share of questions that some passage answers with grade ≥ τ.

    ``grades``: rows are the passages shown (already cut at k), columns all questions. ``tau``: the
    least grade that counts as answered, not above the best one. ``weights``: of the questions, not
    negative; all equal where left out. ``of``: which questions are the denominator (a Boolean
    array), all where left out. Raises ValueError if a weight is negative or not finite.
    """
    weight = np.ones(grades.shape[-1])
    if weights is not None:
        weight = np.asarray(weights, dtype=np.float64)
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ValueError("weights must be finite and not negative")
    if of is not None:
        weight = np.where(np.asarray(of, dtype=bool), weight, 0.0)
    covered: Bools = np.asarray((grades >= tau).any(axis=-2))
    unknown: Bools = np.asarray((grades == NO_GRADE).any(axis=-2)) & ~covered
    return Cover(_share(weight, covered), _share(weight, covered | unknown), covered, unknown)


def _share(weight: Floats, covered: Bools) -> Floats:
    """The covered share of weights; 0 where there are none."""
    total = np.broadcast_to(weight.sum(axis=-1), covered.shape[:-1])
    gained = np.where(covered, weight, 0.0).sum(axis=-1)
    share = np.divide(gained, total, out=np.zeros(total.shape), where=total > 0)
    # Exactly, whatever the order of summation.
    whole = (total == gained) | ~np.where(covered, 0.0, weight).any(axis=-1)
    return np.where(whole, (total > 0).astype(np.float64), share)


def normalised_cover(
    pool: GradeMatrix, shown: GradeMatrix, tau: int, *, of: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """The share that some passages answer of those questions that the pool can answer; 0
    if it can answer none: at worst and at best. Both ends are reached.

    A question that the passages shown may answer or not is worst left unanswered by them and
    answered elsewhere in the pool, and best answered by them; one that they surely do not answer
    is best answered nowhere. Questions do not hang on each other.

    ``pool``: rows are all passages, columns the questions. ``shown``: the rows of the passages that
    the run shows; those that are repeated have grades. ``tau``: the least grade that counts as
    answered, not above the best one. ``of``: which questions count (a Boolean array).
    """
    asked: Bools = np.asarray(of, dtype=bool)
    found = cover(shown, tau)
    covered = found.covered & asked
    possible = (found.covered | found.unknown) & asked
    answered = (pool >= tau).any(axis=-2) & asked
    # More grades are missing than among those shown: some are missing elsewhere.
    gaps = (pool == NO_GRADE).sum(axis=-2) > (shown == NO_GRADE).sum(axis=-2)
    return (
        _share((answered | (gaps & asked)).astype(np.float64), covered),
        _share((answered | possible).astype(np.float64), possible),
    )


def labels(grades: GradeMatrix) -> npt.NDArray[np.int8]:
    """EXAM-Label of each passage: its highest grade, NO_GRADE where it has none."""
    return np.asarray(grades.max(axis=1, initial=NO_GRADE), dtype=np.int8)


def _discounts(length: int) -> npt.NDArray[np.float64]:
    """1 / log2(r + 1) for the ranks from 1."""
    return np.asarray(1.0 / np.log2(np.arange(2, length + 2)), dtype=np.float64)


def _greedy(covers: Bools, alpha: float, k: int | None) -> Iterator[tuple[Floats, Floats]]:
    """The greedy ideal lists of pools, rank by rank: what each passage of each pool would gain, and
    what the chosen ones do. They end where nothing is gained any more."""
    left = covers.astype(np.float64)
    worth = np.ones((len(left), left.shape[2]))
    pools = np.arange(len(left))
    for _ in range(min(left.shape[1], k or left.shape[1])):
        gains = (left @ worth[..., None])[..., 0]
        # The first of those that gain the same, whatever the order of summation.
        best = (gains >= gains.max(axis=1, keepdims=True) * (1.0 - ROUNDING)).argmax(axis=1)
        gain = gains[pools, best]
        if not (gain > 0).any():
            return
        yield gains, gain
        worth = np.where(left[pools, best] > 0, worth * (1.0 - alpha), worth)
        left[pools, best] = 0.0


def alpha_ideals(pools: Iterable[Bools], *, alpha: float = 0.5, k: int | None = None) -> Floats:
    """α-DCG of the greedy ideal list over each pool, the denominator of α-nDCG.

    ``pools``: rows are the passages of a pool, columns the intents; all pools have as many.
    ``alpha``: how much a repeated intent loses. ``k``: the cutoff, none where left out.
    """
    lean = [pool[pool.any(axis=1)] for pool in pools]
    found = np.zeros(len(lean))
    for start in range(0, len(lean), _POOLS):
        covers = _side_by_side(lean[start : start + _POOLS])
        for rank, (_, gain) in enumerate(_greedy(covers, alpha, k), 1):
            found[start : start + _POOLS] += gain / math.log2(rank + 1)
    return found


def _side_by_side(pools: Sequence[Bools]) -> Bools:
    """Pools as one array; passages that cover nothing fill the smaller ones up."""
    covers = np.zeros((len(pools), max(map(len, pools)), pools[0].shape[1]), dtype=np.bool_)
    for number, pool in enumerate(pools):
        covers[number, : len(pool)] = pool
    return covers


@dataclass(frozen=True, slots=True)
class AlphaIdeal:
    """Between which ends the denominator of α-nDCG lies whatever the missing grades are, pool by
    pool. ``excess`` is what α-nDCG is at most: above 1, as the greedy list need not be the best."""

    least: Floats
    most: Floats
    excess: Floats


def alpha_ideal_range(
    surely: Sequence[Bools], possibly: Sequence[Bools], *, alpha: float = 0.5, k: int | None = None
) -> AlphaIdeal:
    """Safe ends of :func:`alpha_ideals`, which need not be reached.

    What the first r passages of a list gain without discount is submodular. So no list gains more
    by rank r than some first passages of the greedy one and the r next best additions to them,
    where all that is possible is covered. And where only what is sure is, the greedy list closes
    with each rank at least an r-th part of its distance to what any r passages gain together
    (Nemhauser, Wolsey and Fisher 1978), whatever else it may choose. Discounts fall from rank to
    rank, so that bounds of these sums bound the discounted one.

    ``surely``: pool by pool; rows are its passages, columns the intents that each surely covers.
    ``possibly``: those that it may cover, the sure ones among them. ``alpha``: how much a repeated
    intent loses. ``k``: the cutoff, none where left out.
    """
    ends = np.repeat([[0.0], [0.0], [1.0]], len(possibly), axis=1)
    for start in range(0, len(possibly), _POOLS):
        some = slice(start, start + _POOLS)
        sizes = [min(len(pool), k or len(pool)) for pool in possibly[some]]
        most, gained = _most_gained(_side_by_side(possibly[some]), alpha, max(sizes))
        least = _least_gained(_side_by_side(surely[some]), alpha, max(sizes))
        for at in np.flatnonzero(gained).tolist():
            size = sizes[at]
            discounts = _discounts(size)
            # Σ discount · gain, summed by parts: of the gains' sums up to each rank.
            drops = discounts - np.append(discounts[1:], 0.0)
            # The share of the best list's gain that a greedy one has at least, turned over.
            excess = 1.0 / (1.0 - (1.0 - 1.0 / size) ** size)
            ends[:, start + at] = drops @ least[at, :size], drops @ most[at, :size], excess
    return AlphaIdeal(*ends)


def _most_gained(covers: Bools, alpha: float, length: int) -> tuple[Floats, Floats]:
    """What lists over pools gain by each rank without discount at most; and what greedy ones do
    in all."""
    most, gained = np.full((len(covers), length), np.inf), np.zeros(len(covers))
    for gains, gain in _greedy(covers, alpha, length):
        bound = gained[:, None] + np.cumsum(-np.sort(-gains, axis=1)[:, :length], axis=1)
        most = np.where(gain[:, None] > 0, np.minimum(most, bound), most)
        gained += gain
    return most, gained


def _least_gained(covers: Bools, alpha: float, length: int) -> Floats:
    """What greedy lists gain by each rank without discount at least."""
    gains = [gain for _, gain in _greedy(covers, alpha, length)]
    least = np.zeros((len(covers), length))
    if gains:
        sure, counts = np.cumsum(gains, axis=0), np.arange(1, len(gains) + 1)[:, None]
        reached = np.zeros(len(covers))
        for place in range(length):
            reached += np.maximum(0.0, ((sure - reached) / counts).max(axis=0))
            least[:, place] = reached
    return least


def alpha_dcg(shown: Bools, *, alpha: float, ranks: Integers | None = None) -> Floats:
    """α-DCG of a ranked list: Σ (1 − α)^c / log2(r + 1) over the intents that each passage
    covers, c times covered above it.

    ``shown``: rows are the passages in rank order, columns the intents that each covers. ``alpha``:
    how much a repeated intent loses. ``ranks``: of the rows where some passages are not among them;
    from 1 if left out.
    """
    before = np.cumsum(shown, axis=-2, dtype=np.int32) - shown
    worth = (1.0 - alpha) ** np.arange(shown.shape[-2] + 1)
    gains = (worth[before] * shown).sum(axis=-1)
    discounts = _discounts(shown.shape[-2]) if ranks is None else 1.0 / np.log2(ranks + 1.0)
    return np.asarray((gains * discounts).sum(axis=-1))


def alpha_ndcg(
    shown: Bools, ideal: float | Floats, *, alpha: float = 0.5, k: int | None = None
) -> Floats:
    """α-nDCG of a ranked list with questions as intents.

    ``shown``: rows are the passages in rank order, columns the intents that each covers. ``ideal``:
    :func:`alpha_ideals` of the pool, or that of each list. ``alpha``: as there. ``k``: as there.
    Returns the score, 0 if nothing in the pool covers anything; above 1 only where the greedy
    ideal list is not the best one.
    """
    value = alpha_dcg(shown[..., :k, :], alpha=alpha)
    return np.divide(value, ideal, out=np.zeros_like(value), where=np.asarray(ideal) > 0)


def alpha_ndcg_range(
    surely: Bools, possibly: Bools, ideal: AlphaIdeal, *, alpha: float = 0.5, k: int | None = None
) -> tuple[Floats, Floats]:
    """Safe ends of :func:`alpha_ndcg`, at worst and at best: a list never loses by what it
    covers.

    ``surely``: an axis for the pools and one for the lists; rows are the passages in rank order,
    columns the intents that each surely covers. ``possibly``: those that it may cover. ``ideal``:
    :func:`alpha_ideal_range` of the pools. ``alpha``: as there. ``k``: as there.
    """
    least, most, excess = (one[:, None] for one in (ideal.least, ideal.most, ideal.excess))
    any_possible = possibly[..., :k, :].any(axis=(-2, -1))
    ceiling = np.where(
        least > 0,
        np.minimum(excess, alpha_ndcg(possibly, least, alpha=alpha, k=k)),
        np.where(any_possible, excess, 0.0),
    )
    return alpha_ndcg(surely, most, alpha=alpha, k=k), ceiling


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of a mean, s/√n with n − 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
