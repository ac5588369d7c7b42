"""Weights learned from preferences, beside what needs no learning."""

from __future__ import annotations

import numpy as np

from assay.measures.summaries import Weights
from assay.protocols.sgss.inputs import CRITERIA, SgssSettings
from assay.protocols.sgss.learning import (
    ALL,
    DEFAULT,
    SELECTED,
    Differences,
    compared_ways,
    selected,
)
from assay.protocols.sgss.preferences import Kind, PreferredPair

SETTINGS = SgssSettings(resamples=200, folds=3)


def differences(seed: int, queries: int, *, weights=None, part: Kind = "train") -> Differences:
    """Three pairs a query, three preferences a pair; without weights people toss a coin."""
    generator = np.random.default_rng(seed)
    x = generator.normal(0, 0.2, (3 * queries, len(CRITERIA)))
    p = 0.5 if weights is None else 1 / (1 + np.exp(-20 * x @ weights))
    left = generator.binomial(3, p, len(x))
    found = [
        PreferredPair(f"q{place // 3}", "a", f"b{place % 3}", int(one), 3, part)
        for place, one in enumerate(left)
    ]
    return Differences(x, found)


def rates(training, test):
    return {one.model: one for one in compared_ways(training, test, SETTINGS, select=True)}


def test_where_people_toss_a_coin_nothing_that_was_chosen_looks_better():
    looked, nested = [], []
    for seed in range(8):
        training = differences(seed, 12)
        looked.append(max(step.mar for step in selected(training, SETTINGS, select=True)[1]))
        nested.append(rates(training, differences(seed + 100, 2, part="test"))[SELECTED].mar)
    assert np.mean(looked) > 0.55  # the best of what was looked at
    assert abs(np.mean(nested) - 0.5) < 0.03


def test_what_was_held_out_says_what_new_queries_will():
    truth = np.array([0.0, 0.0, 0.0, 0.0, 0.2, 1.0, 0.0])
    test = differences(2, 200, weights=truth, part="test")
    found = rates(differences(1, 40, weights=truth), test)
    for name in (ALL, SELECTED, DEFAULT, "SF alone"):
        assert abs(found[name].mar - found[name].test_mar) < 0.05
    low, high = found[ALL].against_default
    assert 0 < low < found[ALL].mar - found[DEFAULT].mar < high
    assert found[DEFAULT].against_default is None
    assert found["OS alone"].mar < found["SF alone"].mar
    low, high = found[ALL].interval
    assert low < found[ALL].mar < high


def test_the_defaults_and_single_criteria_need_no_folds():
    training = differences(3, 8, weights=np.ones(7))
    found = rates(training, differences(4, 2, part="test"))
    assert np.isclose(found[DEFAULT].mar, training.mar(np.array([*vars_of(Weights())])))
    assert np.isclose(found["HR alone"].mar, training.mar(np.eye(7)[3]))


def vars_of(weights: Weights):
    return [getattr(weights, name) for name in CRITERIA]


def test_one_query_says_nothing_of_others():
    found = rates(differences(5, 1), differences(6, 1, part="test"))
    assert {one.mar for one in found.values()} == {None}
    assert {one.interval for one in found.values()} == {None}
    assert all(one.test_mar is not None for one in found.values())
