"""Where people labelled more of some runs than of others, runs are compared by the machine's labels
alone, wherever they are set beside each other."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from assay import open as open_folder

TOML = """[evaluation]
protocol = "r2c2"
[inputs]
questions = "questions.tsv"
pr_runs = "pr.txt"
ac_runs = "ac/*.txt"
[labellers]
default = "recorded:said.jsonl"
dialogue_act = "rules"
[settings]
resamples = 100
"""


def said(run: str, number: int, correct: str, **more: str) -> str:
    unit = {"question": f"Who was number {number}?", "answer": f"{run} {number}"}
    unit |= {"gold": ["Bo"], "nuggets": []}
    return json.dumps({"task": "r2c2.answer", "unit": unit, "verdict": {"correct": correct}} | more)


@pytest.fixture
def uneven(tmp_path: Path, assay) -> Path:
    """The machine called all answers of A and B right; a person called all of A wrong."""
    folder, numbers = tmp_path / "uneven", range(1, 7)
    (folder / "ac").mkdir(parents=True)
    (folder / "assay.toml").write_text(TOML)
    questions = (f"{n}\tWho was number {n}?\tSimple\tBo\n" for n in numbers)
    (folder / "questions.tsv").write_text("".join(questions))
    (folder / "pr.txt").write_text("1;1;d;x\n")
    for run in "AB":
        answers = (f"<{n}>\n{run} {n};80\n</{n}>\n" for n in numbers)
        (folder / "ac" / f"{run}.txt").write_text("".join(answers))
    lines = [said(run, n, "YES") for run in "AB" for n in numbers]
    (folder / "said.jsonl").write_text("\n".join(lines))
    assert assay("evaluate", folder).returncode == 0
    person = [said("A", n, "NO", labeller="human:KIM") for n in numbers]
    (tmp_path / "kim.jsonl").write_text("\n".join(person))
    assert assay("labels", "import", folder, tmp_path / "kim.jsonl").returncode == 0
    return folder


def test_all_of_the_report_compares_by_the_same_labels(uneven: Path, assay):
    assert assay("report", uneven).returncode == 0
    page = (uneven / "out" / "report.html").read_text(encoding="utf-8")
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())
    assert "the judge’s labels for all runs" in text
    assert text.count("6 right, 0 wrong") == 2
    assert "0 right, 6 wrong" not in text
    assert "by human:KIM" not in text  # of the labels that count
    assert re.search(r"Judged not correct \(? ?person ?human:KIM", text)


def test_who_compares_the_scores_with_peoples_labels_is_told(uneven: Path, assay):
    assert assay("score", uneven).returncode == 0
    manifest = json.loads((uneven / "out" / "manifest.json").read_text())
    assert manifest["stands_on"].startswith("human labels for 25 %, the judge's for the rest")
    for place in (uneven, uneven / "out" / "per_topic.csv"):
        done = assay("compare", place, "-m", "Accuracy")
        assert "do not compare runs by these scores" in done.stderr
    assert "do not compare runs by these scores" in assay("score", uneven, "--csv").stderr
    assert "do not compare runs by these scores" in " ".join(open_folder(uneven).remarks)
    assert "do not compare runs" not in " ".join(open_folder(uneven, policy="machine").remarks)
    assert assay("score", uneven, "--policy", "machine").returncode == 0
    fair = assay("compare", uneven / "out" / "machine", "-m", "Accuracy")
    assert "do not compare runs" not in fair.stderr


def test_scores_of_inputs_that_changed_are_said_to_be(uneven: Path, assay):
    assert assay("score", uneven).returncode == 0
    assert "changed since" not in assay("status", uneven).stdout
    assert "changed after" not in assay("compare", uneven, "-m", "Accuracy").stderr
    run = uneven / "ac" / "B.txt"
    run.write_text(run.read_text().replace(";80", ";20"))  # no label is asked
    assert "; 1 input file changed since" in assay("status", uneven).stdout
    told = assay("compare", uneven, "-m", "HMR").stderr
    assert "per_topic.csv: 1 input file changed after it was written. 'assay evaluate" in told
    os.utime(run, (1, 1))  # as a copy that keeps times has it
    assert "; 1 input file changed since" in assay("status", uneven).stdout
    (uneven / "ac" / "A.txt").unlink()
    assert "; 2 input files changed since" in assay("status", uneven).stdout
    (uneven / "assay.toml").write_text(f"{TOML}bins = 5\n")
    told = " ".join(assay("status", uneven).stdout.split())
    assert "; 2 input files changed since; settings changed since" in told


def test_inputs_that_came_or_were_put_in_place_whole_are_told(uneven: Path, assay):
    others = uneven / "others"
    shutil.copytree(uneven / "ac", others)
    (others / "B.txt").write_text((others / "B.txt").read_text().replace(";80", ";20"))
    assert assay("score", uneven).returncode == 0
    (uneven / "ac" / "C.txt").write_text((uneven / "ac" / "A.txt").read_text())
    assert "; 1 input file changed since" in assay("status", uneven).stdout
    assert "1 input file changed after" in assay("compare", uneven, "-m", "HMR").stderr
    shutil.rmtree(uneven / "ac")
    assert "2 input files changed after" in assay("compare", uneven, "-m", "HMR").stderr
    others.rename(uneven / "ac")  # files keep their times
    assert "; 1 input file changed since" in assay("status", uneven).stdout
    assert assay("score", uneven).returncode == 0
    (uneven / "ids.txt").write_text("1\n2\n")
    (uneven / "assay.toml").write_text(
        TOML.replace("[inputs]", '[inputs]\nonly_questions = "ids.txt"')
    )
    assert "; 1 input file changed since" in assay("status", uneven).stdout
    assert "1 input file changed after" in assay("compare", uneven, "-m", "HMR").stderr
