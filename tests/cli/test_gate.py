"""``assay gate`` from the command line, on folders of every protocol."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli import ground
from tests.conftest import ROOT, Assay

N = 12


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Right is what says "right"; every nugget follows."""
    if task == "r2c2.answer":
        helped = [{"nugget": n, "helped": True} for n, _ in enumerate(unit["nuggets"], 1)]
        return {"reason": "", "correct": unit["answer"].startswith("right"), "nuggets": helped}
    return {"reason": "", "entailed": True}


def run(folder: Path, right: int, name: str = "ACX") -> None:
    """A run that answers so many questions right, with confidence 90."""
    blocks = [
        f"<q{n}>\n{'right' if n < right else 'wrong'} {n};90\n1;PRX;1;Claim {n}.\n</q{n}>\n"
        for n in range(N)
    ]
    (folder / "ac" / f"{name}.txt").write_text("".join(blocks))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "eval"
    for name in ("pr", "ac"):
        (place / name).mkdir(parents=True)
    questions = [f"q{n}\tQuestion {n}?\tSimple\tgold {n}\n" for n in range(N)]
    (place / "questions.tsv").write_text("".join(questions))
    (place / "pr" / "PRX.txt").write_text("".join(f"q{n};1;d{n};Passage {n}.\n" for n in range(N)))
    (place / "assay.toml").write_text("""
[evaluation]
protocol = "r2c2"
[inputs]
questions = "questions.tsv"
pr_runs = ["pr/*.txt"]
ac_runs = ["ac/*.txt"]
[labellers]
default = "tests.cli.test_gate:judge"
[gate]
run = "ACX"
measures = { Accuracy = { loss = 0.0, min = 0.5 }, HMR = { loss = 0.0 } }
""")
    run(place, 10)
    return place


