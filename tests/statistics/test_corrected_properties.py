"""Corrected scores: comparison with plain loops, and properties for any input."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import corrected
from assay.statistics.corrected.calibration import cross_fitted
from tests.statistics.trust_made import (
    EXACT,
    Items,
    Topics,
    made_items,
    made_topics,
    populations,
    same,
    seeds,
)

# --- whole topics --------------------------------------------------------------------------------


def plain_topics(data: Topics) -> tuple[np.ndarray, np.ndarray, float]:
    """Values and covariance, with λ and everything else recomputed without each topic."""
    people, judge, drawn = data
    every = judge.mean(axis=1)

    def value(places: list[int]) -> tuple[np.ndarray, float]:
        y, f = people[:, places], judge[:, places]
        y_away, f_away = y - y.mean(axis=1)[:, None], f - f.mean(axis=1)[:, None]
        weight = min(max((y_away * f_away).sum() / (f_away**2).sum(), 0), 1)
        return y.mean(axis=1) + weight * (every - f.mean(axis=1)), weight

    places = np.flatnonzero(drawn).tolist()
    n = len(places)
    left = np.array([value([p for p in places if p != one])[0] for one in places])
    e = (n - 1) * (left - left.mean(axis=0))
    covariance = sum(np.outer(row, row) for row in e) / (n * (n - 1)) * (1 - n / len(drawn))
    return value(places)[0], covariance, value(places)[1]


@given(seeds)
def test_topics_equals_the_plain_jackknife(seed: int) -> None:
    data = made_topics(seed)
    found = corrected.topics(*data)
    value, covariance, weight = plain_topics(data)
    assert found.value == pytest.approx(value, **EXACT)
    assert found.covariance == pytest.approx(covariance, **EXACT)
    assert found.judge_weight == pytest.approx(weight, **EXACT)


@given(seeds, populations)
def test_with_a_constant_judge_the_interval_is_that_of_people_alone(
    seed: int, population: str
) -> None:
    data = made_topics(seed)
    found = corrected.topics(data.people, 0.3 + 0 * data.judge, data.drawn, population=population)
    assert found.judge_weight == 0
    assert (found.value == found.human_only_value).all()
    assert (found.low == found.human_only_low).all()
    seen = data.people[:, data.drawn]
    n, count = seen.shape[1], len(data.drawn)
    assert found.value == pytest.approx(seen.mean(axis=1), **EXACT)
    # Student's interval, with the correction for a finite population.
    share = 1 - n / count + (n / count if population == "like these" else 0)
    assert np.diag(found.covariance) == pytest.approx(seen.var(axis=1, ddof=1) / n * share, **EXACT)


@given(seeds, populations)
def test_the_order_of_runs_and_topics_does_not_matter(seed: int, population: str) -> None:
    data = made_topics(seed)
    generator = np.random.default_rng(seed)
    runs = generator.permutation(len(data.people))
    places = generator.permutation(len(data.drawn))
    found = corrected.topics(*data, population=population)
    moved = corrected.topics(
        data.people[np.ix_(runs, places)],
        data.judge[np.ix_(runs, places)],
        data.drawn[places],
        population=population,
    )
    assert same(moved, found, runs)


@given(seeds, st.floats(0.01, 100), populations)
def test_scores_in_another_unit_give_estimates_in_that_unit(
    seed: int, unit: float, population: str
) -> None:
    data = made_topics(seed)
    found = corrected.topics(*data, population=population)
    scaled = corrected.topics(
        unit * data.people, unit * data.judge, data.drawn, population=population
    )
    assert scaled.value == pytest.approx(unit * found.value, **EXACT)
    assert scaled.high == pytest.approx(unit * found.high, **EXACT)
    assert scaled.covariance == pytest.approx(unit**2 * found.covariance, **EXACT)


@given(seeds)
def test_labels_of_topics_not_drawn_do_not_matter(seed: int) -> None:
    data, more = made_topics(seed), made_items(seed)
    hidden = np.where(data.drawn, data.people, np.nan)
    assert same(corrected.topics(*data), corrected.topics(hidden, data.judge, data.drawn))
    hidden = np.where(more.drawn, more.people, 77.0)
    assert same(corrected.items(*more), corrected.items(more.weights, hidden, *more[2:]))


@given(seeds)
def test_with_all_topics_labelled_scores_are_exact(seed: int) -> None:
    data, more = made_topics(seed), made_items(seed)
    found = corrected.topics(data.people, data.judge, np.ones(len(data.drawn), bool))
    assert found.value == pytest.approx(data.people.mean(axis=1), **EXACT)
    assert (found.low == found.high).all()
    every = np.ones(len(more.pi), bool)
    found = corrected.items(*more[:3], 1.0 * every, every, more.topic)
    assert found.value == pytest.approx(more.weights @ more.people, **EXACT)
    assert (found.low == found.high).all()
    assert (corrected.differences(found).se == 0).all()


# --- single items --------------------------------------------------------------------------------


def plain_items(data: Items) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Values, covariance, degrees of freedom and the judge's weight, item by item."""
    w, y, judge, pi, drawn, topic = data
    places = np.flatnonzero(drawn)
    fold = np.searchsorted(np.unique(topic), topic) % 5
    m = np.zeros(len(y))
    for item in range(len(y)):
        fitted = [i for i in places if fold[i] != fold[item]] or list(places)
        inverse = {i: 1 / pi[i] for i in fitted}
        scale = len(fitted) / sum(inverse.values())
        average = sum(inverse[i] * y[i] for i in fitted) / sum(inverse.values())
        steps = []  # mean, weight and number of grades of each pool
        for grade in np.unique(judge):
            inside = [i for i in fitted if judge[i] == grade]
            weight = 5 + sum(scale * inverse[i] for i in inside)
            total = 5 * average + sum(scale * inverse[i] * y[i] for i in inside)
            steps.append((total / weight, weight, 1))
            while len(steps) > 1 and steps[-2][0] > steps[-1][0]:
                (a, v, k), (b, u, j) = steps.pop(-2), steps.pop()
                steps.append(((a * v + b * u) / (v + u), v + u, k + j))
        values = [mean for mean, _, k in steps for _ in range(k)]
        m[item] = values[int(np.searchsorted(np.unique(judge), judge[item]))]
    e = y - m
    value = np.array([row @ m + sum(row[i] * e[i] / pi[i] for i in places) for row in w])
    q = np.maximum((1 - m) * m, 1e-4)
    h = 1 / np.where(pi > 0, pi, 1) / np.mean([1 / pi[i] for i in places])
    phi = (sum(h[i] * e[i] ** 2 for i in places) + 2) / (sum(h[i] * q[i] for i in places) + 2)
    average = sum(h[i] * y[i] for i in places) / len(places)
    least = 3 / len(places) if sum(h[i] * (y[i] - average) ** 2 for i in places) < 2 else 0
    q = phi * q
    q = q + max(0, least - np.mean([h[i] * q[i] for i in places]))
    k, o = [], []
    for row in w:
        a = [row[i] ** 2 * (1 - pi[i]) / pi[i] ** 2 for i in places]
        k.append(max(sum(a) ** 2 / sum(x * x for x in a) if any(a) else 0, 0.5))
        o.append(np.sqrt(k[-1] / (k[-1] + 10)))
    covariance, df = np.zeros((len(w), len(w))), np.zeros(len(w))
    for r, first in enumerate(w):
        for s, second in enumerate(w):
            both = first * second
            seen = sum(both[i] * (1 - pi[i]) / pi[i] ** 2 * e[i] ** 2 for i in places)
            pool = sum(x * (1 - p) / p * z for x, p, z in zip(both, pi, q, strict=True) if x)
            own, rest = o[r] * o[s] * seen, np.sqrt((1 - o[r] ** 2) * (1 - o[s] ** 2)) * pool
            covariance[r, s] = own + rest
            if r == s:
                df[r] = max((own + rest) ** 2 / (own**2 / k[r] + rest**2 / len(places)), 4)
    p0 = sum(y[i] / pi[i] for i in places) / sum(1 / pi[i] for i in places)
    spread = sum((y[i] - p0) ** 2 / pi[i] for i in places)
    unexplained = sum(e[i] ** 2 / pi[i] for i in places)
    return value, covariance, df, max(0, 1 - unexplained / spread) if spread > 1e-12 else 0


