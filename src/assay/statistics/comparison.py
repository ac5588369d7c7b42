"""Comparison of runs: interval, p-value and effect size of every pair, and groups of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from assay.measures.bootstrap import Interval, ends_of, mean_intervals
from assay.measures.confidence import LOWER_IS_BETTER, confidence_measure
from assay.measures.settings import probability
from assay.statistics.checks import defined, score_matrix
from assay.statistics.confidence import paired_differences
from assay.statistics.letters import TooManyGroups, compact_letters, letters_text, top_group
from assay.statistics.resampling import EXACT_LIMIT, is_exact
from assay.statistics.samplesize import Variance, residual_variance
from assay.statistics.significance import (
    bootstrap_p,
    holm,
    pair_sizes,
    randomisation_p,
    residual_effect_sizes,
    t_columns,
)
from assay.statistics.tukey import randomised_tukey

Test = Literal["tukey", "t", "randomisation", "bootstrap"]
"""``tukey``: randomised Tukey HSD, which adjusts for all pairs. ``t``, ``randomisation`` and
``bootstrap``: a test of each pair, with Holm's correction over all pairs."""


_PairColumns = tuple[float, Interval | None, float | None, float | None, float | None, float | None]
"""Difference, interval, p, adjusted p, effect and paired effect of a pair."""


@dataclass(frozen=True)
class PairComparison:
    """The comparison of two runs.

    ``run_a``: the better run, or the earlier one if they are equal. ``run_b``: the other.
    ``difference``: the mean (or value) of ``run_a`` − that of ``run_b``. ``low``, ``high``: its
    bootstrap interval, not adjusted for other pairs; ``None`` if no resample defines the measure.
    ``p``: the p-value of this pair alone; ``None`` for ``tukey``, which has none, and for a t or
    bootstrap test if all differences are equal. ``p_adjusted``: the p-value adjusted for all pairs;
    ``None`` if undefined. ``effect``: difference / √V_E2, the residual standard deviation; ``None``
    if that is 0, or the measure is not a mean over topics. ``paired_effect``: difference / standard
    deviation of the pair's differences; ``None`` in the same cases. ``different``: whether
    ``p_adjusted`` is below the level. Without a p-value, runs do not count as different.
    """

    run_a: str
    run_b: str
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    effect: float | None
    paired_effect: float | None
    different: bool


@dataclass(frozen=True)
class Comparison:
    """The comparison of all pairs of some runs.

    ``test``: which test. ``alpha``: the level at which runs count as different. ``topics``: n.
    ``means``: mean score by run, best first; the value over all topics if the measure is not a
    mean. ``pairs``: all pairs, in the order of the means. ``letters``: letters by run; runs that
    share one do not differ, see :func:`assay.statistics.letters.compact_letters`. ``None`` if too
    many letters would be needed. ``top``: the runs that do not differ from the best, best first.
    ``variance``: the residual variance of the topics × runs matrix; ``None`` if the measure is not
    a mean over topics. ``exact``: whether the test used all permutations; ``None`` for the t-test.
    ``permutations``: the number of permutations or resamples; ``None`` for the t-test.
    """

    test: Test
    alpha: float
    topics: int
    means: Mapping[str, float]
    pairs: tuple[PairComparison, ...]
    letters: Mapping[str, str] | None
    top: tuple[str, ...]
    variance: Variance | None
    exact: bool | None
    permutations: int | None


def compare_runs(
    matrix: npt.ArrayLike,
    runs: Sequence[str],
    *,
    test: Test = "tukey",
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
    workers: int | None = None,
    lower_is_better: bool = False,
) -> Comparison:
    """Compare every run with every other.

    ``matrix``: scores, n topics × m runs, none missing. ``runs``: the m names of the columns.
    ``test``: see :data:`Test`. ``alpha``: the level of the letters and the top group. A pair whose
    p is undefined, because its difference is the same on every topic, does not count as different.
    ``level``, ``resamples``: of the bootstrap intervals over topics. ``permutations``: the number
    of random permutations if the test is not exact, or of resamples of the bootstrap test.
    ``seed``: of all random draws. ``exact_limit``: the test is exact if there are at most this many
    permutations. ``workers``: threads of ``tukey``. ``lower_is_better``: whether the run with the
    lowest mean is the best. Raises ValueError if the matrix is not complete, the names do not fit
    it or repeat, or a setting is out of range.
    """
    scores = score_matrix(matrix)
    topics, m = scores.shape
    _check_names(runs, m)
    if test not in get_args(Test):
        raise ValueError(f"test must be one of {', '.join(get_args(Test))}, got {test!r}")
    probability(alpha, "alpha")
    sign = -1.0 if lower_is_better else 1.0
    order = np.argsort(-sign * scores.mean(axis=0), kind="stable")
    scores = scores[:, order]
    names = [str(runs[i]) for i in order]
    first, second = np.triu_indices(m, 1)
    differences = scores[:, first] - scores[:, second]
    sizes = pair_sizes(scores[:, first], scores[:, second])
    t, p_of_t = t_columns(differences, sizes)
    exact: bool | None = None
    used: int | None = None
    p: list[float | None] = [None] * len(first)
    adjusted: list[float | None]
    if test == "tukey":
        result = randomised_tukey(
            scores, permutations=permutations, seed=seed, exact_limit=exact_limit, workers=workers
        )
        adjusted = [float(x) for x in result.p[first, second]]
        exact, used = result.exact, result.permutations
    else:
        if test == "t":
            p_values = p_of_t
        elif test == "bootstrap":
            p_values = bootstrap_p(differences, sizes, permutations, seed)
            exact, used = False, permutations
        else:
            p_values = randomisation_p(differences, sizes, permutations, seed, exact_limit)
            exact = is_exact(topics, exact_limit)
            used = 2**topics if exact else permutations
        p = [defined(value) for value in p_values]
        adjusted = holm(p)
    intervals = mean_intervals(list(differences.T), level=level, resamples=resamples, seed=seed)
    effects = residual_effect_sizes(scores)
    columns = zip(
        differences.mean(axis=0).tolist(),
        intervals,
        p,
        adjusted,
        [None] * len(first) if effects is None else effects[first, second].tolist(),
        map(defined, t / np.sqrt(topics)),
        strict=True,
    )
    means = dict(zip(names, scores.mean(axis=0).tolist(), strict=True))
    tested = _TestUsed(test, alpha, topics, residual_variance(scores), exact, used)
    return _compared(means, sign, columns, tested)


