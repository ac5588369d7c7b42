"""Topic set size design: worked values, simulation, and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import samplesize as size
from assay.statistics.samplesize import Variance

SCORES = [[0.5, 0.6, 0.4], [0.7, 0.8, 0.5], [0.2, 0.4, 0.3], [0.9, 0.85, 0.6], [0.3, 0.35, 0.1]]


def test_worked_values() -> None:
    variance = size.residual_variance(SCORES)
    assert variance.value == pytest.approx(0.00616667, abs=5e-9)
    assert variance.degrees == 8
    assert size.paired_t_topics(0.05, 0.2, 0.1, 0.05) == 81
    assert size.anova_topics(0.05, 0.2, 0.1, 0.05, 2) == 80
    assert size.anova_topics(0.05, 0.2, 0.1, 0.05, 10) == 158
    assert size.interval_topics(0.05, 0.1, 0.05) == 156


def test_the_residual_variance_of_two_runs_is_half_that_of_their_differences() -> None:
    x, y = np.random.default_rng(1).random((2, 20))
    variance = size.residual_variance(np.stack([x, y], axis=1))
    assert variance == Variance(pytest.approx((x - y).var(ddof=1) / 2), 19)


def test_variances_are_pooled_by_degrees_of_freedom() -> None:
    assert size.pooled_variance([Variance(0.1, 10), Variance(0.4, 30)]) == Variance(
        pytest.approx(0.325), 40
    )
    one = Variance(0.2, 7)
    assert size.pooled_variance([one]) == one


def test_power_against_simulation() -> None:
    generator = np.random.default_rng(3)
    n, sigma = 20, math.sqrt(0.05)
    differences = generator.normal(0.15, math.sqrt(2) * sigma, (20_000, n))
    share = (stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05).mean()
    assert size.paired_t_power(n, 0.15, 0.05, 0.05) == pytest.approx(share, abs=0.02)
    means = np.array([0.075, 0, 0, -0.075])  # the worst case for a range of .15
    runs = [generator.normal(mean, sigma, (20_000, n)) for mean in means]
    share = (stats.f_oneway(*runs, axis=1).pvalue < 0.05).mean()
    assert size.anova_power(n, 0.15, 0.05, 0.05, 4) == pytest.approx(share, abs=0.02)
    samples = generator.normal(0, math.sqrt(0.1), (50_000, n))
    widths = 2 * stats.t.isf(0.025, n - 1) * samples.std(axis=1, ddof=1) / math.sqrt(n)
    assert size.expected_width(n, 0.05, 0.05) == pytest.approx(widths.mean(), rel=0.01)


@given(
    st.sampled_from([0.01, 0.05, 0.1]),
    st.sampled_from([0.05, 0.2, 0.5]),
    st.floats(0.02, 2),
    st.floats(0.001, 0.5),
    st.integers(2, 50),
)
def test_a_design_gives_the_smallest_sufficient_number(
    alpha: float, beta: float, mind: float, variance: float, runs: int
) -> None:
    n = size.paired_t_topics(alpha, beta, mind, variance)
    assert size.paired_t_power(n, mind, variance, alpha) >= 1 - beta
    assert n == 2 or size.paired_t_power(n - 1, mind, variance, alpha) < 1 - beta
    n = size.anova_topics(alpha, beta, mind, variance, runs)
    assert size.anova_power(n, mind, variance, alpha, runs) >= 1 - beta
    assert n == 2 or size.anova_power(n - 1, mind, variance, alpha, runs) < 1 - beta
    n = size.interval_topics(alpha, mind, variance)
    assert size.expected_width(n, variance, alpha) <= mind
    assert n == 2 or size.expected_width(n - 1, variance, alpha) > mind


def test_extremes_are_finite() -> None:
    assert size.paired_t_topics(0.05, 0.2, 1e-4, 0.05) > 70_000_000
    assert size.paired_t_power(10_000, 1.0, 0.001, 0.05) == 1
    assert size.anova_power(100_000, 1.0, 0.001, 0.05, 100) == 1
    assert size.paired_t_power(5, 1e-9, 1.0, 0.05) == pytest.approx(0.05)
    for call in (
        lambda: size.interval_topics(0.05, 1e-9, 1.0),
        lambda: size.interval_topics(0.05, 1e-9, 1.7e308),
        lambda: size.paired_t_topics(0.05, 0.2, 1e-300, 1.0),
        lambda: size.anova_topics(0.05, 0.2, 5e-324, 1.7e308, 3),
    ):
        with pytest.raises(ValueError, match="10⁹"):
            call()
    for mind, variance in ((1e200, 1.0), (1e300, 1e-300), (1.7e308, 5e-324)):
        assert size.paired_t_topics(0.05, 0.2, mind, variance) == 2
        assert size.anova_topics(0.05, 0.2, mind, variance, 2) == 2
        assert size.interval_topics(0.05, mind, variance) == 2
    units = [1e-140, 1.0, 1e150]  # their squares are finite and not 0, but not the squares of those
    sizes = {size.paired_t_topics(0.05, 0.2, 0.1 * unit, 0.05 * unit * unit) for unit in units}
    assert len(sizes) == 1


def test_the_table_has_every_combination() -> None:
    rows = size.size_table(
        0.05, alphas=[0.01, 0.05], betas=[0.1, 0.2], differences=[0.1, 0.2], runs=[2, 10]
    )
    assert len(rows) == 2 * (2 * 2 * 3 + 2)
    assert size.SizeRow("paired-t", 0.05, 0.2, 0.1, 2, 81) in rows
    assert size.SizeRow("anova", 0.05, 0.2, 0.1, 10, 158) in rows
    assert size.SizeRow("interval", 0.05, None, 0.1, 2, 156) in rows
    wide = size.size_table(0.05, widths=[0.3])
    assert [row.mind for row in wide if row.design == "interval"] == [0.3]


def test_the_power_of_a_finished_experiment() -> None:
    found = size.achieved_power(SCORES)
    assert found is not None
    assert found.difference == pytest.approx(0.22)
    assert found.paired_t == size.paired_t_power(5, found.difference, found.variance.value, 0.05)
    wanted = size.achieved_power(SCORES, min_difference=0.1)
    assert wanted is not None
    assert wanted.anova == size.anova_power(5, 0.1, wanted.variance.value, 0.05, 3)
    assert wanted.anova < found.anova
    assert size.achieved_power([[1, 2], [2, 3]]) is None
    assert size.achieved_power([[1, 2], [2, 1]]) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: size.residual_variance([[1, 2]]), "too few"),
        (lambda: size.pooled_variance([]), "no variances"),
        (lambda: size.pooled_variance([Variance(1, 2), Variance(1, 0)]), "variance 2"),
        (lambda: size.paired_t_topics(0, 0.2, 0.1, 0.05), "alpha"),
        (lambda: size.paired_t_topics(0.05, 1, 0.1, 0.05), "beta"),
        (lambda: size.paired_t_topics(0.05, 0.2, 0, 0.05), "difference"),
        (lambda: size.paired_t_topics(0.05, 0.2, 0.1, math.nan), "variance"),
        (lambda: size.anova_topics(0.05, 0.2, 0.1, 0.05, 1), "runs"),
        (lambda: size.paired_t_power(1, 0.1, 0.05, 0.05), "topics"),
        (lambda: size.achieved_power(SCORES, min_difference=-1), "difference"),
        (lambda: size.achieved_power([[1e-200, 2e-200], [3e-200, 1e-200]]), "scale them up"),
    ],
)
def test_bad_input_says_what_is_wrong(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