@given(st.integers(0, 30), st.booleans())
def test_items_equals_the_plain_loops(seed: int, alike: bool) -> None:
    data = made_items(seed)
    if alike:
        data = data._replace(people=(np.arange(len(data.people)) % 20 > 0).astype(float))
    found = corrected.items(*data)
    value, covariance, df, weight = plain_items(data)
    assert found.value == pytest.approx(value, **EXACT)
    assert found.covariance == pytest.approx(covariance, **EXACT)
    assert found.df == pytest.approx(df, **EXACT)
    assert found.judge_weight == pytest.approx(weight, **EXACT)


@given(st.integers(0, 30), st.booleans())
@settings(max_examples=20)
def test_the_variance_for_topics_like_these_is_that_between_topics(seed: int, alike: bool) -> None:
    """... and at least that for these items."""
    data = made_items(seed)
    if alike:
        data = data._replace(people=np.ones(len(data.people)))
    found = corrected.items(*data, population="like these", level=0.8)
    these = corrected.items(*data, level=0.8)
    m = cross_fitted(
        data.people, data.judge[None], data.pi, data.drawn,
        np.unique(data.topic, return_inverse=True)[1],
    ).given_judge  # fmt: skip
    topics = np.unique(data.topic)
    parts = [
        [
            len(topics)
            * sum(
                row[i] * (m[i] + (data.drawn[i] and (data.people[i] - m[i]) / data.pi[i]))
                for i in np.flatnonzero(data.topic == topic)
            )
            for topic in topics
        ]
        for row in data.weights
    ]
    expected = np.atleast_2d(np.cov(parts)) / len(topics)
    t = stats.t.ppf(0.9, len(topics) - 1)
    half = np.maximum(t * np.sqrt(np.diag(expected)), (these.high - these.low) / 2)
    assert found.value == pytest.approx(these.value, **EXACT)
    assert found.high - found.value == pytest.approx(half, **EXACT)
    apart = ~np.eye(len(half), dtype=bool)
    assert found.covariance[apart] == pytest.approx(expected[apart], **EXACT)
    assert (found.df == len(topics) - 1).all()


