"""How two leaderboards agree: τ-b and its interval over topics, as plain loops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from assay.api.results import RankedBoard, agreement
from assay.measures.bootstrap import ends_of, percentile_interval
from assay.measures.ranges import Range
from assay.protocols.battles.inputs import BattleCounts
from assay.statistics.battle_counts import tally
from assay.statistics.battles import rate
from assay.statistics.pair_models import BradleyTerry

TOPICS = ("a", "b", "c", "d")


def board(
    scores: dict[str, float],
    per_topic: dict[str, dict[str, float]],
    detail: BattleCounts | None = None,
) -> RankedBoard:
    values = {
        run: {"M": {topic: Range.certain(value) for topic, value in of.items()}}
        for run, of in per_topic.items()
    }
    findings = SimpleNamespace(detail=detail, per_topic=values, topics=TOPICS)
    measure = "M" if detail is None else detail.measure
    return RankedBoard("p", measure, scores, cast("Any", SimpleNamespace(findings=findings)))


def of_means(values: dict[str, list[float]]) -> RankedBoard:
    means = {run: float(np.mean(row)) for run, row in values.items()}
    per_topic = {run: dict(zip(TOPICS, row, strict=False)) for run, row in values.items()}
    return board(means, per_topic)


def test_tau_has_the_interval_of_topics_drawn_anew() -> None:
    generator = np.random.default_rng(2)
    x, y = np.round(generator.random((2, 5, 4)), 1)
    y[3:, 2] = y[0, 2]
    found = agreement(
        *(of_means({f"r{at}": list(row) for at, row in enumerate(s)}) for s in (x, y))
    )
    means = x.mean(axis=1).round(9), y.mean(axis=1).round(9)
    assert found.tau == pytest.approx(stats.kendalltau(*means).statistic)
    taus = []
    for drawn in np.random.default_rng(0).integers(0, 4, size=(1000, 4)):
        means = x[:, drawn].mean(axis=1).round(9), y[:, drawn].mean(axis=1).round(9)
        taus.append(stats.kendalltau(*means).statistic)
    assert found.interval is not None
    ends = ends_of(percentile_interval(np.array(taus), 0.95, 4))
    assert (found.interval.low, found.interval.high) == pytest.approx(ends)
    assert found.interval.undefined == np.isnan(taus).sum()


def test_means_that_rounding_parts_are_tied_in_every_draw() -> None:
    one = of_means({"A": [0.1, 0.2, 0.3], "B": [0.3, 0.2, 0.1], "C": [0.7, 0.7, 0.6]})
    other = of_means({"A": [0.3, 0.2, 0.1], "B": [0.2, 0.2, 0.2], "C": [0.3, 0.3, 0.3]})
    found = agreement(one, other)
    assert found.tau == found.rho == 1
    assert agreement(one, one).interval.low == 1  # type: ignore[union-attr]
    two, alone = (
        of_means({"A": row[:n], "B": row[1:]}) for n, row in ((2, [1, 2, 4]), (1, [1, 2]))
    )
    assert agreement(two, two).interval is not None
    assert agreement(alone, alone).interval is None


def test_ratings_are_fitted_anew_to_each_draw() -> None:
    rows = [(0, 1, 1, 0), (1, 2, 1, 0), (2, 0, 1, 1), (0, 1, 0.5, 1), (1, 2, 0, 3), (0, 2, 1, 3)]
    a, b, outcome, topic = zip(*rows, strict=True)
    table = tally(a, b, outcome, topic, runs=3, topics=4)
    runs, model = ("r0", "r1", "r2"), BradleyTerry()
    ratings = dict(zip(runs, rate(table, model, prior=1.0).rating.tolist(), strict=True))
    battles = board(ratings, {}, BattleCounts(runs, TOPICS, table, model, 1.0))
    values = {"r0": [0.9, 0.1, 0.4, 0.3], "r1": [0.5, 0.5, 0.5, 0.2], "r2": [0.2, 0.9, 0.1, 0.6]}
    found = agreement(of_means(values), battles)
    taus = []
    known = [0, 1, 3]  # nobody fought on the third topic
    memory: dict[tuple[int, ...], float] = {}
    for draw in np.sort(np.random.default_rng(0).integers(0, 3, size=(1000, 3)), axis=1).tolist():
        if tuple(draw) not in memory:
            drawn = [known[place] for place in draw]
            a, b, outcome, topic = zip(*[r for t in drawn for r in rows if r[3] == t], strict=True)
            again = tally(a, b, outcome, topic, runs=3, topics=4)
            rating = rate(again, model, prior=1.0, resamples=1).rating.round(6)
            means = np.array([[values[run][t] for t in drawn] for run in runs]).mean(axis=1)
            memory[tuple(draw)] = stats.kendalltau(means.round(9), rating).statistic
        taus.append(memory[tuple(draw)])
    assert found.interval is not None
    ends = ends_of(percentile_interval(np.array(taus), 0.95, 3))
    assert (found.interval.low, found.interval.high) == pytest.approx(ends)
