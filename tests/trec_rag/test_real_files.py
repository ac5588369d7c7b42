"""Files of the track as they are published, through the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from assay.formats.trec_rag_nuggets import read_nuggets
from assay.formats.trec_rag_topics import read_sub_narratives
from assay.model.trec_rag import sub_narrative_key
from tests.conftest import Assay
from tests.trec_rag.test_trec_rag_answers import write


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Path:
    return shared_data / "data"


def test_the_human_support_labels_of_2024_give_the_tracks_best_run(assay: Assay, published: Path):
    labels = published / "trec-rag-2024" / "rag24_human_support_labels.jsonl"
    done = assay("validate", labels)
    assert done.returncode == 0
    assert "lines 31, 56, 104, 207, 209, 218, 292, 315" in done.stdout
    assert "1 warning; support (guessed); 930 answers, 8163 sentences" in done.stdout
    done = assay("support", labels, "--topics", "answered", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    best = max(
        (row for row in rows if row["measure"] == "weighted_precision" and row["value"]),
        key=lambda row: float(row["value"]),
    )
    assert best["run"] == "IITD-IRL.ag_rag_gpt35_expansion_rrf_20"
    assert float(best["value"]) == pytest.approx(0.793074, abs=5e-7)


@pytest.fixture(scope="module")
def bank(published: Path) -> Path:
    return published / "trec-rag-2026" / "rag25-dev-nuggets.jsonl"


def test_the_dev_bank_has_216_sub_narratives_in_whatever_spelling(bank: Path):
    found = read_sub_narratives(bank).require()
    assert (len(found), sum(map(len, found.values()))) == (22, 216)
    names = [one.text for listed in found.values() for one in listed]
    assert not [name for name in names if name.startswith(("New:", '"')) or name.endswith('"')]
    nuggets = [one for listed in read_nuggets(bank).require().values() for one in listed.nuggets]
    assert len(nuggets) == 1255
    assert {sub_narrative_key(one.sub_narrative or "") for one in nuggets} == {
        sub_narrative_key(name) for name in names
    }


def test_new_sub_narratives_count_though_the_list_lacks_them(
    assay: Assay, bank: Path, tmp_path: Path
):
    """A run states every nugget of the first topic that is not new; the list has those alone, in
    another spelling."""
    record = json.loads(bank.read_text(encoding="utf-8").splitlines()[0])
    new = {one["mapped_sub_narrative"] for one in record["nuggets"]}
    new = {name for name in new if name.startswith("New:")}
    listed = {one["mapped_sub_narrative"] for one in record["nuggets"]} - new
    assert (len(new), len(listed)) == (3, 9)
    for one in record["nuggets"]:
        stated = one["mapped_sub_narrative"] in listed
        one["assignment"] = "support" if stated else "not_support"
    assignments = write(tmp_path / "a.jsonl", {**record, "run_id": "r"})
    spelt = [name.strip('"').upper().replace(", ", "\uff0c").rstrip("?.") for name in listed]
    aspects = write(tmp_path / "s.jsonl", {"id": record["qid"], "sub_narratives": spelt})
    for more in ((), ("--sub-narratives", aspects), ("--sub-narratives", bank)):
        done = assay("nuggets", assignments, *more, "--csv")
        rows = {row["measure"]: row["value"] for row in csv.DictReader(io.StringIO(done.stdout))}
        assert float(rows["coverage"]) == pytest.approx(9 / 12), done.stderr


def test_assignments_to_documents_are_no_answers(assay: Assay, tmp_path: Path):
    nugget = {"text": "a", "importance": "vital", "assignment": "support"}
    row = {"text": "Why?", "qid": "q", "candidate_text": "c", "docid": "d", "nuggets": [nugget]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    done = assay("nuggets", tmp_path / "a.jsonl")
    assert (done.returncode, "retrieved documents (docid)" in done.stderr) == (2, True)


def test_a_bank_is_no_file_of_assignments(assay: Assay, bank: Path):
    done = assay("nuggets", bank)
    assert done.returncode == 2
    assert "1 fault in the input" in done.stderr
    assert (
        "No nugget has an assignment: these are nuggets alone (keys qid, nuggets)." in done.stderr
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trec-rag-2026/rag25-dev-nuggets.jsonl", "good; nuggets (guessed); 22 topics, 1255"),
        ("trec-rag-2026/rag25-topics-dev.tsv", "good; trec-rag-topics (guessed); 22 topics"),
        ("trec-rag-2026/research-rubrics-topics-dev.tsv", "good; trec-rag-topics (guessed); 30"),
        ("trec-rag-2026/research-rubrics-dev-rubrics.jsonl", "good; rubrics (guessed)"),
        ("llmjudge/llm4eval_dev_qrel_2024.txt", "good; qrels (guessed); 25 topics, 7263"),
        ("llmjudge/published.tsv", "no format that Assay knows"),
        ("crowdrag25/artifacts-ratings.jsonl.gz", "battles (guessed); 1352 battles"),
    ],
)
def test_validate_says_what_a_published_file_is(
    assay: Assay, published: Path, name: str, said: str
):
    done = assay("validate", published / name)
    assert said in done.stdout
    assert done.returncode == (2 if "no format" in said else 0)
