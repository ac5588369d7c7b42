"""Floors, ties and edges of the corrected scores, each worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.statistics import corrected
from assay.statistics.corrected.calibration import cross_fitted, grades
from assay.statistics.corrected.estimates import satterthwaite
from tests.statistics.trust_data import estimates

N = 20


def of_answers(confidence, label, judge=None):
    """HMR, R_O, R_U and Accuracy if the first 10 of 20 answers are drawn, with equal labels."""
    drawn = np.arange(N) < 10
    people = np.where(drawn, float(label), np.nan)
    verdicts = np.full(N, float(label)) if judge is None else judge
    with pytest.warns(UserWarning, match="too narrow"):
        return corrected.hmr(np.full(N, confidence), people, verdicts, drawn).value


@pytest.mark.parametrize(
    ("confidence", "label", "a", "b"),
    [
        (0.8, 1, 1 - 0.5 / N, 0.8 - 1e-6),  # b is at most P
        (0.99, 1, 1 - 0.5 / N, 0.975 - 1e-6),  # ... and at most a
        (0.5, 0, 0.5 / N, 1e-4 * 0.5 / N),  # b is at least a ten-thousandth of a
        (0.99, 0, 0.5 / N, 0.5 / N + 0.99 - 1 + 1e-6),  # ... and at least a + P − 1
    ],
)
def test_at_least_one_answer_is_assumed_right_and_one_wrong(confidence, label, a, b):
    over, under = 1 - (confidence - b) / (1 - a), b / a
    expected = [2 * over * under / (over + under), over, under, a]
    assert of_answers(confidence, label) == pytest.approx(expected, rel=1e-9)


def test_degrees_of_freedom_are_at_least_four():
    ones = np.ones((2, 1))
    assert satterthwaite(ones, 10 * ones) == pytest.approx([20])
    assert satterthwaite(ones, ones).tolist() == [4.0]  # 2 by the formula
    assert satterthwaite(0 * ones, ones).tolist() == [4.0]


def even(weights, pi):
    """Items of 3 topics, of which the first 12 are drawn; half of those of each topic are yes. The
    judge is uninformative, so the expected label is always .5."""
    weights = np.atleast_2d(np.asarray(weights, dtype=float))
    place = np.arange(weights.shape[1])
    drawn = place < 12
    people = np.where(drawn, place // 3 % 2, np.nan)
    return corrected.items(weights, people, np.zeros(len(place)), pi, drawn, place % 3)


def test_a_run_without_drawn_items_counts_as_having_half_an_item():
    """Its own part is 0, so 10/(10 + ½) of the pooled variance, Σ w² (1 − π)/π · ¼, remains."""
    found = even([[0] * 12 + [0.25] * 4], np.full(16, 0.5))
    assert found.value == pytest.approx([0.5])
    assert found.covariance == pytest.approx(np.array([[4 / 16 / 4 * 10 / 10.5]]))
    assert found.df == pytest.approx([12])


def test_a_run_dominated_by_one_unlikely_item_has_four_degrees_of_freedom():
    """It has k = 1: A = 1/11 · .95/.05² · ¼, B = 10/11 · φ q · .95/.05 with less than 1 for φ."""
    pi = np.where(np.arange(16) == 0, 0.05, 0.5)
    found = even([[1.0] + [0] * 15], pi)
    assert found.df.tolist() == [4.0]


def fitted(judge, labels, pi=1.0):
    """The expected labels of items of one topic, all of them drawn."""
    count = len(judge)
    every = np.ones(count, dtype=bool)
    topic = np.zeros(count, dtype=np.int64)
    given = np.array(labels, dtype=float), np.array([judge], dtype=float)
    return cross_fitted(*given, np.full(count, pi), every, topic).given_judge


def test_means_of_grades_in_the_wrong_order_are_pooled_by_their_weights():
    # Five pseudo-labels at the mean, .625, are added to each grade: 5.125/8, 3.125/7 and 6.125/8.
    m = fitted([0, 0, 0, 1, 1, 2, 2, 2], [1, 1, 0, 0, 0, 1, 1, 1])
    tied = (5.125 + 3.125) / (8 + 7)
    assert m == pytest.approx([tied] * 5 + [6.125 / 8] * 3)


def test_means_that_decrease_with_the_grade_are_all_pooled():
    m = fitted([0, 0, 1, 1], [1, 1, 0, 0])
    assert m == pytest.approx([0.5] * 4)


def test_equal_labels_share_a_bin_and_edges_belong_to_the_lower_bin():
    assert grades(np.arange(10.0)).tolist() == list(range(10))  # not yet many
    assert grades(np.arange(11.0)).tolist() == [0, *range(10)]
    most = np.array([0.0] * 50 + list(range(1, 11)))
    found = grades(most)
    assert set(found[:50].tolist()) == {0}
    assert (np.diff(found) >= 0).all()
    assert set(found.tolist()) == set(range(int(found.max()) + 1))


@pytest.mark.parametrize(
    ("df", "median"), [((1e9, 4, 1e9), 1e9), ((4, 1e9, 4), 4), ((9, 3, 30), 9), ((30, 9, 3), 9)]
)
def test_rank_sets_use_the_median_degrees_of_freedom(df, median):
    found = estimates([0.6, 0.5, 0.4], np.eye(3) * 1e-4)
    one = corrected.rank_sets(replace(found, df=np.array(df, dtype=float)), draws=500)
    same = corrected.rank_sets(replace(found, df=np.full(3, float(median))), draws=500)
    assert one.critical == same.critical
    mean = corrected.rank_sets(replace(found, df=np.full(3, np.mean(df))), draws=500)
    assert one.critical != mean.critical


def test_rank_sets_of_an_even_number_of_runs_use_the_mean_of_the_middle_two():
    found = estimates([0.6, 0.5, 0.4, 0.3], np.eye(4) * 1e-4)
    one = corrected.rank_sets(replace(found, df=np.array([100.0, 5.0, 1e9, 15.0])), draws=500)
    same = corrected.rank_sets(replace(found, df=np.full(4, 57.5)), draws=500)
    assert one.critical == same.critical


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_without_unlabelled_topics_intervals_have_width_zero_however_few_there_are(count):
    generator = np.random.default_rng(count)
    people, judge = generator.random((2, 3, count))
    every = np.full(count, True)
    found = corrected.topics(people, judge, every)
    assert found.value.tolist() == people.mean(axis=1).tolist()
    assert found.low.tolist() == found.high.tolist() == found.value.tolist()
    assert found.human_only_low.tolist() == found.human_only_high.tolist() == found.value.tolist()
    assert corrected.rank_sets(found).decided.sum() == 6

    weights, labels = people, (judge[0] > 0.5).astype(float)
    one = corrected.items(weights, labels, judge[1], np.ones(count), every, np.arange(count))
    assert one.value == pytest.approx(weights @ labels)
    assert one.low.tolist() == one.high.tolist() == one.value.tolist()

    marks = corrected.hmr(people[0], labels, judge[1], every)
    assert marks.low.tolist() == marks.high.tolist() == marks.value.tolist()
    assert marks.value[3] == labels.mean()
    if count < 3:
        with pytest.raises(ValueError, match="too few"):
            corrected.topics(people, judge, every, population="like these")
