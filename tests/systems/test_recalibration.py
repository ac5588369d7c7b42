"""Recalibration: on real confidences of 20 models, against the formulas, on runs."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.confidence import ece, hmr
from assay.model.errors import SettingsError
from assay.systems.recalibration import Calibration, cross_validated, fit, logit

METHODS = list(Calibration)


@pytest.fixture(scope="module")
def models(shared_data):
    """model -> confidences (0-1) and correctness on 300 exam questions."""
    with (shared_data / "data" / "confidence" / "gastro.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = {}
    for column in rows[0]:
        if column.endswith("_confidence"):
            name = column.removesuffix("_confidence")
            pairs = [
                (float(row[column]) / 10, float(row[f"{name}_correctness"]) == 1)
                for row in rows
                if row[column] and row[f"{name}_correctness"]
            ]
            p, c = zip(*pairs, strict=True)
            found[name] = (np.array(p), np.array(c))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_real_models_are_better_calibrated_on_questions_not_seen(models, method):
    """All of these models are overconfident: every map lowers ECE where it was high."""
    checked = 0
    for p, correct in models.values():
        if min(correct.sum(), (~correct).sum()) < 20 or ece(p, correct) < 0.15:
            continue
        mapped = cross_validated(method, p, correct)
        checked += 1
        assert ece(mapped, correct) < ece(p, correct)
    assert checked >= 10


def test_temperature_is_the_most_likely_one(models):
    for p, correct in list(models.values())[:6]:
        found = fit(Calibration.TEMPERATURE, p, correct).parameters["temperature"]
        grid = np.exp(np.linspace(np.log(0.01), np.log(100), 4000))
        signed = np.where(correct, logit(p), -logit(p))
        losses = [np.logaddexp(0, -signed / t).sum() for t in grid]
        best = grid[int(np.argmin(losses))]
        assert np.log(found) == pytest.approx(np.log(best), abs=0.01)


def test_platt_finds_the_distortion_that_was_put_in():
    chance = np.random.default_rng(1)
    p = chance.uniform(0.02, 0.98, 20_000)
    true = 1 / (1 + np.exp(-(0.5 * logit(p) - 1)))
    correct = chance.uniform(size=len(p)) < true
    found = fit(Calibration.PLATT, p, correct)
    assert found.parameters["slope"] == pytest.approx(0.5, abs=0.05)
    assert found.parameters["shift"] == pytest.approx(-1, abs=0.05)
    assert fit(Calibration.ISOTONIC, p, correct)(p) == pytest.approx(true, abs=0.12)


PAIRS = st.lists(st.tuples(st.integers(0, 100), st.booleans()), min_size=4, max_size=60)


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.sampled_from(METHODS))
def test_maps_keep_to_probabilities(pairs, method):
    p = np.array([number / 100 for number, _ in pairs])
    correct = np.array([right for _, right in pairs])
    if correct.all() or not correct.any():
        with pytest.raises(SettingsError, match="both right and wrong"):
            fit(method, p, correct)
        return
    grid = np.linspace(0, 1, 101)
    mapped = fit(method, p, correct)(grid)
    assert ((mapped >= 0) & (mapped <= 1)).all()
    if method is not Calibration.PLATT:  # its slope may be negative, as the data may be
        assert (np.diff(mapped) >= -1e-12).all()


def test_too_few_for_the_folds():
    with pytest.raises(SettingsError, match="fewer --folds"):
        cross_validated(Calibration.PLATT, np.array([0.1, 0.9, 0.5]), np.array([True, False, True]))


def write(path, name, p, correct):
    lines = ["run,topic,confidence,correct"]
    lines += [
        f"{name},{n},{round(a * 100)},{int(c)}"
        for n, (a, c) in enumerate(zip(p, correct, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")


def test_a_csv_through_the_command_line(assay, models, tmp_path):
    p, correct = next(pair for pair in models.values() if ece(*pair) > 0.2)
    write(tmp_path / "seen.csv", "M", p[:150], correct[:150])
    write(tmp_path / "new.csv", "M", p[150:], correct[150:])
    command = ["recalibrate", tmp_path / "seen.csv", "--apply", tmp_path / "new.csv"]
    command += ["-o", tmp_path / "out.csv", "--method", "isotonic"]
    done = assay(*command, "--json")
    assert done.returncode == 0, done.stderr
    crossed, applied = json.loads(done.stdout)["effects"]
    assert crossed["what"] == "cross-validated"
    assert crossed["before"]["HMR"] == pytest.approx(hmr(p[:150], correct[:150]))
    assert applied["after"]["ECE"] < applied["before"]["ECE"]
    # What is said of the applied run is what 'assay confidence' measures of the written one.
    scored = json.loads(assay("confidence", tmp_path / "out.csv", "--json").stdout)["scores"]
    values = {row["measure"]: row["value"] for row in scored}
    assert values["ECE"] == pytest.approx(applied["after"]["ECE"], abs=1e-9)
    assert "cross-validated, 150 answers" in assay(*command).stdout


def test_an_ac_run_keeps_everything_but_its_confidences(assay, tmp_path):
    lines = ["run,topic,confidence,correct"]
    lines += [f"R,{n},{95 if n % 3 else 60},{int(n % 2)}" for n in range(40)]
    (tmp_path / "seen.csv").write_text("\n".join(lines) + "\n")
    text = "<1>\nAn answer; with more;95\r\n1;PR;1;A nugget;95\n</1>\n\n<2>\nOther;60 \n</2>\n"
    (tmp_path / "RUN.txt").write_bytes(text.encode())
    done = assay(
        "recalibrate",
        tmp_path / "seen.csv",
        "--apply",
        tmp_path / "RUN.txt",
        "-o",
        tmp_path / "NEW.txt",
    )
    assert done.returncode == 0, done.stderr
    new = (tmp_path / "NEW.txt").read_bytes().decode()
    wanted = text.replace("more;95", "more;{}").replace("Other;60", "Other;{}")
    before, between, after = wanted.split("{}")
    assert new.startswith(before)
    assert between in new
    assert new.endswith(after)
    first = int(new[len(before) :].split("\r")[0])
    assert 45 <= first <= 70  # half of the answers were right


def test_wrong_use(assay, tmp_path):
    (tmp_path / "two.csv").write_text("run,topic,confidence,correct\nA,1,50,1\nB,1,50,0\n")
    done = assay("recalibrate", tmp_path / "two.csv")
    assert done.returncode == 2
    assert "--run" in done.stderr
    done = assay("recalibrate", tmp_path / "two.csv", "--run", "A", "--apply", tmp_path / "two.csv")
    assert done.returncode == 2
    assert "go together" in done.stderr
