"""``assay bank``: generating, editing with a history, and what a change moves."""

import json

import pytest
from typer.testing import CliRunner

from assay.cli.bank import app
from assay.model.errors import AssayError
from tests.engine.server import completion, serve
from tests.exam.test_exam_protocol import folder, toml

__all__ = ["folder"]


@pytest.fixture
def bank():
    """``assay bank …`` in this process: a dozen of its own would take half a minute."""

    def run(*arguments):
        done = CliRunner().invoke(app, [str(one) for one in arguments])
        if done.exception and not isinstance(done.exception, (SystemExit, AssayError)):
            raise done.exception
        return done

    return run


def shown(bank, path):
    return json.loads(bank("list", path, "--json").stdout)


def test_edits_are_recorded_and_any_version_can_be_had_back(bank, folder):
    file = folder / "bank.jsonl"
    first = shown(bank, folder)
    assert first["version"] == 0
    bank("edit", file, "--by", "KIM", "--reword", "q1/a", "--text", "Name the layers.")
    bank("edit", file, "--by", "KIM", "--drop", "q1/d")
    bank("edit", file, "--by", "LEE", "--weigh", "q1/b", "--weight", "3")
    bank("edit", file, "--by", "LEE", "--key", "q1/c", "--gold", "it insulates")
    done = bank("edit", folder, "--by", "LEE", "--add", "Why itch?", "--query", "q1")
    assert "Version 5" in done.stdout
    now = shown(bank, file)
    assert now["version"] == 5
    found = {row["id"]: row for row in now["questions"]}
    assert found["q1/a"]["question"] == "Name the layers."
    assert (found["q1/d"]["active"], found["q1/b"]["weight"]) == (False, 3.0)
    assert now["questions"][4]["origin"] == "LEE"
    history = json.loads(bank("list", file, "--history", "--json").stdout)
    assert [(one["by"], one["action"]) for one in history] == [
        ("KIM", "reword"), ("KIM", "drop"), ("LEE", "weigh"), ("LEE", "key"), ("LEE", "add"),
    ]  # fmt: skip
    assert "Why itch?" in bank("list", file, "--history", "--csv").stdout
    diff = json.loads(bank("diff", f"{file}@0", file, "--json").stdout)
    assert [(one["id"], one["what"]) for one in diff["changes"]][:4] == [
        ("q1/a", "reworded"), ("q1/b", "weight"), ("q1/c", "key"), ("q1/d", "dropped"),
    ]  # fmt: skip
    assert bank("diff", f"{file}@5", file).exit_code == 0
    restored = bank("edit", file, "--by", "KIM", "--restore", "q1/d")
    assert restored.exit_code == 0
    back = bank("diff", f"{file}@1", f"{file}@0", "--json")
    assert [one["what"] for one in json.loads(back.stdout)["changes"]] == ["reworded"]


def test_a_diff_lists_the_passages_and_runs_that_it_moves(assay, bank, folder):
    assay("evaluate", folder)
    file = folder / "bank.jsonl"
    bank("edit", file, "--by", "KIM", "--drop", "q1/a")
    done = bank("diff", f"{file}@0", file, "--folder", folder, "--json")
    document = json.loads(done.stdout)
    # Without q1/a the best grade of p1 falls from 5 to 4; that of p2 stays.
    assert document["passages"] == [{"query": "q1", "passage": "p1", "before": 5, "after": 4}]
    assert document["runs"] == [
        {"run": "good", "before": 0.625, "after": pytest.approx((2 / 3 + 1 / 2) / 2)},
        {"run": "half", "before": 0.25, "after": pytest.approx((1 / 3 + 0) / 2)},
    ]
    scores = {(one["run"], one["measure"]): one for one in document["scores"]}
    assert scores["good", "EXAM-Cover"]["before"] == 0.625
    # The rankings' scores rest on the labels: their moves are listed too.
    assert scores["half", "nDCG@20"]["before"] != scores["half", "nDCG@20"]["after"]
    assert ("poor", "EXAM-Cover") not in scores
    told = bank("diff", f"{file}@0", file, "--folder", folder)
    assert told.exit_code == 1
    assert "nDCG@20" in told.stdout
    assert "Passages whose label moves (1)" in told.stdout
    bank("edit", file, "--by", "KIM", "--reword", "q1/b", "--text", "New words?")
    document = json.loads(bank("diff", f"{file}@0", file, "--folder", folder, "--json").stdout)
    assert document["grades_missing"] == {"before": 0, "after": 4}


