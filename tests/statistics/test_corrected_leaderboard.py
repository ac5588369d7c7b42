"""Draws, HMR, ranks and batches of corrected scores: properties for any input."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.measures import confidence as measures
from assay.statistics import corrected
from tests.statistics.trust_data import estimates
from tests.statistics.trust_made import (
    EXACT,
    made_items,
    made_topics,
    populations,
    same,
    seeds,
)

# --- draws ---------------------------------------------------------------------------------------


@given(seeds, st.sampled_from(["leverage", "uniform", "pairs"]), st.floats(0.01, 1))
def test_probabilities_sum_to_n(seed: int, design: str, mix: float) -> None:
    generator = np.random.default_rng(seed)
    runs, count = generator.integers(1, 5), generator.integers(2, 40)
    weights = np.where(
        generator.random((runs, count)) < 0.4, generator.lognormal(size=(runs, count)), 0
    )
    weights[:, 0] = 1.0
    counted = int(weights.any(axis=0).sum())
    n = int(generator.integers(1, counted + 1))
    u = generator.random(count)
    found = corrected.draw(weights, n, uncertainty=u, design=design, mix=mix, seed=seed)
    assert found.pi.sum() == pytest.approx(n)
    assert ((found.pi > 0) == weights.any(axis=0)).all()
    assert (found.pi <= 1).all()
    again = corrected.draw(weights, n, uncertainty=u, design=design, mix=mix, seed=seed)
    assert (again.drawn == found.drawn).all()
    assert (found.drawn == (np.random.default_rng(seed).random(count) < found.pi)).all()
    assert not (found.drawn & (found.pi == 0)).any()


def test_each_item_is_drawn_as_often_as_its_probability_says() -> None:
    weights = np.random.default_rng(5).lognormal(size=(3, 30))
    draws = [corrected.draw(weights, 9, seed=seed) for seed in range(2000)]
    share = np.mean([draw.drawn for draw in draws], axis=0)
    assert share == pytest.approx(draws[0].pi, abs=0.045)
    share = np.mean([corrected.draw_topics(12, 5, seed) for seed in range(2000)], axis=0)
    assert share == pytest.approx(np.full(12, 5 / 12), abs=0.045)
    assert corrected.draw_topics(12, 5, 1).sum() == 5


@given(seeds)
def test_the_next_batch_leaves_out_known_items(seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.random((4, 30))
    known = generator.random(30) < 0.4
    spread = generator.normal(size=(4, 4))
    board = estimates([0.5, 0.51, 0.52, 0.9], 1e-3 * spread @ spread.T + 1e-3 * np.eye(4), 30)
    n = int(generator.integers(1, (~known).sum() + 1))
    found = corrected.next_batch(weights, board, generator.random(30), known, n, seed=seed)
    assert found.pi.sum() == pytest.approx(n)
    assert (found.pi[known] == 0).all()
    assert (found.pi[~known] > 0).all()


def test_two_batches_with_the_same_seed_are_independent() -> None:
    """Items that the first left out are drawn by the second as often as their probability says."""
    weights = np.full((2, 12), 1 / 12)
    weights[1, ::2] = 0
    board = estimates([0.5, 0.51], 0.01 * np.eye(2))
    left, drawn, expected = 0, 0, 0.0
    for seed in range(1500):
        first = corrected.draw(weights, 5, seed=seed).drawn
        if first.sum() > 9:
            continue
        second = corrected.next_batch(weights, board, np.ones(12), first, 3, draws=20, seed=seed)
        left += int((~first).sum())
        drawn += int(second.drawn.sum())
        expected += float(second.pi.sum())
        assert not (first & second.drawn).any()
    assert drawn / left == pytest.approx(expected / left, abs=0.015)


# --- HMR -----------------------------------------------------------------------------------------


def hmr_quietly(*arguments: object, **settings: object) -> corrected.Confidence:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return corrected.hmr(*arguments, **settings)


@given(seeds, populations)
def test_hmr_is_within_its_interval_and_does_not_depend_on_the_order(
    seed: int, population: str
) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(10, 60))
    p = generator.integers(0, 5, count) / 4
    c = (generator.random(count) < generator.random()).astype(float)
    judge = np.where(generator.random(count) < 0.2, 1 - c, c)
    drawn = corrected.draw_topics(count, int(generator.integers(10, count + 1)), seed)
    found = hmr_quietly(p, c, judge, drawn, population=population)
    assert ((found.low >= 0) & (found.high <= 1)).all()
    assert ((found.low <= found.value) & (found.value <= found.high)).all()
    order = generator.permutation(count)
    moved = hmr_quietly(p[order], c[order], judge[order], drawn[order], population=population)
    assert moved.value == pytest.approx(found.value, **EXACT)
    assert moved.low == pytest.approx(found.low, **EXACT)
    wider = hmr_quietly(p, c, judge, drawn, population="like these")
    narrower = hmr_quietly(p, c, judge, drawn)
    assert (wider.high - wider.low >= narrower.high - narrower.low - 1e-9).all()


def plain_hmr(p, c, judge, drawn, population):
    """Values and half widths, answer by answer, as in the specification."""
    count, places = len(p), np.flatnonzero(drawn)
    n, mean, right = len(places), p.mean(), c[drawn].mean()
    alike = [[j for j in places if judge[j] == said] for said in judge]
    m = np.array([(sum(c[j] for j in of) + 2 * right) / (len(of) + 2) for of in alike])
    a = m.mean() + np.mean([c[i] - m[i] for i in places])
    b = (m * p).mean() + np.mean([(c[i] - m[i]) * p[i] for i in places])
    a = min(max(a, 0.5 / count), 1 - 0.5 / count)
    b = min(max(b, 1e-4 * a, a + mean - 1 + 1e-6), min(a, mean) - 1e-6)
    over, under = 1 - (mean - b) / (1 - a), b / a
    by_over = np.array([-(mean - b) / (1 - a) ** 2, 1 / (1 - a)])
    by_under = np.array([-b / a**2, 1 / a])
    by_hmr = (2 * under**2 * by_over + 2 * over**2 * by_under) / (over + under) ** 2
    values = [2 * over * under / (over + under), over, under, a]
    e = {i: (c[i] - m[i]) / (1 - 1 / (len(alike[i]) + 2)) for i in places}
    q = m * (1 - m)
    excess = (sum(x**2 for x in e.values()) + 2) / (sum(q[i] for i in places) + 2)
    modelled = excess * q
    if sum((c[i] - right) ** 2 for i in places) < 2:  # the rule of three
        modelled = modelled + max(0, 3 / n - np.mean([modelled[i] for i in places]))
    halves = []
    for gradient in (by_hmr, by_over, by_under, np.array([1.0, 0.0])):
        reach = gradient[0] + gradient[1] * p
        omega = q * reach**2
        k = n / count * omega.sum() ** 2 / (omega**2).sum() if omega.any() else 0.0
        own = k / (k + 20) * (1 - n / count) * np.var([e[i] * reach[i] for i in places], ddof=1) / n
        pooled = 20 / (k + 20) * (1 - n / count) * (modelled * reach**2).mean() / n
        df = (own + pooled) ** 2 / (own**2 / max(k, 0.5) + pooled**2 / n) if own + pooled else 0
        variance = own + pooled
        if population == "like these":
            variance += np.var([c[i] * reach[i] for i in places], ddof=1) / count
        halves.append(stats.t.ppf(0.9, max(df, 4)) * np.sqrt(variance))
    return np.array(values), np.array(halves)


@given(st.integers(0, 40), st.sampled_from([0.05, 0.5, 0.97]), populations)
@settings(max_examples=20)
def test_hmr_equals_the_plain_loops(seed: int, share: float, population: str) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(12, 26))
    p = generator.integers(0, 11, count) / 10
    c = (generator.random(count) < share).astype(float)
    judge = np.where(generator.random(count) < 0.2, 1 - c, c)
    drawn = corrected.draw_topics(count, int(generator.integers(10, count)), seed)
    found = hmr_quietly(p, c, judge, drawn, population=population, level=0.8)
    value, half = plain_hmr(p, c, judge, drawn, population)
    assert found.value == pytest.approx(value, **EXACT)
    assert found.low == pytest.approx(np.clip(value - half, 0, 1), abs=1e-7)
    assert found.high == pytest.approx(np.clip(value + half, 0, 1), abs=1e-7)


@given(seeds)
def test_with_all_answers_marked_the_measures_are_exact(seed: int) -> None:
    generator = np.random.default_rng(seed)
    p = generator.integers(0, 3, 12) / 2
    c = (generator.random(12) < generator.random()).astype(float)
    found = hmr_quietly(p, c, generator.random(12), np.ones(12, bool))
    plain = (measures.hmr, measures.reward_over, measures.reward_under, measures.accuracy)
    assert found.value == pytest.approx([measure(p, c) for measure in plain])
    assert (found.low == found.high).all()


# --- the leaderboard -----------------------------------------------------------------------------


@given(seeds, populations)
def test_differences_have_a_variance_and_rank_sets_contain_the_order(
    seed: int, population: str
) -> None:
    data, more = made_topics(seed), made_items(seed)
    twice = data._replace(people=data.people[[0, *range(len(data.people))]])
    twice = twice._replace(judge=data.judge[[0, *range(len(data.people))]])
    for found in (
        corrected.topics(*twice, population=population),
        corrected.items(*more, population=population),
    ):
        apart = corrected.differences(found)
        assert (apart.se >= 0).all()
        assert (apart.low <= apart.value).all()
        assert apart.value == pytest.approx(-apart.value.T)
        assert apart.high == pytest.approx(-apart.low.T)
        ranks = corrected.rank_sets(found, draws=200)
        order = np.argsort(np.argsort(-found.value, kind="stable"), kind="stable") + 1
        assert (ranks.best <= order).all()
        assert (order <= ranks.worst).all()
        assert (ranks.decided == ranks.decided.T).all()
        assert not np.diag(ranks.decided).any()
        again = corrected.rank_sets(found, draws=200)
        assert again.critical == ranks.critical
    # Two identical runs do not differ, and are never decided.
    found = corrected.topics(*twice, population=population)
    assert corrected.differences(found).se[0, 1] == 0
    assert not corrected.rank_sets(found, draws=200).decided[0, 1]


def test_fully_known_runs_are_decided_if_they_differ() -> None:
    board = estimates([0.5, 0.5, 0.4], np.zeros((3, 3)))
    found = corrected.rank_sets(board)
    assert (found.best.tolist(), found.worst.tolist()) == ([1, 1, 3], [2, 2, 3])
    assert found.critical == 0
    alone = corrected.rank_sets(estimates([0.5], np.eye(1)))
    assert (alone.best.tolist(), alone.worst.tolist()) == ([1], [1])


@given(seeds)
def test_shrunken_values_are_between_the_shifted_judge_and_the_corrected_scores(seed: int) -> None:
    found = corrected.topics(*made_topics(seed))
    judge = np.random.default_rng(seed).random(len(found.value))
    value, s = corrected.shrink(found, judge)
    assert 0 <= s <= 1
    assert value.mean() == pytest.approx(found.value.mean())
    none = corrected.shrink(dataclasses.replace(found, covariance=0 * found.covariance), judge)
    if len(judge) > 1:
        assert none[0] == pytest.approx(found.value)


def test_scores_that_differ_by_rounding_only_are_equal() -> None:
    """Equal runs have equal weights, but their sums may differ in the last digit."""
    value = [0.1 + 0.2, 0.3, 0.1]
    assert value[0] > value[1]
    sure = ~np.eye(3, dtype=bool)
    assert corrected.tau_bounds(sure, [0.3, 0.2, 0.1], value) == pytest.approx((2 / 3, 2 / 3))
    # Rounding errors around 0 are proportional to the largest score.
    near = [0.0, 0.1 + 0.2 - 0.3, 0.5]
    assert corrected.tau_bounds(sure, [0.1, 0.2, 0.3], near) == pytest.approx((2 / 3, 2 / 3))
    known = corrected.rank_sets(estimates(value, np.zeros((3, 3))))
    assert (known.best.tolist(), known.worst.tolist()) == ([1, 1, 3], [2, 2, 3])
    nothing, df = np.zeros((3, 3)), np.full(3, 9.0)
    found = corrected.expected(value, nothing, df, level=0.95, deciding=0.95)
    assert found.decided == 2


@given(seeds)
@settings(max_examples=20)
def test_differences_ranks_and_shrinkage_equal_the_plain_loops(seed: int) -> None:
    generator = np.random.default_rng(seed)
    runs = int(generator.integers(2, 6))
    spread = generator.normal(size=(runs, runs)) / 50
    found = dataclasses.replace(
        estimates(generator.random(runs).tolist(), spread @ spread.T + 1e-6 * np.eye(runs)),
        df=generator.uniform(4, 30, runs),
    )
    value, cov, df = found.value, found.covariance, found.df
    apart, ranks = corrected.differences(found, level=0.8), corrected.rank_sets(found, draws=200)
    alone = generator.random(runs)
    correction = value - alone
    centred = np.eye(runs) - 1 / runs
    noise = np.trace(centred @ cov @ centred) / np.square(centred @ correction).sum()
    guess, s = corrected.shrink(found, alone)
    assert s == pytest.approx(max(0, 1 - noise))
    expected = alone + correction.mean() + s * (correction - correction.mean())
    assert guess == pytest.approx(expected)
    better = np.zeros((runs, runs), dtype=bool)
    for a in range(runs):
        for b in set(range(runs)) - {a}:
            se = np.sqrt(cov[a, a] + cov[b, b] - 2 * cov[a, b])
            half = stats.t.ppf(0.9, min(df[a], df[b])) * se
            assert apart.high[a, b] == pytest.approx(value[a] - value[b] + half)
            assert apart.se[a, b] == pytest.approx(se)
            better[a, b] = value[a] - value[b] > ranks.critical * se
    assert ranks.best.tolist() == [1 + better[:, a].sum() for a in range(runs)]
    assert ranks.worst.tolist() == [runs - better[a].sum() for a in range(runs)]
    assert (ranks.decided == (better | better.T)).all()


@given(seeds)
@settings(max_examples=20)
def test_batches_are_weighted_by_their_planned_sizes(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = corrected.items(*made_items(1)), corrected.items(*made_items(1), offset=0.3)
    second = dataclasses.replace(second, covariance=3 * first.covariance)
    half = stats.t.ppf(0.975, second.df) * np.sqrt(np.diag(second.covariance))
    second = dataclasses.replace(second, low=second.value - half, high=second.value + half)
    a = generator.uniform(0.1, 0.9)
    found = corrected.combine([first, second], [a, 1 - a])
    assert found.value == pytest.approx(first.value + 0.3 * (1 - a))
    own = a**2 * first.covariance, (1 - a) ** 2 * second.covariance
    assert found.covariance == pytest.approx(own[0] + own[1])
    one, other = (np.diag(part) for part in own)
    df = (one + other) ** 2 / (one**2 / first.df + other**2 / second.df)
    assert found.df == pytest.approx(np.maximum(df, 4))
    wide = (first.human_only_high - first.human_only_low) ** 2
    other_wide = (second.human_only_high - second.human_only_low) ** 2
    assert (found.human_only_high - found.human_only_low) ** 2 == pytest.approx(
        a**2 * wide + (1 - a) ** 2 * other_wide
    )


def test_equal_batches_count_as_one_of_their_total_size() -> None:
    found = corrected.items(*made_items(1))
    once = corrected.combine([found], [50])
    assert same(once, dataclasses.replace(found, df=np.maximum(found.df, 4)))
    twice = corrected.combine([found, found], [50, 50])
    assert twice.covariance == pytest.approx(found.covariance / 2)
    assert twice.df == pytest.approx(2 * found.df)
    assert (twice.high - twice.low < found.high - found.low).all()
    assert twice.human_only_high - twice.human_only_low == pytest.approx(
        (found.human_only_high - found.human_only_low) / np.sqrt(2)
    )


def test_a_sequence_is_wider_than_an_interval_and_narrowest_where_requested() -> None:
    from scipy.special import ndtri

    widths = [corrected.half_width(0.2 * t, t, 20) for t in (10, 50, 100, 400, 2000)]
    once = [ndtri(0.975) * np.sqrt(0.2 * t) / t for t in (10, 50, 100, 400, 2000)]
    ratios = np.divide(widths, once)
    assert (ratios > 1.3).all()
    assert ratios.argmin() == 2


def test_rank_sets_do_not_depend_on_the_choice_of_eigenvectors() -> None:
    """Equal runs have no unique eigenvectors, and machines compute different ones."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    same = turn @ np.diag([1e-4] * 6) @ turn.T
    value = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    plain, turned = (
        corrected.rank_sets(estimates(value, covariance), draws=1000).critical
        for covariance in (1e-4 * np.eye(6), (same + same.T) / 2)
    )
    assert turned == pytest.approx(plain, rel=1e-9)


def test_a_higher_level_needs_more_draws() -> None:
    found = estimates([0.1, 0.2], 1e-4 * np.eye(2))
    assert corrected.rank_sets(found, level=0.9999).critical > 3
    with pytest.raises(ValueError, match="give more"):
        corrected.rank_sets(found, level=0.99995)
