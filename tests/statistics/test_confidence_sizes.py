"""Numbers of questions for HMR and similar measures, simulated from a pilot."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from assay.measures.confidence import hmr
from assay.statistics.confidence import compare_confidence
from assay.statistics.confidence_sizes import Pilot, Simulation, simulated_sizes
from assay.statistics.samplesize import expected_width, paired_t_power, paired_t_topics


def answers(n: int, bolds=(0.0, 0.8), seed: int = 1):
    """Confidences and correctness of runs that only differ in how bold they are."""
    generator = np.random.default_rng(seed)
    ease = generator.normal(0, 1, n)
    p, c = [], []
    for bold in bolds:
        z = ease + 0.4 + generator.normal(0, 0.6, n)
        c.append(generator.random(n) < 1 / (1 + np.exp(-1.3 * z)))
        p.append(1 / (1 + np.exp(-(z + bold + generator.normal(0, 0.5, n)))))
    return np.stack(p, 1), np.stack(c, 1)


def test_accuracy_needs_what_the_paired_t_test_needs():
    """Accuracy is a mean over questions, for which the closed form is valid."""
    p, c = answers(200, (0.0, 0.4, 0.8))
    simulation = Simulation([Pilot.of(p, c)], "Accuracy")
    variances = [np.var(c[:, a].astype(float) - c[:, b]) / 2 for a, b in combinations(range(3), 2)]
    for n in (60, 150, 400):
        seen = simulation.forecast(n, 0.05, [0.1])
        powers = [paired_t_power(n, 0.1, variance, 0.05) for variance in variances]
        assert seen.power[0] == pytest.approx(np.mean(powers), abs=0.03)
        assert seen.least_power[0] == pytest.approx(min(powers), abs=0.04)
        widths = [expected_width(n, variance, 0.05) for variance in variances]
        assert seen.width == pytest.approx(np.mean(widths), rel=0.05)
        alone = np.mean([expected_width(n, np.var(c[:, run]) / 2, 0.05) for run in range(3)])
        assert seen.run_width == pytest.approx(alone, rel=0.05)
    row = simulated_sizes(simulation, differences=[0.1])[0]
    needed = [paired_t_topics(0.05, 0.2, 0.1, variance) for variance in variances]
    assert row.topics == pytest.approx(np.mean(needed), rel=0.08)
    assert row.worst == pytest.approx(max(needed), rel=0.08)


def test_the_randomisation_test_has_the_power_of_the_forecast():
    """Samples from a large population whose runs differ in HMR by a known amount."""
    p, c = answers(4000)
    difference = hmr(p[:, 0], c[:, 0]) - hmr(p[:, 1], c[:, 1])
    row = simulated_sizes(
        Simulation([Pilot.of(p[:300], c[:300])], "HMR"), differences=[abs(difference)]
    )[0]
    generator = np.random.default_rng(2)
    found = 0
    for seed in range(120):
        drawn = generator.integers(0, len(p), row.topics)
        tested = compare_confidence(
            p[drawn, 0], c[drawn, 0], p[drawn, 1], c[drawn, 1],
            measures=("HMR",), permutations=499, resamples=1, seed=seed,
        )["HMR"]  # fmt: skip
        found += tested.p is not None and tested.p <= 0.05
    assert found / 120 == pytest.approx(0.8, abs=0.11)  # 3 standard errors


def test_stricter_requirements_need_more_questions():
    p, c = answers(80)
    simulation = Simulation([Pilot.of(p, c)], "HMR")
    rows = simulated_sizes(simulation, alphas=(0.01, 0.05), betas=(0.1, 0.2), differences=(0.1,))
    paired = {(row.alpha, row.beta): row.topics for row in rows if row.design == "paired"}
    assert paired[0.01, 0.1] > paired[0.05, 0.1] > paired[0.05, 0.2]
    assert paired[0.01, 0.1] > paired[0.01, 0.2] > paired[0.05, 0.2]
    of_two, of_one = (row.topics for row in rows if row.alpha == 0.05 and row.beta is None)
    assert of_two > of_one
    again = Simulation([Pilot.of(p, c)], "HMR")
    assert simulated_sizes(again, alphas=(0.05,), differences=(0.1,))[0] in rows


def test_only_runs_of_the_same_pilot_are_paired():
    one, other = (Pilot.of(*answers(50, seed=seed)) for seed in (1, 2))
    both = Simulation([one, other], "HMR").forecast(100, 0.05, [0.1])
    alone = [Simulation([each], "HMR").forecast(100, 0.05, [0.1]) for each in (one, other)]
    assert both.power[0] == pytest.approx(np.mean([each.power[0] for each in alone]), abs=0.03)


def test_an_undefined_measure_detects_nothing():
    p = np.tile([[0.9, 0.8]], (20, 1))
    simulation = Simulation([Pilot.of(p, np.ones((20, 2)))], "AUROC")  # never a wrong answer
    seen = simulation.forecast(50, 0.05, [0.1])
    assert seen.power[0] == 0
    assert np.isnan(seen.width)
    assert {row.topics for row in simulated_sizes(simulation)} == {None}


@pytest.mark.parametrize(
    ("p", "c"),
    [
        ([[0.1, 0.2]], [[1, 0]]),
        ([[0.1], [0.2]], [[1], [0]]),
        ([[0.1, 1.2], [0.1, 0.2]], [[1, 0], [1, 0]]),
        ([[0.1, np.nan], [0.1, 0.2]], [[1, 0], [1, 0]]),
        ([[0.1, 0.2], [0.1, 0.2]], [[1, 0.5], [1, 0]]),
        ([[0.1, 0.2], [0.1, 0.2]], [[1, 0, 1], [1, 0, 1]]),
    ],
)
def test_invalid_pilots_are_refused(p, c):
    with pytest.raises(ValueError, match=r"pilot|confidence|correctness"):
        Pilot.of(p, c)


def test_settings_out_of_range():
    simulation = Simulation([Pilot.of(*answers(20))], "HMR")
    for wrong in (
        {"alphas": [0]}, {"betas": [1]}, {"differences": [0]}, {"widths": [-1]},
        {"differences": [float("inf")]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"between|greater"):
            simulated_sizes(simulation, **wrong)
    with pytest.raises(ValueError, match="no measure"):
        Simulation([Pilot.of(*answers(20))], "nDCG")
    with pytest.raises(ValueError, match="no pilot"):
        Simulation([], "HMR")
