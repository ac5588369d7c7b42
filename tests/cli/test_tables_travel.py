"""Any table that one command prints can be fed to the next: every printer with every reader that
makes sense, through the command line (in this process: a process of its own each would take long).
"""

from __future__ import annotations

import csv
import gc
import json
import random
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assay.cli.commands import app
from assay.model.errors import FormatError
from tests.r2c2.worlds import write_world
from tests.trec_rag.cases import make

EXAMPLES = Path(__file__).parents[2] / "examples"


def judge(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
    """A labeller of R2C2 that always has an answer."""
    if task == "r2c2.entailment":
        return {"entailed": "1" not in unit["nugget"]}
    if task == "r2c2.answer":
        helped = [{"nugget": n, "helped": n == 1} for n, _ in enumerate(unit["nuggets"], 1)]
        return {"correct": "0" in unit["answer"], "nuggets": helped}
    return {"act": "answer"}


def assay(*arguments: object) -> Result:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    gc.enable()  # a command ends its process without it
    assert done.exit_code in (0, 1, 2), done.output
    return done


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of each protocol in ``NAME/``, and what the commands print in ``NAME.csv``."""
    folder = tmp_path_factory.mktemp("tables")
    write_world(folder / "r2c2", random.Random(3), questions=8)
    toml = folder / "r2c2" / "assay.toml"
    toml.write_text(toml.read_text().replace("recorded:none.jsonl", f"{__name__}:judge"))
    make(folder / "rag", settings='measures = ["nDCG@30", "AP", "Recall@100"]')
    for name in ("exam", "sgss"):
        shutil.copytree(EXAMPLES / name, folder / name)
    for name in ("r2c2", "rag", "exam", "sgss"):
        recorded = ("--labeller", "recorded:recorded.jsonl") if name in ("exam", "sgss") else ()
        assert assay("evaluate", folder / name, *recorded).exit_code == 0
    graded = folder / "exam" / "out" / "workbench" / "graded.jsonl.gz"
    out, rag = folder / "rag" / "out", folder / "rag"
    tables = {
        "exam": ("exam", graded, "--per-topic"),
        "exam-runs": ("exam", graded),
        "sweep": ("exam", graded, "--sweep"),
        "measure": (
            "measure", out / "qrels.txt", *sorted((rag / "r").iterdir()), "--per-topic",
            "-mnDCG@30", "-mmap", "-mrecall_100",
        ),
        "confidence": ("confidence", folder / "r2c2" / "out" / "confidence.csv", "--per-topic"),
        "support": ("support", out / "support.jsonl", "--per-topic"),
        "nuggets": ("nuggets", out / "assignments.jsonl", "--per-topic"),
    }  # fmt: skip
    for name, arguments in tables.items():
        done = assay(*arguments, "--csv")
        assert done.exit_code == 0, done.output
        (folder / f"{name}.csv").write_text(done.stdout, encoding="utf-8")
    for name in ("r2c2", "rag", "exam", "sgss"):
        rows = list(csv.reader((folder / name / "out" / "scores.csv").open(encoding="utf-8")))
        lines = "".join(f"{row[0]} all {row[1]} {row[2] or 'NA'}\n" for row in rows[1:])
        (folder / name / "leaderboard").write_text(lines, encoding="utf-8")
    return folder


# Printed by one command, by another (or the same numbers in out/), and the score in both.
SAME = [
    ("exam.csv", "exam/out/scores.csv", "EXAM-Cover"),
    ("exam.csv", "exam/out/per_topic.csv", "EXAM-Cover"),
    ("exam-runs.csv", "exam/out/scores.csv", "RR"),
    ("exam-runs.csv", "exam/leaderboard", "recip_rank"),
    ("exam/out/per_topic.csv", "exam/out/scores.csv", "wtd."),
    ("sweep.csv", "exam/out/sweep.csv", "EXAM-Cover(tau=3)"),
    ("measure.csv", "rag/out/scores.csv", "ndcg_cut_30"),
    ("measure.csv", "rag/out/per_topic.csv", "AP"),
    ("measure.csv", "rag/leaderboard", "Recall@100"),
    ("support.csv", "rag/out/scores.csv", "weighted precision"),
    ("support.csv", "rag/out/per_topic.csv", "hard_recall"),
    ("nuggets.csv", "rag/out/scores.csv", "strict-vital"),
    ("nuggets.csv", "rag/out/per_topic.csv", "all"),
    ("nuggets.csv", "rag/leaderboard", "coverage"),
    ("confidence.csv", "r2c2/out/scores.csv", "HMR"),
    ("confidence.csv", "r2c2/out/scores.csv", "ece"),
    ("confidence.csv", "r2c2/leaderboard", "AUROC"),
    ("confidence.csv", "r2c2/out/per_topic.csv", "Accuracy"),
    ("r2c2/out/scores.csv", "r2c2/out/per_topic.csv", "NugP"),
    ("sgss/out/scores.csv", "sgss/out/per_topic.csv", "SGSS"),
    ("sgss/leaderboard", "sgss/out/per_topic.csv", "xux_f"),
    ("r2c2/out/scores.csv", "r2c2/out/scores.csv", "HMR:floor"),
]


@pytest.mark.parametrize(("one", "other", "score"), SAME)
def test_correlate_reads_what_the_commands_print(ground: Path, one: str, other: str, score: str):
    done = assay("correlate", ground / one, ground / other, "--score", score, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert len(document["runs"]) >= 2
    for run in document["runs"]:
        assert run["A"] == pytest.approx(run["B"], abs=1e-9)


def test_correlate_sets_one_measure_against_another_and_against_a_file_of_ones_own(ground: Path):
    cases = [
        ("exam.csv", "exam/official.csv", ("A:EXAM-Cover",)),
        ("nuggets.csv", "support.csv", ("A:strict_vital", "B:weighted_precision")),
        ("confidence.csv", "confidence.csv", ("A:HMR", "B:ECE")),
        ("r2c2/out/scores.csv", "r2c2/out/per_topic.csv", ("A:HMR", "B:NuggetPrecision")),
    ]
    for one, other, scores in cases:
        options = [f"--score={name}" for name in scores]
        done = assay("correlate", ground / one, ground / other, *options, "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"][0]["n"] >= 2


def means(path: Path, measure: str) -> dict[str, float]:
    rows = csv.DictReader(path.open(encoding="utf-8"))
    return {row["run"]: float(row["value"]) for row in rows if row["measure"] == measure}


# The table, the measure as it is asked for, and where its means stand under which name.
COMPARED = [
    ("measure.csv", "nDCG@30", "rag/out/scores.csv", "nDCG@30"),
    ("measure.csv", "ndcg_cut_30", "rag/out/scores.csv", "nDCG@30"),
    ("exam.csv", "EXAM-Cover", "exam/out/scores.csv", "EXAM-Cover"),
    ("exam/out/per_topic.csv", "EXAM-Cover", "exam/out/scores.csv", "EXAM-Cover"),
    ("rag/out/per_topic.csv", "strict vital", "rag/out/scores.csv", "strict_vital"),
    ("sgss/out/per_topic.csv", "SGSS", "sgss/out/scores.csv", "SGSS"),
    ("r2c2/out/per_topic.csv", "Accuracy", "r2c2/out/scores.csv", "Accuracy"),
    ("r2c2/out/per_topic.csv", "NugP", "r2c2/out/scores.csv", "NuggetPrecision"),
    ("r2c2/out/per_topic.csv", "HMR", "r2c2/out/scores.csv", "HMR"),
    ("r2c2/out/per_topic.csv", "ECE", "r2c2/out/scores.csv", "ECE"),
    ("r2c2/out/per_topic.csv", "AUROC", "r2c2/out/scores.csv", "AUROC"),
    ("r2c2/out/confidence.csv", "HMR", "r2c2/out/scores.csv", "HMR"),
    ("r2c2/out/confidence.csv", "KS", "r2c2/out/scores.csv", "KS"),
    ("confidence.csv", "HMR", "r2c2/out/scores.csv", "HMR"),
    ("confidence.csv", "Brier", "r2c2/out/scores.csv", "Brier"),
]


@pytest.mark.parametrize(("table", "asked", "scores", "name"), COMPARED)
def test_compare_reads_them_and_has_the_same_means(
    ground: Path, table: str, asked: str, scores: str, name: str
):
    done = assay("compare", ground / table, "-m", asked, "--permutations", 200, "--json")
    assert done.exit_code == 0, done.output
    [measure] = json.loads(done.stdout)["measures"]
    found = {run["run"]: run["mean"] for run in measure["runs"]}
    assert found == pytest.approx(means(ground / scores, name))


@pytest.mark.parametrize(
    ("table", "score", "runs"),
    [
        ("measure.csv", "nDCG@30", 2),
        ("exam.csv", "EXAM-Cover", 3),
        ("exam/out/per_topic.csv", "ndcg_cut_20", 3),
        ("r2c2/out/per_topic.csv", "NugP", 3),
        ("sgss/out/per_topic.csv", "SGSS", 2),
        ("confidence.csv", "Brier", 3),
    ],
)
def test_samplesize_reads_them(ground: Path, table: str, score: str, runs: int):
    done = assay("samplesize", ground / table, "--score", score, "--json")
    assert done.exit_code == 0, done.output
    [matrix] = json.loads(done.stdout)["matrices"]
    assert matrix["runs"] == runs


def test_means_alone_cannot_be_compared_and_the_cure_is_said(ground: Path):
    for command, option in (("compare", "-m"), ("samplesize", "--score")):
        done = assay(command, ground / "exam" / "out" / "scores.csv", option, "EXAM-Cover")
        assert isinstance(done.exception, FormatError)
        assert "no scores of single topics" in str(done.exception)
        assert "per_topic.csv, or --per-topic" in str(done.exception)


@pytest.mark.parametrize(
    "command",
    [
        "compare --matrix manual.csv",
        "agree person.txt judge.txt --scale 0:3 --clip",
        "samplesize pilot.csv --score HMR --mind .1 --draws 100",
        "battles judgments.jsonl",
        "recalibrate pilot.csv --run modest --method isotonic",
    ],
)
def test_figures_do_not_hang_on_how_a_file_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    """Who sorts a table, or has its topics as 1 to 25 instead of 01 to 25, draws the same."""
    printed = []
    for way in ("as it is", "the other way round"):
        folder = tmp_path / way
        shutil.copytree(EXAMPLES / "statistics", folder)
        shutil.copy(EXAMPLES / "battles" / "judgments.jsonl", folder)
        for path in folder.glob("*.[ctj][sx]*[vtl]") if way != "as it is" else ():
            text = re.sub(r",(q?)0(?=[1-9],)", r",\1", path.read_text(encoding="utf-8"))
            *head, last = text.splitlines(keepends=True)
            first = [head.pop(0)] if path.suffix == ".csv" else []
            path.write_text("".join([*first, last, *reversed(head)]), encoding="utf-8")
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(app, [*command.split(), "--json"])
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        rows = document.get("rows") or document["effects"]
        printed.append(sorted(([*row.items()] for row in rows), key=str))
    assert json.dumps(printed[0]) == json.dumps(printed[1])
