"""Answers in steps: nuggets of one passage at a time, then the answer from these alone."""

from __future__ import annotations

import json
import re

import pytest

from assay.formats.r2c2_ac import read_ac_run
from tests.engine.server import completion, serve

PR = (
    "1;1;Rocky;Carl Weathers plays Apollo Creed; the film is from 1976.\n"
    "1;2;Other;Another page about PASSAGE marks >>>.\n2;1;Rush;Chris Hemsworth plays James Hunt.\n"
)
QUESTIONS = "1\tWho played Apollo Creed?\n2\tWhom did Hemsworth play?\n3\tWhat else?\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "ONE.txt").write_text(PR)
    (tmp_path / "q.tsv").write_text(QUESTIONS)
    return tmp_path


def part(body, name):
    found = re.search(
        rf"{name}[^\n]*\n(.*?)\n[^\n]*{name}", body["messages"][1]["content"], re.DOTALL
    )
    return found.group(1)


def says(body, _number):
    """What a model that goes by the passage says, in one prompt or in steps."""
    question, text = part(body, "QUESTION"), body["messages"][1]["content"]
    knows = "Weathers" in text or "Hemsworth plays" in text
    answer = {"1": "Carl Weathers", "2": "James Hunt"}.get(
        "1" if "Weathers" in text else "2" if knows else "", "I don't know"
    )
    if "You read one passage" in body["messages"][0]["content"]:
        nuggets = [f"{part(body, 'PASSAGE')[:40]}"] if knows else []
        return completion(json.dumps({"nuggets": nuggets}))
    if "numbered facts" in body["messages"][0]["content"]:
        facts = ["FACT 1", 7] if knows else []
        return completion(json.dumps({"facts": facts, "answer": answer, "confidence": 80}))
    assert question
    nuggets = [{"passage": 1, "nugget": "As it says."}] if knows else []
    return completion(json.dumps({"nuggets": nuggets, "answer": answer, "confidence": 60}))


def command(place, server, *more):
    return [
        "answer", place / "q.tsv", "-o", place / "ac" / "MINE.txt", "--pr-runs", place / "ONE.txt",
        "--model", f"openai:m@{server.url}", *more,
    ]  # fmt: skip


def test_an_answer_stands_on_the_nuggets_that_it_names(assay, place):
    with serve(says) as server:
        done = assay(*command(place, server, "--steps", "--json"))
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 3 + 3  # passages, then questions
        again = json.loads(assay(*command(place, server, "--steps", "--json")).stdout)
        assert (again["asked"], len(server.requests)) == (0, 6)
    run = read_ac_run(place / "ac" / "MINE.txt").require().run
    assert run.answers["1"].text == "Carl Weathers"
    assert [(str(n.key), n.text) for n in run.answers["1"].nuggets] == [
        ("ONE;1", "Carl Weathers plays Apollo Creed; the fi")
    ]
    assert run.answers["3"].nuggets == ()
    side = [json.loads(x) for x in (place / "ac" / "MINE.unusable.jsonl").read_text().splitlines()]
    assert [(row["question"], row["what"], row["given"]) for row in side] == [
        ("1", "nugget", 7), ("2", "nugget", 7)
    ]  # fmt: skip
    manifest = json.loads((place / "ac" / "MINE.manifest.json").read_text())
    assert manifest["settings"]["steps"] is True
    done = assay("validate", place / "ac" / "MINE.txt", "--format", "r2c2-ac",
                 "--pr-runs", place / "ONE.txt")  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_facts_are_all_that_the_second_step_sees(assay, place):
    with serve(says) as server:
        assert assay(*command(place, server, "--steps")).returncode == 0
        bodies = [
            json.loads(one) if isinstance(one, (str, bytes)) else one for one in server.requests
        ]
    second = [b for b in bodies if "numbered facts" in json.dumps(b)]
    assert len(second) == 3
    assert not any("the film is from 1976" in json.dumps(one) for one in second)


def test_a_missing_nugget_reply_leaves_the_question_out(assay, place):
    def script(body, number):
        if "You read one passage" in body["messages"][0]["content"] and "Another" in str(
            body["messages"]
        ):
            return completion("no JSON at all")
        return says(body, number)

    with serve(script) as server:
        done = assay(*command(place, server, "--steps", "--json"))
    said = json.loads(done.stdout)
    # A reply that cannot be used gives no nuggets; the others are enough.
    assert done.returncode == 0, done.stderr
    assert (said["missing"], said["failed"]) == ([], [])
    assert said["unusable"] == 3


def test_both_ways_side_by_side(assay, place):
    with serve(says) as server:
        done = assay(*command(place, server, "--compare-prompts", "--json"))
        assert done.returncode == 0, done.stderr
        asked = len(server.requests)
        shown = assay(*command(place, server, "--compare-prompts"))
        assert len(server.requests) == asked == 3 + 6
        assert re.search(r"US dollars now +0\.0000 +0\.0000", shown.stdout)
        ahead = assay(*command(place, server, "--compare-prompts", "--dry-run", "--json"))
    found = json.loads(done.stdout)
    assert found["same_answers"] == 1
    assert found["answered_by_both"] == 3
    assert found["one_prompt"]["confidence"] == 60
    assert found["steps"]["confidence"] == 80
    assert found["steps"]["asked"] == 6
    assert found["one_prompt"]["unknown"] == found["steps"]["unknown"] == 1
    for name in ("MINE", "MINE-STEPS"):
        assert (place / "ac" / f"{name}.txt").is_file()
        assert (place / "ac" / f"{name}.manifest.json").is_file()
    assert "nuggets an answer" in shown.stdout
    assert "same answer on 100%" in shown.stdout
    assert ahead.returncode == 0
    assert assay(*command(place, server, "--compare-prompts", "--steps")).returncode == 2


def test_what_lies_ahead_before_anybody_is_asked(assay, place):
    with serve(says) as server:
        done = assay(*command(place, server, "--steps", "--dry-run", "--json"))
        rows = json.loads(done.stdout)
        assert not server.requests
    tasks = rows["tasks"] if isinstance(rows, dict) and "tasks" in rows else rows
    text = json.dumps(tasks)
    assert "Nuggets" in text
    assert "Answers" in text
    more = ("--protocol", "trec-rag", "--team", "t", "--model", "openai:m", "--steps")
    run = ("-o", place / "r.jsonl", "--pr-runs", place / "ONE.txt")
    wrong = assay("answer", place / "q.tsv", *run, *more)
    assert wrong.returncode == 2
    assert "only work with --protocol r2c2" in wrong.stderr
