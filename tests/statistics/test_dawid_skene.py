"""Consensus of several people's labels, and the reliability of each person."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.dawid_skene import NO_LABEL, dawid_skene


def simulated(seed, accuracies, items=400, categories=3, answered=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, categories, items)
    columns = []
    for accuracy in accuracies:
        right = rng.random(items) < accuracy
        wrong = (truth + rng.integers(1, categories, items)) % categories
        said = np.where(right, truth, wrong)
        columns.append(np.where(rng.random(items) < answered, said, NO_LABEL))
    labels = np.stack(columns, axis=1)
    kept = (labels != NO_LABEL).any(axis=1)
    return truth[kept], labels[kept]


def test_it_estimates_who_errs_and_beats_the_majority_vote():
    truth, labels = simulated(1, [0.95, 0.9, 0.5, 0.5, 0.5])
    found = dawid_skene(labels, 3)
    assert found.accuracy == pytest.approx([0.95, 0.9, 0.5, 0.5, 0.5], abs=0.06)
    votes = (labels[:, :, None] == np.arange(3)).sum(axis=1)
    majority = votes.argmax(axis=1)
    assert (found.labels == truth).mean() > (majority == truth).mean() + 0.05
    assert found.converged
    assert found.people == 5


def test_a_person_who_always_gives_the_same_label_has_no_influence():
    _, labels = simulated(2, [0.85, 0.85, 0.85], categories=2)
    silent = np.hstack([labels, np.zeros((len(labels), 1), dtype=int)])
    with_, without = dawid_skene(silent, 2, smoothing=0.0), dawid_skene(labels, 2, smoothing=0.0)
    assert with_.posterior == pytest.approx(without.posterior, abs=1e-4)


def test_one_iteration_by_hand():
    labels = np.array([[0, 0], [1, 1], [0, 1]] * 4)
    found = dawid_skene(labels, 2, smoothing=0.0, iterations=1)
    # The start: 4 units are 0, 4 are 1, and 4 are half each; person 1 gives these 0.
    first = np.array([[6 / 6, 0], [2 / 6, 4 / 6]])
    second = np.array([[4 / 6, 2 / 6], [0, 6 / 6]])
    assert found.prior == pytest.approx([0.5, 0.5])
    assert found.confusion[0] == pytest.approx(first)
    assert found.confusion[1] == pytest.approx(second)
    third = np.array([1 * 2 / 6, 2 / 6 * 1])
    assert found.posterior[2] == pytest.approx(third / third.sum())
    assert found.accuracy == pytest.approx([(1 + 4 / 6) / 2] * 2)


@given(
    st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 4),
    st.floats(0.3, 1.0), st.sampled_from([0.0, 0.5, 2.0]),
)  # fmt: skip
def test_the_likelihood_never_decreases_and_the_order_does_not_matter(
    seed, people, categories, answered, smoothing
):
    rng = np.random.default_rng(seed)
    accuracies = rng.uniform(0.4, 0.95, people)
    _, labels = simulated(seed, accuracies, 60, categories, answered)
    if ((labels != NO_LABEL).sum(axis=1) > 1).sum() < 10:
        return
    found = dawid_skene(labels, categories, smoothing=smoothing, iterations=60)
    rises = np.diff(found.likelihood)
    assert (rises > -1e-6 * np.abs(found.likelihood[1:])).all()
    assert found.posterior.sum(axis=1) == pytest.approx(1)
    assert found.confusion.sum(axis=2) == pytest.approx(1)
    units, who = rng.permutation(len(labels)), rng.permutation(people)
    other = dawid_skene(labels[units][:, who], categories, smoothing=smoothing, iterations=60)
    assert other.posterior == pytest.approx(found.posterior[units], abs=1e-6)
    assert other.accuracy == pytest.approx(found.accuracy[who], abs=1e-6)


def test_people_who_agree_are_believed():
    labels = np.repeat(np.arange(3), 10)[:, None].repeat(4, axis=1)
    found = dawid_skene(labels, 3)
    assert (found.labels == labels[:, 0]).all()
    assert found.posterior.max(axis=1).min() > 0.99


@pytest.mark.parametrize(
    ("labels", "more", "says"),
    [
        (np.zeros((5, 2), int), {}, "at least 10 are needed"),
        (np.full((20, 2), 7), {}, "label 7 of unit 1"),
        (np.full((20, 2), 0.5), {}, "whole numbers"),
        (np.vstack([np.zeros((20, 2), int), [[-1, -1]]]), {}, "unit 21 has no label"),
        (np.zeros((20, 2), int), {"smoothing": -1}, "smoothing"),
        (np.zeros((20, 2), int), {"iterations": 0}, "iterations"),
        (np.zeros(20, int), {}, "units × people"),
    ],
)
def test_invalid_input_is_refused(labels, more, says):
    with pytest.raises(ValueError, match=says):
        dawid_skene(labels, 2, **more)


SAID = (
    "101- -0-0 -222 1111 1-1- 1122 2222 0000 1111 0020 1021 2222 11-1 00-0 12-- 0200 2220 --21 "
    "112- 1-11 2222 1111 0002 -222 0120 1-12 2220 000- -202 1020 1111 221- 0010 ---2 1100 1111 "
    "2222 2222 2-2- 1122"
)


def test_ten_iterations_equal_those_of_crowd_kit():
    """crowd-kit 1.4.2, DawidSkene(n_iter=10), which has no smoothing and starts from the votes."""
    labels = np.array(
        [[NO_LABEL if one == "-" else int(one) for one in row] for row in SAID.split()]
    )
    found = dawid_skene(labels, 3, smoothing=0.0, iterations=10)
    assert found.posterior[[0, 2, 4, 5]] == pytest.approx(
        np.array(
            [
                [0.128500, 0.871500, 0.0],
                [0.005927, 0.000866, 0.993208],
                [0.034463, 0.956599, 0.008939],
                [0.016835, 0.983165, 0.0],
            ]
        ),
        abs=1e-6,
    )
    assert "".join(map(str, found.labels)) == "1021112010121020211121020120201202012221"
    assert found.posterior.mean(axis=0) == pytest.approx([0.291693, 0.375448, 0.332859], abs=1e-6)
