"""Bootstrap intervals: compared with plain loops, and their properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.measures import bootstrap
from assay.measures.bootstrap import Interval, confidence_intervals, mean_interval
from assay.measures.confidence import confidence_measures

answers = st.lists(
    st.tuples(st.integers(0, 100).map(lambda percent: percent / 100), st.integers(0, 1)),
    min_size=2,
    max_size=20,
)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [4, 5, 8, 14, 25, 100, 10_000])
def test_tail_shares_are_those_beyond_students_t(level: float, n: int) -> None:
    t = stats.t.ppf((1 + level) / 2, n - 1)
    wanted = stats.norm.sf(math.sqrt(n / (n - 1)) * t)
    assert bootstrap.tail_share(level, n) == pytest.approx(wanted, rel=0.02, abs=1e-7)


@pytest.mark.parametrize(("n", "least"), [(5, 0.9), (10, 0.93), (20, 0.93)])
def test_intervals_over_few_topics_cover_the_true_mean(n: int, least: float) -> None:
    # Without the expansion, they would cover it in .83, .90 and .92 of these samples.
    samples = list(np.random.default_rng(6).normal(size=(1000, n)))
    found = bootstrap.mean_intervals(samples, resamples=1000, seed=0)
    held = [one is not None and one.low <= 0 <= one.high for one in found]
    assert least < np.mean(held) < 0.97


@given(answers, st.integers(1, 12), st.sampled_from(["right", "left"]))
def test_vectorised_measures_equal_the_plain_ones(
    pairs: list[tuple[float, int]], bins: int, closed: str
) -> None:
    p, c = np.array([p for p, _ in pairs]), np.array([c for _, c in pairs])
    plain: dict[str, list[float]] = {}
    for counts in np.vstack(list(bootstrap.topic_counts(len(p), 20, seed=7))).astype(int):
        drawn = np.repeat(np.arange(len(p)), counts)
        measured = confidence_measures(p[drawn], c[drawn], bins=bins, closed=closed)  # type: ignore[arg-type]
        for name, value in measured.items():
            plain.setdefault(name, []).append(math.nan if value is None else value)
    intervals = confidence_intervals(
        p,
        c,
        bins=bins,
        closed=closed,  # type: ignore[arg-type]
        level=0.9,
        resamples=20,
        seed=7,
    )
    one_class = len(set(c.tolist())) == 1
    assert list(intervals) == [name for name in plain if name != "AUROC" or not one_class]
    for name in plain:
        alone = confidence_intervals(
            p,
            c,
            bins=bins,
            closed=closed,  # type: ignore[arg-type]
            level=0.9,
            resamples=20,
            seed=7,
            measures=[name],
        )
        assert alone == {name: intervals[name] for name in [name] if name in intervals}
    for name, interval in intervals.items():
        beyond = bootstrap.tail_share(0.9, len(p))
        low, high = np.nanquantile(plain[name], [beyond, 1 - beyond])
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)
        assert interval.undefined == np.isnan(plain[name]).sum()


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    p = generator.random(50)
    c = generator.random(50) < p
    whole = confidence_intervals(p, c, resamples=200, seed=1), mean_interval(p, seed=1)
    monkeypatch.setattr(bootstrap, "_DRAWS_PER_BLOCK", 350)
    assert (confidence_intervals(p, c, resamples=200, seed=1), mean_interval(p, seed=1)) == whole


def test_equal_seeds_give_equal_intervals_and_others_do_not() -> None:
    values = np.random.default_rng(3).random(40)
    assert mean_interval(values, seed=5) == mean_interval(values, seed=5)
    assert mean_interval(values, seed=5) != mean_interval(values, seed=6)


def test_the_interval_of_a_mean_is_near_the_normal_one() -> None:
    values = np.random.default_rng(4).normal(size=400)
    interval = mean_interval(values, resamples=4000, seed=0)
    half = 1.96 * values.std() / 20
    assert interval.low == pytest.approx(values.mean() - half, abs=0.01)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.01)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.integers(0, 2**32))
def test_an_interval_of_a_mean_lies_within_the_values(values: list[float], seed: int) -> None:
    narrow = mean_interval(values, level=0.5, resamples=50, seed=seed)
    wide = mean_interval(values, level=0.95, resamples=50, seed=seed)
    assert min(values) <= wide.low <= narrow.low <= narrow.high <= wide.high <= max(values)


@given(st.floats(-1e6, 1e6), st.integers(2, 20))
def test_equal_values_have_an_interval_of_width_zero(value: float, n: int) -> None:
    assert mean_interval([value] * n, resamples=20, seed=0) == Interval(value, value)


def test_a_single_topic_has_no_interval() -> None:
    assert mean_interval([0.5], seed=0) is None
    assert confidence_intervals([0.9], [1], seed=0) == {}


def test_resamples_without_an_auroc_are_counted() -> None:
    interval = confidence_intervals([0.9, 0.2], [1, 0], resamples=1000, seed=0)["AUROC"]
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert 400 < interval.undefined < 600
    assert "AUROC" not in confidence_intervals([0.9, 0.2], [1, 1], resamples=10, seed=0)
    for seed in range(5):  # a single resample, which may contain only right or only wrong answers
        intervals = confidence_intervals([0.9, 0.2], [1, 0], resamples=1, seed=seed)
        assert all(math.isfinite(one.low + one.high) for one in intervals.values())


def test_bad_input_is_refused() -> None:
    for values in ([], [[1.0]], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match=r"flat list|not finite"):
            mean_interval(values, seed=0)
    for level in (0, 1, math.nan):
        with pytest.raises(ValueError, match="level"):
            mean_interval([1.0], level=level, seed=0)
    with pytest.raises(ValueError, match="resamples"):
        confidence_intervals([0.5], [1], resamples=0, seed=0)
    for call in (confidence_intervals, lambda p, c, **given: mean_interval(p, **given)):
        with pytest.raises(ValueError, match="resamples must be a whole number from 1, got True"):
            call([0.5], [1], resamples=True, seed=0)
        with pytest.raises(ValueError, match=r"seed must be a whole number from 0, got 1\.5"):
            call([0.5], [1], seed=1.5)
    with pytest.raises(ValueError, match="no answers"):
        confidence_intervals([], [], seed=0)
