"""Coverage of exam questions: EXAM-Cover, EXAM-Label, and α-nDCG with questions as intents.

All functions take the grades of one query, as passages × questions. Arguments for a single ranked
list may have further axes in front, for many lists; the result then has these axes, too. Source:
Farzi & Dietz, EXAM++, equations 1 and 2; Clarke et al. 2008 for α-nDCG.
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

_POOLS_AT_ONCE = 64
"""The number of pools whose ideal lists are computed together."""


@dataclass(frozen=True, slots=True)
class Cover:
    """EXAM-Cover of some passages at one τ.

    ``floor``: the share of the questions' weight that is covered if every missing grade is 0; 0 if
    there are no questions. ``ceiling``: the same if every missing grade is the best. Both ends can
    be reached. ``covered``: which questions are certainly covered. ``unknown``: which questions may
    be covered, depending on a missing grade.
    """

    floor: Floats
    ceiling: Floats
    covered: Bools
    unknown: Bools

    @property
    def ends(self) -> Range:
        """Floor and ceiling of a single list."""
        return Range(float(self.floor), float(self.ceiling))


def cover(
    grades: GradeMatrix, tau: int, weights: npt.ArrayLike | None = None, *, of: object = None
) -> Cover:
    """EXAM-Cover: the share of questions that some passage answers with grade ≥ τ.

    ``grades``: the passages shown (already cut at k) × all questions. ``tau``: the lowest grade
    that counts as an answer, at most the best one. ``weights``: non-negative weights of the
    questions, equal by default. ``of``: which questions count (Booleans), all by default. Raises
    ValueError if a weight is negative or not finite.
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
    """The share of the weight that is covered; 0 if there is no weight."""
    total = np.broadcast_to(weight.sum(axis=-1), covered.shape[:-1])
    gained = np.where(covered, weight, 0.0).sum(axis=-1)
    share = np.divide(gained, total, out=np.zeros(total.shape), where=total > 0)
    # The share must be exactly 1 if nothing is uncovered, even if the two sums round differently.
    complete = (total == gained) | ~np.where(covered, 0.0, weight).any(axis=-1)
    return np.where(complete, (total > 0).astype(np.float64), share)


