"""By how much the judge is off for families of runs, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.api.corrected import family_of, off_by_family
from tests.statistics.trust_data import estimates

FAMILIES = {"A": "ours", "B": "ours", "C*": "theirs"}
RUNS, VALUE, JUDGE = ("A", "B", "C1"), [0.5, 0.6, 0.4], np.array([0.7, 0.7, 0.5])
UNEQUAL = np.diag([0.01, 0.01, 0.04])


def off(covariance, families=FAMILIES, level=0.95):
    found = replace(estimates(VALUE, covariance), df=np.array([4.0, 9.0, 9.0]))
    return list(off_by_family(RUNS, JUDGE, found, families, level))


def test_means_of_families_and_their_difference():
    ours, theirs, apart = off(UNEQUAL)
    assert (ours.family, ours.beyond, ours.runs, ours.off) == ("ours", "", 2, pytest.approx(0.15))
    half = stats.t.ppf(0.975, 4) * np.sqrt((0.01 + 0.01) / 4)  # the fewest degrees of freedom
    assert (ours.low, ours.high) == pytest.approx((0.15 - half, 0.15 + half))
    assert (theirs.off, theirs.high) == pytest.approx((0.1, 0.1 + stats.t.ppf(0.975, 9) * 0.2))
    assert (apart.family, apart.beyond) == ("ours", "theirs")
    half = stats.t.ppf(0.975, 4) * np.sqrt(0.005 + 0.04)
    assert (apart.off, apart.low) == pytest.approx((0.05, 0.05 - half))


def test_what_all_runs_share_cancels_between_families():
    *_, apart = off(np.full((3, 3), 0.01))
    assert apart.low == apart.high == pytest.approx(0.05)


def test_one_family_of_one_run_is_off_as_the_run_is():
    (one,) = off(UNEQUAL, {"B": "b"}, 0.9)
    half = stats.t.ppf(0.95, 9) * 0.1
    assert (one.low, one.high) == pytest.approx((0.1 - half, 0.1 + half))


@pytest.mark.parametrize("families", [{}, {"Z*": "z"}])
def test_there_is_none_where_no_run_is_named(families):
    assert off(UNEQUAL, families) == []


def test_a_name_comes_before_a_pattern():
    families = {"gpt-*": "gpt", "gpt-neo": "eleuther"}
    names = [family_of(one, families) for one in ("gpt-neo", "gpt-4", "llama")]
    assert names == ["eleuther", "gpt", ""]
