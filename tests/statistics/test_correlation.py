"""Rank correlation: worked examples, other packages, plain loops, and properties."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.measures.bootstrap import percentiles
from assay.statistics import correlation as cor
from assay.statistics import ranks
from assay.statistics.stacked import StackedPairs

X = [0.9, 0.8, 0.7, 0.6, 0.5]
Y = [0.85, 0.9, 0.6, 0.7, 0.5]
scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25)
MEASURES = ("tau", "rho", "ap", "rbo")


def test_the_worked_example() -> None:
    assert cor.kendall_tau(X, Y) == pytest.approx(0.6, abs=1e-12)
    assert cor.ap_correlation(X, Y) == pytest.approx(1 / 3, abs=1e-12)
    assert cor.spearman_rho(X, Y) == pytest.approx(0.8, abs=1e-12)


def test_ap_correlation_with_ties_is_that_of_urbano_and_marrero() -> None:
    """The example of their R package ircor, estimates with ties."""
    x = [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992]
    y = [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988]
    y_ties = [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1]
    assert cor.ap_correlation(x, y) == pytest.approx(0.8519, abs=5e-5)
    assert cor.ap_correlation(x, y_ties) == pytest.approx(0.7454, abs=5e-5)


@given(scores)
def test_tau_and_rho_equal_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    tau, rho = cor.kendall_tau(x, y), cor.spearman_rho(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert tau is None
        assert rho is None
        assert cor.ap_correlation(x, y) is None
        return
    assert tau == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-9)
    assert rho == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert cor.kendall_tau(y, x) == pytest.approx(tau, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=6))
@settings(max_examples=40)
def test_ap_correlation_is_the_mean_over_orders_of_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    found = cor.ap_correlation(x, y)
    if found is None:
        return
    n, values = len(x), []
    for order in permutations(range(n)):
        if any(y[order[i]] < y[order[i + 1]] for i in range(n - 1)):
            continue
        total = 0.0
        for i in range(1, n):
            above = [np.sign(x[order[j]] - x[order[i]]) / 2 + 0.5 for j in range(i)]
            total += sum(above) / i
        values.append(2 * total / (n - 1) - 1)
    assert found == pytest.approx(np.mean(values), abs=1e-9)


def _plain_rbo(first: list[int], second: list[int], p: float) -> float:
    """Webber et al., equation 32, literally."""
    short, long = sorted((first, second), key=len)
    s, n = len(short), len(long)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(x[d] / d * p**d for d in range(1, n + 1))
    total += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((x[n] - x[s]) / n + x[s] / s) * p**n


@given(st.permutations(range(8)), st.permutations(range(8)))
def test_rbo_without_ties_equals_the_plain_one(first: list[int], second: list[int]) -> None:
    x, y = [-first.index(i) for i in range(8)], [-second.index(i) for i in range(8)]
    assert cor.rbo(x, y, 0.8) == pytest.approx(_plain_rbo(first, second, 0.8), abs=1e-12)


@given(scores, st.floats(0.05, 0.99))
def test_rbo_is_bounded_symmetric_and_1_with_itself(pairs: list[tuple[int, int]], p: float) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    assert 0 <= cor.rbo(x, y, p) <= 1
    assert cor.rbo(x, y, p) == pytest.approx(cor.rbo(y, x, p), abs=1e-12)
    assert cor.rbo(x, x, p) == pytest.approx(1, abs=1e-12)


def _plain_ap(x: np.ndarray, y: np.ndarray, copies: np.ndarray) -> float:
    """AP correlation of items with copies, which are not compared with each other: twice the mean
    share of items correctly above, over all items with anything above them, minus 1."""
    total = counted = 0.0
    items = np.repeat(np.arange(len(x)), copies)
    for i in items:
        others = [j for j in items if j != i]
        right = sum(np.sign(x[j] - x[i]) / 2 + 0.5 for j in others if y[j] > y[i])
        above, ties = (sum(np.sign(y[j] - y[i]) == sign for j in others) for sign in (1, 0))
        for k in range(ties + 1):  # so many of its group are above it, each as likely, half rightly
            if above + k:
                total += (right + k / 2) / (above + k) / (ties + 1)
                counted += 1 / (ties + 1)
    constant = len(set(x[items])) == 1 or len(set(y[items])) == 1
    return math.nan if constant else 2 * total / counted - 1


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=6, max_size=6 * 4).filter(
        lambda pairs: len(pairs) % 6 == 0
    ),
    st.lists(st.integers(0, 5), min_size=6, max_size=6),
    st.integers(1, 30),
)
def test_weights_equal_repeated_pairs(
    pairs: list[tuple[int, int]], drawn: list[int], cells: int
) -> None:
    x, y = np.array(pairs, dtype=float).T
    topic = np.repeat(np.arange(6), len(pairs) // 6)
    counts = np.bincount(drawn, minlength=6)
    copies = counts[topic]
    expected = ranks.all_rows(np.repeat(x, copies)[None], np.repeat(y, copies)[None], 0.7)
    expected["ap"] = np.array([_plain_ap(x, y, copies)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.statistics.stacked._CELLS_AT_ONCE", cells)
        found = StackedPairs(x, y, topic).values(counts[None].astype(float), 0.7)
    for name in MEASURES:
        assert found[name] == pytest.approx(expected[name], abs=1e-6, nan_ok=True), name


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    x, y = np.round(generator.random((2, 7, 30)), 1)
    whole = ranks.all_rows(x, y, 0.9)
    monkeypatch.setattr(ranks, "_CELLS_AT_ONCE", 100)
    for name, values in ranks.all_rows(x, y, 0.9).items():
        assert values == pytest.approx(whole[name], abs=1e-12)


def _tables() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    generator = np.random.default_rng(8)
    first = {
        f"r{r}": {f"t{t}": float(generator.random() + r / 4) for t in range(7)} for r in range(5)
    }
    second = {
        run: {t: float(v + generator.normal() / 4) for t, v in row.items()}
        for run, row in first.items()
    }
    return first, second


def test_the_three_settings_equal_plain_loops() -> None:
    first, second = _tables()
    found = cor.correlate(first, second, resamples=60, level=0.8, seed=4)
    x = np.array([list(row.values()) for row in first.values()])  # runs × topics
    y = np.array([list(row.values()) for row in second.values()])
    functions = {
        "tau": cor.kendall_tau,
        "rho": cor.spearman_rho,
        "ap": cor.ap_correlation,
        "rbo": cor.rbo,
    }

    def plain(drawn: np.ndarray) -> dict[tuple[str, str], float]:
        a, b = x[:, drawn], y[:, drawn]
        values = {}
        for name, function in functions.items():
            values["runs", name] = function(a.mean(axis=1), b.mean(axis=1))
            each = [function(a[:, t], b[:, t]) for t in range(a.shape[1])]
            values["topics-mean", name] = np.mean(each)
            values["pairs", name] = function(a.ravel(), b.ravel())
        topics, counts = np.unique(drawn, return_counts=True)
        copies = np.tile(counts, len(x))
        values["pairs", "ap"] = _plain_ap(x[:, topics].ravel(), y[:, topics].ravel(), copies)
        return values

    without = cor.correlate(first, second, resamples=0, seed=4)
    assert {row.interval for row in without.rows} == {None}
    assert [row.value for row in without.rows] == pytest.approx([row.value for row in found.rows])
    point = plain(np.arange(7))
    resampled = [plain(drawn) for drawn in np.random.default_rng(4).integers(0, 7, size=(60, 7))]
    assert [(row.setting, row.measure) for row in found.rows] == [
        (setting, name) for setting in ("runs", "topics-mean", "pairs") for name in MEASURES
    ]
    for row in found.rows:
        key = row.setting, row.measure
        assert row.value == pytest.approx(point[key], abs=1e-6), key
        low, high = percentiles(np.array([values[key] for values in resampled]), 0.8, 7)
        assert row.interval is not None
        assert (row.interval.low, row.interval.high) == pytest.approx((low, high), abs=1e-6), key
        assert row.n == {"runs": 5, "topics-mean": 7, "pairs": 35}[row.setting]
    assert found.run_means[0].first == pytest.approx(x[0].mean())


def test_missing_scores_only_remove_their_own_cells() -> None:
    """A run's mean is over the drawn topics that it has, or over all of its topics if it has none.
    A topic's coefficient is over the runs that have it, and undefined if these tie."""
    x = (
        np.array([[1, 2, np.nan, 4], [3, 3, 1, 0], [np.nan, 4, np.nan, np.nan], [2, np.nan, 4, 1]])
        / 4
    )
    y = (
        np.array([[2, 1, np.nan, 3], [1, 3, 2, 2], [np.nan, 3, np.nan, np.nan], [3, np.nan, 3, 0]])
        / 4
    )
    first, second = (
        {f"r{r}": {f"t{t}": float(v) for t, v in enumerate(row)} for r, row in enumerate(table)}
        for table in (x, y)
    )
    report = cor.correlate(first, second, missing="cells", resamples=25, level=0.8, seed=5)
    functions = {"tau": cor.kendall_tau, "rho": cor.spearman_rho, "ap": cor.ap_correlation}
    order = [int(topic[1]) for topic in report.topics]
    x, y = x[:, order], y[:, order]

    def means(table: np.ndarray, drawn: np.ndarray) -> list[float]:
        return [
            float(np.nanmean(row[drawn] if not np.isnan(row[drawn]).all() else row))
            for row in table
        ]

    def plain(drawn: np.ndarray) -> dict[tuple[str, str], float | None]:
        values: dict[tuple[str, str], float | None] = {}
        for name, function in functions.items():
            values["runs", name] = function(means(x, drawn), means(y, drawn))
            columns = [~np.isnan(x[:, t]) for t in drawn]
            each = [function(x[k, t], y[k, t]) for k, t in zip(columns, drawn, strict=True)]
            known = [one for one in each if one is not None]
            values["topics-mean", name] = float(np.mean(known)) if known else None
        return values

    point = plain(np.arange(4))
    drawn_values = [plain(one) for one in np.random.default_rng(5).integers(0, 4, size=(25, 4))]
    rows = {(row.setting, row.measure): row for row in report.rows}
    for key, value in point.items():
        row = rows[key]
        assert row.value == pytest.approx(value)
        found = [one[key] for one in drawn_values]
        ends = percentiles(np.array([one for one in found if one is not None]), 0.8, 4)
        assert row.interval is not None
        assert (row.interval.low, row.interval.high) == pytest.approx(ends), key
        assert row.interval.undefined == found.count(None)
    assert [mean.topics for mean in report.run_means] == [3, 4, 1, 3]


