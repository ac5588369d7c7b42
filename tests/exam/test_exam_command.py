"""``assay exam`` on a published collection of graded passages."""

import csv
import io
import json

import pytest

from tests.exam.cases import BANK, collection, write


@pytest.fixture
def graded(tmp_path):
    return write(tmp_path / "graded.jsonl.gz", collection())


def values(done, topic="all"):
    rows = csv.DictReader(io.StringIO(done.stdout))
    return {
        (row["run"], row["measure"]): float(row["value"]) for row in rows if row["topic"] == topic
    }


def test_cover_is_over_the_whole_bank_and_silence_is_0(assay, graded, tmp_path):
    bank = write(tmp_path / "bank.jsonl", BANK)
    found = values(assay("exam", graded, "--bank", bank, "--csv"))
    assert found["good", "EXAM-Cover"] == (3 / 4 + 1 / 2) / 2
    assert found["half", "EXAM-Cover"] == (2 / 4 + 0) / 2
    assert found["poor", "EXAM-Cover"] == 0.0
    # The pool answers 3 of 4 and 1 of 2.
    assert found["good", "EXAM-Cover-normalised"] == 1.0
    assert found["half", "EXAM-Cover-normalised"] == pytest.approx((2 / 3 + 0) / 2)
    answered = values(assay("exam", graded, "--bank", bank, "--csv", "--topics", "answered"))
    assert answered["half", "EXAM-Cover"] == 0.5
    lenient = values(assay("exam", graded, "--bank", bank, "--csv", "--tau", "3"))
    assert lenient["poor", "EXAM-Cover"] == (1 / 4 + 0) / 2
    first = values(assay("exam", graded, "--bank", bank, "--csv", "-k", "1"))
    assert first["good", "EXAM-Cover"] == (2 / 4 + 1 / 2) / 2


