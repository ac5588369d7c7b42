"""``assay bank``: generating, editing with a history, and what a change moves."""

import csv
import gzip
import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from assay.cli.bank import app
from assay.model.errors import AssayError
from assay.web.bank import _wanted
from assay.web.desk import Refused
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
    began = datetime.now(UTC).replace(microsecond=0)
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
    assert began <= datetime.fromisoformat(history[0]["at"])
    assert history == sorted(history, key=lambda one: one["at"])
    table = list(csv.reader(bank("list", file, "--history", "--csv").stdout.splitlines()))
    assert [(row[3], row[-2:]) for row in table[3:]] == [
        ("weigh", ["1", "3"]), ("key", ["", "it insulates"]), ("add", ["", "Why itch?"]),
    ]  # fmt: skip
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
    assert type(document["passages"][0]["before"]) is int
    assert document["runs"] == [
        {"run": "good", "before": 0.625, "after": pytest.approx((2 / 3 + 1 / 2) / 2)},
        {"run": "half", "before": 0.25, "after": pytest.approx((1 / 3 + 0) / 2)},
    ]
    scores = {(one["run"], one["measure"]): one for one in document["scores"]}
    assert scores["good", "EXAM-Cover"]["before"] == 0.625
    # The rankings' scores rest on the labels: their moves are listed too.
    assert scores["half", "nDCG@20"]["before"] != scores["half", "nDCG@20"]["after"]
    assert ("poor", "EXAM-Cover") not in scores
    assert ("half", "EXAM-Cover-weighted") not in scores  # no weight makes a difference
    bank("edit", file, "--by", "KIM", "--weigh", "q1/b", "--weight", "2")
    done = bank("diff", f"{file}@1", file, "--folder", folder, "--json")
    (first, *_) = json.loads(done.stdout)["scores"]
    assert first == {
        "run": "good", "measure": "EXAM-Cover-weighted",
        "before": pytest.approx((2 / 3 + 1 / 2) / 2), "after": pytest.approx((3 / 4 + 1 / 2) / 2),
    }  # fmt: skip
    bank("edit", file, "--by", "KIM", "--weigh", "q1/b", "--weight", "1")
    told = bank("diff", f"{file}@0", file, "--folder", folder)
    assert told.exit_code == 1
    assert "nDCG@20" in told.stdout
    assert "Passages whose label changes (1)" in told.stdout
    bank("edit", file, "--by", "KIM", "--reword", "q1/b", "--text", "New words?")
    document = json.loads(bank("diff", f"{file}@0", file, "--folder", folder, "--json").stdout)
    assert document["grades_missing"] == {"before": 0, "after": 4}
    # p1 alone answered q1/b; nobody has been asked the new words.
    scores = {(one["run"], one["measure"]): one for one in document["scores"]}
    half = scores["half", "EXAM-Cover"]
    assert (half["before"], half["after"]) == (0.25, None)
    assert (half["after_floor"], half["after_ceiling"]) == (0.0, (1 / 3 + 0) / 2)
    labels = {one["passage"]: one for one in document["passages"]}
    assert labels["p1"] == {
        "query": "q1", "passage": "p1", "before": 5, "after": None,
        "after_floor": 0, "after_ceiling": 5,
    }  # fmt: skip
    told = bank("diff", f"{file}@0", file, "--folder", folder).stdout
    assert ".00–.17" in told
    assert "0–5" in told


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
        assert "needs the price of 'm'" in assay(*command, "--budget", "1").stderr
        assert len(server.requests) == 2
    new = folder / "new.jsonl"
    history = json.loads(bank("list", new, "--history", "--json").stdout)
    assert [(one["by"], one["action"]) for one in history] == [("openai:m", "generate")] * 4
    first = json.loads(bank("diff", f"{new}@0", new, "--json").stdout)["changes"]
    assert [one["what"] for one in first] == ["added"] * 4
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
    assert (
        "have no questions:\n  q1: unusable reply: 'questions' must hold 2 entries; it holds 1"
        in done.stderr
    )
    assert "0 questions added" in done.stdout
    assert not (folder / "new.jsonl").exists()
    assert not (folder / "new.history.jsonl").exists()


def test_a_version_that_is_not_there_is_named(bank, folder):
    file = folder / "bank.jsonl"
    late = bank("diff", f"{file}@1", file)
    assert "has 0 edits; there is no version 1" in str(late.exception)
    for name in (f"{file}@one", f"{folder}/none.jsonl", f"{folder}/none.jsonl@0"):
        assert name.removesuffix("@0") in str(bank("diff", name, file).exception)
    named = folder / "bank@7"
    named.write_bytes(file.read_bytes())
    assert bank("diff", file, named).exit_code == 0
    done = bank("edit", file, "--by", "KIM", "--add", "Why?", "--query", "q9")
    assert "the query 'q9' is new to the bank" in done.stdout
    file.write_bytes(named.read_bytes())
    assert "edited by hand" in str(bank("diff", f"{file}@0", file).exception)


def test_what_an_edit_does_not_concern_stays(bank, tmp_path, shared_data):
    given = (shared_data / "data" / "exam" / "dl19-rubric-questions.jsonl.gz").read_bytes()
    file = tmp_path / "bank.jsonl.gz"
    file.write_bytes(given)
    rows = [json.loads(line) for line in gzip.decompress(given).splitlines()]
    item = rows[3]["items"][2]
    bank("edit", file, "--by", "KIM", "--drop", item["question_id"])
    bank("edit", file, "--by", "KIM", "--add", "Why so?", "--query", rows[3]["query_id"])
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    now = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    added = now[3]["items"].pop()
    assert (added["question_text"], added["origin"]) == ("Why so?", "KIM")
    item["active"] = False
    assert now == rows  # 'info' and 'hash' among it
    assert bank("diff", f"{file}@0", file, "--json").exit_code == 1


