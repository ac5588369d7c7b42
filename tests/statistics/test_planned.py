"""Forecasts of what future labels achieve, compared with what they achieved."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics import corrected

RUNS, TOPICS, PER_TOPIC = 5, 40, 10


def world(seed):
    """Weights of runs for the items of topics, probabilities that people say yes, and a judge's
    labels, one for each probability."""
    rng = np.random.default_rng(seed)
    items = TOPICS * PER_TOPIC
    topic = np.repeat(np.arange(TOPICS), PER_TOPIC)
    weights = (rng.random((RUNS, items)) < 0.5) / (TOPICS * PER_TOPIC * 0.5)
    judge = (rng.random(items) < 0.5).astype(float)
    m = np.where(judge == 1, 0.85, 0.15)
    return rng, weights, topic, judge, m


@pytest.mark.parametrize("design", ["uniform", "leverage", "pairs"])
def test_the_width_after_drawing_items_is_as_expected(design):
    rng, weights, topic, judge, m = world(3)
    n = 120
    pi = corrected.draw(weights, n, design=design, seed=1).pi
    covariance, df = corrected.items_covariance(weights, m, pi)
    planned = corrected.expected(np.zeros(RUNS), covariance, df, level=0.95, deciding=0.95).half
    errors, halves = [], []
    for seed in range(300):
        people = (rng.random(len(m)) < m).astype(float)
        drawn = corrected.draw(weights, n, design=design, seed=seed).drawn
        found = corrected.items(
            weights, np.where(drawn, people, np.nan), judge, pi, drawn, topic, level=0.95
        )
        halves.append((found.high - found.low) / 2)
        errors.append(found.value - weights @ people)
    assert np.mean(halves, axis=0) == pytest.approx(planned, rel=0.12)
    assert np.var(errors, axis=0) == pytest.approx(np.diag(covariance), rel=0.35)


@pytest.mark.parametrize(("agreement", "n"), [(0.99, 30), (0.99, 120), (0.95, 30), (0.8, 30)])
def test_the_width_with_few_items_and_a_good_judge_is_as_expected(agreement, n):
    """Unseen disagreements are forecast, too; without them the width would be a third."""
    rng, weights, topic, judge, _ = world(5)
    m = np.where(judge == 1, agreement, 1 - agreement)
    pi = corrected.draw(weights, n, seed=1).pi
    covariance, df = corrected.items_covariance(weights, m, pi)
    planned = corrected.expected(np.zeros(RUNS), covariance, df, level=0.95, deciding=0.95).half
    halves = []
    for seed in range(100):
        people = (rng.random(len(m)) < m).astype(float)
        drawn = corrected.draw(weights, n, seed=seed).drawn
        given = np.where(drawn, people, np.nan)
        found = corrected.items(weights, given, judge, pi, drawn, topic)
        halves.append((found.high - found.low) / 2)
    assert planned.mean() == pytest.approx(np.mean(halves), rel=0.15)


@pytest.mark.parametrize(("items", "agreement"), [(1, 0.8), (1, 0.97), (5, 0.97)])
@pytest.mark.parametrize("n", [5, 15])
def test_the_width_with_few_topics_and_a_good_judge_is_as_expected(items, agreement, n):
    rng = np.random.default_rng(9)
    topic = np.repeat(np.arange(TOPICS), items * RUNS)
    weights = np.tile(np.repeat(np.eye(RUNS), items, axis=1), TOPICS) / (TOPICS * items)
    judge = (rng.random(len(topic)) < 0.5).astype(float)
    m = agreement * judge + (1 - agreement) * (1 - judge)
    covariance, df = corrected.topics_covariance(weights, m, topic, n)
    planned = corrected.expected(np.zeros(RUNS), covariance, df, level=0.95, deciding=0.95).half
    halves = []
    for seed in range(100):
        people = (rng.random(len(m)) < m).astype(float)
        y, f = (one.reshape(TOPICS, RUNS, items).mean(axis=2).T for one in (people, judge))
        drawn = corrected.draw_topics(TOPICS, n, seed)
        found = corrected.topics(np.where(drawn, y, np.nan), f, drawn)
        halves.append((found.high - found.low) / 2)
    assert planned.mean() == pytest.approx(np.mean(halves), rel=0.2)


def test_the_width_after_drawing_topics_is_as_expected():
    rng, weights, topic, _, m = world(4)
    n = 20
    covariance, df = corrected.topics_covariance(weights, m, topic, n)
    planned = corrected.expected(np.zeros(RUNS), covariance, df, level=0.95, deciding=0.95).half
    in_topic = np.stack([topic == one for one in range(TOPICS)])
    expectation = TOPICS * (weights[:, None, :] * in_topic) @ m
    halves = []
    for seed in range(300):
        people = (rng.random(len(m)) < m).astype(float)
        by_topic = TOPICS * (weights[:, None, :] * in_topic) @ people
        drawn = corrected.draw_topics(TOPICS, n, seed)
        # The calibrated judge: the expected labels of the items.
        found = corrected.topics(np.where(drawn, by_topic, np.nan), expectation, drawn)
        halves.append((found.high - found.low) / 2)
    assert np.mean(halves, axis=0) == pytest.approx(planned, rel=0.12)


def test_as_many_pairs_are_decided_as_expected():
    value = np.array([0.5, 0.55, 0.7])
    covariance, df = np.diag([0.001, 0.001, 0.001]), np.full(3, 1e6)
    found = corrected.expected(value, covariance, df, level=0.95, deciding=0.95)
    rng = np.random.default_rng(1)
    settled = 0
    for _ in range(20_000):
        said = rng.normal(value, np.sqrt(0.001))
        differences = np.abs(said[[0, 0, 1]] - said[[1, 2, 2]])
        settled += (differences > found.critical * np.sqrt(0.002)).sum()
    assert found.decided == pytest.approx(settled / 20_000, abs=0.02)


def test_with_known_scores_all_runs_that_differ_are_decided():
    weights = np.eye(3)
    covariance, df = corrected.items_covariance(weights, np.full(3, 0.5), np.ones(3))
    found = corrected.expected([0.1, 0.2, 0.2], covariance, df, level=0.95, deciding=0.95)
    assert found.decided == 2
    assert not found.half.any()


def test_a_higher_level_decides_fewer_pairs():
    value, covariance, df = [0.5, 0.6], np.diag([0.001, 0.001]), np.full(2, 30.0)
    one = corrected.expected(value, covariance, df, level=0.95, deciding=0.95)
    looks = corrected.expected(value, covariance, df, level=0.95, deciding=0.99)
    assert looks.decided < one.decided
    assert (looks.half == one.half).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: corrected.items_covariance(np.eye(2), [0.5], [1.0, 1.0]),
        lambda: corrected.topics_covariance(np.eye(2), [0.5, 0.5], [0, 1], 3),
        lambda: corrected.topics_covariance(np.eye(2), [0.5, 0.5], [0, 1], 1),
        lambda: corrected.items_covariance(np.eye(2), [0.5, np.nan], [1.0, 1.0]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call):
    with pytest.raises(ValueError, match=r"."):
        call()