def test_exam_qrels_are_what_measure_says_of_the_written_qrels(assay, graded, tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    run.write_text("q1 Q0 p4 1 2 mine\nq1 Q0 p1 2 1 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--run", run, "--qrels", qrels, "--csv", "-m", "AP", "-m",
                 "nDCG@20", "-m", "RR")  # fmt: skip
    found = values(done)
    assert "q1 0 p1 5\n" in qrels.read_text()
    names = {"AP": "AP(rel=4)", "nDCG@20": "nDCG@20", "RR": "RR(rel=4)"}
    options = [option for name in names.values() for option in ("-m", name)]
    other = values(assay("measure", qrels, run, *options, "--csv"))
    for name, same in names.items():
        assert found["mine", name] == pytest.approx(other["mine", same])


def test_binary_qrels_hold_1_from_tau_on(assay, graded, tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    run.write_text("q1 Q0 p4 1 2 mine\nq1 Q0 p1 2 1 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--run", run, "--qrels", qrels, "--binary", "--tau", "3",
                 "-m", "AP", "--csv")  # fmt: skip
    judged = dict(line.split()[2:] for line in qrels.read_text().splitlines())
    assert judged == {"p1": "1", "p2": "1", "p3": "1", "p4": "0", "p5": "1", "p6": "0"}
    other = values(assay("measure", qrels, run, "-m", "AP", "--csv"))
    assert values(done)["mine", "AP"] == pytest.approx(other["mine", "AP"])
    assert assay("exam", graded, "--binary").returncode == 2  # of what?


def test_a_passage_without_grades_leaves_cover_open_and_is_counted(assay, graded, tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 new 1 2 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--run", run, "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    (row,) = [one for one in document["scores"] if one["measure"] == "EXAM-Cover"]
    assert (row["value"], row["topics"], row["missing"]) == (None, 2, 1)
    assert (row["floor"], row["ceiling"]) == ((0 + 1 / 2) / 2, (1 + 1 / 2) / 2)
    assert document["unjudged"] == {"mine": 1}


def test_the_sweep_has_every_tau(assay, graded):
    document = json.loads(assay("exam", graded, "--sweep", "--json").stdout)
    taus = {row["tau"] for row in document["scores"]}
    assert taus == {1, 2, 3, 4, 5}
    covers = [
        row["value"]
        for row in document["scores"]
        if (row["run"], row["measure"]) == ("poor", "EXAM-Cover")
    ]
    assert covers == sorted(covers, reverse=True)


def test_the_table_names_its_terms(assay, graded):
    done = assay("exam", graded)
    assert done.returncode == 0
    assert "τ = 4" in done.stdout
    assert "good" in done.stdout


def test_wrong_use(assay, graded, tmp_path):
    assert assay("exam", graded, "-m", "Nonsense").returncode == 2
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    done = assay("exam", empty)
    assert done.returncode == 2
    assert "no graded passages" in done.stderr
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text("q1 Q0 p4 1 2 mine\n")
    done = assay("exam", graded, "--run", tmp_path / "a.run", "--run", tmp_path / "b.run")
    assert done.returncode == 2
    assert "are both runs named mine" in done.stderr


def test_no_query_leaves_a_mean_because_grades_are_missing(assay, graded, tmp_path):
    bank = write(tmp_path / "bank.jsonl", BANK)
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 p1 1 9 mine\nq1 Q0 new 2 8 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--bank", bank, "--run", run, "--per-topic", "--csv")
    rows = {(row["topic"], row["measure"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
    row = rows["all", "EXAM-Cover"]
    assert (row["value"], row["floor"], row["ceiling"]) == ("", "0.5", "0.75")
    assert rows["q1", "EXAM-Cover"]["ceiling"] == "1.0"
    assert rows["q2", "EXAM-Cover"]["value"] == "0.5"
    # Of 3 questions that the pool answers "mine" answers 2, or all 4 of 4.
    row = rows["q1", "EXAM-Cover-normalised"]
    assert (float(row["floor"]), float(row["ceiling"])) == (pytest.approx(2 / 3), 1.0)
    shown = assay("exam", graded, "--bank", bank, "--run", run)
    assert "Means over 2 queries" in " ".join(shown.stdout.split())
    assert "depend on grades" in shown.stderr


def test_normalised_cover_is_over_all_queries(assay, tmp_path):
    rows = collection()
    for one in rows[1][1]:  # nothing answers the questions of q2
        one["exam_grades"][0]["self_ratings"] = [
            {**rating, "self_rating": 0} for rating in one["exam_grades"][0]["self_ratings"]
        ]
    done = assay("exam", write(tmp_path / "g.jsonl", rows), "--json")
    scores = {(one["run"], one["measure"]): one for one in json.loads(done.stdout)["scores"]}
    row = scores["good", "EXAM-Cover-normalised"]
    assert (row["value"], row["topics"]) == (0.5, 2)
    assert {one["topics"] for one in scores.values()} == {2}


def test_what_is_not_in_the_pool_is_not_missing(assay, graded, tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 p1 1 9 mine\nq1 Q0 new 2 8 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--run", run, "-k", "1", "--json")
    assert done.returncode == 0
    assert all(one["value"] is not None for one in json.loads(done.stdout)["scores"])


def test_ranks_that_the_file_does_not_hold_are_said_and_cover_nothing(assay, tmp_path):
    rows = collection()
    for query in rows:
        query[1] = [one for one in query[1] if one["paragraph_id"] != "p1"]
    done = assay("exam", write(tmp_path / "g.jsonl", rows), "--json")
    assert done.returncode == 0
    assert "2 ranks of the runs hold passages that are not in the file" in done.stderr


def test_a_query_without_any_grade_is_open(assay, tmp_path):
    rows = collection()
    for one in rows[1][1]:
        one["exam_grades"] = []
    done = assay("exam", write(tmp_path / "g.jsonl", rows), "--json")
    scores = {(one["run"], one["measure"]): one for one in json.loads(done.stdout)["scores"]}
    row = scores["good", "EXAM-Cover"]
    assert (row["value"], row["floor"], row["ceiling"]) == (None, 0.375, 0.875)


def test_a_query_may_be_called_as_means_are(assay, tmp_path):
    rows = collection()
    renamed = json.loads(json.dumps(rows).replace('"q2"', '"all"'))
    file = write(tmp_path / "graded.jsonl.gz", renamed)
    assert assay("exam", file).stdout == assay("exam", file, "--per-topic").stdout
    row = json.loads(assay("exam", file, "--json").stdout)["scores"][0]
    assert list(row)[-2:] == ["topics", "missing"]
