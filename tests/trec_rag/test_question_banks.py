"""Nugget banks of questions: RAGTIME and Auto-Judge, AND and OR."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from assay.formats.question_banks import read_question_banks
from assay.formats.trec_rag_topics import read_topics
from assay.measures.questions import question_value, questions_range

RAGTIME = {
    "metadata": {"team_id": "t", "topic_id": "2001", "run_id": "r", "run_desc": "d"},
    "nugget_bank": [
        {"question": "Which towns?", "aggregator_type": "AND",
         "answers": [{"answer": one, "references": ["d1"]} for one in ("x", "y", "z")]},
        {"question": "Which river?", "aggregator_type": "OR",
         "answers": [{"answer": one, "references": ["d2"]} for one in ("u", "v")]},
        {"question": "Who paid?", "aggregator_type": "OR", "answers": []},
    ],
}  # fmt: skip
AUTO_JUDGE = {
    "query_id": "7",
    "title_query": "fares",
    "format_version": "v3",
    "nugget_bank": {
        "Which towns?": {
            "question": "Which towns?", "question_id": "ab", "query_id": "7", "importance": "okay",
            "answers": {"x": {"answer": "x", "references": [{"doc_id": "d1", "extra": 1}]}},
            "aggregator_type": "Default",
        },
    },
    "claim_bank": {"Fares rose.": {"claim": "Fares rose.", "claim_id": "cd"}},
}  # fmt: skip


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_golden_and_or():
    given = (True, False, True)
    assert [question_value(kind, given) for kind in ("OR", "AND", "NOT", "SUM")] == [
        1, 0, 0, pytest.approx(2 / 3),
    ]  # fmt: skip
    assert question_value("AND", given, partly=True) == pytest.approx(2 / 3)
    assert question_value("OR", ()) is None
    assert questions_range([("AND", (True, None)), ("NOT", (None,)), ("OR", ())]) == (0, 1)
    assert questions_range([("OR", (True, None)), ("NOT", (True, None))]) == (0.5, 0.5)


def test_banks_of_both_tracks_are_one_type(tmp_path):
    found = read_question_banks(lines(tmp_path / "b.jsonl", RAGTIME))
    bank = found.require()["2001"]
    assert [(one.text, one.kind, len(one.answers)) for one in bank.questions] == [
        ("Which towns?", "AND", 3), ("Which river?", "OR", 2), ("Who paid?", "OR", 0),
    ]  # fmt: skip
    assert any("No gold answer for 1 of 3" in one.why for one in found.warnings)
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(AUTO_JUDGE, indent=1).encode()))
    bank = read_question_banks(packed).require()["7"]
    (question,) = bank.questions
    assert (question.kind, question.importance) == ("OR", "okay")
    assert question.answers[0] == ("x", ("d1",))
    assert bank.claims == ("Fares rose.",)


def test_all_faults_of_banks_are_told(assay, tmp_path):
    bad = {**RAGTIME["nugget_bank"][0], "aggregator_type": "XOR"}
    file = lines(
        tmp_path / "b.jsonl",
        RAGTIME,
        RAGTIME,
        {"nugget_bank": []},
        {"topic_id": 3, "nugget_bank": "none"},
        {"topic_id": 4, "nugget_bank": [bad, {"answers": []}]},
        {"topic_id": 5, "nugget_bank": [{"question": "q", "answers": [{"references": []}]}]},
    )
    done = assay("validate", file)
    assert done.returncode == 1
    for said in ("on line 1", "no topic id", "holds no questions", "is not an aggregator",
                 "has no text"):  # fmt: skip
        assert said in done.stdout, said
    assert assay("validate", lines(tmp_path / "g.jsonl", AUTO_JUDGE)).returncode == 0


def test_answers_are_scored_by_the_questions_that_they_settle(assay, tmp_path):
    bank = lines(tmp_path / "bank.jsonl", RAGTIME)
    made = assay("nuggets", "from-bank", bank).stdout
    (nuggets,) = map(json.loads, made.splitlines())
    assert len(nuggets["nuggets"]) == 5
    given = {"Which towns? x", "Which towns? z", "Which river? v"}
    for one in nuggets["nuggets"]:
        one["assignment"] = "support" if one["text"] in given else "not_support"
    file = lines(tmp_path / "a.jsonl", {**nuggets, "run_id": "r"})
    for options, value in (([], 0.5), (["--partly"], (2 / 3 + 1) / 2)):
        done = assay("nuggets", file, "--bank", bank, "--csv", *options)
        rows = {row["measure"]: row["value"] for row in csv.DictReader(io.StringIO(done.stdout))}
        assert float(rows["questions"]) == pytest.approx(value)
        assert float(rows["coverage"]) == 1
    other = lines(tmp_path / "o.jsonl", {**RAGTIME, "metadata": {"topic_id": "1"}})
    assert "no topic 2001" in assay("nuggets", file, "--bank", other).stderr


def test_an_answer_of_ragtime_is_a_valid_answer(assay, tmp_path):
    file = lines(
        tmp_path / "t1.jsonl",
        {
            "metadata": {"team_id": "t", "topic_id": "2001", "run_id": "r1", "run_desc": "x"},
            "responses": [{"text": "Fares rose.", "citations": {"doc-1": 0.9, "doc-2": 0.5}}],
        },
    )
    done = assay("validate", file)
    assert done.returncode == 0
    assert "1 answer" in done.stdout


def test_topics_of_ragtime_are_read_whole_and_back_to_back(tmp_path):
    row = {"topic_id": "2001", "title": "Fares", "problem_statement": "I ask.", "background": "b."}
    file = tmp_path / "topics.jsonl"
    file.write_text(json.dumps(row) + " " + json.dumps({**row, "topic_id": "2002"}) + "\n")
    parsed = read_topics(file)
    assert [(one.id, one.text) for one in parsed.require()] == [
        ("2001", "Fares I ask. b."), ("2002", "Fares I ask. b."),
    ]  # fmt: skip
    assert "2 JSON documents are on one line" in parsed.warnings[0].why
    file.write_text(json.dumps(row) + " {broken")
    assert not read_topics(file).ok