def test_tables_with_equal_rankings_correlate_fully_in_every_resample() -> None:
    first, _ = _tables()
    for power, expected in ((2, 1.0), (-1, -1.0)):
        second = {run: {t: v**power for t, v in row.items()} for run, row in first.items()}
        report = cor.correlate(first, second, resamples=200, seed=1)
        for row in report.rows:
            if row.setting == "runs" or (row.measure == "rbo" and power < 0):
                continue  # means of powers may rank differently; RBO is never negative
            assert row.interval is not None
            ends = (row.value, row.interval.low, row.interval.high)
            assert ends == pytest.approx((expected,) * 3, abs=1e-6), row


def test_missing_scores_are_reported_and_handled_as_requested() -> None:
    first, second = _tables()
    del first["r0"]
    second["r9"] = {"t0": 1.0}
    first["r7"] = {"t0": 1.0}
    del second["r1"]["t3"]
    second["r2"]["t4"] = math.nan
    first["r4"]["u"] = 0.5
    second["r4"]["v"] = 0.5
    found = {
        policy: cor.correlate(first, second, missing=policy, resamples=20, seed=1)  # type: ignore[arg-type]
        for policy in ("topics", "cells", "zero")
    }
    for report in found.values():
        assert report.runs_only_first == ("r7",)
        assert report.runs_only_second == ("r0", "r9")
        assert report.topics_only_first == ("u",)
        assert report.topics_only_second == ("v",)
        assert report.missing == (("r1", "t3"), ("r2", "t4"))
        assert not any(math.isnan(mean.first) for mean in report.run_means)
    assert found["topics"].topics_left_out == ("t3", "t4")
    assert found["topics"].topics == ("t0", "t1", "t2", "t5", "t6")
    pairs = {policy: report.rows[-1].n for policy, report in found.items()}
    assert pairs == {"topics": 20, "cells": 26, "zero": 28}
    assert [mean.topics for mean in found["cells"].run_means] == [6, 6, 7, 7]


