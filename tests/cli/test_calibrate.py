"""``assay calibrate``: the embedded judge fitted to what people of a folder said."""

from __future__ import annotations

import json

import pytest

from assay.api.calibrating import Calibrated
from assay.cli.calibrate import _people
from assay.labellers.judge.packages import SMALL
from tests.conftest import copy_example


@pytest.fixture
def films(tmp_path):
    return copy_example("films", tmp_path / "films")


def people_say(assay, folder, *, most):
    """Somebody who is milder than the judge: of what it does not call entailed, half is."""
    rows = [json.loads(line) for line in assay("labels", "export", folder).stdout.splitlines()]
    pairs = [row for row in rows if row["task"] == "r2c2.entailment"][:most]
    said = [
        {**{key: row[key] for key in ("task", "unit")},
         "verdict": {"entailed": row["verdict"]["entailed"] or number % 2 > 0}}
        for number, row in enumerate(pairs)
    ]  # fmt: skip
    path = folder / "people.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in said), encoding="utf-8")
    assert assay("labels", "import", folder, path, "--by", "human:KIM").returncode == 0
    return said


def test_people_teach_the_judge_of_a_folder(assay, films):
    assert assay("judge", films).returncode == 0
    assert assay("calibrate", films).returncode == 2  # nobody has said anything
    said = people_say(assay, films, most=200)
    (ahead,) = json.loads(assay("calibrate", films, "--dry-run", "--json").stdout)
    assert ahead["judge"] == "judge"
    assert not (films / "judge-calibration.json").exists()
    claims = ahead["abilities"]["E"]
    assert claims["units"] <= len(said)
    # What a rule decided needs no mending.
    assert 0 < claims["yes"] <= sum(row["verdict"]["entailed"] for row in said)
    assert claims["after"]["Brier"] < claims["before"]["Brier"]
    shown = assay("calibrate", films)
    assert shown.returncode == 0
    assert "before" in shown.stdout
    assert "after" in shown.stdout
    kept = json.loads((films / "judge-calibration.json").read_text())
    assert kept["abilities"]["E"]["shift"] == pytest.approx(claims["shift"])
    # Of claims another labeller, and of answers, of which long gold answers are read as claims:
    # labels are asked for anew, with what was learnt in their key.
    again = json.loads(assay("judge", films, "--json").stdout)
    assert again["asked"] > 0
    rows = [json.loads(line) for line in assay("labels", "export", films).stdout.splitlines()]
    mended = [row for row in rows if "calibration" in row["labeller"]["params"]]
    assert {row["task"] for row in mended} == {"r2c2.entailment", "r2c2.answer"}
    learnt = {(row["task"], row["labeller"]["params"]["calibration"]) for row in mended}
    assert len(learnt) == 2
    first = mended[0]["detail"]["rulings"][0]
    assert first["threshold"] in (0.5, pytest.approx(first["threshold"]))
    # Fitted again it learns the same: from what the judge said before it was taught.
    assert json.loads(assay("calibrate", films, "--json").stdout)[0]["abilities"]["E"][
        "shift"
    ] == pytest.approx(claims["shift"], abs=0.05)


def test_of_nuggets_nothing_is_asked_again_where_answers_alone_were_learnt(assay, films):
    assert assay("judge", films).returncode == 0
    learnt = {"judge": SMALL.settings.version, "abilities": {"C": {"slope": 2.0, "shift": 0.1}}}
    path = films / "judge-calibration.json"
    for named, nuggets in ({"named": {}}, 0), ({}, 154):  # or an earlier version's file
        path.write_text(json.dumps({**learnt, **named}))
        ahead = json.loads(assay("judge", films, "--dry-run", "--json").stdout)["ahead"]
        asked = {one["task"]: one["to_ask"] for one in ahead}
        assert asked["answers"] > 0
        assert asked["bogus nuggets"] == nuggets


def test_each_judge_that_labelled_a_folder_is_taught(assay, films, large_judge):
    both = ("embedded", "embedded:large")
    for name in both:
        assert assay("judge", films, "--labeller", name).returncode == 0
    people_say(assay, films, most=200)
    shown = assay("calibrate", films, "--dry-run")
    assert shown.returncode == 0
    assert "embedded:judge: claims" in shown.stdout
    assert "embedded:large: claims" in shown.stdout
    found = json.loads(assay("calibrate", films, "--json").stdout)
    files = [films / f"judge-calibration{end}.json" for end in ("", "-large")]
    assert [one["judge"] for one in found] == ["judge", "large"]
    assert [one["output"] for one in found] == [str(path) for path in files]
    small, large = (json.loads(path.read_text()) for path in files)
    assert (small["judge"], large["judge"]) == (SMALL.settings.version, "large 0.1")
    # The stand-in has the small one's network: it learns the same, under another name.
    assert small["abilities"] == large["abilities"]
    files[0].unlink()
    asked = []
    for name in both:
        ahead = assay(
            "judge", films, "--labeller", name, "--policy", "machine", "--dry-run", "--json"
        )
        asked.append(sum(one["to_ask"] for one in json.loads(ahead.stdout)["ahead"]))
    assert asked[0] == 0 < asked[1]


def test_too_few_labels_are_not_enough(assay, films):
    assert assay("judge", films).returncode == 0
    people_say(assay, films, most=20)
    done = assay("calibrate", films)
    assert done.returncode == 1
    assert "at least 50" in done.stderr
    assert not (films / "judge-calibration.json").exists()


def test_a_file_of_another_judge_is_refused(assay, films):
    text = json.dumps({"judge": "1", "abilities": {"E": {"slope": 1, "shift": 0}}})
    (films / "judge-calibration.json").write_text(text)
    done = assay("judge", films)
    assert done.returncode == 2
    assert "assay calibrate" in done.stderr


def test_of_labels_of_before_no_more_is_promised_than_judging_asks(capsys):
    list(_people(Calibrated(SMALL, (), outdated=2)))
    assert "'assay judge' asks again for those still needed." in " ".join(
        capsys.readouterr().err.split()
    )