def test_a_baseline_is_saved_and_the_same_run_passes(folder: Path, assay: Assay):
    base = folder / "base.json"
    judged = assay("judge", folder)
    assert judged.returncode == 0, judged.stderr
    saved = assay("gate", folder, "--save", base)
    assert saved.returncode == 0, saved.stderr
    assert "Baseline of run ACX, 12 questions" in saved.stdout
    text = base.read_text()
    assert "Question" not in text  # hashes alone
    assert "wrong 1" not in text
    done = assay("gate", folder, "--baseline", base, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Gate passed: run ACX (eval)" in done.stdout
    assert "12 have the same of both" in " ".join(done.stdout.split())
    assert "regression" not in done.stdout


def test_a_change_for_the_worse_fails_and_tells_where(folder: Path, assay: Assay, tmp_path: Path):
    base, xml, summary = (tmp_path / name for name in ("base.json", "gate.xml", "summary.md"))
    assay("judge", folder)
    assay("gate", folder, "--save", base)
    run(folder, 2)
    assay("judge", folder)
    done = assay(
        "gate", folder, "--baseline", base, "--junit", xml, "--json",
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["verdict"] == "regression"
    accuracy, hmr = found["measures"]
    assert accuracy["verdict"] == "regression"
    assert accuracy["bounds"] == ["Accuracy 0.167 (lower end), min 0.5"]
    assert accuracy["tested"]["p"][0] == 2**-8  # 8 of 12 fell, none rose
    assert accuracy["tested"]["detectable"] > 0
    assert hmr["tested"] is not None
    assert {one["question"] for one in found["losers"]} == {f"q{n}" for n in range(2, 10)}
    assert found["losers"][0]["before"] == [1.0, 1.0]
    assert summary.read_text().startswith("## Gate failed: run ACX")
    assert "Question 3?" in summary.read_text()
    assert 'type="regression"' in xml.read_text()
    ledger = folder / "labels.sqlite"
    for option in ("--junit", "--markdown"):
        done = assay("gate", folder, "--baseline", base, option, ledger)
        assert (done.returncode, "is a ledger" in done.stderr) == (2, True)
    assert assay("labels", "verify", folder).returncode == 0


def test_the_workflow_in_examples_does_what_it_says(folder: Path, assay: Assay):
    text = (ROOT / "examples" / "ci" / "gate.yml").read_text()
    commands = re.findall(r"^(?:#|        run:) +(assay [^|#\n]*)", text, re.MULTILINE)
    assert [one.split()[1] for one in commands] == ["gate", "evaluate", "gate"]
    save, evaluate, gate = (one.split()[1:] for one in commands)
    folder = folder.rename(folder.parent / "evaluation")
    for command in (evaluate, save, gate):
        done = assay(*command, cwd=folder.parent)
        assert done.returncode == 0, done.stderr
    assert "<testsuite " in (folder.parent / "gate.xml").read_text()


def test_labels_that_are_missing_are_incomplete(folder: Path, assay: Assay, tmp_path: Path):
    base = tmp_path / "base.json"
    assay("judge", folder)
    assay("gate", folder, "--save", base)
    run(folder, 0)
    done = assay("gate", folder, "--baseline", base, "--min", "Accuracy=0")
    assert done.returncode == 1
    assert "assay judge" in done.stdout
    assert "incomplete" in done.stdout


def test_what_a_run_lacks_is_named(folder: Path, assay: Assay):
    base = folder / "base.json"
    none_yet = assay("gate", folder, "--baseline", base)
    assert none_yet.returncode == 2
    assay("judge", folder)
    none_yet = assay("gate", folder, "--baseline", base)
    assert none_yet.returncode == 2
    assert f"there is no baseline yet. 'assay gate {folder} --save {base}'" in none_yet.stderr
    assert "have no usable label" not in assay("gate", folder, "--save", base).stderr
    path = folder / "ac" / "ACX.txt"
    whole = path.read_text()
    path.write_text(whole.partition("<q10>")[0])  # its end was lost
    done = assay("gate", folder, "--baseline", base, "--json")
    assert json.loads(done.stdout)["absent"] == ["q10", "q11"]
    shown = assay("gate", folder, "--baseline", base).stdout
    assert "Questions that the run leaves out, counted as left out: q10, q11." in " ".join(
        shown.split()
    )
    path.write_text(whole.replace("right 0", "right, 0"))
    saved = assay("gate", folder, "--save", base)
    assert saved.returncode == 0
    assert "have no usable label" in saved.stderr


def test_another_answer_of_the_same_value_is_no_change_of_nothing(folder: Path, assay: Assay):
    base = folder / "base.json"
    assay("judge", folder)
    assay("gate", folder, "--save", base)
    path = folder / "ac" / "ACX.txt"
    path.write_text(path.read_text().replace("right 0", "right, 0"))
    assay("judge", folder)
    done = assay("gate", folder, "--baseline", base)
    assert done.returncode == 0
    assert "no value" in done.stdout
    assert "nothing " not in done.stdout


def test_labels_by_people_that_came_since_are_told(folder: Path, assay: Assay, tmp_path: Path):
    base, lines = tmp_path / "base.json", tmp_path / "kim.jsonl"
    assay("judge", folder)
    assert assay("gate", folder, "--save", base).returncode == 0
    assert "The baseline is based on" not in assay("gate", folder, "--baseline", base).stdout
    exported = assay("labels", "export", folder, "--task", "r2c2.answer").stdout.splitlines()
    one = json.loads(exported[0])
    one["verdict"]["correct"] = not one["verdict"]["correct"]
    lines.write_text(json.dumps(one) + "\n")
    assert assay("labels", "import", folder, lines, "--by", "human:KIM").returncode == 0
    told = " ".join(assay("gate", folder, "--baseline", base).stdout.split())
    assert "The baseline is based on: judge alone, never checked here." in told


def test_what_people_said_of_one_side_alone_is_no_difference(
    folder: Path, assay: Assay, tmp_path: Path
):
    base, lines = tmp_path / "base.json", tmp_path / "kim.jsonl"
    run(folder, 2)
    other = (folder / "ac" / "ACX.txt").read_text().replace(" ", "- ")
    (folder / "ac" / "OTHER.txt").write_text(other)
    assay("judge", folder)
    exported = assay("labels", "export", folder, "--task", "r2c2.answer").stdout.splitlines()
    labels = [json.loads(one) for one in exported if "- " not in one]
    for one in labels:
        one["verdict"]["correct"] = True  # the judge is wrong of ten
    lines.write_text("".join(json.dumps(one) + "\n" for one in labels))
    assert assay("labels", "import", folder, lines, "--by", "human:KIM").returncode == 0
    assert assay("gate", folder, "--save", base).returncode == 0
    # Leaderboards go by the judge then; what is gated is the run's own.
    stands_on = json.loads(base.read_text())["stands_on"]
    assert stands_on.startswith("human labels for ")
    assert "people's labels are left out" not in stands_on
    path = folder / "ac" / "ACX.txt"
    path.write_text(path.read_text().replace("wrong ", "wrong, "))
    assay("judge", folder)
    test = ("gate", folder, "--baseline", base, "--no-worse", "Accuracy")
    done = assay(*test, "--min", "Accuracy=0", "--min", "HMR=0")
    told = " ".join(done.stdout.split())
    assert done.returncode == 0, told
    assert "(r2c2.answer: 83 % before, 0 % now): tests compare only the judge's labels" in told
    found = json.loads(assay(*test, "--json").stdout)
    accuracy = found["measures"][0]
    assert (accuracy["before"], accuracy["tested"]["difference"]) == ([1.0, 1.0], [0.0, 0.0])
    chosen = assay(*test, "--policy", "people")
    assert chosen.returncode == 1
    assert "Use --policy machine, for the baseline too." in " ".join(chosen.stdout.split())


def test_what_a_baseline_replaces_is_told(folder: Path, assay: Assay):
    base = folder / "base.json"
    assay("judge", folder)
    assert "replaces" not in assay("gate", folder, "--save", base).stderr
    run(folder, 9)
    assay("judge", folder)
    told = " ".join(assay("gate", folder, "--save", base).stderr.split())
    assert "it replaces the baseline of run ACX, 20" in told
    assert "Accuracy 0.833 → 0.750, HMR " in told


def test_a_measure_that_is_added_leaves_the_rest_comparable(folder: Path, assay: Assay):
    base = folder / "base.json"
    assay("judge", folder)
    assay("gate", folder, "--save", base)
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text() + '[settings]\nmeasures = ["nDCG@5"]\n')
    assert assay("gate", folder, "--baseline", base).returncode == 0
    toml.write_text(toml.read_text() + "bins = 5\n")
    assert assay("gate", folder, "--baseline", base).returncode == 2


def test_a_run_is_meant_however_its_accents_are_written(folder: Path, assay: Assay, tmp_path: Path):
    apart = unicodedata.normalize("NFD", "Équipe")
    run(folder, 10, apart)
    assay("judge", folder)
    for name in (apart, "Équipe"):
        saved = assay("gate", folder, "--run", name, "--save", tmp_path / "base.json")
        assert "Baseline of run Équipe" in saved.stdout, saved.stderr


def test_another_labeller_is_not_comparable(folder: Path, assay: Assay, tmp_path: Path):
    base = tmp_path / "base.json"
    assay("judge", folder)
    assay("gate", folder, "--save", base)
    done = assay("gate", folder, "--baseline", base, "--labeller", "tests.cli.ground:judge")
    assert done.returncode == 2
    assert "abeller of r2c2.answer" in done.stdout


def test_wrong_usage_is_told_with_its_cure(folder: Path, assay: Assay, tmp_path: Path):
    done = assay("gate", folder, "--run", "ACX", "--min", "Accuracy=0.5")
    assert done.returncode == 2  # nothing is judged yet
    assay("judge", folder)
    done = assay("gate", folder)
    assert (done.returncode, "--save" in done.stderr) == (2, True)
    done = assay("gate", folder, "--run", "NONE", "--baseline", "x.json")
    assert "runs: ACX, PRX" in done.stderr or "runs: PRX, ACX" in done.stderr
    for wrong in (["--min", "Accuracy"], ["--no-worse", "HMR=-1"], ["--max", "=1"]):
        assert assay("gate", folder, *wrong).returncode == 2
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text().replace("loss = 0.0, min = 0.5", ""))
    done = assay("gate", folder)
    assert "give loss, min or max" in done.stderr


