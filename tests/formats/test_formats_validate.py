"""Validation of several files, guessing of formats, and ``assay validate``."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner

from assay.api.compared import read_tables
from assay.api.label_scores import nugget_scores
from assay.cli.validate import validate_command
from assay.formats.checking import Checked, Format
from assay.formats.label_tables import read_labels
from assay.formats.registry import FORMATS
from assay.formats.validate import guess_format, validate
from assay.model.errors import FormatError, SettingsError

APP = typer.Typer()
APP.command("validate")(validate_command)

GOOD = {
    "r2c2-questions": "0001\tWho?\n0002\tWhere?\n",
    "queries": "q18\tdog age by teeth\nq11\thow do you clean smoke off walls\n",
    "trec-rag-topics": "rag2026-0\tWhy rivers bend\nrag2026-1\tWhen lakes freeze\n",
    "r2c2-pr": "0001;1;d;t\n0001;2;d;u\n",
    "r2c2-ac": "<0001>\nA;90\n1;PR;1;x\n</0001>\n",
    "r2c2-marked": "<0001>\nA;90\nB1;PR;1;x\n</0001>\n",
    "trec-run": "1 Q0 d 1 0.5 7\n",
    "qrels": "1 0 PR;3 1\n",
}


def run(*arguments):
    return CliRunner().invoke(APP, [str(one) for one in arguments])


def test_registry():
    assert set(GOOD) <= set(FORMATS)


def test_formats_can_join(write, monkeypatch):
    formats = dict(FORMATS)
    monkeypatch.setattr("assay.formats.validate.FORMATS", formats)
    formats["shout"] = Format(
        "shout", "capitals", lambda path, given: Checked(()), lambda s: s.lines == ("A",)
    )
    assert guess_format(write("A")) == "shout"


@pytest.mark.parametrize("name", GOOD)
def test_valid_files_with_and_without_a_format(write, name):
    path = write(gzip.compress(GOOD[name].encode()), "x.txt.gz")
    assert guess_format(path) == name
    report = validate([path], name)
    assert report.ok
    assert report.faults == ()
    assert report.exit_status == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q1\tWho?\tSimple\tMe|I\n", "r2c2-questions"),
        ("q1\tHow do bees find home?\tq1/1\tby the sun\n", "queries"),
        ("q1\tHow do bees find home?\n0002\tWhere?\n", "r2c2-questions"),
        ("q1\t0\tdoc\t1\n", "qrels"),
        ('{"_id": "4", "text": "who?", "metadata": {}}\n', "trec-rag-topics"),
        ("query-id\tcorpus-id\tscore\n4\t31715818\t1\n", "qrels"),
        ("2024-35227\thow bees find home\n", "trec-rag-topics"),
        ("1 Q0 a 2 0.9 r\n1 Q0 b 2 0.5 r\n1 Q0 c 0 0.5 r\n", "trec-rag-rj"),
        ("query_id;left;right;labeller;preference\ntea;A;B;p1;LEFT\n", "preferences"),
        ("1 Q0 a 1 0.9 r\n1 Q0 b 2 0.5 r\n", "trec-run"),
        ("1 Q0 a 0 0.9 r\n1 Q0 b 0 0.5 r\n", "trec-run"),
    ],
)
def test_questions_queries_and_topics_are_told_apart(write, text, name):
    assert guess_format(write(text)) == name


def test_track_files_decide_which_format_is_guessed(write):
    run_file = write("".join(f"14 Q0 shard_0_{n} {n} {-n} r\n" for n in range(1, 102)), "r.txt")
    asked = write("14\tWhy rivers bend\n", "t.tsv")
    assert validate([run_file]).files[0].format == "trec-run"
    report = validate([run_file], year="2026")
    assert (report.files[0].format, report.files[0].errors) == ("trec-rag", 0)
    report = validate([run_file], year="2025")
    assert "More than 100 documents in 1 topics" in str(report.faults[0])
    report = validate([run_file], topics=asked)
    assert [one.format for one in report.files] == ["trec-rag-topics", "trec-rag"]
    assert validate([write("q1\tWho?\n", "q.tsv")], year="2026").files[0].format == (
        "trec-rag-topics"
    )


def test_ac_format_accepts_marked_runs_but_not_the_reverse(write):
    assert validate([write(GOOD["r2c2-marked"])], "r2c2-ac").ok
    report = validate([write(GOOD["r2c2-ac"])], "r2c2-marked")
    assert "No nugget is marked" in report.faults[0].why


def test_checks_against_given_files(write):
    asked = write("0001\tWho?\n", "q.tsv")
    pr_run = write(GOOD["r2c2-pr"], "PR.txt")
    answers = write(GOOD["r2c2-ac"].replace("PR;1", "PR;3") + "<9>\nB;1\n</9>\n", "ac.txt")
    report = validate([answers], "r2c2-ac", questions=asked, pr_runs=[pr_run])
    assert [one.role for one in report.files] == ["questions", "pr-run", "checked"]
    assert [fault.line for fault in report.faults] == [3, 5]
    assert report.exit_status == 1


def test_same_run_twice(write, tmp_path):
    (tmp_path / "sub").mkdir()
    paths = [write(GOOD["r2c2-pr"], "PR.txt"), write(GOOD["r2c2-pr"], "sub/PR.txt.gz")]
    errors = [f for f in validate(paths, "r2c2-pr").faults if f.severity == "error"]
    assert len(errors) == 1
    assert "Give every run its own name" in errors[0].cure
    assert validate([paths[0], paths[0]], "r2c2-pr").ok


def test_unreadable_files_do_not_stop_the_others(write, tmp_path):
    report = validate([tmp_path / "none", write("1;x;d;t\n")], "r2c2-pr")
    assert [one.readable for one in report.files] == [False, True]
    assert report.files[1].errors == 1
    assert report.exit_status == 2


def test_unknown_formats(write):
    with pytest.raises(SettingsError, match="r2c2-pr"):
        validate([], "r2c2")
    with pytest.raises(FormatError, match="--format"):
        guess_format(write("hello world\n"))


def test_command(write):
    path = write("0001;1;d;t\n0001;1;d;[red]u[/red]\x1b[2J\n", "PR.txt")
    result = run(path)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert any(line.startswith(f"{path}:2 [0001] The rank 1 was already used") for line in lines)
    assert "\x1b" not in result.output
    assert lines[-1].startswith(f"{path}: 1 error")
    assert "r2c2-pr (guessed); 1 question, 1 passage" in lines[-1]


def test_command_keeps_file_text_from_the_terminal(write):
    path = write("<0001>\n[bold]A[/bold] \x1b]0\x07\u202eB\n</0001>\n<[/red]>\n", "a.txt")
    result = run(path, "--format", "r2c2-ac")
    assert "[bold]A[/bold]" in result.output
    assert "\\x1b]0\\x07\\u202eB" in result.output
    assert "\x1b" not in result.output
    assert result.exit_code == 1


def test_command_statuses(write, tmp_path):
    good = write(GOOD["r2c2-pr"], "PR.txt")
    assert run(good, "--format", "r2c2-pr").exit_code == 0
    assert run(good, "--format", "nope").exit_code == 2
    assert run(tmp_path / "none.txt").exit_code == 2
    assert run(good, "--max-passage-chars", "0").exit_code == 2
    assert run().exit_code == 2
    long = write("1;1;d;long text\n", "long.txt")
    assert run(long, "--max-passage-chars", "5").exit_code == 1


def test_pr_runs_from_a_folder_or_a_pattern(write, tmp_path):
    (tmp_path / "pr").mkdir()
    write(GOOD["r2c2-pr"], "pr/PR.txt")
    answers = write(GOOD["r2c2-ac"].replace("PR;1", "PR;3"), "ac.txt")
    for given in (tmp_path / "pr", tmp_path / "pr" / "*.txt", tmp_path / "pr" / "PR.txt"):
        result = run(answers, "--format", "r2c2-ac", "--pr-runs", given)
        assert result.exit_code == 1
        assert "Its ranks: 1–2." in result.output


def test_json_is_one_document(write, tmp_path):
    path = write("0001;1;d;t\n0001;1;d;u\n", "PR.txt")
    result = run(path, tmp_path / "none", "--json")
    assert result.exit_code == 2
    document = orjson.loads(result.stdout)
    assert document["ok"] is False
    first, second = document["files"]
    assert first["faults"][0]["line"] == 2
    assert first["faults"][0]["topic"] == "0001"
    assert first["counts"] == {"questions": 1, "passages": 1}
    assert first["guessed"] is True
    assert second["readable"] is False
    assert "error" in orjson.loads(run(path, "--format", "x", "--json").stdout)


def test_last_line_on_many_files_names_the_faulty_ones(write, tmp_path):
    files = [write(GOOD["r2c2-ac"], f"ac{number}.txt") for number in range(9)]
    assert "files:" not in run(*files).output
    done = run(*files, write("no block\n", "bad.txt"), tmp_path / "none", "--format", "r2c2-ac")
    last = done.output[done.output.index("11 files:") :].replace("\n", "")
    assert last.startswith("11 files: 9 without errors; 2 to fix: ")
    assert {"bad.txt", "none"} <= set(last.replace("/", " ").replace(",", " ").strip(".").split())
    assert "10 files: 10 without errors." in run(*files, write(GOOD["r2c2-ac"], "x.txt")).output
    warned = write(GOOD["r2c2-ac"].replace("\n", "\r"), "warned.txt")  # old line ends
    assert "10 files: 10 without errors." in run(*files, warned).output
    strict = run(*files, warned, "--strict")
    assert (strict.exit_code, "10 files: 9 without faults; 1 to fix" in strict.output) == (1, True)


def piped(text):
    """The path of a pipe from which a text can be read once."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return f"/dev/fd/{reading}"


QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
CONFIDENCES = "run,topic,confidence,correct\na,1,90,1\na,2,80,0\nb,1,50,1\nb,2,10,0\n"


def test_a_pipe_is_read_once(tmp_path):
    report = validate([piped(QRELS)])
    assert report.ok
    assert report.files[0].counts == {"topics": 2, "judgments": 3}
    retrieved = validate([piped("1 Q0 a 1 2.5 run\n")], "trec-rag", year="2026").files[0]
    assert retrieved.counts == {"topics": 1, "documents": 1}
    assert len(read_labels(piped(QRELS)).require().labels) == 3
    file = tmp_path / "confidences.csv"
    file.write_text(CONFIDENCES)
    note = [].append
    (of_pipe,), (of_file,) = (
        read_tables(Path(one), ["HMR"], note) for one in (piped(CONFIDENCES), file)
    )
    assert of_pipe == of_file
    row = {"qid": "1", "nuggets": [{"text": "n", "importance": "vital"}]}
    assigned, mapped = tmp_path / "assigned.jsonl", tmp_path / "mapped.jsonl"
    given = [row["nuggets"][0] | {"assignment": "support"}]
    assigned.write_bytes(orjson.dumps(row | {"run_id": "a", "nuggets": given}))
    row["nuggets"][0]["mapped_sub_narrative"] = "canals"
    mapped.write_bytes(orjson.dumps(row))
    from_pipe, from_file = (
        nugget_scores([assigned], Path(one), "all", note).document(per_topic=True)
        for one in (piped(mapped.read_text()), mapped)
    )
    assert from_pipe == from_file
