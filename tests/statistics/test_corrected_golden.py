"""Worked values of corrected scores from the specification, to six digits."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics import corrected
from tests.statistics.trust_data import estimates

NONE = np.nan
PEOPLE = [[0.5, 0.7, 0.2, 0.9, NONE, NONE], [0.4, 0.6, 0.3, 0.7, NONE, NONE]]
JUDGE = [[0.6, 0.9, 0.1, 0.9, 0.7, 0.8], [0.5, 0.8, 0.2, 0.9, 0.4, 0.7]]
FOUR = np.arange(6) < 4

SIX = [[0.25, 0.25, 0.25, 0.25, 0, 0], [0.25, 0.25, 0, 0, 0.25, 0.25]]


def near(*expected: float):
    return pytest.approx(np.array(expected), abs=5.1e-7)


def digits(text: str) -> np.ndarray:
    return np.array([float(one) for one in text if one in "01"])


def test_whole_topics() -> None:
    found = corrected.topics(PEOPLE, JUDGE, FOUR)
    assert found.judge_weight == pytest.approx(0.676976, abs=5e-7)
    assert found.value == near(0.603207, 0.488717)
    assert found.low == near(0.494116, 0.409271)
    assert found.high == near(0.712298, 0.568163)
    assert found.covariance.ravel() == near(0.001175, 0.000394, 0.000394, 0.000623)
    assert found.human_only_low == near(0.300671, 0.332270)
    assert found.human_only_high == near(0.849329, 0.667730)
    assert (found.df == 3).all()
    assert (found.labels, found.population) == (4, "these")
    assert corrected.differences(found).se[0, 1] == pytest.approx(0.031786, abs=5e-7)
    wider = corrected.topics(PEOPLE, JUDGE, FOUR, population="like these")
    assert wider.value == pytest.approx(found.value)
    assert wider.low == near(0.200202, 0.238561)
    assert wider.high == near(1.006213, 0.738873)


def test_a_judge_that_agrees_on_five_topics_is_not_perfect() -> None:
    people = [[1, 0, 1, 1, 0, NONE, NONE, NONE]]
    found = corrected.topics(people, [[1, 0, 1, 1, 0, 1, 1, 0]], np.arange(8) < 5)
    assert (found.value[0], found.low[0], found.high[0]) == near(0.625, 0.186005, 1.063995)


def test_unseen_disagreements_are_added_if_disagreements_are_rare() -> None:
    judge = np.array([[1, 0.5, 1, 1, 0.5, 1, 1, 0.5], [0.5, 1, 0.75, 1, 1, 1, 0.5, 0.5]])
    people, drawn = judge.copy(), np.arange(8) < 5
    # No disagreement: two of the greatest difference between scores, .5, are added, with n = 5 + 1.
    found = corrected.topics(np.where(drawn, people, NONE), judge, drawn)
    assert np.sqrt(np.diag(found.covariance)) == near(*[(2 * 0.25 / 30 * 3 / 8) ** 0.5] * 2)
    # One of .25: two of this size are added, also for the run without any.
    people[1, 2] = 1
    found = corrected.topics(np.where(drawn, people, NONE), judge, drawn)
    assert np.diag(found.covariance)[0] >= 2 * 0.0625 / 30 * 3 / 8
    assert found.low[0] < judge[0].mean() < found.high[0]


def test_a_run_with_many_disagreements_has_at_least_its_own_variance() -> None:
    generator = np.random.default_rng(4)
    judge = generator.uniform(size=(10, 24))
    people, n = judge.copy(), 8
    people[:9, 0] += 0.001
    people[9] = generator.uniform(size=24)
    found = corrected.topics(np.where(np.arange(24) < n, people, NONE), judge, np.arange(24) < n)
    apart = (people - found.judge_weight * judge)[9, :n]
    assert found.covariance[9, 9] >= 0.98 * apart.var(ddof=1) / n * (1 - n / 24)


def test_draws() -> None:
    by_leverage = corrected.draw(SIX, 3, seed=7)
    assert by_leverage.pi == near(0.609188, 0.609188, *[0.445406] * 4)
    pairs = corrected.draw(SIX, 3, design="pairs", seed=7)
    assert pairs.pi == near(0.05, 0.05, 0.725, 0.725, 0.725, 0.725)
    unsure = corrected.draw(SIX, 3, uncertainty=[0.5, 0.1, 0.4, 0.4, 0.3, 0.5], seed=7)
    assert unsure.pi == near(0.787153, 0.344861, 0.466997, 0.466997, 0.362747, 0.571246)
    assert np.flatnonzero(unsure.drawn).tolist() == [0, 3, 4]
    capped = corrected.draw([[8, 1, 1, 1, 1]], 3, seed=7)
    assert capped.pi == near(0.96, 0.51, 0.51, 0.51, 0.51)


WEIGHTS = np.zeros((2, 20))
WEIGHTS[0, :12] = WEIGHTS[1, 8:] = 1 / 12
TOPIC = np.arange(20) // 4
SAID = digits("1011 0010 1101 0100 1100")
SECOND = digits("0011 0110 1001 0110 1101")
LABELS = SAID.copy()
LABELS[[3, 12]] = 0, 1
PI = np.where(np.arange(20) % 2 == 0, 0.5, 0.8)
DRAWN = np.isin(np.arange(20), [0, 1, 3, 4, 7, 8, 9, 11, 12, 13, 15, 17, 18, 19])
SEEN = np.where(DRAWN, LABELS, NONE)


def test_single_items() -> None:
    found = corrected.items(WEIGHTS, SEEN, SAID, PI, DRAWN, TOPIC)
    assert found.value == near(0.525779, 0.685760)
    assert found.low == near(0.314280, 0.453276)
    assert found.high == near(0.737278, 0.918244)
    assert found.covariance.ravel() == near(0.010174, 0.003756, 0.003756, 0.012134)
    assert found.df == near(18.503125, 16.922597)
    assert found.judge_weight == pytest.approx(0.148688, abs=5e-7)
    assert found.human_only_value == near(0.530882, 0.685294)
    assert found.human_only_low == near(0.291627, 0.444964)
    assert found.labels == 14
    wider = corrected.items(WEIGHTS, SEEN, SAID, PI, DRAWN, TOPIC, population="like these")
    assert wider.low == near(-0.327406, -0.234844)
    assert wider.high == near(1.378964, 1.606364)


def test_the_expected_label_of_an_item_given_its_grade() -> None:
    from assay.statistics.corrected.calibration import cross_fitted

    given = cross_fitted(np.nan_to_num(SEEN), SAID[None], PI, DRAWN, TOPIC).given_judge
    expected = [
        *[(0.758942, 0.350785), (0.765258, 0.431694), (0.557823, 0.266178)],
        *[(0.678523, 0.229290), (0.733242, 0.418639)],
    ]
    for topic, pair in enumerate(expected):
        for grade, value in zip((1, 0), pair, strict=True):
            found = given[(topic == TOPIC) & (grade == SAID)]
            assert found == pytest.approx(value, abs=5.1e-7)


def test_two_judges() -> None:
    found = corrected.items(WEIGHTS, SEEN, np.stack([SAID, SECOND]), PI, DRAWN, TOPIC)
    assert found.value == near(0.544079, 0.695318)
    assert found.low == near(0.312175, 0.451821)


def test_all_items_labelled() -> None:
    found = corrected.items(WEIGHTS, LABELS, SAID, np.ones(20), np.ones(20, bool), TOPIC)
    assert found.value == near(0.5, 0.583333)
    assert (found.high == found.low).all()


CONFIDENCE = [
    *(0.9, 0.8, 0.95, 0.6, 0.7, 0.3, 0.85, 0.5, 0.99, 0.75),
    *(0.4, 0.65, 0.9, 0.2, 0.8, 0.55, 0.7, 0.6, 0.35, 0.95),
]
MARKS = digits("111010101001 10110101")
VERDICTS = digits("11101011100110100101")
TWELVE = np.arange(20) < 12


def test_hmr() -> None:
    seen = np.where(TWELVE, MARKS, NONE)
    found = corrected.hmr(CONFIDENCE, seen, VERDICTS, TWELVE)
    assert found.value == near(0.638292, 0.517621, 0.832329, 0.541852)
    assert found.low == near(0.568534, 0.435114, 0.760126, 0.406434)
    assert found.high == near(0.708050, 0.600128, 0.904532, 0.677269)
    wider = corrected.hmr(CONFIDENCE, seen, VERDICTS, TWELVE, population="like these")
    assert wider.low == near(0.449345, 0.288646, 0.723138, 0.267358)
    right = np.where(TWELVE, MARKS, VERDICTS)
    found = corrected.hmr(CONFIDENCE, seen, right, TWELVE)
    assert found.value == near(0.633412, 0.515839, 0.820403, 0.558642)
    assert found.low == near(0.582414, 0.457282, 0.766157, 0.466711)
    assert found.high == near(0.684410, 0.574396, 0.874650, 0.650573)
    found = corrected.hmr(CONFIDENCE, MARKS, VERDICTS, np.ones(20, bool))
    assert found.value == near(0.635006, 0.525, 0.803333, 0.6)
    assert (found.high == found.low).all()


def test_rank_sets_and_bounds_of_tau() -> None:
    board = estimates([0.60, 0.58, 0.50, 0.49], 1e-4 * np.eye(4))
    found = corrected.rank_sets(board)
    assert found.critical == pytest.approx(3.633 / np.sqrt(2), abs=0.02)  # the studentised range
    assert found.best.tolist() == [1, 1, 3, 3]
    assert found.worst.tolist() == [2, 2, 4, 4]
    assert np.argwhere(np.triu(found.decided)).tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    assert (found.decided == found.decided.T).all()
    for judge, bounds in (
        ([0.5, 0.7, 0.4, 0.3], (1 / 3, 1)),
        ([0.5, 0.4, 0.7, 0.3], (-1 / 3, 1 / 3)),
    ):
        assert corrected.tau_bounds(found.decided, board.value, judge) == pytest.approx(bounds)


def test_the_next_batch() -> None:
    board = estimates([0.50, 0.52], 0.01 * np.eye(2))
    found = corrected.next_batch(SIX, board, np.full(6, 0.5), np.arange(6) == 2, 2, seed=1)
    assert found.pi == near(0.04, 0.04, 0, 0.64, 0.64, 0.64)
    coins = np.random.default_rng([1, 1]).random(6)  # of seed 1, with 1 known item
    assert (found.drawn == (coins < found.pi)).all()


def test_batches_combined() -> None:
    one = corrected.items(WEIGHTS, SEEN, SAID, PI, DRAWN, TOPIC)
    both = corrected.combine([one, one], [100, 300])
    assert both.value == pytest.approx(one.value)
    assert both.covariance.ravel() == near(0.006359, 0.002348, 0.002348, 0.007584)
    assert both.labels == 28


def test_the_best_guess_of_the_order() -> None:
    board = estimates([0.6, 0.5, 0.4], 4e-4 * np.eye(3))
    value, s = corrected.shrink(board, [0.70, 0.52, 0.50])
    assert value == near(0.605, 0.49, 0.405)
    assert s == pytest.approx(0.8125)


def test_a_judge_measured_elsewhere() -> None:
    found = corrected.rogan_gladen(60, 100, 45, 50, 40, 50)
    assert found == near(0.571429, 0.398192, 0.745101)


def test_a_confidence_sequence() -> None:
    assert corrected.half_width(20, 100, 20) == pytest.approx(0.135739, abs=5e-7)