@given(seeds, populations)
def test_the_order_of_runs_and_items_does_not_matter(seed: int, population: str) -> None:
    data = made_items(seed)
    generator = np.random.default_rng(seed)
    runs = generator.permutation(len(data.weights))
    places = generator.permutation(len(data.pi))
    found = corrected.items(*data, population=population)
    moved = corrected.items(
        data.weights[np.ix_(runs, places)], *(x[places] for x in data[1:]), population=population
    )
    assert same(moved, found, runs)


@given(seeds, st.floats(0.01, 100), populations)
def test_items_in_another_unit_give_estimates_in_that_unit(
    seed: int, unit: float, population: str
) -> None:
    data = made_items(seed)
    found = corrected.items(*data, population=population)
    heavier = corrected.items(unit * data.weights, *data[1:], population=population)
    greater = corrected.items(
        data.weights, unit * data.people, *data[2:], population=population, bounds=(0, unit)
    )
    for scaled in (heavier, greater):
        assert scaled.value == pytest.approx(unit * found.value, **EXACT)
        assert scaled.low == pytest.approx(unit * found.low, **EXACT)
        assert scaled.covariance == pytest.approx(unit**2 * found.covariance, **EXACT)


@given(seeds, st.booleans(), populations)
@settings(max_examples=30)
def test_labels_may_have_any_range(seed: int, alike: bool, population: str) -> None:
    """Labels from 2 to 5 are those from 0 to 1, three times as far apart, and 2 more for each."""
    data = made_items(seed)
    if alike:
        data = data._replace(people=np.ones(len(data.people)))
    found = corrected.items(*data, population=population)
    moved = corrected.items(
        data.weights, 2 + 3 * data.people, *data[2:], population=population, bounds=(2, 5)
    )
    more = 2 * data.weights.sum(axis=1)
    if population == "these":  # with an offset, topics of different sizes vary more
        assert moved.covariance == pytest.approx(9 * found.covariance, **EXACT)
        assert moved.low == pytest.approx(more + 3 * found.low, **EXACT)
    assert moved.value == pytest.approx(more + 3 * found.value, **EXACT)
    assert moved.judge_weight == pytest.approx(found.judge_weight, **EXACT)


