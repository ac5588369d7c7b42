"""Seeded percentile bootstrap intervals over topics (questions), vectorised over resamples.

Equal inputs, seed included, give equal intervals. Two calls with the same seed, number of values
and number of resamples draw the same topics, so intervals of several measures rest on the same
resamples. One topic says nothing of others, so there is no interval over fewer than two. Sources:
Efron & Tibshirani 1993, chapter 13 (percentile interval); Hesterberg, What Teachers Should Know
About the Bootstrap, The American Statistician 69 (2015) (expanded where topics are few).
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

FEWEST = 2
"""Topics over which there is an interval."""

_CELLS_AT_ONCE = 2_000_000
"""How many drawn topics (resamples × topics) are held in memory at a time: 4 MB. (With
fewer, threads that score several runs stand in each other's way.)"""

_MEASURED = 65_536
"""Cells of tables (levels of confidence × resamples) that are measured at once: they fit into a
core's own memory."""

_CELLS_KEPT = 4_000_000
"""Up to how many drawn topics the draws are kept for the next score: 8 MB each."""


_STUDENT = (
    (1.0,),
    (1 / 4, 1 / 4),
    (5 / 96, 16 / 96, 3 / 96),
    (3 / 384, 19 / 384, 17 / 384, -15 / 384),
    (79 / 92160, 776 / 92160, 1482 / 92160, -1920 / 92160, -945 / 92160),
)
"""Student's t over z, by powers of 1 over its degrees of freedom: each a polynomial in z²."""


@dataclass(frozen=True)
class Interval:
    """A bootstrap confidence interval.

    ``low``: the lower end. ``high``: the upper end. ``undefined``: in how many resamples the
    statistic was undefined (AUROC where all drawn answers are right, or all wrong); those were left
    out.
    """

    low: float
    high: float
    undefined: int = 0


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """Both ends; None if there is no interval."""
    return (None, None) if interval is None else (interval.low, interval.high)


def mean_interval(
    values: npt.ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int
) -> Interval | None:
    """The interval of the mean of one value per topic; None if there is one topic.

    ``values``: one score per topic. ``level``: the share of resampled means that the interval
    holds. ``resamples``: how many times the topics are drawn with replacement. ``seed``: of the
    random draws. Raises ValueError if there are no values, one is not finite, or ``level``,
    ``resamples`` or ``seed`` is out of range.
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
    """The same of several samples, which are as :func:`mean_interval` takes them."""
    probability(level, "level")
    found: list[Interval | None] = [None] * len(samples)
    for n in dict.fromkeys(map(len, samples)):  # nearly always one
        draws = topic_counts(n, resamples, seed)
        if n < FEWEST:
            continue
        which = [at for at, one in enumerate(samples) if len(one) == n]
        rows = np.array([samples[at] for at in which])
        # A resample's mean is a product with how often each topic was drawn. (einsum is as fast
        # here as "@", whose threads go on spinning for a while when they have nothing to do.)
        means = np.concatenate([np.einsum("ij,kj->ik", counts, rows) for counts in draws]) / n
        # The mean of n equal values can miss the value by a rounding error; the true mean cannot.
        bounded = np.clip(means, rows.min(axis=1), rows.max(axis=1))
        for at, ends in zip(which, percentiles(bounded, level, n).T.tolist(), strict=True):
            found[at] = Interval(*ends)
    return found


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
    """The intervals of the confidence measures, resampling questions.

    ``p``: confidences from 0 to 1. ``c``: 1 if the answer is correct, else 0. ``bins``: number
    of bins of ECE and MCE. ``closed``: which end of a bin belongs to it, see
    :data:`assay.measures.confidence.Closed`. ``level``: the share of resampled values that an
    interval holds. ``resamples``: how many times the questions are drawn with replacement.
    ``seed``: of the random draws. ``measures``: those wanted, all by default. Returns intervals by
    the names and in the order of :func:`assay.measures.confidence.confidence_measures`; AUROC is
    left out where it is undefined on the data themselves or in every resample, and all of one
    question are. Raises ValueError if the data are not what
    :func:`assay.measures.confidence.check` accepts, or a setting is out of range.
    """
    confidence, correct = check(p, c)
    probability(level, "level")
    one_sided = correct.all() or not correct.any()
    asked = [
        name
        for name in MEASURES
        if (measures is None or name in measures) and not (name == "AUROC" and one_sided)
    ]
    draws = _draws(len(confidence), resamples, seed)
    if len(confidence) < FEWEST:
        return {}
    resampled: dict[str, list[Floats]] = {name: [] for name in asked}
    for tally in _tallies(confidence, correct, draws, bins, closed):
        sums = {of: of(tally) for of in dict.fromkeys(MEASURES[name].sums for name in asked)}
        for name, values in resampled.items():
            measure = MEASURES[name]
            values.append(measure.value(sums[measure.sums], len(confidence)))
    whole = {name: np.concatenate(values) for name, values in resampled.items()}
    n = len(confidence)
    found = {name: percentile_interval(values, level, n) for name, values in whole.items()}
    return {name: interval for name, interval in found.items() if interval is not None}


def _tallies(
    p: Floats, c: Bools, draws: Iterable[Integers], bins: int, closed: Closed
) -> Iterator[Tally]:
    """The tallies of drawn answers, as many samples at once as are measured at once."""
    levels, level = np.unique(p, return_inverse=True)
    starts, cell = bin_starts(levels, bins, closed), level + len(levels) * c
    order = np.argsort(cell, kind="stable")
    ends = np.searchsorted(cell[order], np.arange(2 * len(levels) + 1))
    at_once = max(1, _MEASURED // len(levels))
    for counts in draws:
        by_cell = counts[order]
        tables = np.zeros((2 * len(levels), counts.shape[1]), counts.dtype)
        for at in np.flatnonzero(np.diff(ends)):
            # No sum is above the number of answers, which the type of the counts holds.
            by_cell[ends[at] : ends[at + 1]].sum(axis=0, dtype=counts.dtype, out=tables[at])
        for start in range(0, counts.shape[1], at_once):
            some = tables[:, start : start + at_once].astype(np.float64)
            yield Tally(some.reshape(2, len(levels), -1), levels, starts)


def topic_counts(n: int, resamples: int, seed: int) -> Iterable[Floats]:
    """How often each of ``n`` topics is drawn in each resample, in blocks of resamples × n.

    A resample draws ``n`` topics with replacement. Raises ValueError if ``resamples`` is not a
    whole number from 1, or ``seed`` one from 0.
    """
    return (one.T.astype(np.float64, order="C") for one in _draws(n, resamples, seed))


def _draws(n: int, resamples: int, seed: int) -> Iterable[Integers]:
    """:func:`topic_counts` in blocks of n × resamples, and in the smallest numbers that hold n.

    Scores of many runs over the same topics ask for the same draws; small ones are kept.
    """
    whole_number(resamples, "resamples")
    whole_number(seed, "seed", 0)
    return (_cached_draws if n * resamples <= _CELLS_KEPT else _drawn)(n, resamples, seed)


@lru_cache(maxsize=4)
def _cached_draws(n: int, resamples: int, seed: int) -> tuple[Integers, ...]:
    return tuple(_drawn(n, resamples, seed))


def _drawn(n: int, resamples: int, seed: int) -> Iterator[Integers]:
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        cells = generator.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(cells.ravel(), minlength=rows * n).reshape(rows, n)
        yield np.ascontiguousarray(counts.T, np.min_scalar_type(n))


def percentile_interval(values: Floats, level: float, n: int) -> Interval | None:
    """The percentile interval of resampled values; NaN values are left out and counted.
    ``n``: how many topics a resample draws. Returns ``None`` if the statistic was undefined in
    every resample. Raises ValueError if ``level`` is not between 0 and 1."""
    probability(level, "level")
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = percentiles(defined, level, n).tolist()
    return Interval(low, high, len(values) - len(defined))


def percentiles(values: Floats, level: float, n: int) -> Floats:
    """The ends of the intervals that hold with probability ``level``, of values (resamples × …) of
    resamples of ``n`` topics."""
    beyond = tail(level, n)
    return np.quantile(values, (beyond, 1.0 - beyond), axis=0)


@lru_cache(maxsize=256)
def tail(level: float, n: int) -> float:
    """The share of the resamples of ``n`` topics that lies beyond each end of an interval.

    It is less than (1 − level)/2 where topics are few: resamples vary by √((n − 1)/n) of what
    samples do, and how much these vary is known of n − 1 degrees of freedom only. Taken is the
    share beyond √(n/(n − 1)) t of a normal distribution, with t of Student's, so that the interval
    of a mean is about as wide as his (the expanded percentile interval). Simulated with normal
    scores, intervals of 95 % hold 83, 90 and 92 % over 5, 10 and 15 topics without this; 92, 94 and
    95 % with it.
    """
    z, df = NormalDist().inv_cdf((1.0 + level) / 2.0), max(n - 1.0, 1.0)
    # Student's t by z (Abramowitz & Stegun 1964, 26.7.5): scipy's is slow to load.
    t = z * sum(np.polyval(series, z * z) / df**power for power, series in enumerate(_STUDENT))
    return math.erfc(t * math.sqrt((df + 1.0) / df / 2.0)) / 2.0