def test_a_bank_and_its_compressed_copy_have_a_history_each(bank, tmp_path):
    for name in ("bank.tsv", "bank.jsonl"):
        plain, packed = tmp_path / name, tmp_path / f"{name}.gz"
        text = "question_text\tquery_id\nWhat?\tq1\nHow?\tq1\n"
        if name.endswith("jsonl"):
            text = '{"qid": "q1", "question": "What?"}\n{"qid": "q1", "question": "How?"}\n'
        plain.write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
        one, other = (row["id"] for row in shown(bank, plain)["questions"])
        bank("edit", plain, "--by", "KIM", "--drop", one)
        bank("edit", plain, "--by", "KIM", "--drop", other)
        bank("edit", packed, "--by", "LEE", "--drop", other)
        for file, who in ((plain, ["KIM", "KIM"]), (packed, ["LEE"])):
            edits = json.loads(bank("list", file, "--history", "--json").stdout)
            assert [edit["by"] for edit in edits] == who
            first = bank("diff", f"{file}@0", file, "--json")
            assert len(json.loads(first.stdout)["changes"]) == len(who)


def test_a_table_stays_a_table(bank, tmp_path):
    file = tmp_path / "bank.tsv"
    file.write_text("question_text\tquery_id\tgold_answers\nWhat?\tq1\ta | b\nHow?\tq2\t\n")
    found = {row["query"]: row["id"] for row in shown(bank, file)["questions"]}
    bank("edit", file, "--by", "KIM", "--drop", found["q2"])
    bank("edit", file, "--by", "KIM", "--reword", found["q1"], "--text", "What then?")
    bank("edit", file, "--by", "KIM", "--add", "Who?", "--query", "q2", "--weight", "1.5")
    rows = list(csv.DictReader(file.open(), delimiter="\t"))
    assert list(rows[0])[:3] == ["question_text", "query_id", "gold_answers"]
    first, second, third = ({name: cell for name, cell in row.items() if cell} for row in rows)
    assert first == {
        "question_text": "What then?", "query_id": "q1", "gold_answers": "a | b",
        "question_id": found["q1"],
    }  # fmt: skip
    assert second == {"question_text": "How?", "query_id": "q2", "active": "no"}
    assert (third["question_text"], third["weight"], third["origin"]) == ("Who?", "1.5", "KIM")
    rows = {row["question"]: row for row in shown(bank, file)["questions"]}
    assert rows["What then?"]["id"] == found["q1"]
    assert (rows["How?"]["active"], rows["Who?"]["weight"]) == (False, 1.5)
    before = file.read_bytes()
    done = bank("edit", file, "--by", "KIM", "--key", found["q1"], "--gold", "a\tb")
    assert done.exit_code != 0
    assert "a table cannot hold" in str(done.exception)
    assert file.read_bytes() == before
    assert len(json.loads(bank("list", file, "--history", "--json").stdout)) == 3


def test_tqa_files_are_not_overwritten(bank, tmp_path):
    file = tmp_path / "tqa.json"
    file.write_text("""[{"globalID": "L", "lessonName": "skin", "questions": {"nonDiagramQuestions":
        {"N": {"beingAsked": {"processedText": "Layer?"}, "correctAnswer": {"processedText": "a"},
        "answerChoices": {"a": {"processedText": "dermis"}}}}}}]""")
    before = file.read_bytes()
    done = bank("edit", file, "--by", "KIM", "--drop", "N")
    assert "TQA's own JSON" in str(done.exception)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--drop", "none"), "There is no question 'none'"),
        (("--drop", "q1/a", "--restore", "q1/a"), "give one of"),
        (("--restore", "q1/a"), "Nothing changes"),
        (("--add", "x?"), "--query"),
        (("--reword", "q1/a"), "--text"),
        (("--reword", "q1/a", "--text", " "), "--reword needs --text"),
        (("--key", "q1/a"), "--gold"),
        (("--key", "q1/a", "--gold", " "), "--gold"),
        (("--weigh", "q1/a", "--weight", "nan"), "must be a number, not nan"),
        (("--weigh", "q1/a", "--weight", "inf"), "must be 0 or more"),
        (("--add", " ", "--query", "q1"), "needs text"),
        (("--drop", "q1/a", "--text", "x?"), "--text does not go with --drop"),
        (("--weigh", "q1/a", "--weight", "2", "--gold", "x"), "--gold does not go with --weigh"),
        (("--drop", "q1/a", "--by", " "), "who edits"),
    ],
)
def test_wrong_edits(bank, folder, arguments, says):
    done = bank("edit", folder / "bank.jsonl", "--by", "KIM", *arguments)
    assert done.exit_code != 0
    assert says in done.output + str(done.exception)
    assert not (folder / "bank.history.jsonl").exists()


@pytest.mark.parametrize("weight", [None, True, "3", -1, 1e308, [1]])
def test_a_page_may_send_any_weight(folder, weight):
    with pytest.raises(Refused, match="A weight is a number"):
        _wanted({"action": "weigh", "id": "q1/a", "query": "q1", "weight": weight}, folder)
