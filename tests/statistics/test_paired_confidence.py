"""Paired comparison of confidence measures: plain loops and properties."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures import confidence as conf
from assay.measures.bootstrap import percentiles
from assay.measures.confidence import MEASURES
from assay.statistics.confidence import compare_confidence

percent = st.integers(0, 100).map(lambda value: value / 100)
answers = st.lists(
    st.tuples(percent, st.integers(0, 1), percent, st.integers(0, 1)), min_size=1, max_size=5
)
PLAIN = {
    "HMR": conf.hmr,
    "R_O": conf.reward_over,
    "R_U": conf.reward_under,
    "ECE": conf.ece,
    "MCE": conf.mce,
    "Brier": conf.brier,
    "KS": conf.ks,
    "AUROC": conf.auroc,
    "Accuracy": conf.accuracy,
}


@given(answers)
def test_the_exact_test_and_the_bootstrap_equal_plain_loops(
    rows: list[tuple[float, int, float, int]],
) -> None:
    p, c, q, d = np.array(rows).T
    n = len(p)
    settings = {"resamples": 12, "seed": 3, "level": 0.9}
    found = compare_confidence(p, c, q, d, measures=list(MEASURES), **settings)
    assert list(found) == list(PLAIN)
    swaps = np.array(list(product((False, True), repeat=n)))
    draws = np.random.default_rng(3).integers(0, n, size=(12, n))
    for name, measure in PLAIN.items():
        result = found[name]
        assert (result.first, result.second) == (measure(p, c), measure(q, d))
        if result.first is None or result.second is None:
            assert result.difference is result.interval is result.p is None
            continue
        assert result.difference == result.first - result.second
        swapped = [measure(np.where(s, q, p), np.where(s, d, c)) for s in swaps]
        null = [*map(less, swapped, reversed(swapped))]  # the second run has all the other answers
        assert result.exact
        extreme = [one is None or abs(one) >= abs(result.difference) - 1e-12 for one in null]
        assert result.p == pytest.approx(np.mean(extreme), abs=1e-12)
        drawn = [less(measure(p[i], c[i]), measure(q[i], d[i])) for i in draws]
        known = [one for one in drawn if one is not None]
        if not known or n < 2:
            assert result.interval is None
            continue
        low, high = percentiles(np.array(known), 0.9, n)
        assert (result.interval.low, result.interval.high) == pytest.approx((low, high), abs=1e-9)
        assert result.interval.undefined == len(drawn) - len(known)


def less(one: float | None, other: float | None) -> float | None:
    """The difference, or None if either value is undefined."""
    return None if one is None or other is None else one - other


def test_random_swaps_approximate_the_exact_test_and_depend_on_the_seed() -> None:
    generator = np.random.default_rng(2)
    p, q = generator.random((2, 12))
    c, d = generator.random((2, 12)) < 0.5
    exact = compare_confidence(p, c, q, d, seed=1)
    random = compare_confidence(p, c, q, d, seed=1, permutations=30_000, exact_limit=0)
    for name, result in exact.items():
        assert random[name].p == pytest.approx(result.p, abs=0.02)
        assert not random[name].exact
    assert exact == compare_confidence(p, c, q, d, seed=1)
    assert exact["HMR"].interval != compare_confidence(p, c, q, d, seed=2)["HMR"].interval


def test_a_run_compared_with_itself() -> None:
    p, c = [0.3, 0.9, 0.5], [0, 1, 1]
    for result in compare_confidence(p, c, p, c, seed=1).values():
        assert (result.difference, result.p) == (0, 1)
        assert (result.interval.low, result.interval.high) == (0, 0)


def test_a_single_question_has_no_interval() -> None:
    for result in compare_confidence([0.9], [1], [0.2], [1], seed=1).values():
        assert (result.interval, result.p) == (None, 1)


def test_bad_input_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="2 and 1 questions"):
        compare_confidence([0.1, 0.2], [0, 1], [0.1], [1], seed=1)
    with pytest.raises(ValueError, match=r"confidence 1.5 of answer 1"):
        compare_confidence([0.1], [0], [1.5], [1], seed=1)
    with pytest.raises(ValueError, match="permutations"):
        compare_confidence([0.1], [0], [0.5], [1], seed=1, permutations=0)
    with pytest.raises(ValueError, match="no measure F1"):
        compare_confidence([0.1], [0], [0.5], [1], seed=1, measures=["F1"])
