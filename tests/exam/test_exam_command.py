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


def test_a_passage_without_grades_leaves_cover_undefined_and_counted(assay, graded, tmp_path):
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 new 1 2 mine\nq2 Q0 p5 1 1 mine\n")
    done = assay("exam", graded, "--run", run, "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    (row,) = [one for one in document["scores"] if one["measure"] == "EXAM-Cover"]
    assert (row["value"], row["topics"], row["missing"]) == (0.5, 1, 1)
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
