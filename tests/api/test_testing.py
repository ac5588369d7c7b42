"""Evaluations in a test suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.testing import OpenEvaluation, assay_evaluation, assert_score
from tests.cli.test_gate import folder, run
from tests.conftest import Assay

__all__ = ["assay_evaluation", "folder"]  # fixtures


def test_a_bound_holds_or_says_by_how_much_it_does_not(folder: Path, assay: Assay):
    assay("judge", folder)
    assert_score(folder, "Accuracy", at_least=0.8, at_most=0.9)
    assert_score(folder, "Accuracy", at_least=0.8, run="ACX")
    with pytest.raises(AssertionError, match=r"ACX: Accuracy is 0\.8333, not at least 0\.9$"):
        assert_score(folder, "Accuracy", at_least=0.9)
    with pytest.raises(AssertionError, match=r"not at most 0\.5"):
        assert_score(folder, "Accuracy", at_most=0.5)
    with pytest.raises(AssertionError, match=r"There is no Correctness\. Measures: HMR"):
        assert_score(folder, "Correctness", at_least=0.5)
    with pytest.raises(AssertionError, match="no Accuracy of run PRX"):
        assert_score(folder, "Accuracy", at_least=0.5, run="PRX")
    with pytest.raises(ValueError, match="at_least or at_most"):
        assert_score(folder, "Accuracy")


def test_labels_that_are_missing_decide_nothing(folder: Path, assay: Assay):
    assay("judge", folder)
    run(folder, 6)  # four answers are others
    assert_score(folder, "Accuracy", at_least=0.5)
    with pytest.raises(AssertionError, match=r"between 0\.5000 and 0\.8333.*assay judge"):
        assert_score(folder, "Accuracy", at_least=0.6)
    with pytest.raises(AssertionError, match=r"not at least 0\.9$"):
        assert_score(folder, "Accuracy", at_least=0.9)


def test_the_fixture_opens_a_folder_once(
    folder: Path, assay: Assay, assay_evaluation: OpenEvaluation
):
    assay("judge", folder)
    assert assay_evaluation(folder) is assay_evaluation(str(folder))
    assert_score(assay_evaluation(folder), "HMR", at_least=0.1)
