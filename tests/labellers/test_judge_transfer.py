"""training/transfer.py: which sources are left out together, and what it says of what was read.
training/calibrate.py: what it makes of probabilities."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest

from assay.labellers.judge.texts import ABILITIES, Ability
from tests.conftest import ROOT

SOURCES = {
    "snli": "E", "cad_nli": "E", "fib": "E", "med_monotonicity": "E", "squad2": "A", "selqa": "A",
    "covid_qa": "A", "evouna": "C", "truthfulqa_judge": "C", "semeval2013_sra": "C",
}  # fmt: skip
SIZES = Counter({name: 10 * number for number, name in enumerate(SOURCES, start=1)})


@pytest.fixture
def transfer(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    # rows and pairs are names that other programs have too.
    before = set(sys.modules)
    import transfer

    yield transfer
    folders = (str(ROOT / "training"), str(ROOT / "calibration"))
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folders):
            del sys.modules[name]
    sys.path[:] = [path for path in sys.path if path not in folders]


def test_sources_that_share_texts_are_left_out_together(transfer):
    every = transfer.folds_of({**SOURCES, "openqa_eval": "C"}, "all", SIZES)
    assert ["cad_nli", "snli"] in every
    assert ["evouna", "openqa_eval"] in every
    assert len(every) == 9
    three = transfer.folds_of(SOURCES, "3", SIZES)
    assert sorted(name for fold in three for name in fold) == sorted(SOURCES)
    for ability in "EAC":
        assert [
            sum(SOURCES[name] == ability for name in set(fold) - {"cad_nli"}) for fold in three
        ] == [1, 1, 1]


def test_folds_that_cannot_be(transfer):
    for wrong in ("1", "10", "some"):
        with pytest.raises(SystemExit, match="from 2 to 9, or all"):
            transfer.folds_of(SOURCES, wrong, SIZES)
    with pytest.raises(SystemExit, match=r"fewer than two families of ability .*more folds"):
        transfer.folds_of(SOURCES, "2", SIZES)


def test_calibration_error_at_the_own_share_of_yes_and_at_half(transfer):
    score, truth = np.full(10, 0.2), np.arange(10) < 2
    assert transfer.calibration_error(score, truth, even=False) == pytest.approx(0.0)
    assert transfer.calibration_error(score, truth, even=True) == pytest.approx(0.3)


def test_the_table_has_means_and_tells_sources_of_one_answer(transfer, capsys):
    def pair(source, number, truth, judge, overlap):
        said = judge > 0.5
        return transfer.Pair(source, "E", f"g{number}", truth, judge, said, overlap, None)

    pairs = [pair("fib", n, n % 2 == 0, 0.8 - 0.6 * (n % 2), 0.5) for n in range(20)]
    pairs += [pair("wice", n, False, 0.1, 0.5) for n in range(4)]
    transfer.show(pairs)
    said = capsys.readouterr().out
    assert (
        "| fib (E) | 20 | 0.50 | 1.00 (1.00–1.00) | 0.50 (0.50–0.50) | – "
        "| 1.00 (1.00–1.00) | 0.20 | 0.20 |"
    ) in said
    assert "| wice (E) | 4 | 0.00 | one answer alone |" in said
    assert "| mean of 1 |" in said
    assert "on 1 of 1 sources" in said


def test_a_folder_of_another_fold_is_not_gone_on_with(transfer, tmp_path):
    """Its network may have been trained on what is left out now."""
    fold = tmp_path / "3-560-375-90-1"
    for _ in range(2):
        transfer.same_fold(fold, ["snli", "fib"], SIZES)
    with pytest.raises(SystemExit, match="3-560-375-90-1: was trained without other sources"):
        transfer.same_fold(fold, ["snli", "selqa"], SIZES)
    with pytest.raises(SystemExit, match="on other pairs"):
        transfer.same_fold(fold, ["snli", "fib"], {**SIZES, "bump": 9})


def test_a_claim_that_the_passage_states_is_not_given_to_the_network(transfer):
    claim, passage = "claim: It is a film of 1942.", "It is a film of 1942. Many like it."
    question = transfer.as_question(
        transfer.Row("", "E", "fib", "", claim.removeprefix("claim: "), passage, 1.0)
    )

    class Reader:
        def features(self, questions):
            assert not questions
            return np.zeros((0, 8))

    assert transfer.judged(Reader(), {}, [question]).tolist() == [[0.0, 0.0, 1.0]]


def test_the_judge_abstains_where_prediction_sets_hold_both(transfer):
    from calibrate import conformal

    truth, even = np.arange(200) % 2 == 0, np.ones(200)
    assert conformal(np.where(truth, 0.3, 0.6), truth, even, 0.5) == [0.3, 0.6]
    # What is said beyond them is what the sets hold.
    assert conformal(np.where(truth, 0.3, 0.6), truth, even, 0.7) == [0.3, 0.7]
    # Told apart without fail, no set holds both.
    assert conformal(np.where(truth, 0.9, 0.1), truth, even, 0.5) == [0.5, 0.5]
    # Of nine of ten as many are outside as are seen, and one more that is to be judged.
    few = np.arange(18) < 9
    scores = np.concatenate([np.linspace(0.1, 0.9, 9), np.linspace(0.1, 0.9, 9)])
    assert conformal(scores, few, np.ones(18), 0.5) == [0.1, 0.9]
    assert conformal(scores[[0, -1]], np.array([True, False]), np.ones(2), 0.5) == [0.0, 1.0]


def test_what_the_sets_hold_is_told_of_families_that_they_were_not_made_by(transfer):
    from calibrate import held

    truth = np.arange(80) % 2 == 0
    yes = np.where(truth, 0.8, 0.2)
    yes[-10:] = 0.2  # a source where it is sure that nothing is so
    family = np.array(["snli"] * 40 + ["wice"] * 20 + ["fib"] * 10 + ["selqa"] * 10)
    found = held(yes, truth, np.ones(80), 0.5, family)
    assert found["snli"] == {"yes": 1.0, "no": 1.0, "both": 0.0}
    assert found["selqa"] == {"yes": 0.0, "no": 1.0, "both": 0.0}
    truth[60:70] = True
    assert "fib" not in held(yes, truth, np.ones(80), 0.5, family)


def test_labels_that_nothing_can_be_fitted_to(transfer):
    from calibrate import check_labels

    def row(source, ability, label):
        return transfer.Row("", ability, source, "", "a claim", "a passage", label)

    sources = [(n, a) for n, a in SOURCES.items() if n != "covid_qa"]
    rows = [row(name, ability, label) for name, ability in sources for label in (0.0, 1.0)]
    check_labels(rows, ABILITIES, "take more")
    only = [one for one in rows if one.ability != "A" or one.label == 1.0]
    with pytest.raises(SystemExit, match=r"ability A: people said the same .*take more"):
        check_labels([*only, row("made_joined", "A", 0.5)], ABILITIES, "take more")
    check_labels(only, [Ability.E, Ability.C], "take more")
    lone = [one for one in rows if one.source != "selqa" or one.label == 1.0]
    with pytest.raises(SystemExit, match=r"ability A: without squad all pairs .* one label"):
        check_labels(lone, ABILITIES, "take more")


def test_numbers_and_names_that_a_passage_lacks_count_for_more(transfer):
    """A pair of mean shares keeps its probabilities, one that lacks them loses its yes."""
    from calibrate import regression

    from assay.labellers.judge.model import probabilities

    chance = np.random.default_rng(3)
    features = np.column_stack([chance.normal(size=(300, 6)), chance.random((300, 2))])
    level = np.where(features[:, 2] > 0.4, 2, np.where(features[:, 0] > 0, 0, 1))
    plain, more = (regression(features, level, np.ones(300), 0.3, worth) for worth in (0.0, 1.5))
    usual = np.concatenate([np.zeros(6), features[:, -2:].mean(0)])
    lacking = np.concatenate([np.zeros(6), [0.0, 0.0]])
    assert probabilities(*plain, usual, 1.0) == pytest.approx(probabilities(*more, usual, 1.0))
    no, _, yes = probabilities(*more, lacking, 1.0) - probabilities(*plain, lacking, 1.0)
    assert no > 0.1
    assert yes < -0.1


def test_draws_of_one_answer_alone_leave_an_interval(transfer):
    score, truth = np.array([0.9, 0.1]), np.array([True, False])
    assert transfer.mean_interval([(score, truth, ["one", "other"])]) == [1.0, 1.0, 1.0]
