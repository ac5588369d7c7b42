"""Seeded percentile bootstrap intervals over topics (questions), vectorised over resamples.

Equal inputs, including the seed, give equal intervals. Calls with the same seed, number of values
and number of resamples draw the same topics, so the intervals of several measures are based on the
same resamples. At least two topics are needed for an interval. Sources: Efron & Tibshirani 1993,
chapter 13 (percentile interval); Hesterberg, What Teachers Should Know About the Bootstrap, The
American Statistician 69 (2015) (expansion for small samples).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.confidence import MEASURES, Closed, Tally, bin_starts, check
from assay.measures.settings import probability, whole_number

MIN_TOPICS = 2
"""The fewest topics that give an interval."""

_DRAWS_PER_BLOCK = 2_000_000
"""How many drawn topics (resamples × topics) are in memory at a time: 4 MB. Smaller blocks make
threads that score several runs wait for each other."""

_CELLS_PER_BLOCK = 65_536
"""How many table cells (levels of confidence × resamples) are measured at a time; they fit into
the cache of a core."""

_MOST_CACHED_DRAWS = 4_000_000
"""The most drawn topics (8 MB) that are cached for the next score."""

_T_OVER_Z = (
    (1.0,),
    (1 / 4, 1 / 4),
    (5 / 96, 16 / 96, 3 / 96),
    (3 / 384, 19 / 384, 17 / 384, -15 / 384),
    (79 / 92160, 776 / 92160, 1482 / 92160, -1920 / 92160, -945 / 92160),
)
"""Coefficients of the series of t / z (Student's t, normal z) in powers of 1 / df; each is a
polynomial in z², highest power first."""


@dataclass(frozen=True)
class Interval:
    """A bootstrap confidence interval.

    ``undefined``: the number of resamples left out because the statistic was undefined (such as
    AUROC when all drawn answers are right, or all wrong).
    """

    low: float
    high: float
    undefined: int = 0


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """Both ends of the interval, or two Nones if there is no interval."""
    return (None, None) if interval is None else (interval.low, interval.high)


def mean_interval(
    values: npt.ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int
) -> Interval | None:
    """Bootstrap interval of the mean of one value per topic, or None if there is only one topic.

    ``level``: the confidence level. ``resamples``: how many times the topics are drawn with
    replacement. ``seed``: the seed of the draws. Raises ValueError if there are no values, one is
    not finite, or ``level``, ``resamples`` or ``seed`` is out of range.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"give a flat list of at least one value, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"value {np.flatnonzero(~np.isfinite(array))[0] + 1} is not finite")
    return mean_intervals([array], level=level, resamples=resamples, seed=seed)[0]


def mean_intervals(
    samples: Sequence[Floats], *, level: float = 0.95, resamples: int = 2000, seed: int
) -> list[Interval | None]:
    """The :func:`mean_interval` of each sample. Samples must be finite."""
    probability(level, "level")
    intervals: list[Interval | None] = [None] * len(samples)
    for n in dict.fromkeys(map(len, samples)):  # nearly always a single size
        draws = topic_counts(n, resamples, seed)
        if n < MIN_TOPICS:
            continue
        indices = [index for index, sample in enumerate(samples) if len(sample) == n]
        rows = np.array([samples[index] for index in indices])
        # Means are products with the counts of drawn topics. (einsum is as fast here as "@", whose
        # threads keep spinning for a while after their work.)
        means = np.concatenate([np.einsum("ij,kj->ik", counts, rows) for counts in draws]) / n
        # Rounding can put the mean of equal values beside the value itself.
        bounded = np.clip(means, rows.min(axis=1), rows.max(axis=1))
        for index, ends in zip(indices, percentiles(bounded, level, n).T.tolist(), strict=True):
            intervals[index] = Interval(*ends)
    return intervals


def confidence_intervals(
    p: npt.ArrayLike,
    c: npt.ArrayLike,
    *,
    bins: int = 10,
    closed: Closed = "right",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
    measures: Collection[str] | None = None,
) -> dict[str, Interval]:
    """Bootstrap intervals of the confidence measures, over questions.

    ``p``: confidences from 0 to 1. ``c``: 1 if the answer is correct, else 0. ``bins``: number of
    bins of ECE and MCE. ``closed``: which end of a bin belongs to it, see
    :data:`assay.measures.confidence.Closed`. ``level``: the confidence level. ``resamples``: how
    many times the questions are drawn with replacement. ``seed``: the seed of the draws.
    ``measures``: the measures wanted, all by default. Returns intervals by name, in the order of
    :func:`assay.measures.confidence.confidence_measures`. AUROC is left out if it is undefined on
    the data or in every resample; with a single question there are no intervals at all. Raises
    ValueError as :func:`assay.measures.confidence.check` does, or if a setting is out of range.
    """
    confidence, correct = check(p, c)
    probability(level, "level")
    one_sided = correct.all() or not correct.any()
    wanted = [
        name
        for name in MEASURES
        if (measures is None or name in measures) and not (name == "AUROC" and one_sided)
    ]
    n = len(confidence)
    draws = _draws(n, resamples, seed)
    if n < MIN_TOPICS:
        return {}
    resampled: dict[str, list[Floats]] = {name: [] for name in wanted}
    for tally in _tallies(confidence, correct, draws, bins, closed):
        sums = {of: of(tally) for of in dict.fromkeys(MEASURES[name].sums for name in wanted)}
        for name, values in resampled.items():
            measure = MEASURES[name]
            values.append(measure.value(sums[measure.sums], n))
    intervals = {
        name: percentile_interval(np.concatenate(values), level, n)
        for name, values in resampled.items()
    }
    return {name: interval for name, interval in intervals.items() if interval is not None}


def _tallies(
    p: Floats, c: Bools, draws: Iterable[Integers], bins: int, closed: Closed
) -> Iterator[Tally]:
    """Tallies of the resampled answers, in blocks of resamples."""
    levels, level = np.unique(p, return_inverse=True)
    starts, cell = bin_starts(levels, bins, closed), level + len(levels) * c
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(2 * len(levels) + 1))
    per_block = max(1, _CELLS_PER_BLOCK // len(levels))
    for counts in draws:
        by_cell = counts[order]
        tables = np.zeros((2 * len(levels), counts.shape[1]), counts.dtype)
        for index in np.flatnonzero(np.diff(ends)):
            # A sum is at most the number of answers, so it fits into the type of the counts.
            answers = by_cell[ends[index] : ends[index + 1]]
            answers.sum(axis=0, dtype=counts.dtype, out=tables[index])
        for start in range(0, counts.shape[1], per_block):
            block = tables[:, start : start + per_block].astype(np.float64)
            yield Tally(block.reshape(2, len(levels), -1), levels, starts)


def topic_counts(n: int, resamples: int, seed: int) -> Iterable[Floats]:
    """How often each of ``n`` topics is drawn in each resample, in blocks of resamples × n.

    Each resample draws ``n`` topics with replacement. Raises ValueError if ``resamples`` is not a
    whole number from 1, or ``seed`` not a whole number from 0.
    """
    return (block.T.astype(np.float64, order="C") for block in _draws(n, resamples, seed))


def _draws(n: int, resamples: int, seed: int) -> Iterable[Integers]:
    """:func:`topic_counts`, but in blocks of n × resamples, and in the smallest type that holds n.

    Small draws are cached, because the scores of many runs over the same topics use the same ones.
    """
    whole_number(resamples, "resamples")
    whole_number(seed, "seed", 0)
    cached = n * resamples <= _MOST_CACHED_DRAWS
    return (_cached_draws if cached else _new_draws)(n, resamples, seed)


@lru_cache(maxsize=4)
def _cached_draws(n: int, resamples: int, seed: int) -> tuple[Integers, ...]:
    return tuple(_new_draws(n, resamples, seed))


def _new_draws(n: int, resamples: int, seed: int) -> Iterator[Integers]:
    generator = np.random.default_rng(seed)
    per_block = max(1, _DRAWS_PER_BLOCK // n)
    for start in range(0, resamples, per_block):
        rows = min(per_block, resamples - start)
        cells = generator.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n)
        yield np.ascontiguousarray(counts.T, np.min_scalar_type(n))


def percentile_interval(values: Floats, level: float, n: int) -> Interval | None:
    """Percentile interval of resampled values, or ``None`` if all are undefined (NaN).

    NaN values are left out and counted. ``n``: the number of topics that a resample draws. Raises
    ValueError if ``level`` is not between 0 and 1.
    """
    probability(level, "level")
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = percentiles(defined, level, n).tolist()
    return Interval(low, high, len(values) - len(defined))


def percentiles(values: Floats, level: float, n: int) -> Floats:
    """Ends of percentile intervals: 2 × …, from values (resamples × …) over ``n`` topics."""
    share = tail_share(level, n)
    return np.quantile(values, (share, 1.0 - share), axis=0)


@lru_cache(maxsize=256)
def tail_share(level: float, n: int) -> float:
    """The share of resamples beyond each end of an interval over ``n`` topics.

    With few topics this is less than (1 − level)/2 (the expanded percentile interval), because
    means of resamples vary less than means of samples, by a factor of √((n − 1)/n), and the
    variance is estimated with only n − 1 degrees of freedom. The share is that of a normal
    distribution beyond √(n/(n − 1)) t, with Student's t, so that the interval of a mean is about as
    wide as Student's. In simulations with normal scores, 95 % intervals over 5, 10 and 15 topics
    cover 83, 90 and 92 % without the expansion, and 92, 94 and 95 % with it.
    """
    z, df = NormalDist().inv_cdf((1.0 + level) / 2.0), max(n - 1.0, 1.0)
    # Student's t from z (Abramowitz & Stegun 1964, 26.7.5), because scipy is slow to load.
    t = z * sum(np.polyval(series, z * z) / df**power for power, series in enumerate(_T_OVER_Z))
    return math.erfc(t * math.sqrt((df + 1.0) / df / 2.0)) / 2.0
