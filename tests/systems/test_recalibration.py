"""Recalibration: on real confidences of 20 models, against the formulas, on runs."""

import csv
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.cli.recalibrate import recalibrate_command
from assay.formats.r2c2_ac import read_ac_run
from assay.measures.confidence import ece, hmr
from assay.model.errors import SettingsError
from assay.systems import recalibration
from assay.systems.recalibration import Calibration, cross_validated, fit, logit, remarks

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


@settings(max_examples=60)
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
    with pytest.raises(SettingsError, match="Cross-validation needs 2 of each"):
        cross_validated(Calibration.PLATT, np.array([0.1, 0.9, 0.5]), np.array([True, False, True]))


def test_folds_that_would_do_are_named():
    p = np.linspace(0.1, 0.9, 9)
    with pytest.raises(SettingsError, match=r"Use --folds 3\."):
        cross_validated(Calibration.PLATT, p, np.array([True, False, False] * 3))
    with pytest.raises(SettingsError, match="9 right and 0 wrong"):
        cross_validated(Calibration.PLATT, p, np.ones(9, dtype=bool))


def test_no_confidence_is_mapped_by_a_map_that_saw_it(monkeypatch):
    """The map of each fold knows nothing of the fold's answers."""
    p = np.linspace(0.01, 0.99, 40)
    correct = np.arange(40) % 3 == 0
    folds = []

    def spy(_method, kept, right):
        assert 8 <= right.sum() <= 12  # right and wrong answers in the same shares

        def held_out(held):
            folds.append((set(kept), set(held)))
            return held

        return held_out

    monkeypatch.setattr(recalibration, "fit", spy)
    assert (cross_validated(Calibration.PLATT, p, correct, folds=4) == p).all()
    assert len(folds) == 4
    assert all(kept.isdisjoint(held) and len(kept | held) == 40 for kept, held in folds)


@pytest.mark.parametrize(
    ("pairs", "method", "said"),
    [
        ([(50, True), (50, False)] * 10, "temperature", "All confidences are the same"),
        ([(90, True), (10, False)] * 10, "temperature", "become 0 or 100"),
        ([(90, False), (10, True)] * 10, "temperature", "become about 50"),
        (
            [(90, False), (10, True)] * 10 + [(90, True), (10, False)],
            "platt",
            "reverses their order",
        ),
        ([(90, True), (10, False)] * 3 + [(60, True)] * 9, "platt", "3 wrong answers are few"),
    ],
)
def test_what_a_map_cannot_be_trusted_in_is_said(pairs, method, said):
    p = np.array([value / 100 for value, _ in pairs])
    correct = np.array([right for _, right in pairs])
    fitted = fit(Calibration(method), p, correct)
    assert any(said in remark for remark in remarks(fitted, p, correct))
    if said.startswith("All"):
        assert fitted.parameters == {"temperature": 1.0}  # which changes nothing


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
    assert "2 of the 2 questions" in " ".join(done.stderr.split())
    manifest = json.loads((tmp_path / "NEW.manifest.json").read_text())
    assert set(manifest["inputs"]) == {"seen.csv", "RUN.txt"}
    assert manifest["settings"]["method"] == "temperature"


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_odd_ac_runs_are_mended_into_valid_ones(tmp_path, method):
    lines = ["run,topic,confidence,correct"]
    lines += [f"R,s{n},{(0, 100, 50, 93)[n % 4]},{int(n % 3 == 0)}" for n in range(40)]
    (tmp_path / "seen.csv").write_text("\n".join(lines) + "\n")
    plain = "<1>\nA;0\nB1;PR;1;n;7\n</1>\n<2>\nB; 5;100\n</2>\n<3>\nC;1\n</3>\n"
    runs = {
        "BOM": b"\xef\xbb\xbf" + plain.encode(),
        "BLANK": b"\n\n  " + plain.encode(),
        "CR": plain.replace("\n", "\r").encode(),
    }
    for name, data in runs.items():
        source, mended = tmp_path / f"{name}.txt", tmp_path / f"{name}-NEW.txt"
        source.write_bytes(data)
        recalibrate_command(
            tmp_path / "seen.csv", apply_to=source, output=mended, method=Calibration(method)
        )
        old = read_ac_run(source).require().run.answers
        new = read_ac_run(mended).require().run.answers
        assert {k: (a.text, a.nuggets) for k, a in old.items()} == {
            k: (a.text, a.nuggets) for k, a in new.items()
        }
        assert re.sub(rb"[0-9]+(?=[\r\n])", b"", mended.read_bytes()) == re.sub(
            rb"[0-9]+(?=[\r\n])", b"", data
        )


def test_wrong_use(assay, tmp_path):
    (tmp_path / "two.csv").write_text("run,topic,confidence,correct\nA,1,50,1\nB,1,50,0\n")
    done = assay("recalibrate", tmp_path / "two.csv")
    assert done.returncode == 2
    assert "--run" in done.stderr
    done = assay("recalibrate", tmp_path / "two.csv", "--run", "A", "--apply", tmp_path / "two.csv")
    assert done.returncode == 2
    assert "must be given together" in done.stderr