def compare_confidences(
    confidences: npt.ArrayLike,
    correct: npt.ArrayLike,
    runs: Sequence[str],
    *,
    measure: str,
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int,
    exact_limit: int = EXACT_LIMIT,
) -> Comparison:
    """Compare every run with every other by a confidence measure over all topics.

    Each pair is tested by :func:`assay.statistics.confidence.compare_confidence`, which swaps the
    answers of two runs topic by topic, with Holm's correction over all pairs. Runs for which the
    measure is undefined (AUROC, if all answers are right, or all wrong) are left out.

    ``confidences``: 0 to 1, n topics × m runs. ``correct``: whether the answers are correct, n × m.
    ``measure``: a name among :data:`assay.measures.confidence.MEASURES`. For the others see
    :func:`compare_runs`. Raises ValueError if the data are not n × m for at least 2 topics and 2
    runs, names do not fit or repeat, the measure is defined for fewer than 2 runs, or a setting
    is out of range.
    """
    p, c = score_matrix(confidences), score_matrix(correct)
    topics, m = p.shape
    if c.shape != p.shape:
        raise ValueError(f"{p.shape} confidences, {c.shape} answers")
    _check_names(runs, m)
    probability(alpha, "alpha")
    sign = -1.0 if measure in LOWER_IS_BETTER else 1.0
    by_run = [confidence_measure(measure, p[:, i], c[:, i]) for i in range(m)]
    values = sign * np.array([np.nan if value is None else value for value in by_run])
    order = np.argsort(-values, kind="stable")[: int(np.isfinite(values).sum())]
    m = len(order)
    if m < 2:
        raise ValueError(
            f"{measure} is defined for {m} of the runs: others have answers that are all right, or "
            "all wrong"
        )
    names = [str(runs[i]) for i in order]
    pairs = paired_differences(
        p[:, order],
        c[:, order] > 0,
        measure,
        list(combinations(range(m), 2)),
        level=level,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        exact_limit=exact_limit,
    )
    columns = [
        (pair.difference, pair.interval, pair.p, p_adjusted, None, None)
        for pair, p_adjusted in zip(pairs, holm([pair.p for pair in pairs]), strict=True)
        if pair.difference is not None
    ]
    means = dict(zip(names, (sign * values[order]).tolist(), strict=True))
    exact, used = pairs[0].exact, pairs[0].permutations
    tested = _TestUsed("randomisation", alpha, topics, None, exact, used)
    return _compared(means, sign, columns, tested)


def _check_names(runs: Sequence[str], columns: int) -> None:
    if len(runs) != columns or len(set(map(str, runs))) != columns:
        raise ValueError(
            f"{columns} columns of scores need {columns} different run names, got {list(runs)}"
        )


class _TestUsed(NamedTuple):
    """The fields of a :class:`Comparison` about the test."""

    test: Test
    alpha: float
    topics: int
    variance: Variance | None
    exact: bool | None
    permutations: int | None


def _compared(
    means: Mapping[str, float],
    sign: float,
    columns: Iterable[_PairColumns],
    tested: _TestUsed,
) -> Comparison:
    """Build the comparison. ``means``: best first. ``sign``: −1 if lower is better. ``columns``:
    one entry per pair, in the order of the upper triangle."""
    names, ordered = list(means), sign * np.array(list(means.values()))
    pairs = tuple(
        PairComparison(
            a,
            b,
            difference,
            *ends_of(interval),
            p,
            adjusted,
            effect,
            paired_effect,
            different=adjusted is not None and adjusted < tested.alpha,
        )
        for (a, b), (difference, interval, p, adjusted, effect, paired_effect) in zip(
            combinations(names, 2), columns, strict=True
        )
    )
    different = np.zeros((len(names), len(names)), dtype=np.bool_)
    different[np.triu_indices(len(names), 1)] = [pair.different for pair in pairs]
    different |= different.T
    letters = None
    with suppress(TooManyGroups):
        letters = dict(zip(names, letters_text(compact_letters(ordered, different)), strict=True))
    top = tuple(names[i] for i in top_group(ordered, different))
    return Comparison(means=means, pairs=pairs, letters=letters, top=top, **tested._asdict())