@pytest.mark.parametrize(
    ("protocol", "named"),
    [("r2c2", "ACX"), ("r2c2", "PRX"), ("trec-rag", "RAGX"), ("trec-rag", "RETX"),
     ("exam", "RETX"), ("sgss", "SUMX")],
)  # fmt: skip
def test_every_protocol_says_what_its_runs_handed_in(
    protocol: str, named: str, tmp_path: Path, assay: Assay
):
    folder = ground.make(tmp_path / "eval")
    settings = {
        "trec-rag": '[settings]\nrelevance = "0-3"\nnuggets = false\nmapping = false',
        "exam": '[settings]\ngrading = "qa"',
    }
    ground.toml(folder, [protocol], settings.get(protocol, ""))
    judged = assay("judge", folder)
    assert judged.returncode == 0, judged.stderr
    base = tmp_path / "base.json"
    done = assay("gate", folder, "--save", base, "--run", named)
    assert done.returncode == 0, done.stderr
    assert "a gate needs at least 5 questions to compare: add some" in done.stderr
    (question,) = json.loads(base.read_bytes())["questions"]
    assert question["question"].startswith("sha256:")
    assert question["scores"]
    done = assay("gate", folder, "--baseline", base, "--run", named)
    assert done.returncode == 2
    assert "at least 5 are needed" in done.stdout
