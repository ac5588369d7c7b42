"""``embedded:large``: the judge that is installed beside the package, and both in one folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from importlib import resources

import pytest

from assay.labellers.judge import LARGE
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.judge.packages import JUDGES, SMALL

PASSAGE = "Casablanca is a film of 1942 that Michael Curtiz directed for Warner Bros."
PAIRS = [
    {"id": "yes", "claim": "Curtiz was the director of Casablanca.", "passage": PASSAGE},
    {"id": "no", "claim": "Casablanca was directed by Billy Wilder.", "passage": PASSAGE},
    {"id": "code", "claim": "It returns two.", "passage": "f = {x: [x_ ** 2]} # <_>|\n" * 3},
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    return path


def exported(assay, folder):
    rows = map(json.loads, assay("labels", "export", folder).stdout.splitlines())
    return {(row["task"], row["unit_hash"], row["labeller"]["name"]): row for row in rows}


def labelled_by(folder, spec, more=""):
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text().replace('"recorded:recorded.jsonl"', f'"{spec}"') + more)
    return folder


def test_ids_of_the_judge_in_the_package_are_as_they_were():
    files = resources.files("assay.labellers.judge").joinpath("data")
    settings = files.joinpath("judge.json").read_bytes()
    said = json.loads(settings)
    who = JudgeLabeller().id
    assert who.name == "embedded:judge"
    assert who.kind == "model"
    assert who.params == {
        "model": f"assay-judge {said['version']}",
        "sha256": hashlib.sha256(files.joinpath("judge.onnx").read_bytes()).hexdigest(),
        "settings": hashlib.sha256(settings).hexdigest()[:16],
        "texts": who.params["texts"],
        "denials": who.params["denials"],
    }


def test_the_large_judge_labels_under_its_own_name(assay, slide, large_judge):
    for spec in ("embedded", "embedded:large"):
        assert assay("judge", slide, "--labeller", spec).returncode == 0
    found = exported(assay, slide)
    small = {key: row for key, row in found.items() if key[2] == "embedded:judge"}
    large = {key: row for key, row in found.items() if key[2] == "embedded:large"}
    assert len(small) == len(large) > 0
    for (task, unit, _), row in large.items():
        params = row["labeller"]["params"]
        assert params["model"] == row["detail"]["model"] == "assay-judge-large 0.1"
        assert params["settings"] == large_judge.settings_hash != SMALL.settings_hash
        # The stand-in has the small one's network, under the same rules and texts.
        assert row["verdict"] == small[task, unit, "embedded:judge"]["verdict"]
    ahead = assay("judge", slide, "--labeller", "embedded:large", "--dry-run", "--json")
    assert not any(one["to_ask"] for one in json.loads(ahead.stdout)["ahead"])


def test_pairs_are_judged_with_the_same_warnings(assay, pairs, large_judge):
    said = [
        assay("label", pairs, "--task", "support", "--labeller", spec, "--json").stdout
        for spec in ("embedded", "embedded:large")
    ]
    assert "code or formulas" in said[0]
    assert said[0].replace("embedded:judge", "embedded:large") == said[1]


def test_both_vote_in_one_folder(assay, slide, large_judge):
    members = '\n[ensembles.two]\nmembers = ["embedded", "embedded:large"]\n'
    done = assay("evaluate", labelled_by(slide, "ensemble:two", members), "--json")
    assert done.returncode == 0, done.stderr
    names = {name for _, _, name in exported(assay, slide)}
    assert names >= {"embedded:judge", "embedded:large", "ensemble:two"}


def test_where_it_is_not_installed_the_cure_is_named(assay, slide, pairs, monkeypatch):
    monkeypatch.setitem(JUDGES, LARGE, replace(JUDGES[LARGE], place="assay_judge_elsewhere"))
    asked = (
        ("judge", slide, "--labeller", "embedded:large"),
        ("judge", labelled_by(slide, "embedded:large"), "--dry-run"),
        ("label", pairs, "--task", "support", "--labeller", "embedded:large"),
    )
    for command in asked:
        done = assay(*command)
        assert done.returncode == 2
        assert "pip install assay-judge-large" in done.stderr
        assert "./judges/large" in done.stderr
    assert not list(slide.glob("labels.sqlite*"))
    rows = json.loads(assay("models", "list", "--json").stdout)
    (row,) = [row for row in rows if row["name"] == "large"]
    assert row["path"] is row["size"] is row["sha256"] is None
    assert "pip install" in row["about"]
    (check,) = [
        one
        for one in json.loads(assay("doctor", "--json").stdout)
        if one["what"].startswith("judge large")
    ]
    assert not check["ok"]
    assert not check["needed"]


def test_its_labels_can_count_where_it_is_not_installed(assay, slide, large_judge, monkeypatch):
    assert assay("judge", labelled_by(slide, "embedded:large")).returncode == 0
    assert assay("score", slide).returncode == 0
    monkeypatch.setitem(JUDGES, LARGE, replace(large_judge, place="assay_judge_elsewhere"))
    done = assay("score", slide)  # nobody knows whether it would say the same again
    assert done.returncode == 2  # the scores that there are stay
    assert "pip install assay-judge-large" in done.stderr
    assert "only:NAME" in done.stderr
    done = assay("score", slide, "--policy", "only:embedded:large")
    assert ".947" in done.stdout
    done = assay("calibrate", slide)
    assert done.returncode == 2
    assert "pip install assay-judge-large" in done.stderr


def test_what_is_here_is_listed(assay, large_judge):
    rows = json.loads(assay("models", "list", "--json").stdout)
    small, large = rows[:2]
    assert (small["name"], small["default"]) == ("judge", True)
    assert (large["name"], large["default"]) == ("large", False)
    assert large["size"] == small["size"]
    assert large["path"] == str(large_judge.place)
    checks = {one["what"]: one for one in json.loads(assay("doctor", "--json").stdout)}
    assert checks["judge large 0.1 (embedded)"]["ok"]


@pytest.mark.parametrize("damage", ["changed", "lost", "no network", "no settings"])
def test_damaged_files_are_refused(assay, pairs, large_files, large_judge, monkeypatch, damage):
    folder = pairs.parent / "damaged"
    shutil.copytree(large_files, folder)
    first, *_, last = sorted(folder.glob("judge.onnx.*"))
    if damage == "changed":
        last.write_bytes(last.read_bytes()[:-1] + b"!")
    elif damage == "lost":
        first.unlink()
    elif damage == "no network":
        first.unlink()
        last.unlink()
    else:
        (folder / "judge.json").write_text("{}")
    monkeypatch.setitem(JUDGES, LARGE, replace(large_judge, place=folder))
    done = assay("label", pairs, "--task", "support", "--labeller", "embedded:large")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "The installation is damaged" in said
    assert ("SHA-256" in said) == (damage in ("changed", "lost"))
    assert "--force-reinstall" in said
    assert assay("models", "list").returncode == 0
    assert assay("doctor").returncode == 0


def test_neither_reads_what_the_other_was_taught(assay, slide, large_judge):
    taught = {"judge": SMALL.edition, "abilities": {"E": {"slope": 2.0, "shift": 0.1}}, "named": {}}
    (slide / "judge-calibration.json").write_text(json.dumps(taught))
    assert assay("judge", slide, "--labeller", "embedded:large").returncode == 0
    assert assay("judge", slide, "--labeller", "embedded").returncode == 0
    learnt = {
        name
        for (_, _, name), row in exported(assay, slide).items()
        if "calibration" in row["labeller"]["params"]
    }
    assert learnt == {"embedded:judge"}
    (slide / "judge-calibration.json").rename(slide / "judge-calibration-large.json")
    done = assay("judge", slide, "--labeller", "embedded:large")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "judge-calibration-large.json" in said
    assert f"was fitted for judge {SMALL.edition}, but this is judge large 0.1" in said
    assert assay("judge", slide, "--labeller", "embedded").returncode == 0