def test_run_scores_without_topics() -> None:
    report = cor.correlate_runs({"a": 1, "b": 2, "c": None, "d": 4}, {"b": 5, "a": 4, "c": 1})
    assert [(row.measure, row.value, row.n) for row in report.rows][:3] == [
        ("tau", 1.0, 2),
        ("rho", 1.0, 2),
        ("ap", 1.0, 2),
    ]
    assert report.runs_only_first == ("d",)
    assert report.runs_only_second == ()
    assert report.runs_unscored_first == ("c",)
    assert report.runs_unscored_second == ()
    assert all(row.interval is None for row in report.rows)


def test_undefined_is_none_and_one_topic_has_no_interval() -> None:
    same = {run: {"t": 1.0} for run in "abc"}
    report = cor.correlate(same, same, seed=0)
    assert [row.value for row in report.rows[:4]] == [None, None, None, 1.0]
    assert all(row.interval is None for row in report.rows)
    assert report.rows[4].n == 0
    two = {run: {"t": place, "u": place % 2} for place, run in enumerate("abc")}
    assert all(row.interval is not None for row in cor.correlate(two, two, seed=0).rows)
    assert cor.rbo([1.0], [2.0]) == 1
    assert [row.reason for row in report.rows[2:5]] == [
        "all scores of a table are equal", None, "in every topic all scores of a table are equal",
    ]  # fmt: skip


