"""Floors and ceilings of confidence measures, compared with every completion."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.confidence import confidence_measures
from assay.measures.confidence_ranges import confidence_ranges

LOWER_IS_BETTER = {"ECE", "MCE", "Brier", "KS"}
GRID = [0.0, 0.05, 0.1, 0.3, 0.5, 0.55, 0.9, 1.0]
answers = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(GRID), st.integers(0, 100).map(lambda n: n / 100)),
        st.sampled_from([0.0, 1.0, np.nan]),
    ),
    min_size=1,
    max_size=14,
).filter(lambda rows: sum(np.isnan(c) for _, c in rows) <= 12)


def completions(p, c, absent=()):
    """The measures of every completion. Those that only differ in the order of answers with equal
    confidence are listed once."""
    c = np.array(c)
    seen = set()
    open_places = np.flatnonzero(np.isnan(c))
    for bits in product([0.0, 1.0], repeat=len(open_places)):
        full = c.copy()
        full[open_places] = bits
        for extra in absent or [()]:
            rows = sorted([*zip(p, full.tolist(), strict=True), *extra])
            if (key := tuple(rows)) not in seen:
                seen.add(key)
                yield confidence_measures(*zip(*rows, strict=True))


def outermost(values, name):
    known = [value[name] for value in values if value[name] is not None]
    if not known:
        return None
    worst, best = (max, min) if name in LOWER_IS_BETTER else (min, max)
    return worst(known), best(known)


@settings(max_examples=60)
@given(answers)
def test_completions_reach_the_ends_and_never_exceed_them(rows):
    p, c = zip(*rows, strict=True)
    every = list(completions(p, c))
    for name, ends in confidence_ranges(p, c).items():
        expected = outermost(every, name)
        if expected is None:
            assert ends is None
            continue
        assert ends.range.floor == pytest.approx(expected[0], abs=1e-9), name
        if name == "KS":  # its ceiling is only a bound
            assert ends.range.ceiling <= expected[1] + 1e-9
        else:
            assert ends.range.ceiling == pytest.approx(expected[1], abs=1e-9), name


@settings(max_examples=60)
@given(answers)
def test_the_completions_of_a_range_have_the_values_of_its_ends(rows):
    p, c = zip(*rows, strict=True)
    for name, ends in confidence_ranges(p, c).items():
        if ends is None:
            continue
        at = [confidence_measures(one.p, one.c)[name] for one in (ends.floor, ends.ceiling)]
        assert at[0] == pytest.approx(ends.range.floor, abs=1e-9)
        if name != "KS":
            assert at[1] == pytest.approx(ends.range.ceiling, abs=1e-9)


@given(answers.filter(lambda rows: sum(np.isnan(c) for _, c in rows) <= 2), st.integers(1, 3))
def test_a_question_left_out_counts_as_the_worst_answer_up_to_wrong_with_confidence_0(
    rows, left_out
):
    p, c = zip(*rows, strict=True)
    grid = [(level, right) for level in (0.0, 0.07, 0.5, 0.95, 1.0) for right in (0.0, 1.0)]
    worst = [list(one) for one in product(grid, repeat=min(left_out, 2))]
    if left_out == 3:
        worst = [[a, b, b] for a, b in worst]
    handed_in = list(completions(p, c, worst))
    silent = list(completions(p, c, [[(0.0, 0.0)] * left_out]))
    for name, ends in confidence_ranges(p, c, left_out=left_out).items():
        best = outermost(silent, name)
        if ends is None:
            assert best is None
            continue
        if best is not None and name != "KS":
            assert ends.range.ceiling == pytest.approx(best[1], abs=1e-9), name
        if name == "Accuracy":  # questions left out are wrong
            assert ends.range.floor == pytest.approx(best[0], abs=1e-9)
            continue
        floor = outermost(handed_in, name)[0]
        sign = -1 if name in LOWER_IS_BETTER else 1
        assert sign * ends.range.floor <= sign * floor + 1e-9, name


@given(
    st.lists(
        st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.sampled_from([0.0, 1.0])),
        min_size=1,
        max_size=10,
    ),
    st.data(),
)
def test_leaving_a_question_out_never_raises_a_floor(rows, data):
    drop = data.draw(st.integers(0, len(rows) - 1))
    p, c = zip(*rows, strict=True)
    before = confidence_measures(p, c)
    rest = [row for place, row in enumerate(rows) if place != drop]
    after = confidence_ranges([a for a, _ in rest], [b for _, b in rest], left_out=1)
    for name, value in before.items():
        if value is None or after[name] is None:
            continue
        sign = -1 if name in LOWER_IS_BETTER else 1
        assert sign * after[name].range.floor <= sign * value + 1e-9, name


def test_answering_one_question_of_a_hundred_does_not_give_an_hmr_of_1():
    found = confidence_ranges([1.0], [1.0], left_out=99)
    assert found["HMR"].range == (0.0, 1.0)
    assert found["R_O"].range == (0.0, 1.0)
    assert found["Brier"].range == pytest.approx((0.99, 0.0))
    assert found["R_U"].range == pytest.approx((0.01, 1.0))
    assert found["Accuracy"].range == pytest.approx((0.01, 0.01))


def test_a_run_without_any_answer():
    found = confidence_ranges([], [], left_out=4)
    assert found["HMR"].range == (0.0, 1.0)
    assert found["Accuracy"].range == (0.0, 0.0)
    assert found["Brier"].range == (1.0, 0.0)
