"""Tests and intervals for verdicts before and after a change."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics.paired import by_topic, look_level, mcnemar, paired_shares, wilson


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_equals_the_binomial_sum(up, down):
    n = up + down
    if not n:
        assert mcnemar(up, down) is None
        return
    chances = [comb(n, k) / 2**n for k in range(n + 1)]
    as_rare = sum(one for one in chances if one <= chances[up] * (1 + 1e-9))
    assert mcnemar(up, down) == pytest.approx(as_rare)
    assert mcnemar(up, down) == pytest.approx(stats.binomtest(up, n).pvalue)


def test_mcnemar_textbook_example():
    """Agresti, Categorical Data Analysis (2013), table 11.1: 86 and 150 moved."""
    assert mcnemar(86, 150) == pytest.approx(3.716e-05, rel=1e-3)


@pytest.mark.parametrize(("share", "n"), [(0.0, 10), (0.3, 10), (1.0, 25), (0.5, 2)])
def test_wilson_equals_scipys(share, n):
    own = wilson(share, n)
    theirs = stats.binomtest(round(share * n), n).proportion_ci(method="wilson")
    assert (own.low, own.high) == pytest.approx((theirs.low, theirs.high))


def test_the_interval_of_paired_shares():
    """Bonett & Price 2012 by hand: (up + 1, down + 1) of n + 2."""
    own = paired_shares(6, 1, 27)
    more, less = 7 / 29, 2 / 29
    half = 1.959964 * np.sqrt((more + less - (more - less) ** 2) / 29)
    assert (own.low, own.high) == pytest.approx((more - less - half, more - less + half))
    nothing = paired_shares(0, 0, 50)
    assert nothing.low == -nothing.high
    assert nothing.high > 0
    with pytest.raises(ValueError, match="cannot have flipped"):
        paired_shares(3, 3, 5)


def test_the_interval_of_paired_shares_covers():
    draw = np.random.default_rng(3)
    for rates in ((0.1, 0.1), (0.02, 0.2), (0.01, 0.0)):
        held = 0
        for _ in range(600):
            up, down, _ = draw.multinomial(60, (*rates, 1 - sum(rates)))
            own = paired_shares(int(up), int(down), 60)
            held += own.low <= rates[0] - rates[1] <= own.high
        assert held / 600 > 0.92


def test_topics_have_equal_weight_whatever_their_size():
    before, after = [0, 0, 0, 2], [1, 1, 1, 2]
    x, y, interval, p = by_topic(before, after, ["a", "a", "a", "b"], seed=1)
    assert (x, y) == (1.0, 1.5)
    assert (interval.low, interval.high) == (0.0, 1.0)
    assert 0 < p <= 1
    *means, interval, p = by_topic(before, after, ["a"] * 4, seed=1)
    assert means == [0.5, 1.25]
    assert interval is None
    assert p is None
    assert by_topic([1, 2], [1, 2], ["a", "b"], seed=1)[3] is None
    with pytest.raises(ValueError, match="as many"):
        by_topic([1], [1, 2], ["a", "b"], seed=1)


def test_the_errors_of_all_looks_add_up_to_alpha():
    lost = sum(1 - look_level(look) for look in range(1, 100_000))
    assert lost == pytest.approx(0.05, rel=1e-4)
    assert lost < 0.05
