"""EXAM-Cover, EXAM-Label and α-nDCG over grades: what must hold whatever the grades are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.measures import alpha_nDCG
from assay.measures.coverage import (
    alpha_ideal_range,
    alpha_ideals,
    alpha_ndcg,
    cover,
    labels,
    standard_error,
)
from assay.measures.run_scores import evaluate_runs
from assay.model.exam_grades import NO_GRADE, Grades
from tests.measures import plain

shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)
graded = hnp.arrays(np.int8, shapes, elements=st.integers(0, 5))
partly = hnp.arrays(np.int8, shapes, elements=st.integers(-1, 5))


def test_the_share_of_questions_that_any_passage_answers():
    grades = np.array([[5, 0, 3, 0], [1, 4, 0, 0]], dtype=np.int8)
    assert cover(grades, 4).ends.value == 0.5
    assert cover(grades, 3).ends.value == 0.75
    assert cover(grades, 4, [1, 3, 0, 4]).ends.value == 0.5
    assert cover(grades, 4, of=[True, False, True, False]).ends.value == 0.5
    assert list(labels(grades)) == [5, 4]


@given(graded, st.integers(1, 5))
def test_cover_is_a_share_falls_with_tau_and_rises_with_passages(grades, tau):
    value = cover(grades, tau).ends.value
    assert 0 <= value <= 1
    assert cover(grades, min(5, tau + 1)).ends.value <= value
    assert cover(grades[:-1], tau).ends.value <= value
    assert cover(grades[::-1], tau).ends.value == value
    assert (value == 1) == (grades >= tau).any(axis=0).all()


@given(partly, st.integers(1, 5))
def test_an_unknown_grade_leaves_cover_open_only_where_it_matters(grades, tau):
    low = cover(np.where(grades == NO_GRADE, 0, grades).astype(np.int8), tau).ends.value
    high = cover(np.where(grades == NO_GRADE, 5, grades).astype(np.int8), tau).ends.value
    assert cover(grades, tau).ends.value == (low if low == high else None)


@given(partly)
def test_a_label_is_the_best_known_grade(grades):
    for row, label in zip(grades, labels(grades), strict=True):
        assert label == max(row)


@given(graded, st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(1, 6))
def test_alpha_ndcg_is_the_measure_with_questions_as_intents(grades, tau, alpha, k):
    covers = grades >= tau
    wanted = plain.alpha_ndcg([set(np.flatnonzero(row)) for row in covers], alpha, k)
    (ideal,) = alpha_ideals([covers], alpha=alpha, k=k)
    assert alpha_ndcg(covers, ideal, alpha=alpha, k=k) == pytest.approx(wanted)
    names = [f"{9 - row}" for row in range(len(covers))]  # of equal ones the last is ideal
    subtopics = {
        str(q): dict(zip(names, one.tolist(), strict=True)) for q, one in enumerate(1 * covers.T)
    }
    measure = alpha_nDCG(alpha=alpha) @ k
    qrels, runs = {"t": dict.fromkeys(names, 1)}, {"r": {"t": names}}
    found = evaluate_runs(qrels, runs, [measure], subtopics={"t": subtopics})
    assert found["r"].mean(measure) == pytest.approx(wanted)


def test_weights_must_be_usable():
    with pytest.raises(ValueError, match="not negative"):
        cover(np.zeros((1, 2), dtype=np.int8), 1, [1, -1])


def test_columns_of_another_bank():
    grades = Grades(("p", "q"), ("a", "b"), np.array([[1, 2], [3, 4]], dtype=np.int8))
    assert grades.columns(["b", "new"]).tolist() == [[2, -1], [4, -1], [-1, -1]]


def test_standard_error():
    assert standard_error([1.0]) is None
    assert standard_error([0.0, 1.0]) == pytest.approx(math.sqrt(0.5) / math.sqrt(2))


def test_what_is_surely_covered_bounds_the_ideal_from_below():
    """Of one passage and one intent nothing is open; of a second passage it may be."""
    sure = np.array([[True]])
    some, both = np.array([[True], [False]]), np.array([[True], [True]])
    found = alpha_ideal_range([sure, some, ~sure], [sure, both, ~sure])
    assert [found.least[0], found.most[0], found.excess[0]] == [1.0, 1.0, 1.0]
    assert found.least[1] >= 1.0
    assert found.most[1] == pytest.approx(1 + 0.5 / math.log2(3))
    assert [found.least[2], found.most[2], found.excess[2]] == [0.0, 0.0, 1.0]
