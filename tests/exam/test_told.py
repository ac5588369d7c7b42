"""What an evaluation says beside its scores: gaps, counts, columns, what was said of a pair."""

import csv
import json

import pytest

from tests.exam.cases import BANK, GRADES, collection, write
from tests.exam.test_bank_command import bank
from tests.exam.test_exam_protocol import folder, toml

__all__ = ["bank", "folder"]

RECORDED = 'default = "recorded:recorded.jsonl"'


def test_the_manifest_names_alpha_ndcg_as_assay_measure_takes_it(assay, folder):
    toml(folder, RECORDED, settings='measures = ["α-nDCG(alpha=0.3)@2"]')
    assert assay("evaluate", folder).returncode == 0
    reproduce = json.loads((folder / "out" / "manifest.json").read_text())["reproduce"]
    assert any("-m 'α-nDCG(alpha=0.3,rel=4)@2'" in command for command in reproduce)


@pytest.mark.parametrize("judged", [False, True])
def test_judged_passages_are_of_the_pool_under_another_bank_too(assay, bank, folder, judged):
    toml(folder, RECORDED, 'qrels = "judged.txt"\n', settings="k = 1")
    (folder / "judged.txt").write_text(f"q1 0 {'p2' if judged else 'p1'} 1\n")
    assert assay("evaluate", folder).returncode == 0
    file = folder / "bank.jsonl"
    bank("edit", file, "--by", "KIM", "--drop", "q1/c")  # what p2 answers best
    moved = json.loads(bank("diff", f"{file}@0", file, "--folder", folder, "--json").stdout)
    expected = {"query": "q1", "passage": "p2", "before": 4, "after": 1}
    assert moved["passages"] == ([expected] if judged else [])


def test_queries_without_active_questions_are_counted(assay, folder):
    write(folder / "bank.jsonl", [*BANK, *({"query_id": q, "items": []} for q in ("q3", "q4"))])
    done = assay("evaluate", folder)
    assert done.returncode == 0
    assert "2 queries without active questions. They are not scored." in done.stdout


def test_it_is_said_that_answers_may_still_be_verified(assay, folder):
    keyed = [dict(query, items=[{**one, "gold_answers": ["x"]} for one in query["items"]])
             for query in BANK]  # fmt: skip
    write(folder / "bank.jsonl", keyed)
    for grading in ("qa", "qa-verified"):
        toml(folder, RECORDED, settings=f'grading = "{grading}"')
        said = assay("judge", folder, "--dry-run")
        waits = "once earlier ones are known: answer verification." in said.stdout + said.stderr
        assert waits == (grading == "qa-verified")


def test_what_the_graded_file_says_of_a_pair_is_listed(assay, tmp_path):
    write(tmp_path / "graded.jsonl.gz", collection())
    write(tmp_path / "bank.jsonl", BANK)
    (tmp_path / "assay.toml").write_text(
        '[evaluation]\nprotocol = "exam"\n[inputs]\ngraded = "graded.jsonl.gz"\n'
        'bank = "bank.jsonl"\n'
    )
    assert assay("evaluate", tmp_path).returncode == 0
    rows = list(csv.DictReader((tmp_path / "out" / "answers.csv").open()))
    said = {(row["passage"], row["question_id"]): row["answer"] for row in rows}
    assert said["p1", "q1/a"] == "said 5"
    assert said["p2", "q1/c"] == "said 4"


def test_judgments_are_exported_with_their_query(assay, folder):
    toml(folder, RECORDED, 'qrels = "judged.txt"\n')
    (folder / "judged.txt").write_text("q1 0 p1 2\n")
    assert assay("evaluate", folder).returncode == 0
    first = json.loads((folder / "out" / "grades.jsonl").read_text().splitlines()[0])
    data = {one["paragraph_id"]: one["paragraph_data"]["judgments"] for one in first[1]}
    assert data["p1"] == [{"paragraphId": "p1", "query": "q1", "relevance": 2, "titleQuery": "q1"}]
    assert data["p2"] == []


def test_direct_graders_need_queries_and_no_bank(assay, folder):
    (folder / "queries.tsv").write_text("q1\tstructure of the skin\nq2\twater table\n")
    toml(folder, RECORDED, settings='grading = "direct:sun"')
    config = (folder / "assay.toml").read_text()
    (folder / "assay.toml").write_text(
        config.replace('bank = "bank.jsonl"', 'queries = "queries.tsv"')
    )
    done = assay("judge", folder, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["to_ask"] for row in json.loads(done.stdout)["ahead"]] == [
        sum(map(len, GRADES.values()))
    ]


def test_columns_and_what_is_printed_beside_the_scores(assay, folder):
    document = json.loads(assay("evaluate", folder, "--json").stdout)
    assert {name: document[name] for name in ("grading", "tau", "k")} == {
        "grading": "self-rating", "tau": 4, "k": 20,
    }  # fmt: skip
    heading = (folder / "out" / "standard_errors.csv").read_text().splitlines()[0]
    assert heading == "run,measure,value,standard_error,topics"
