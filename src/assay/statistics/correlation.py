"""Rank correlation of two sets of scores: τ-b, ρ, AP correlation and RBO, in three settings.

The first scores are the truth and the second the estimate, which only matters for AP correlation.
Higher scores are better. Scores of runs that differ by less than 10⁻¹² of the largest are tied,
because means are rounded. Ties:

- Kendall's τ-b leaves out tied pairs (Kendall 1945); Spearman's ρ uses mid-ranks.
- AP correlation (Yilmaz, Aslam & Robertson, SIGIR 2008) is the expectation over all orders of tied
  estimates: τ_ap,a of Urbano & Marrero, ICTIR 2017. Pairs that are tied in the truth, which τ_ap,a
  excludes, count half, as if they were also put in a random order.
- RBO (Webber, Moffat & Zobel, TOIS 28, 2010) is extrapolated. With ties it is RBO^b of Corsi &
  Urbano, SIGIR 2024: an item in a tie that spans a depth is within that depth with the probability
  that a random order has it there, and overlaps are normalised by those of each list with itself,
  as in τ-b, so that a list has an RBO of 1 with itself. Without ties it is Webber's.

τ-b, ρ and AP correlation are undefined (``None``) if all first or all second scores are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measures.arrays import Floats
from assay.measures.settings import probability
from assay.model.wording import natural_key
from assay.statistics import ranks
from assay.statistics.checks import defined, score_pair
from assay.statistics.correlation_settings import Correlation, all_settings, run_setting
from assay.statistics.shared_scores import (
    Missing,
    Scores,
    average,
    by_topic,
    check_missing,
    complete,
    known_scores,
    matrix,
    shared_runs,
)


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """Kendall's τ-b, or ``None`` if all x or all y are equal. Raises ValueError if the lists differ
    in length, have fewer than 2 scores, or contain anything but finite numbers."""
    return defined(ranks.tau_rows(*_ranked(x, y))[0])


def spearman_rho(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """Spearman's ρ, or ``None`` if all x or all y are equal. Raises ValueError as
    :func:`kendall_tau` does."""
    return defined(ranks.rho_rows(*_ranked(x, y))[0])


def ap_correlation(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float | None:
    """AP correlation, τ_ap = 2/(N − 1) Σ_{i≥2} C(i)/(i − 1) − 1 over the ranks i of the estimate.

    C(i) is the number of items above rank i that are correctly there, so errors at the top weigh
    more. It is not symmetric. ``None`` if all true or all estimated scores are equal. Raises
    ValueError as :func:`kendall_tau` does.
    """
    return defined(ranks.ap_rows(*_ranked(truth, estimate))[0])


def rbo(x: npt.ArrayLike, y: npt.ArrayLike, p: float = 0.9) -> float:
    """The extrapolated rank-biased overlap of two rankings of the same items.

    ``x``, ``y``: scores of the same items in the same order; higher is better. ``p``: the
    persistence; the first d ranks have about 1 − p^d of the weight. Raises ValueError as
    :func:`kendall_tau` does (but one item is enough), or if p is not between 0 and 1.
    """
    return float(ranks.rbo_rows(*_ranked(x, y, least=1), probability(p, "p"))[0])


def _ranked(x: npt.ArrayLike, y: npt.ArrayLike, least: int = 2) -> tuple[Floats, Floats]:
    """The ranks of two lists of scores, as rows."""
    first, second = score_pair(x, y, least=least)
    return ranks.near_ranks(first[None]), ranks.near_ranks(second[None])


# --- tables of scores ----------------------------------------------------------------------------


@dataclass(frozen=True)
class RunMean:
    """A run's mean scores over the topics used, for a plot.

    ``first``, ``second``: the mean in each table. ``topics``: the number of topics; 0 if both are
    scores of whole runs.
    """

    run: str
    first: float
    second: float
    topics: int


@dataclass(frozen=True)
class CorrelationReport:
    """The correlation of two tables of scores.

    ``rows``: the coefficients, by setting, then measure. ``run_means``: the runs used, in the order
    of the first table. ``topics``: the topics used; none if a table has scores of whole runs only.
    ``runs_only_first``, ``runs_only_second``: runs that only one table has.
    ``runs_unscored_first``, ``runs_unscored_second``: shared runs without any score in that table,
    which are left out. ``topics_only_first``, ``topics_only_second``: topics that only one table
    has for shared runs. ``missing``: shared runs and topics for which a table has no score.
    ``topics_left_out``: shared topics left out because of ``missing``.
    """

    rows: tuple[Correlation, ...]
    run_means: tuple[RunMean, ...]
    topics: tuple[str, ...]
    runs_only_first: tuple[str, ...]
    runs_only_second: tuple[str, ...]
    runs_unscored_first: tuple[str, ...]
    runs_unscored_second: tuple[str, ...]
    topics_only_first: tuple[str, ...]
    topics_only_second: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    topics_left_out: tuple[str, ...]


def correlate_runs(
    first: Mapping[str, float | None] | Scores,
    second: Mapping[str, float | None] | Scores,
    *,
    p: float = 0.9,
    missing: Missing = "topics",
) -> CorrelationReport:
    """Correlate two lists of run scores, without intervals.

    ``first``: the truth: score by run, or scores by run and topic, which are averaged. A run
    without any score (``None``, NaN) is left out. ``second``: the estimate, likewise. ``p``: the
    persistence of RBO. ``missing``: how topics count that a run lacks, see :data:`Missing`. Raises
    ValueError if fewer than 2 runs are in both, no topic is left, a score is not a number, or a
    setting is out of range.
    """
    probability(p, "p")
    check_missing(missing)
    true, estimated = by_topic(first), by_topic(second)
    shared, runs_left_out = shared_runs(true, estimated, "lists")
    x = average("first", true, shared, missing)
    y = average("second", estimated, shared, missing)
    counts = np.maximum(x.topics, y.topics)
    return CorrelationReport(
        rows=tuple(run_setting(x.means, y.means, p)),
        run_means=tuple(
            RunMean(run, float(x_mean), float(y_mean), int(n))
            for run, x_mean, y_mean, n in zip(shared, x.means, y.means, counts, strict=True)
        ),
        topics=(),
        **runs_left_out,
        topics_only_first=(),
        topics_only_second=(),
        missing=tuple(dict.fromkeys([*x.missing, *y.missing])),
        topics_left_out=tuple(dict.fromkeys([*x.left_out, *y.left_out])),
    )


def correlate(
    first: Scores,
    second: Scores,
    *,
    p: float = 0.9,
    missing: Missing = "topics",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int,
) -> CorrelationReport:
    """Correlate two tables of scores by run and topic, in the three settings of the TREC RAG paper.

    Only runs and topics that both tables have are used. Intervals resample topics; a topic drawn
    twice counts twice.

    ``first``: the truth. ``second``: the estimate. ``p``: the persistence of RBO. ``missing``: how
    topics count that a run lacks, see :data:`Missing`. ``level``: of the intervals. ``resamples``:
    of the bootstrap; 0 for no intervals, which take nearly all of the time. ``seed``: of the
    bootstrap. Raises ValueError if fewer than 2 runs or no topic can be used, a run has no topic
    left, a score is not a number, or a setting is out of range.
    """
    probability(p, "p")
    probability(level, "level")
    check_missing(missing)
    true = {run: known_scores(scores) for run, scores in first.items()}
    estimated = {run: known_scores(scores) for run, scores in second.items()}
    runs, runs_left_out = shared_runs(true, estimated, "tables")
    x_rows, y_rows = [true[run] for run in runs], [estimated[run] for run in runs]
    topics_first = list(dict.fromkeys(topic for row in x_rows for topic in row))
    topics_second = list(dict.fromkeys(topic for row in y_rows for topic in row))
    known = set(topics_second)
    topics = sorted((topic for topic in topics_first if topic in known), key=natural_key)
    if not topics:
        raise ValueError("no topic is left: the tables share none")
    x = matrix(x_rows, topics)
    y = matrix(y_rows, topics)
    holes = np.isnan(x) | np.isnan(y)
    gaps = tuple((runs[r], topics[t]) for t, r in np.argwhere(holes))
    silent = holes.all(axis=0)
    if missing != "zero" and silent.any():
        raise ValueError(f"run {runs[int(silent.argmax())]} has no topic that both tables score")
    (x, y), topics, left_out = complete((x, y), topics, holes, missing)
    if not topics:
        raise ValueError("no topic is left that both tables have for every run they share")
    return CorrelationReport(
        rows=tuple(all_settings(x, y, p, level, resamples, seed)),
        run_means=tuple(
            RunMean(run, float(np.nanmean(x[:, r])), float(np.nanmean(y[:, r])), int(n))
            for r, (run, n) in enumerate(zip(runs, (~np.isnan(x)).sum(axis=0), strict=True))
        ),
        topics=tuple(topics),
        **runs_left_out,
        topics_only_first=tuple(topic for topic in topics_first if topic not in known),
        topics_only_second=tuple(t for t in topics_second if t not in set(topics_first)),
        missing=gaps,
        topics_left_out=left_out,
    )