@given(seeds, st.booleans())
def test_intervals_for_topics_like_these_are_at_least_as_wide(seed: int, alike: bool) -> None:
    data, more = made_items(seed), made_topics(seed)
    if alike:  # so every topic has the same share
        data = data._replace(people=np.ones(len(data.people)))
        more = more._replace(people=np.ones(more.people.shape))
    for estimate in (partial(corrected.items, *data), partial(corrected.topics, *more)):
        these, wider = estimate(), estimate(population="like these")
        assert wider.value == pytest.approx(these.value, **EXACT)
        assert (wider.high - wider.low >= these.high - these.low - 1e-9).all()
        assert (these.high - these.low > 1e-3).all()


@given(seeds)
def test_the_values_of_a_judges_grades_do_not_matter(seed: int) -> None:
    data = made_items(seed)
    renamed = data._replace(judge=np.exp(data.judge) - 7)
    assert same(corrected.items(*renamed), corrected.items(*data))


@given(seeds)
def test_an_offset_only_shifts_the_scores(seed: int) -> None:
    data = made_items(seed)
    found, moved = corrected.items(*data), corrected.items(*data, offset=0.25)
    assert moved.value == pytest.approx(found.value + 0.25, **EXACT)
    assert moved.human_only_low == pytest.approx(found.human_only_low + 0.25, **EXACT)
    assert moved.covariance == pytest.approx(found.covariance, **EXACT)


def test_many_different_labels_of_a_judge_are_binned_by_deciles() -> None:
    data = made_items(3)
    generator = np.random.default_rng(3)
    fine = data.people + generator.normal(0, 0.5, len(data.people))
    from assay.statistics.corrected.calibration import grades

    assert np.bincount(grades(fine)).max() <= len(fine) // 10 + 1
    assert np.unique(grades(fine)).tolist() == list(range(10))
    assert (np.diff(grades(np.sort(fine))) >= 0).all()
    assert grades(np.array([3.0, 1.0, 3.0])).tolist() == [1, 0, 1]
    mostly_zero = np.concatenate([np.zeros(90), np.arange(1, 21)])
    assert np.unique(grades(mostly_zero)).tolist() == list(range(grades(mostly_zero).max() + 1))
    assert corrected.items(*data._replace(judge=fine)).judge_weight > 0


def test_several_judges_are_combined() -> None:
    """Two judges with independent errors help more than one; a constant one does not help."""
    generator = np.random.default_rng(4)
    count = 4000
    labels = (generator.random(count) < 0.4).astype(float)
    judges = [np.where(generator.random(count) < 0.2, 1 - labels, labels) for _ in range(2)]
    judges.append(np.full(count, 2.0))
    weights = np.full((1, count), 1 / count)
    draw = corrected.draw(weights, 800, seed=1)
    rest = draw.pi, draw.drawn, np.arange(count) % 40
    one, both, more = (
        corrected.items(weights, labels, np.array(judges[:n]), *rest) for n in (1, 2, 3)
    )
    assert both.judge_weight > one.judge_weight + 0.1
    assert both.covariance[0, 0] < 0.8 * one.covariance[0, 0]
    assert more.value == pytest.approx(both.value, **EXACT)