def test_equal_runs_tie_in_spite_of_rounding() -> None:
    generator = np.random.default_rng(3)
    row = {f"t{t}": float(v) for t, v in enumerate(generator.random(33))}
    first = {"a": row, "b": dict(row), "c": {t: v + 1 for t, v in row.items()}}
    report = cor.correlate(first, first, resamples=300, seed=1)
    assert report.rows[0].value == 1.0
    assert report.rows[0].interval is not None
    assert report.rows[0].interval.low == 1.0


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e80])
def test_means_tie_by_their_distance_whatever_their_size(unit: float) -> None:
    """Neighbours tie even if one would be rounded up and the other down."""
    for step in range(500):
        middle = (step + 0.5) / 1e12
        near = [float(np.nextafter(middle, end)) * unit for end in (0, middle, 1)]
        truth = {"a": near[0], "b": near[1], "c": near[2], "d": unit}
        found = cor.correlate_runs(truth, {"a": 1, "b": 1, "c": 1, "d": 2})
        assert found.rows[0].value == 1


def test_scores_that_differ_by_rounding_only_tie() -> None:
    x, y = [0.1 + 0.2, 0.3, 0.7], [0.5, 0.5, 0.9]
    assert x[0] != x[1]
    for coefficient in (cor.kendall_tau, cor.spearman_rho, cor.rbo):
        assert coefficient(x, y) == pytest.approx(1, abs=1e-12)
    assert cor.ap_correlation(x, y) == cor.ap_correlation([0.3, 0.3, 0.7], y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cor.kendall_tau([1], [1]), "at least 2"),
        (lambda: cor.kendall_tau([1, 2], [1]), "2 first scores, but 1"),
        (lambda: cor.spearman_rho([1, math.nan], [1, 2]), "nan at position 2"),
        (lambda: cor.rbo([1, 2], [1, 2], 1.0), "p must be between 0 and 1"),
        (
            lambda: cor.correlate({"a": 0.1, "b": 0.2}, {"a": {}, "b": {}}, seed=1),  # type: ignore[dict-item]
            "by run, then topic, got 0.1",
        ),
        (lambda: cor.correlate_runs({"a": 1}, {"a": 1}), "runs in both lists: 1"),
        (
            lambda: cor.correlate_runs({"a": {"t": 1}, "b": {"u": 1}}, {"a": 1, "b": 2}),
            "no topic is left that the first table has",
        ),
        (
            lambda: cor.correlate_runs({"a": 1}, {"a": 1}, missing="drop"),  # type: ignore[arg-type]
            "missing must be",
        ),
        (lambda: cor.correlate({"a": {"t": 1}}, {"b": {"t": 1}}, seed=1), "runs in both tables: 0"),
        (
            lambda: cor.correlate(*[{"a": {"t": 1}, "b": {"u": 1}}] * 2, seed=1),
            "no topic is left",
        ),
        (
            lambda: cor.correlate(
                {"a": {"t": 1}, "b": {"t": 1}, "c": {"t": 2}},
                {"a": {"t": 1}, "b": {"u": 1}, "c": {"t": 2}},
                seed=1,
            ),
            "run b has no topic",
        ),
        (
            lambda: cor.correlate({"a": {"t": 1}, "b": {}}, {"a": {"t": 1}, "b": {}}, seed=1),
            "runs in both tables: 1, beside 1 without a score in one of them",
        ),
        (
            lambda: cor.correlate({}, {}, missing="drop", seed=1),  # type: ignore[arg-type]
            "missing must be",
        ),
    ],
)
def test_bad_input_says_what_is_wrong(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
