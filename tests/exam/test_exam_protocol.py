"""The protocol ``exam`` through the command line, with labels that a file or a server gives."""

import csv
import gzip
import json

import pytest

from assay.formats.passages import cut, read_queries, read_responses
from assay.labellers.replies import UnusableReply, parse_reply
from assay.ledger import Ledger, NewLabel
from assay.model.labels import LabellerId, Status
from assay.tasks.base import unit_hash
from assay.tasks.exam import (
    EXTRACT,
    FAGGIOLI,
    SELF_RATING,
    THOMAS,
    ExtractUnit,
    RatingUnit,
)
from assay.tasks.trec_rag import RelevanceUnit
from tests.engine.server import completion, serve
from tests.exam.cases import BANK, GRADES, RUNS, collection, write

HEAD = """[evaluation]
protocol = "exam"
[inputs]
bank = "bank.jsonl"
runs = ["runs/*.run"]
passages = "passages.jsonl"
"""


def text(passage):
    return f"text of {passage}"


@pytest.fixture
def folder(tmp_path):
    """A folder with a bank, runs and passages; recorded.jsonl holds the grades as labels."""
    write(tmp_path / "bank.jsonl", BANK)
    (tmp_path / "runs").mkdir()
    for run, queries in RUNS.items():
        lines = [
            f"{query} Q0 {passage} {rank} {9 - rank} {run}\n"
            for query, ranked in queries.items()
            for rank, passage in enumerate(ranked, 1)
        ]
        (tmp_path / "runs" / f"{run}.run").write_text("".join(lines))
    passages = [{"id": p, "text": text(p)} for pool in GRADES.values() for p in pool]
    (tmp_path / "passages.jsonl").write_text("".join(json.dumps(p) + "\n" for p in passages))
    questions = {q["question_id"]: q["question_text"] for b in BANK for q in b["items"]}
    rows = [
        {
            "task": "exam.self_rating",
            "unit": {"passage": text(passage), "question": questions[question]},
            "verdict": {"rating": grade, "reason": f"because {grade}"},
        }
        for pool in GRADES.values()
        for passage, grades in pool.items()
        for question, grade in grades.items()
    ]
    (tmp_path / "recorded.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    toml(tmp_path, 'default = "recorded:recorded.jsonl"')
    return tmp_path


def toml(folder, labellers, more="", settings=""):
    (folder / "assay.toml").write_text(
        f"{HEAD}{more}[labellers]\n{labellers}\n[settings]\n{settings}\n"
    )


def scores(folder):
    with (folder / "out" / "scores.csv").open() as file:
        return {
            (row["run"], row["measure"]): row["value"] and float(row["value"])
            for row in csv.DictReader(file)
        }


def test_the_pool_is_graded_once_and_a_new_run_grades_only_what_is_new(assay, folder):
    first = assay("evaluate", folder, "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert document["judging"]["asked"] == 4 * 4 + 2 * 2  # p1 is in two runs, and asked about once
    assert scores(folder)["good", "EXAM-Cover"] == (3 / 4 + 1 / 2) / 2
    assert (folder / "out" / "qrels.txt").read_text().splitlines()[0] == "q1 0 p1 5"
    (folder / "runs" / "new.run").write_text("q1 Q0 p2 1 2 new\nq1 Q0 p9 2 1 new\n")
    with (folder / "passages.jsonl").open("a") as file:
        file.write(json.dumps({"id": "p9", "text": "never seen"}) + "\n")
    again = assay("evaluate", folder, "--json")
    assert again.returncode == 1  # the file has nothing to say about the new passage
    document = json.loads(again.stdout)
    assert (document["judging"]["known"], document["judging"]["unanswered"]) == (20, 4)
    with (folder / "out" / "scores.csv").open() as file:
        found = {(row["run"], row["measure"]): row for row in csv.DictReader(file)}
    row = found["new", "EXAM-Cover"]  # of q1; it is silent on q2
    assert (row["value"], row["floor"], row["ceiling"]) == ("", "0.125", "0.5")
    assert found["good", "EXAM-Cover"]["value"] == "0.625"
    row = found["good", "EXAM-Cover-normalised"]  # p9 may answer what no run answers
    assert (row["value"], row["floor"], row["ceiling"]) == ("", "0.875", "1.0")
    report = (folder / "out" / "report.html").read_text()
    assert "depend on missing grades" in report


def test_the_same_inputs_and_labels_give_the_same_bytes(assay, folder):
    def everything():
        return {p.name: p.read_bytes() for p in sorted((folder / "out").rglob("*")) if p.is_file()}

    assay("evaluate", folder)
    first = everything()
    assay("score", folder)
    assay("report", folder)
    assert everything() == first


def test_what_it_writes_scores_the_same_without_labels(assay, folder):
    assay("evaluate", folder)
    out = folder / "out"
    binary = dict(line.split()[2:] for line in (out / "qrels_binary.txt").read_text().splitlines())
    assert (binary["p1"], binary["p2"], binary["p3"]) == ("1", "1", "0")  # τ is 4
    graded = out / "workbench" / "graded.jsonl.gz"
    assert gzip.decompress(graded.read_bytes()) == (out / "grades.jsonl").read_bytes()
    assert '"llm":"recorded:recorded.jsonl"' in (out / "grades.jsonl").read_text()
    done = assay("exam", graded, "--bank", out / "workbench" / "question-bank.jsonl.gz", "--json")
    for row in json.loads(done.stdout)["scores"]:
        if row["measure"] != "EXAM-Cover-weighted":
            assert row["value"] == pytest.approx(scores(folder)[row["run"], row["measure"]])


def test_a_graded_file_needs_no_labeller(assay, tmp_path):
    write(tmp_path / "graded.jsonl.gz", collection())
    write(tmp_path / "bank.jsonl", BANK)
    (tmp_path / "qrels.txt").write_text("q1 0 p1 3\nq1 0 p4 1\nq1 0 p2 0\nq2 0 p5 2\nq2 0 p6 0\n")
    (tmp_path / "official.csv").write_text("run,score\ngood,0.5\nhalf,0.3\npoor,0.1\n")
    (tmp_path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "exam"\n[inputs]\ngraded = "graded.jsonl.gz"\n'
        'bank = "bank.jsonl"\nqrels = "qrels.txt"\nofficial = "official.csv"\n'
    )
    done = assay("evaluate", tmp_path)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "out" / "report.html").read_text()
    for words in (
        "Rescaled leaderboards",
        "Spearman",
        "EXAM-Labels and judgments",
        "EXAM-Cover by τ",
    ):
        assert words in report
    uncovered = list(csv.DictReader((tmp_path / "out" / "uncovered.csv").open()))
    assert [(row["passage"], row["judged"]) for row in uncovered] == [("p4", "1")]
    misled = list(csv.DictReader((tmp_path / "out" / "misled.csv").open()))
    assert [(row["passage"], row["question_id"]) for row in misled] == [("p2", "q1/c")]
    assert "Unknown, as grades are missing" not in report


def test_the_lists_say_what_is_unknown_before_anything_is_graded(assay, folder):
    toml(folder, 'default = "recorded:recorded.jsonl"', more='qrels = "judged.txt"\n')
    (folder / "judged.txt").write_text("q1 0 p1 1\nq1 0 p2 0\n")
    (folder / "recorded.jsonl").write_text("")
    done = assay("evaluate", folder)
    assert done.returncode == 1, done.stderr
    report = (folder / "out" / "report.html").read_text()
    assert "Unknown, as grades are missing: 1 passage judged relevant." in report
    assert "Unknown, as grades are missing: 1 passage judged not relevant." in report
    assert report.count("None known.") == 1


def test_grades_of_a_file_and_of_a_labeller_are_exported_under_both_names(assay, folder):
    given = collection()
    for _, passages in given:
        for one in passages:
            one["text"] = text(one["paragraph_id"])
            for grades in one["exam_grades"]:
                grades["self_ratings"] = [
                    rating for rating in grades["self_ratings"] if rating["question_id"] != "q1/a"
                ]
    write(folder / "graded.jsonl.gz", given)
    toml(folder, 'default = "recorded:recorded.jsonl"', 'graded = "graded.jsonl.gz"\n')
    done = assay("evaluate", folder)
    assert done.returncode == 0, done.stderr
    exported = (folder / "out" / "grades.jsonl").read_text()
    assert '"llm":"flan + recorded:recorded.jsonl"' in exported


def test_a_person_overrules_the_graded_file_which_is_exported_beside_it(assay, folder):
    given = collection()
    for _, passages in given:
        for one in passages:
            one["text"] = text(one["paragraph_id"])
    write(folder / "graded.jsonl.gz", given)
    toml(folder, 'default = "recorded:recorded.jsonl"', 'graded = "graded.jsonl.gz"\n')
    content = {"passage": text("p4"), "question": BANK[0]["items"][2]["question_text"]}
    unit = unit_hash(SELF_RATING.name, content)
    for kind, rating in (("model", 5), ("human", 4)):  # a model's label is not asked for
        label = NewLabel(
            "k", SELF_RATING.name, SELF_RATING.version, unit, content,
            LabellerId(f"{kind}:X", kind), Status.OK, {"rating": rating, "reason": ""},
        )  # fmt: skip
        with Ledger.open(folder / "labels.sqlite") as ledger:
            ledger.add([label])
        assert assay("score", folder).returncode == 0
        lines = (folder / "out" / "grades.jsonl").read_text().splitlines()
        ways = {one["paragraph_id"]: one["exam_grades"] for one in json.loads(lines[0])[1]}
        if kind == "model":
            assert [len(each) for each in ways.values()] == [1, 1, 1, 1]
    assert [len(each) for each in ways.values()] == [2, 2, 2, 2]  # another way of grading
    rated = {one["question_id"]: one["self_rating"] for one in ways["p4"][1]["self_ratings"]}
    assert rated == {**GRADES["q1"]["p4"], "q1/c": 4}
    assert ways["p4"][1]["llm"] == "flan + human:X"


def test_answers_are_extracted_checked_and_verified(assay, folder):
    bank = [
        {"query_id": "q1", "query_text": "skin", "items": [
            {"question_id": "b", "question_text": "Outer layer?", "gold_answers": ["epidermis"]}]}
    ]  # fmt: skip
    write(folder / "bank.jsonl", bank)
    said = {"p1": "the outermost one", "p2": "Epidermis.", "p3": "unanswerable", "p4": "a."}

    def answer(body, number):
        user = body["messages"][1]["content"]
        if "REFERENCE" in user:
            right = "outermost" in user or "Epidermis." in user
            return completion(json.dumps({"reason": "", "correct": "YES" if right else "NO",
                                          "nuggets": []}))  # fmt: skip
        found = next(words for name, words in said.items() if text(name) in user)
        return completion(json.dumps({"reason": "", "answer": found}))

    with serve(answer) as server:
        spec = f'default = "openai:m@{server.url}"'
        toml(folder, spec, settings='grading = "qa"')
        assert assay("evaluate", folder).returncode == 0
        asked = len(server.requests)
        plain = (folder / "out" / "qrels.txt").read_text()
        toml(folder, spec, settings='grading = "qa-verified"')
        assert assay("evaluate", folder).returncode == 0
        verified = (folder / "out" / "qrels.txt").read_text()
        assert (asked, len(server.requests)) == (4, 6)  # unanswerable and "a." are not verified
    assert plain.split("\n")[:4] == ["q1 0 p1 0", "q1 0 p2 1", "q1 0 p4 0", "q1 0 p3 0"]
    assert verified.split("\n")[:2] == ["q1 0 p1 1", "q1 0 p2 1"]


@pytest.mark.parametrize("name", ["thomas", "faggioli", "faggioli_few", "helm", "sun", "sun_few"])
def test_direct_graders_label_passages_and_take_other_wordings(assay, folder, name):
    (folder / "prompts").mkdir()
    (folder / "prompts" / f"exam_{name}.j2").write_text(
        "{% block system %}mine{% endblock %}"
        "{% block user %}{{ passage }} for {{ question }}{% endblock %}"
    )
    seen = []

    def answer(body, number):
        seen.append(body["messages"])
        good = "text of p1" in body["messages"][1]["content"]
        return completion(
            ("2" if good else "0") if name == "thomas" else ("Yes" if good else "No.")
        )

    with serve(answer) as server:
        toml(folder, f'default = "openai:m@{server.url}"', settings=f'grading = "direct:{name}"')
        done = assay("evaluate", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert {messages[0]["content"] for messages in seen} == {"mine"}
    measures = {row["measure"] for row in json.loads(done.stdout)["scores"]}
    assert measures == {"AP", "nDCG@20", "Rprec", "RR"}
    assert f"q1 0 p1 {2 if name == 'thomas' else 1}\n" in (folder / "out" / "qrels.txt").read_text()


def test_generated_responses_are_cut_into_passages(assay, folder):
    (folder / "gen.jsonl").write_text(
        json.dumps({"run": "llm", "query_id": "q1", "text": text("p1") + "\n\n" + text("p4")})
        + "\n"
    )
    toml(folder, 'default = "recorded:recorded.jsonl"', more='responses = "gen.jsonl"\n')
    done = assay("evaluate", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert scores(folder)["llm", "EXAM-Cover"] == (2 / 4 + 0) / 2
    assert "q1 0 llm/q1/1 5\n" in (folder / "out" / "qrels.txt").read_text()


def test_a_response_that_repeats_itself_has_the_scores_that_it_would_have_without(assay, folder):
    once = f"{text('p1')}. And so on.\n\n{text('p4')}"
    again = [
        "",
        once,
        once.lower(),
        f"{text('p4')}!   {text('p1').upper()}",
        once.replace("so", " so"),
    ]
    said = {"once": once, "often": "\n\n".join([once, *again, "Something new."])}
    (folder / "gen.jsonl").write_text(
        "".join(
            json.dumps({"run": run, "query_id": "q1", "text": said[run]}) + "\n" for run in said
        )
    )
    toml(folder, "default = 'rated:rated'", more='responses = "gen.jsonl"\n')
    (folder.parent / "rated.py").write_text(
        "def rated(task, unit):\n    return {'rating': 0 if 'new' in unit['passage'] else 5}\n"
    )
    done = assay("evaluate", folder, "--json", env={"PYTHONPATH": str(folder.parent)})
    assert done.returncode == 0, done.stderr
    (warned,) = json.loads(done.stdout)["warnings"]
    assert "7 passages of “often” repeated within a response" in warned
    found = scores(folder)
    for measure in ("EXAM-Cover", "AP", "nDCG@20", "RR", "α-nDCG@20"):
        assert found["often", measure] == found["once", measure]
    assert "q1 0 often/q1/10 0\n" in (folder / "out" / "qrels.txt").read_text()


@pytest.mark.parametrize(
    ("settings", "more", "says"),
    [
        ('grading = "qa"', "", "have no gold answers"),
        ('grading = "guess"', "", "must be one of"),
        ('measures = ["Nonsense"]', "", "unknown measure"),
        ("", 'queries = "none.tsv"\n', "matches no file"),
    ],
)
def test_wrong_settings_say_what_to_do(assay, folder, settings, more, says):
    toml(folder, 'default = "recorded:recorded.jsonl"', more=more, settings=settings)
    done = assay("evaluate", folder)
    assert done.returncode == 2
    assert says in done.stderr


def test_passages_without_text_are_named(assay, folder):
    (folder / "passages.jsonl").write_text(json.dumps({"id": "p1", "text": "x"}) + "\n")
    done = assay("judge", folder)
    assert done.returncode == 2
    assert "have no text, the first is 'p2'" in done.stderr


def test_a_passage_has_one_text_in_all_files(assay, folder):
    (folder / "more.jsonl").write_text(json.dumps({"id": "p1", "text": "another"}) + "\n")
    file = folder / "assay.toml"
    entry = 'passages = ["passages.jsonl", "more.jsonl"]'
    file.write_text(file.read_text().replace('passages = "passages.jsonl"', entry))
    done = assay("judge", folder)
    assert done.returncode == 2
    assert "more.jsonl The passage “p1” has a different text in another file." in done.stderr


RATING = RatingUnit(passage="p", question="q")


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ('{"rating": 4}', 4),
        ("4", 4),
        ("Rating: 3.", 3),
        ("The epidermis is the outer layer.", 1),  # answered, without a number
        ("Unanswerable.", 0),
        ("It does not say", 0),
        ("no", 0),
    ],
)
def test_a_rating_without_a_number_is_1_and_an_unanswerable_one_0(reply, rating):
    assert parse_reply(SELF_RATING, RATING, reply).rating == rating


@pytest.mark.parametrize(
    "reply", ["", "4 or 5", "7", "-1", "in 1984", "3.5", "10", '{"rating": 6}']
)
def test_no_rating_is_guessed_from_other_numbers(reply):
    with pytest.raises(UnusableReply):
        parse_reply(SELF_RATING, RATING, reply)


def test_plain_answers_and_grades():
    unit = ExtractUnit(passage="p", question="q")
    assert parse_reply(EXTRACT, unit, "rising").answer == "rising"
    direct = RelevanceUnit(passage="p", question="q")
    assert parse_reply(FAGGIOLI, direct, "Yes, it does.").relevant is True
    assert parse_reply(THOMAS, direct, "Answer: 2").grade == 2
    for reply in ("Maybe yes", "Yes or no?"):
        with pytest.raises(UnusableReply):
            parse_reply(FAGGIOLI, direct, reply)


def test_texts_are_cut_without_losing_a_word(tmp_path):
    long = " ".join(f"Sentence {n} has five words." for n in range(30))
    parts = cut(f"Short.\n\n{long}", 40)
    assert " ".join(parts).split() == f"Short. {long}".split()
    assert all(len(part.split()) <= 40 for part in parts)
    assert [len(part) for part in cut("東京は首都だ。" * 6, 20)] == [15, 15, 15]
    (tmp_path / "r.jsonl").write_text('{"run": "a", "query_id": "q"}\n{\n')
    assert [fault.line for fault in read_responses(tmp_path / "r.jsonl").errors] == [1, 2]
    (tmp_path / "q.tsv").write_text("q\tskin\tq/1\tlayers\nq\tskin\tq/2\tageing\nbroken\n")
    parsed = read_queries(tmp_path / "q.tsv")
    assert [query.facet for query in parsed.value] == ["q/1", "q/2"]
    assert parsed.errors[0].line == 3
