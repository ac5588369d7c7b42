"""Scores where grades are missing: between which ends they lie, whatever the grades turn out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.coverage import cover, normalised_cover
from assay.measures.ranges import Range
from assay.model.exam import Bank, BankQuestion, QueryBank, Ranking
from assay.model.exam_grades import NO_GRADE, Grades
from assay.protocols.exam.pools import COVER, NORMALISED, WEIGHTED
from assay.protocols.exam.scoring import ExamOptions, ExamScorer

REACHED = ("AP", "AP(norm=min)@2", "Rprec", "RR", "P@2", "Recall@2", "Success@1")
SAFE = ("nDCG", "nDCG@2", "Q", "ERR", "nERR@3", "RBP", "iRBU", "α-nDCG", "α-nDCG@2",
        "α-nDCG(alpha=1)@3", "α-nDCG(alpha=0)@3")  # fmt: skip
CLOSE = 1e-9


@st.composite
def pools(draw, most):
    """Grades of one query, at most ``most`` of them missing, and a run over its passages."""
    top = draw(st.integers(1, 2))
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cells = draw(
        st.lists(
            st.integers(NO_GRADE, top), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
        )
    )
    matrix = np.array(cells, dtype=np.int8).reshape(shape)
    gaps = np.argwhere(matrix == NO_GRADE)
    for row, column in gaps[most:]:
        matrix[row, column] = 0
    names = [f"p{row}" for row in range(shape[0])]
    shown = draw(st.lists(st.sampled_from([*names, "stranger"]), unique=True))
    steps = draw(st.lists(st.integers(1, 2), min_size=len(shown), max_size=len(shown)))
    run = Ranking.at_ranks(zip(shown, np.cumsum(steps).tolist(), strict=True))
    return matrix, run, top, draw(st.integers(1, top)), draw(st.integers(1, 4))


def scored(matrix, run, top, tau, k, measures, denominator="bank"):
    questions = tuple(BankQuestion(f"q{n}", "?", weight=1.0 + n) for n in range(matrix.shape[1]))
    bank = Bank({"q": QueryBank("q", None, questions)})
    grades = Grades(
        tuple(f"p{row}" for row in range(len(matrix))), tuple(q.id for q in questions), matrix
    )
    options = ExamOptions(tau, k, denominator, measures, top)  # type: ignore[arg-type]
    values = ExamScorer(bank, {"q": grades}, options).at({"": {"q": run}}, (tau,))[tau][""]
    return {name: by_query["q"] for name, by_query in values.items()}


def completions(matrix, top):
    gaps = np.argwhere(matrix == NO_GRADE)
    for grades in product(range(top + 1), repeat=len(gaps)):
        made = matrix.copy()
        for (row, column), grade in zip(gaps, grades, strict=True):
            made[row, column] = grade
        yield made


@given(pools(most=5))
def test_every_completion_lies_between_the_ends(pool):
    matrix, run, top, tau, k = pool
    ends = scored(matrix, run, top, tau, k, (*REACHED, *SAFE))
    every = [scored(one, run, top, tau, k, (*REACHED, *SAFE)) for one in completions(matrix, top)]
    assert all(one.value is not None for values in every for one in values.values())
    for name, (floor, ceiling) in ends.items():
        seen = [values[name].floor for values in every]
        assert floor <= min(seen) + CLOSE, name
        assert ceiling >= max(seen) - CLOSE, name
        if name in (COVER, WEIGHTED, NORMALISED, *REACHED):
            assert (floor, ceiling) == pytest.approx((min(seen), max(seen))), name


@given(pools(most=12), st.data())
def test_covers_reach_their_ends(pool, data):
    matrix = pool[0]
    matrix = np.where(matrix > 1, 1, matrix).astype(np.int8)
    shown = data.draw(st.lists(st.sampled_from(range(len(matrix))), unique=True))
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=3, max_size=3)))[: matrix.shape[1]]
    plain = cover(matrix[shown], 1, of=asked).ends
    normalised = Range(*map(float, normalised_cover(matrix, matrix[shown], 1, of=asked)))
    every = list(completions(matrix, 1))
    covers = [cover(one[shown], 1, of=asked).ends.floor for one in every]
    shares = [Range(*map(float, normalised_cover(one, one[shown], 1, of=asked))) for one in every]
    assert all(one.value is not None for one in shares)
    assert plain == (min(covers), max(covers))
    assert normalised == pytest.approx((min(shares)[0], max(shares)[0]))


@given(pools(most=12))
def test_showing_nothing_never_raises_a_floor(pool):
    matrix, run, top, tau, k = pool
    for denominator in ("bank", "graded"):
        shown = scored(matrix, run, top, tau, k, (*REACHED, *SAFE), denominator)
        silent = scored(matrix, Ranking(), top, tau, k, (*REACHED, *SAFE), denominator)
        for name, ends in silent.items():
            assert ends == (0.0, 0.0)
            assert shown[name].floor >= 0.0
            assert shown[name].floor <= shown[name].ceiling


@pytest.mark.parametrize(("alpha", "again"), [(0, 1.0), (0.5, 0.5), (1, 0.0)])
def test_a_repetition_counts_by_the_measures_own_alpha_where_grades_are_missing(alpha, again):
    matrix = np.array([[1, 0], [1, 0], [0, NO_GRADE]], dtype=np.int8)
    run = Ranking.of(["p0", "p1"])
    name = f"α-nDCG(alpha={alpha})@2"
    gain, ideal = 1 + again / np.log2(3), 1 + 1 / np.log2(3)  # which has p2, if it answers q1
    assert scored(matrix, run, 1, 1, 2, (name,))[name].floor == pytest.approx(gain / ideal)


def test_a_question_without_any_grade_is_open_in_the_bank_and_not_there_among_the_graded():
    matrix = np.array([[1, NO_GRADE], [0, NO_GRADE]], dtype=np.int8)
    run = Ranking.of(["p0"])
    assert scored(matrix, run, 1, 1, 20, ())[COVER] == (0.5, 1.0)
    assert scored(matrix, run, 1, 1, 20, (), "graded")[COVER] == (1.0, 1.0)
    nothing = np.full((1, 2), NO_GRADE, dtype=np.int8)
    assert scored(nothing, run, 1, 1, 20, (), "graded")[COVER] == (0.0, 1.0)