def normalised_cover(
    pool: GradeMatrix, shown: GradeMatrix, tau: int, *, of: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Normalised EXAM-Cover: of the questions that the pool can answer, the share that the passages
    shown answer; 0 if the pool can answer none. Returns floor and ceiling; both can be reached.

    For the floor, a question that the passages shown may answer is not answered by them, but by
    others of the pool. For the ceiling, it is answered by those shown, and one that they certainly
    do not answer is answered by none. Questions are independent of each other.

    ``pool``: all passages × questions. ``shown``: the rows of the passages that the run shows;
    repeated passages have grades. ``tau``: the lowest grade that counts as an answer, at most the
    best one. ``of``: which questions count (Booleans).
    """
    counted: Bools = np.asarray(of, dtype=bool)
    shown_cover = cover(shown, tau)
    covered = shown_cover.covered & counted
    possible = (shown_cover.covered | shown_cover.unknown) & counted
    answered = (pool >= tau).any(axis=-2) & counted
    # If more grades are missing in the pool than in the passages shown, others lack some.
    missing_elsewhere = (pool == NO_GRADE).sum(axis=-2) > (shown == NO_GRADE).sum(axis=-2)
    return (
        _share((answered | (missing_elsewhere & counted)).astype(np.float64), covered),
        _share((answered | possible).astype(np.float64), possible),
    )


def labels(grades: GradeMatrix) -> npt.NDArray[np.int8]:
    """EXAM-Label of each passage: its highest grade, NO_GRADE where it has none."""
    return np.asarray(grades.max(axis=1, initial=NO_GRADE), dtype=np.int8)


def _discounts(length: int) -> npt.NDArray[np.float64]:
    """1 / log2(r + 1) for the ranks r from 1 to ``length``."""
    return np.asarray(1.0 / np.log2(np.arange(2, length + 2)), dtype=np.float64)


def _greedy(covers: Bools, alpha: float, k: int | None) -> Iterator[tuple[Floats, Floats]]:
    """Build the greedy ideal lists of pools. Yields for each rank the possible gain of each passage
    of each pool, and the gain of the passage chosen. Stops once nothing more can be gained."""
    remaining = covers.astype(np.float64)
    worth = np.ones((len(remaining), remaining.shape[2]))
    pools = np.arange(len(remaining))
    for _ in range(min(remaining.shape[1], k or remaining.shape[1])):
        gains = (remaining @ worth[..., None])[..., 0]
        # Equal gains may round differently; the first of them is chosen.
        best = (gains >= gains.max(axis=1, keepdims=True) * (1.0 - ROUNDING)).argmax(axis=1)
        gain = gains[pools, best]
        if not (gain > 0).any():
            return
        yield gains, gain
        worth = np.where(remaining[pools, best] > 0, worth * (1.0 - alpha), worth)
        remaining[pools, best] = 0.0


def alpha_ideals(pools: Iterable[Bools], *, alpha: float = 0.5, k: int | None = None) -> Floats:
    """α-DCG of the greedy ideal list over each pool, the denominator of α-nDCG.

    ``pools``: for each pool, passages × intents; all have the same number of intents. ``alpha``:
    how much a repeated intent loses. ``k``: the cutoff, if any.
    """
    covering = [pool[pool.any(axis=1)] for pool in pools]
    ideals = np.zeros(len(covering))
    for start in range(0, len(covering), _POOLS_AT_ONCE):
        block = slice(start, start + _POOLS_AT_ONCE)
        for rank, (_, gain) in enumerate(_greedy(_stacked(covering[block]), alpha, k), 1):
            ideals[block] += gain / math.log2(rank + 1)
    return ideals


def _stacked(pools: Sequence[Bools]) -> Bools:
    """Stack pools; smaller ones are padded with passages that cover nothing."""
    covers = np.zeros((len(pools), max(map(len, pools)), pools[0].shape[1]), dtype=np.bool_)
    for number, pool in enumerate(pools):
        covers[number, : len(pool)] = pool
    return covers


@dataclass(frozen=True, slots=True)
class AlphaIdeal:
    """Bounds of the denominator of α-nDCG over all completions of the missing grades, per pool.
    ``excess``: the most that α-nDCG can be, above 1, as the greedy list may not be the best."""

    least: Floats
    most: Floats
    excess: Floats


def alpha_ideal_range(
    surely: Sequence[Bools], possibly: Sequence[Bools], *, alpha: float = 0.5, k: int | None = None
) -> AlphaIdeal:
    """Bounds of :func:`alpha_ideals` over all completions; they need not be reached.

    The undiscounted gain of the first r passages is submodular. Upper bound: with everything that
    may be covered being covered, no list gains more by rank r than the first few passages of the
    greedy list and the r best additions to them. Lower bound: with only what is certain being
    covered, each rank of the greedy list closes at least 1/r of the distance to what any r passages
    gain together (Nemhauser, Wolsey and Fisher 1978). Discounts decrease with the rank, so bounds
    of these sums also bound the discounted sum.

    ``surely``: for each pool, passages × intents, what each certainly covers. ``possibly``: what
    each may cover, including the certain ones. ``alpha``: how much a repeated intent loses. ``k``:
    the cutoff, if any.
    """
    ends = np.repeat([[0.0], [0.0], [1.0]], len(possibly), axis=1)
    for start in range(0, len(possibly), _POOLS_AT_ONCE):
        block = slice(start, start + _POOLS_AT_ONCE)
        sizes = [min(len(pool), k or len(pool)) for pool in possibly[block]]
        most, gained = _most_gained(_stacked(possibly[block]), alpha, max(sizes))
        least = _least_gained(_stacked(surely[block]), alpha, max(sizes))
        for pool in np.flatnonzero(gained).tolist():
            size = sizes[pool]
            discounts = _discounts(size)
            # Σ discount · gain by summation by parts, from the cumulated gains.
            drops = discounts - np.append(discounts[1:], 0.0)
            # 1 over the least share of the best list's gain that a greedy list has.
            excess = 1.0 / (1.0 - (1.0 - 1.0 / size) ** size)
            ends[:, start + pool] = drops @ least[pool, :size], drops @ most[pool, :size], excess
    return AlphaIdeal(*ends)


def _most_gained(covers: Bools, alpha: float, length: int) -> tuple[Floats, Floats]:
    """An upper bound of the undiscounted gain of any list by each rank, per pool; and the total
    gain of the greedy list."""
    most, gained = np.full((len(covers), length), np.inf), np.zeros(len(covers))
    for gains, gain in _greedy(covers, alpha, length):
        bound = gained[:, None] + np.cumsum(-np.sort(-gains, axis=1)[:, :length], axis=1)
        most = np.where(gain[:, None] > 0, np.minimum(most, bound), most)
        gained += gain
    return most, gained


def _least_gained(covers: Bools, alpha: float, length: int) -> Floats:
    """A lower bound of the undiscounted gain of greedy lists by each rank, per pool."""
    gains = [gain for _, gain in _greedy(covers, alpha, length)]
    least = np.zeros((len(covers), length))
    if gains:
        cumulated, counts = np.cumsum(gains, axis=0), np.arange(1, len(gains) + 1)[:, None]
        reached = np.zeros(len(covers))
        for place in range(length):
            reached += np.maximum(0.0, ((cumulated - reached) / counts).max(axis=0))
            least[:, place] = reached
    return least


def alpha_dcg(shown: Bools, *, alpha: float, ranks: Integers | None = None) -> Floats:
    """α-DCG of a ranked list: Σ (1 − α)^c / log2(r + 1) over the intents that each passage covers,
    where c passages above it cover the intent.

    ``shown``: passages in rank order × intents. ``alpha``: how much a repeated intent loses.
    ``ranks``: the ranks of the rows, if some passages are left out; by default 1, 2, ….
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

    ``shown``: passages in rank order × intents. ``ideal``: :func:`alpha_ideals` of the pool, or of
    each list, with the same ``alpha`` and ``k``. Returns 0 if nothing in the pool covers anything,
    and more than 1 only if the greedy ideal list is not the best.
    """
    value = alpha_dcg(shown[..., :k, :], alpha=alpha)
    return np.divide(value, ideal, out=np.zeros_like(value), where=np.asarray(ideal) > 0)


def alpha_ndcg_range(
    surely: Bools, possibly: Bools, ideal: AlphaIdeal, *, alpha: float = 0.5, k: int | None = None
) -> tuple[Floats, Floats]:
    """Bounds of :func:`alpha_ndcg`, floor and ceiling. (Covering more never lowers α-DCG.)

    ``surely``: pools × lists × passages in rank order × intents, what each certainly covers.
    ``possibly``: what each may cover. ``ideal``: :func:`alpha_ideal_range` of the pools, with the
    same ``alpha`` and ``k``.
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
