"""``assay compare`` of tables with ranges: what it says of them, and their ends."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.model.errors import FormatError
from tests.cli.test_tables_travel import assay
from tests.cli.test_tables_travel import judge as sure_judge
from tests.conftest import copy_example
from tests.r2c2.worlds import write_world
from tests.trec_rag.cases import make


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    """A labeller of R2C2 whose word on some answers is no label."""
    if task == "r2c2.answer" and unit["question"].endswith(("1?", "4?", "8?")):
        return {"nonsense": 1}
    return sure_judge(task, unit)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluations from which labels are missing, and what the commands print of them."""
    folder = tmp_path_factory.mktemp("ranges")
    write_world(folder / "r2c2", random.Random(3), questions=8)
    questions = [f"{n:04}\tWho was it {n}?\n" for n in range(1, 9)]
    (folder / "r2c2" / "questions.tsv").write_text("".join(questions), encoding="utf-8")
    run = folder / "r2c2" / "ac" / "A.txt"
    run.write_text(re.sub("<0003>.*?</0003>\n", "", run.read_text(), flags=re.DOTALL))
    settings = folder / "r2c2" / "assay.toml"
    settings.write_text(settings.read_text().replace("recorded:none.jsonl", f"{__name__}:judge"))
    assay("evaluate", folder / "r2c2")
    copy_example("exam", folder / "exam")
    recorded = folder / "exam" / "recorded.jsonl"
    said = recorded.read_text().splitlines(keepends=True)
    random.Random(1).shuffle(said)
    recorded.write_text("".join(said[:-12]))
    assay("evaluate", folder / "exam", "--labeller", "recorded:recorded.jsonl")
    make(folder / "rag")
    assay("evaluate", folder / "rag")
    assigned = folder / "rag" / "out" / "assignments.jsonl"
    one = '"assignment":"support"'
    assigned.write_text(assigned.read_text().replace(one, '"assignment":null', 1))
    graded = folder / "exam" / "out" / "workbench" / "graded.jsonl.gz"
    tables = {
        "exam.csv": ("exam", graded, "--bank", folder / "exam" / "bank.jsonl", "--per-topic"),
        "confidence.csv": ("confidence", folder / "r2c2/out/confidence.csv", "--per-topic"),
        "nuggets.csv": ("nuggets", assigned, "--per-topic"),
        "nuggets-runs.csv": ("nuggets", assigned),
    }
    for name, arguments in tables.items():
        (folder / name).write_text(assay(*arguments, "--csv").stdout, encoding="utf-8")
    shutil.copy(folder / "exam/out/per_topic_ranges.csv", folder / "alone.csv")
    return folder


def ends(path: Path, measure: str, end: str) -> dict[str, float]:
    """An end of every run's score, as a table of scores has it."""
    rows = csv.DictReader(path.open(encoding="utf-8"))
    return {row["run"]: float(row[end]) for row in rows if row["measure"] == measure}


EXAM = ["exam.csv", "exam/out/per_topic.csv", "exam/out/per_topic_ranges.csv"]
R2C2 = ["r2c2/out/per_topic.csv", "r2c2/out/per_topic_ranges.csv", "confidence.csv"]
TABLES = [
    *((table, "EXAM-Cover", "exam/out/scores.csv") for table in EXAM),
    *((table, "AP", "exam/out/scores.csv") for table in EXAM),
    *((table, name, "r2c2/out/scores.csv") for table in R2C2 for name in ("Accuracy", "HMR")),
    *((R2C2[0], name, "r2c2/out/scores.csv") for name in ("R_O", "R_U", "Brier", "AUROC", "ECE")),
    ("r2c2/out/confidence.csv", "HMR", "r2c2/out/scores.csv"),
    ("nuggets.csv", "strict_vital", "nuggets-runs.csv"),
]


@pytest.mark.parametrize("end", ["floor", "ceiling"])
@pytest.mark.parametrize(("table", "measure", "scores"), TABLES)
def test_the_ends_are_compared_and_are_those_of_the_scores(
    ground: Path, table: str, measure: str, scores: str, end: str
):
    done = assay("compare", ground / table, "-m", f"{measure}:{end}", "--permutations=50", "--json")
    assert done.exit_code == 0, done.exception
    [found] = json.loads(done.stdout)["measures"]
    expected = ends(ground / scores, measure, end)
    assert expected != ends(ground / scores, measure, "ceiling" if end == "floor" else "floor")
    if (measure, end) == ("ECE", "floor"):
        del expected["A"]  # it leaves a question out: safe, not exact
    means = {run["run"]: run["mean"] for run in found["runs"]}
    assert {run: means[run] for run in expected} == pytest.approx(expected)
    assert (found["measure"], found["topics_left_out"]) == (f"{measure}:{end}", [])


def test_a_measure_that_is_better_low_has_its_best_run_first(ground: Path, tmp_path: Path):
    table = tmp_path / "brier.csv"
    rows = (ground / "confidence.csv").read_text().splitlines(keepends=True)
    table.write_text("".join(row for row in rows if ",Brier," in row or "measure" in row))
    for file in (table, ground / "confidence.csv"):
        done = assay("compare", file, "-m", "Brier:floor", "--json")
        document = json.loads(done.stdout)
        means = [run["mean"] for run in document["measures"][0]["runs"]]
        assert means == sorted(means)
        assert means[0] < means[-1]
        assert document["rows"][0]["difference"] < 0
        assert document["measures"][0]["runs"][0]["top"]


@pytest.mark.parametrize("table", EXAM)
def test_too_little_that_is_certain_is_said_with_the_ranges_and_the_cure(ground: Path, table: str):
    done = assay("compare", ground / table, "-m", "EXAM-Cover")
    assert isinstance(done.exception, FormatError)
    said = str(done.exception)
    assert "0 topics that every run has a score for" in said
    assert "values are not certain, as labels are missing: " in said
    assert "GOOD on tides (0.75–1.0)" in said
    assert "-m EXAM-Cover:floor takes every value at its worst, :ceiling at its best" in said


def test_what_is_left_out_of_confidences_is_named_with_the_ends(ground: Path):
    done = assay("compare", ground / "r2c2" / "out" / "per_topic.csv", "-m", "HMR")
    assert "Questions that runs leave out: A (1)" in done.stderr
    assert "-m HMR:floor assumes what is worst by HMR" in done.stderr
    assert "A on 0004 (no correctness)" in done.stderr
    assert "Accuracy:floor" not in done.stderr


@pytest.mark.parametrize("measure", ["Accuracy", "HMR", "HMR:floor", "NuggetPrecision"])
def test_means_alone_are_called_so_whatever_the_measure(ground: Path, measure: str):
    done = assay("compare", ground / "r2c2" / "out" / "scores.csv", "-m", measure)
    assert isinstance(done.exception, FormatError)
    assert "The table has no scores of single topics" in str(done.exception)
    assert "Confidence" not in str(done.exception)


def test_ranges_that_are_alone_are_compared_and_called_so(ground: Path):
    done = assay("compare", ground / "alone.csv", "-m", "AP:floor", "--json")
    assert done.exit_code == 0, done.exception
    assert "holds only ranges" in done.stderr
    done = assay("correlate", ground / "alone.csv", ground / "exam.csv", "--score", "AP:ceiling")
    assert done.exit_code == 0, done.exception
