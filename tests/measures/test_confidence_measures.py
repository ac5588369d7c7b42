"""Confidence measures: a worked example, published values, axioms and edge cases."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures import confidence as conf

EPSILON = 1e-12
P = [0.9, 0.8, 0.6, 0.3, 0.1, 1, 0.5, 0]
C = [1, 0, 1, 0, 1, 1, 0, 0]

answers = st.lists(
    st.tuples(st.integers(0, 100).map(lambda percent: percent / 100), st.integers(0, 1)),
    min_size=1,
    max_size=25,
)


def _split(pairs: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [p for p, _ in pairs], [c for _, c in pairs]


def test_the_worked_example() -> None:
    measured = conf.confidence_measures(P, C)
    assert list(measured) == ["HMR", "R_O", "R_U", "ECE", "MCE", "Brier", "KS", "AUROC", "Accuracy"]
    expected = {
        "HMR": 0.624,
        "R_O": 0.6,
        "R_U": 0.65,
        "ECE": 0.375,
        "MCE": 0.8,
        "Brier": 0.245,
        "KS": 0.1125,
        "AUROC": 12 / 16,
        "Accuracy": 0.5,
    }
    assert measured == pytest.approx(expected, abs=EPSILON)
    assert conf.ece(P, C) == pytest.approx(expected["ECE"], abs=EPSILON)
    assert conf.mce(P, C) == pytest.approx(expected["MCE"], abs=EPSILON)
    assert conf.ece([0.1, 0.15], [1, 0]) == pytest.approx((0.9 + 0.15) / 2)  # two of ten bins
    assert conf.mce([0.1, 0.15], [1, 0]) == pytest.approx(0.9)
    assert conf.ece(P, C, bins=5) == pytest.approx(0.275, abs=EPSILON)
    assert conf.ece(P, C, bins=5, closed="left") == pytest.approx(0.35, abs=EPSILON)


def test_the_r2c2_slide_example() -> None:
    measured = conf.confidence_measures([0.9], [1])
    assert measured["R_O"] == 1
    assert measured["R_U"] == pytest.approx(0.9)
    assert measured["HMR"] == pytest.approx(0.947368, abs=5e-7)
    assert measured["AUROC"] is None


def test_the_empty_sides_of_hmr() -> None:
    assert conf.reward_over([0.2, 0.4], [1, 1]) == 1.0
    assert conf.reward_under([0.2, 0.4], [0, 0]) == 1.0
    assert conf.hmr([1.0, 0.0], [0, 1]) == 0.0
    assert conf.hmr([1.0, 0.0], [1, 0]) == 1.0


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_published_values_of_18_systems(shared_data: Path) -> None:
    """300 exam questions with confidences from 0 to 10; answers without one are left out."""
    answered = _rows(shared_data / "data/confidence/gastro.csv")
    published = _rows(shared_data / "data/confidence/published.csv")
    assert len(published) == 18
    for row in published:
        system = row["Model"]
        pairs = [
            (
                float(answer[f"{system}_confidence"]) / 10,
                int(float(answer[f"{system}_correctness"])),
            )
            for answer in answered
            if answer[f"{system}_confidence"]
        ]
        p, c = _split(pairs)
        assert len(pairs) == float(row["N Samples"]), system
        assert conf.brier(p, c) == pytest.approx(float(row["Brier Score"]), abs=1e-9)
        assert conf.auroc(p, c) == pytest.approx(float(row["ROC_AUC"]), abs=1e-9)
        assert conf.accuracy(p, c) == pytest.approx(float(row["Accuracy"]), abs=1e-9)
        over, under = float(row["Incorrect Avg Conf"]) / 10, float(row["Correct Avg Conf"]) / 10
        assert conf.reward_over(p, c) == pytest.approx(1 - over, abs=1e-9)
        assert conf.reward_under(p, c) == pytest.approx(under, abs=1e-9)


# --- properties ----------------------------------------------------------------------------------


@given(answers)
def test_all_measures_are_between_0_and_1(pairs: list[tuple[float, int]]) -> None:
    p, c = _split(pairs)
    for name, value in conf.confidence_measures(p, c).items():
        if value is None:
            assert name == "AUROC"
            assert len(set(c)) == 1
        else:
            assert -EPSILON <= value <= 1 + EPSILON
    assert conf.ece(p, c) <= conf.mce(p, c) + EPSILON


@given(answers, st.data())
def test_hmr_axioms(pairs: list[tuple[float, int]], data: st.DataObject) -> None:
    """Less confidence in a right answer, or more in a wrong one, is never rewarded."""
    p, c = _split(pairs)
    changed = data.draw(st.integers(0, len(p) - 1))
    worse = list(p)
    worse[changed] = data.draw(st.floats(0, p[changed]) if c[changed] else st.floats(p[changed], 1))
    assert conf.hmr(worse, c) <= conf.hmr(p, c) + EPSILON
    assert conf.reward_over(worse, c) <= conf.reward_over(p, c) + EPSILON
    assert conf.reward_under(worse, c) <= conf.reward_under(p, c) + EPSILON


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_the_answers_does_not_matter(
    pairs: list[tuple[float, int]], random: Random
) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    before = conf.confidence_measures(*_split(pairs))
    after = conf.confidence_measures(*_split(shuffled))
    assert after == pytest.approx(before, abs=EPSILON)
    assert conf.risk_coverage(*_split(shuffled)) == conf.risk_coverage(*_split(pairs))


@given(answers)
def test_auroc_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[float, int]]) -> None:
    p, c = _split(pairs)
    duels = [(a > b) + (a == b) / 2 for a, x in pairs if x for b, y in pairs if not y]
    expected = sum(duels) / len(duels) if duels else None
    assert conf.auroc(p, c) == (None if expected is None else pytest.approx(expected, abs=EPSILON))


@given(answers, st.integers(1, 20), st.sampled_from(["right", "left"]))
def test_every_answer_is_in_one_reliability_bin(
    pairs: list[tuple[float, int]], bins: int, closed: conf.Closed
) -> None:
    p, c = _split(pairs)
    diagram = conf.reliability_bins(p, c, bins=bins, closed=closed)
    assert len(diagram) == bins
    assert sum(part.n for part in diagram) == len(p)
    assert diagram[0].low == 0
    assert diagram[-1].high == 1
    for number, part in enumerate(diagram):
        inside = [
            pair
            for pair in pairs
            if part.low < pair[0] < part.high
            or (pair[0] == part.high and (closed == "right" or number == bins - 1))
            or (pair[0] == part.low and (closed == "left" or number == 0))
        ]
        assert part.n == len(inside)
        if inside:
            assert part.accuracy == pytest.approx(sum(c for _, c in inside) / part.n)
            assert part.mean_confidence == pytest.approx(sum(p for p, _ in inside) / part.n)
        else:
            assert part.accuracy is None
            assert part.mean_confidence is None
    gaps = [
        (part.n / len(p), abs(part.accuracy - part.mean_confidence))
        for part in diagram
        if part.accuracy is not None and part.mean_confidence is not None
    ]
    assert conf.ece(p, c, bins=bins, closed=closed) == pytest.approx(sum(n * g for n, g in gaps))
    assert conf.mce(p, c, bins=bins, closed=closed) == pytest.approx(max(g for _, g in gaps))


def test_hundredths_on_an_edge_belong_to_the_lower_bin() -> None:
    for bins in (2, 4, 5, 10, 20, 25, 50, 100):
        edges = [percent / 100 for percent in range(0, 101, 100 // bins)]
        assert conf.bin_numbers(edges, bins).tolist() == [0, *range(bins)]
        assert conf.bin_numbers(edges, bins, "left").tolist() == [*range(bins), bins - 1]


def test_risk_coverage() -> None:
    curve = conf.risk_coverage([0.9, 0.5, 0.9, 0.1], [1, 1, 0, 0])
    assert curve == [
        conf.RiskPoint(threshold=0.9, n=2, coverage=0.5, accuracy=0.5, risk=0.5),
        conf.RiskPoint(threshold=0.5, n=3, coverage=0.75, accuracy=2 / 3, risk=1 / 3),
        conf.RiskPoint(threshold=0.1, n=4, coverage=1.0, accuracy=0.5, risk=0.5),
    ]


def test_selective_accuracy_does_not_split_ties() -> None:
    p, c = [0.9, 0.5, 0.9, 0.1], [1, 1, 0, 0]
    assert conf.selective_accuracy(p, c, 0.25) == 0.5
    assert conf.selective_accuracy(p, c, 0.5) == 0.5
    assert conf.selective_accuracy(p, c, 0.51) == 2 / 3
    assert conf.selective_accuracy(p, c, 1) == conf.accuracy(p, c)
    for coverage in (0, -1, 1.01, math.nan):
        with pytest.raises(ValueError, match="coverage"):
            conf.selective_accuracy(p, c, coverage)


def test_selective_accuracy_on_a_grid_of_coverages() -> None:
    p, c = np.arange(10, 0, -1) / 10, [1, 1, 1, 0, 1, 0, 1, 0, 0, 1]
    found = [conf.selective_accuracy(p, c, coverage) for coverage in np.linspace(0.1, 1, 10)]
    assert found == [sum(c[:n]) / n for n in range(1, 11)]


def test_masked_values_are_refused() -> None:
    p = np.ma.masked_array([0.9, 0.2], mask=[False, True])
    for pair in ((p, [1, 0]), ([0.9, 0.2], np.ma.masked_array([1, 0], mask=[True, False]))):
        with pytest.raises(ValueError, match="masked"):
            conf.accuracy(*pair)
    assert conf.accuracy(np.ma.masked_array([0.9, 0.2]), [1, 0]) == 0.5  # nothing is masked


@pytest.mark.parametrize(
    ("p", "c", "message"),
    [
        ([], [], "no answers"),
        ([0.5], [1, 0], "1 confidences, but 2 correctness"),
        ([0.5, 1.1], [1, 0], "confidence 1.1 of answer 2"),
        ([-0.1], [1], "confidence -0.1 of answer 1"),
        ([math.nan], [1], "confidence nan of answer 1"),
        ([None], [1], "confidence nan of answer 1"),
        ([0.5], [0.5], "correctness 0.5 of answer 1"),
        ([0.5], [math.nan], "correctness nan of answer 1"),
        (["high"], [1], "not all numbers"),
        ([[0.5]], [1], "flat list"),
    ],
)
def test_bad_data_are_refused(p: list[float], c: list[float], message: str) -> None:
    for measure in (conf.hmr, conf.ece, conf.brier, conf.auroc, conf.risk_coverage):
        with pytest.raises(ValueError, match=message):
            measure(p, c)


def test_bad_settings_are_refused() -> None:
    for bins in (0, 2.5, True):
        with pytest.raises(ValueError, match="bins"):
            conf.ece(P, C, bins=bins)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="closed"):
        conf.mce(P, C, closed="both")  # type: ignore[arg-type]