def test_a_diff_in_a_folder_of_several_protocols_and_by_another_labeller(assay, bank, folder):
    toml(folder, 'default = "rules"')
    text = (folder / "assay.toml").read_text()
    several = text.replace('protocol = "exam"', 'protocol = ["exam", "sgss"]')
    (folder / "assay.toml").write_text(several)
    summary = {
        "query_id": "q", "query": "q", "summariser": "A", "overview": {"text": "o"},
        "sections": [], "doclist": [],
    }  # fmt: skip
    (folder / "summaries.jsonl").write_text(json.dumps(summary) + "\n")
    inputs = several.replace("[labellers]", 'summaries = "summaries.jsonl"\n[labellers]')
    (folder / "assay.toml").write_text(inputs)
    recorded = ("--labeller", "recorded:recorded.jsonl")
    assay("evaluate", folder, *recorded)
    file = folder / "bank.jsonl"
    bank("edit", folder, "--by", "KIM", "--drop", "q1/a")
    done = bank("diff", f"{file}@0", file, "--folder", folder, *recorded, "--json")
    document = json.loads(done.stdout)
    assert document["grades_missing"] == {"before": 0, "after": 0}
    assert document["passages"] == [{"query": "q1", "passage": "p1", "before": 5, "after": 4}]


def test_questions_are_generated_for_queries_and_subtopics(assay, bank, folder):
    (folder / "queries.tsv").write_text("q1\tskin\tq1/s1\tlayers\nq1\tskin\tq1/s2\tageing\n")

    def write(body, number):
        user = body["messages"][1]["content"]
        about = "layers" if "layers" in user else "ageing"
        questions = [f"What of {about}, {n}?" for n in (1, 2)]
        return completion(json.dumps({"questions": questions}))

    with serve(write) as server:
        toml(folder, f'default = "openai:m@{server.url}"', more='queries = "queries.tsv"\n')
        command = ("bank", "generate", folder, "--count", "2", "--out", folder / "new.jsonl")
        done = assay(*command)
        assert done.returncode == 0, done.stderr
        assert "4 questions added" in done.stdout
        again = assay(*command, "--json")
        assert json.loads(again.stdout)["added"] == 0  # they are there, and nothing is asked twice
        assert len(server.requests) == 2
    rows = shown(bank, folder / "new.jsonl")["questions"]
    assert [(row["facet"], row["origin"]) for row in rows] == [
        ("q1/s1", "openai:m"), ("q1/s1", "openai:m"), ("q1/s2", "openai:m"), ("q1/s2", "openai:m"),
    ]  # fmt: skip


def test_a_wrong_number_of_questions_is_a_failure_that_is_told(assay, folder):
    (folder / "queries.tsv").write_text("q1\tskin\n")
    with serve(lambda body, n: completion('{"questions": ["One?"]}')) as server:
        toml(folder, f'default = "openai:m@{server.url}"', more='queries = "queries.tsv"\n')
        done = assay("bank", "generate", folder, "--count", "2", "--out", folder / "new.jsonl")
    assert done.returncode == 1
    assert "no questions yet" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--drop", "none"), "There is no question 'none'"),
        (("--drop", "q1/a", "--restore", "q1/a"), "give one of"),
        (("--restore", "q1/a"), "Nothing changes"),
        (("--add", "x?"), "--query"),
        (("--reword", "q1/a"), "--text"),
    ],
)
def test_wrong_edits(bank, folder, arguments, says):
    done = bank("edit", folder / "bank.jsonl", "--by", "KIM", *arguments)
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)
    assert not (folder / "bank.history.jsonl").exists()
