"""A question that does not count: as if it stood in no file, while all stay as they were."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from assay.ledger import Ledger
from tests.r2c2.worlds import RUNS, World, write_world

FILES = (
    "scores.csv", "per_topic.csv", "qrels.txt", "confidence.csv", "topics.txt",
    "scores_attempted.csv", "runs/PR.txt", "ntcireval/rels.txt",
)  # fmt: skip


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Three questions, all labelled, one of which is withdrawn."""
    folder = tmp_path / "kept"
    write_world(folder, random.Random(5))
    world = World(folder)
    world.judge(random.Random(5))
    world.judge(random.Random(6))
    world.ledger.close()
    (folder / "only.txt").write_text("0003\n0001\n")
    return folder


def only(folder: Path) -> None:
    toml = folder / "assay.toml"
    toml.write_text(
        toml.read_text().replace("[inputs]\n", '[inputs]\nonly_questions = "only.txt"\n')
    )


def cut(folder: Path) -> None:
    for file in (folder / "questions.tsv", folder / "pr" / "PR.txt"):
        file.write_text(re.sub(r"(?m)^0002.*\n", "", file.read_text()))
    for run in RUNS:
        file = folder / "ac" / f"{run}.txt"
        file.write_text(re.sub(r"(?s)<0002>.*</0002>\n", "", file.read_text()))


def test_scores_are_those_of_files_that_it_was_cut_out_of(judged: Path, tmp_path: Path, assay):
    other = Path(shutil.copytree(judged, tmp_path / "cut"))
    only(judged)
    cut(other)
    for folder in (judged, other):
        done = assay("score", folder)
        assert done.returncode == 0, done.stderr
    for name in FILES:
        first, second = (folder / "out" / name for folder in (judged, other))
        assert first.read_bytes() == second.read_bytes(), name
    assert "0002" in (judged / "out" / "marked" / "A.txt").read_text()
    assert "2 questions of 3" in assay("status", judged).stdout


def test_marked_runs_are_edited_with_it_in_them(judged: Path, assay):
    only(judged)
    assay("score", judged)
    marked = judged / "out" / "marked" / "A.txt"
    text = marked.read_text()
    begin, mark = text.index("<0003>"), re.compile("(?m)^[RN](?=[0-9])")
    assert mark.search(text, begin)
    (judged / "A.txt").write_text(text[:begin] + mark.sub("B", text[begin:], count=1))
    done = assay("labels", "import", judged, judged / "A.txt", "--by", "human:KIM")
    assert done.returncode == 0, done.stderr
    with Ledger.open(judged / "labels.sqlite") as ledger:
        assert any(one.labeller.is_human for one in ledger.labels())
    assay("score", judged)
    assert marked.read_text() == (judged / "A.txt").read_text()


def test_what_people_say_of_it_is_told_to_be_left_out(judged: Path, assay):
    assay("score", judged)
    (run, *_) = (
        name
        for name in RUNS
        if re.search(r"<0002>\n.*\n[BRN]", (judged / "out" / "marked" / f"{name}.txt").read_text())
    )
    copy = Path(shutil.copy(judged / "out" / "marked" / f"{run}.txt", judged / f"{run}.txt"))
    only(judged)
    importing = ("labels", "import", judged, copy, "--by", "human:KIM")
    said = f"Changes to 1 answer to questions that do not count are left out: {run} 0002."
    assert said in assay(*importing).stderr
    assay("score", judged)
    shutil.copy(judged / "out" / "marked" / f"{run}.txt", copy)
    assert "left out" not in assay(*importing).stderr
    assert said in assay(*importing, "--correct", "0002").stderr


def test_an_id_that_is_no_questions_is_a_fault(judged: Path, assay):
    only(judged)
    (judged / "only.txt").write_text("0001\n0009\n")
    done = assay("score", judged)
    assert done.returncode == 2
    assert "only.txt [0009] There is no question “0009” in the question file." in done.stderr
