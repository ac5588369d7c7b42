"""One fault in the file that all others are checked against is one fault, not one for each line of
theirs; and topics that fit no others are told."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from assay.api.opened import Opened
from tests.conftest import copy_example


def example(tmp_path: Path, name: str) -> Path:
    return copy_example(name, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("films", "questions.tsv"),
        ("trec-rag", "narratives.jsonl"),
        ("sgss", "summaries.jsonl"),
        ("rag-app", "questions.jsonl"),
    ],
)
def test_a_topic_that_stands_twice_is_one_fault(tmp_path, assay, name, file):
    path = example(tmp_path, name) / file
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*rows, rows[0]]), encoding="utf-8")
    done = assay("score", tmp_path / name)
    assert done.returncode == 2
    assert "assay: 1 fault in the input:" in done.stderr
    assert f"{file}:{len(rows) + 1}" in done.stderr


def test_what_comes_next_lists_the_faults_of_all_files(tmp_path, assay):
    folder = example(tmp_path, "trec-rag")
    for file in ("r/WORDS.txt", "rag/FLUENT.jsonl"):
        (folder / file).write_text("{", encoding="utf-8")
    found = json.loads(assay("status", folder, "--json").stdout)
    (command, _), *_ = found["next"]
    listed = assay(*shlex.split(command)[1:]).stderr
    assert ("WORDS.txt:1" in listed, "FLUENT.jsonl:1" in listed) == (True, True)


def test_of_two_runs_of_one_name_both_files_are_named(tmp_path, assay):
    folder = example(tmp_path, "trec-rag")
    # As 'assay validate --fix' leaves them.
    shutil.copy(folder / "rag" / "BRIEF.jsonl", folder / "rag" / "BRIEF.fixed.jsonl")
    told = assay("score", folder).stderr
    assert "BRIEF.jsonl The run in rag/BRIEF.fixed.jsonl is also called 'BRIEF'. Keep one" in told


@pytest.mark.parametrize(
    ("entry", "file", "before", "after"),
    [
        ("r_runs, WORDS", "r/WORDS.txt", "aq Q0", "zz Q0"),
        ("qrels", "gold/qrels.txt", "aq 0", "zz 0"),
        ("nuggets", "nuggets.jsonl", '"qid": "aq"', '"qid": "zz"'),
    ],
)
def test_topics_that_are_called_otherwise_are_told(tmp_path, assay, entry, file, before, after):
    path = example(tmp_path, "trec-rag") / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    told = (
        f"[inputs] {entry}: 1 topic is not among the narratives (zz), while 1 narrative is missing "
        "(aq)."
    )
    assert told in warnings(tmp_path)
    if entry == "nuggets":  # they are asked for, which the embedded judge cannot do
        done = assay("judge", tmp_path / "trec-rag")
        assert done.returncode == 2
        assert f"Note: {told}" in done.stderr


def warnings(tmp_path: Path) -> str:
    return "\n".join(Opened.open(tmp_path / "trec-rag").parts["trec-rag"].warnings)


def test_a_file_of_another_kind_is_told_once_and_which_it_looks_like(tmp_path, assay):
    gold = example(tmp_path, "trec-rag") / "gold"
    rows = "".join(f"1 0 d{n} 1\n" for n in range(60))
    (tmp_path / "qrels").write_text(rows, encoding="utf-8")
    done = assay("measure", tmp_path / "qrels", tmp_path / "qrels", "-m", "RR")
    assert done.stderr.count("\n") == 2
    assert "60 faults in the input" in done.stderr
    assert "qrels:1–60 (60 lines) The line has 4 columns, not 6. Is this a qrels" in done.stderr
    assert "'assay nuggets' scores" in assay("support", gold / "assignments.jsonl").stderr
    assert "'assay support' scores" in assay("nuggets", gold / "support.jsonl").stderr


def test_of_many_lines_alike_the_first_are_named_and_how_many_more(tmp_path, assay):
    rows = "".join(f"1 0 d{n} 1\n" if n % 2 else f"1 0 Q0 d{n} 1 1 x\n" for n in range(100))
    (tmp_path / "qrels").write_text(rows, encoding="utf-8")
    done = assay("measure", tmp_path / "qrels", tmp_path / "qrels", "-m", "RR")
    named = ",".join(str(n) for n in range(2, 26, 2))
    assert f"qrels:{named} and 38 more (50 lines) The line has 4 columns" in done.stderr


def test_what_is_odd_in_many_lines_alike_is_told_once(tmp_path, assay):
    (tmp_path / "qrels").write_text("".join(f"t 0 d{n}\x07 {n % 2}\n" for n in range(9)))
    (tmp_path / "run").write_text("".join(f"t Q0 d{n} {n + 1} {9 - n} r\n" for n in range(9)))
    for more in (["agree", tmp_path / "qrels"], ["measure", tmp_path / "run"]):
        done = assay(more[0], tmp_path / "qrels", *more[1:])
        (said,) = [line for line in done.stderr.splitlines() if "control characters" in line]
        assert "qrels:1–9 (9 lines)" in said


def test_an_input_with_more_topics_than_are_asked_is_fine(tmp_path):
    path = example(tmp_path, "trec-rag") / "gold" / "qrels.txt"
    path.write_text(path.read_text(encoding="utf-8") + "zz 0 doc 1\n", encoding="utf-8")
    assert "not among the narratives" not in warnings(tmp_path)
