"""One-sided paired tests against a baseline, and the loss that they can detect."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.confidence import hmr
from assay.statistics.confidence import compare_confidence
from assay.statistics.significance import holm
from assay.statistics.worsening import (
    detectable_loss,
    jackknife_spread,
    questions_needed,
    session_interval,
    sign_flip_p,
)

G11 = [-0.5, -0.25, 0, -0.25, -0.5, 0.25, -0.5, 0, -0.25, -0.25]
"""Differences of spec/rag.md, golden value G11."""


def test_golden_differences_g11():
    d = np.array(G11)
    assert d.mean() == pytest.approx(-0.225)
    assert d.std(ddof=1) == pytest.approx(0.248607, abs=1e-6)
    assert sign_flip_p(d) == 24 / 1024
    assert sign_flip_p(d + 0.05) == pytest.approx(0.029297, abs=1e-6)
    assert sign_flip_p(d + 0.1) == pytest.approx(0.083008, abs=1e-6)
    assert holm([0.0234375, 0.03, 0.2]) == pytest.approx([0.070313, 0.070313, 0.2], abs=1e-6)


@pytest.mark.parametrize(
    ("n", "spread", "alpha", "loss"),
    [
        (50, 0.3, 0.05, 0.106980),
        (50, 0.3, 0.05 / 3, 0.128994),
        (200, 0.3, 0.05, 0.052926),
        (10, 0.248607, 0.05, 0.212022),
    ],
)
def test_golden_detectable_losses_g12(n: int, spread: float, alpha: float, loss: float):
    assert detectable_loss(spread, n, alpha) == pytest.approx(loss, abs=1e-6)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.3, 1.0]), min_size=1, max_size=9),
    st.booleans(),
)
def test_the_exact_p_equals_that_of_all_flips(d: list[float], upper: bool):
    sums = [sum(s * x for s, x in zip(signs, d, strict=True)) for signs in
            product((1, -1), repeat=len(d))]  # fmt: skip
    own = sum(d)
    many = sum(one >= own - 1e-9 if upper else one <= own + 1e-9 for one in sums)
    assert sign_flip_p(d, upper=upper) == many / len(sums)


def test_the_turns_of_a_session_flip_together():
    d = [-0.5, -0.5, -0.5, 0.0, 0.1]
    assert sign_flip_p(d, ["a", "a", "a", "b", "c"]) == sign_flip_p([-1.5, 0.0, 0.1])
    apart, together = session_interval(d), session_interval(d, ["a", "a", "a", "b", "c"])
    assert apart is not None
    assert together is not None
    assert together.high - together.low > apart.high - apart.low
    assert session_interval(d, ["a"] * len(d)) is None  # a single session has no interval


def test_random_flips_of_many_questions_include_the_observed_one():
    d = np.linspace(-1, -0.1, 40)
    assert sign_flip_p(d, permutations=999) == 1 / 1000
    assert sign_flip_p(-d, permutations=999) == 1.0


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans(), st.booleans()),
                min_size=2, max_size=7))  # fmt: skip
def test_the_one_sided_p_counts_all_swaps(rows: list[tuple[float, bool, bool]]):
    p = [row[0] for row in rows]
    first, second = ([float(row[k]) for row in rows] for k in (1, 2))
    found = compare_confidence(p, first, p, second, measures=["HMR"], resamples=10, seed=0)["HMR"]
    own = hmr(p, first) - hmr(p, second)
    count = 0
    for swap in product((0, 1), repeat=len(rows)):
        a = [(second if s else first)[i] for i, s in enumerate(swap)]
        b = [(first if s else second)[i] for i, s in enumerate(swap)]
        count += hmr(p, a) - hmr(p, b) <= own + 1e-9
    assert found.p_below == pytest.approx(count / 2 ** len(rows))


def test_the_jackknife_of_a_mean_is_its_standard_deviation():
    d = np.array(G11)
    assert jackknife_spread(lambda some: float(d[some].mean()), 10) == pytest.approx(
        0.248607, abs=1e-6
    )


def test_nothing_is_detectable_if_nothing_varies():
    assert detectable_loss(0.0, 50, 0.05) is None
    assert detectable_loss(0.3, 1, 0.05) is None
    assert questions_needed(0.3, 0.0, 0.05) is None


def test_the_questions_needed_detect_the_loss():
    n = questions_needed(0.3, 0.05, 0.05)
    assert n is not None
    fewer, enough = detectable_loss(0.3, n - 1, 0.05), detectable_loss(0.3, n, 0.05)
    assert fewer is not None
    assert enough is not None
    assert enough <= 0.0501 <= fewer + 0.0005
