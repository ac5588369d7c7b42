"""The example examples/trec-rag: its files keep to their formats, its verdicts to its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_support import read_support
from assay.formats.validate import validate
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.registry import find_protocol
from tests.conftest import ROOT, copy_example

EXAMPLE = ROOT / "examples" / "trec-rag"


def test_every_file_keeps_to_its_format():
    report = validate([*EXAMPLE.glob("*.jsonl"), *EXAMPLE.glob("gold/*.jsonl")])
    assert [fault for fault in report.faults if fault.severity == "error"] == []
    runs = validate(EXAMPLE.glob("rag/*.jsonl"), "trec-rag", topics=EXAMPLE / "narratives.jsonl")
    assert runs.ok


def test_the_verdicts_are_of_the_runs_own_sentences_and_citations():
    answers = {
        (run.name, topic): answer
        for path in EXAMPLE.glob("rag/*.jsonl")
        for run in [read_answers(path, limits=False).require()]
        for topic, answer in run.answers.items()
    }
    labels = read_support(EXAMPLE / "gold" / "support.jsonl").require()
    assert {(one.run, one.topic) for one in labels} == set(answers)
    for one in labels:
        mine = answers[one.run, one.topic].sentences
        assert [sentence.text for sentence in one.sentences] == [each.text for each in mine]
        assert [[c.reference for c in each.citations] for each in one.sentences] == [
            list(each.citations) for each in mine
        ]


@pytest.fixture
def judged_by_people(tmp_path: Path) -> Path:
    """The example with our own verdicts as its labels."""
    folder = copy_example("trec-rag", tmp_path / "e")
    given = 'assignments = ["gold/assignments.jsonl"]\nsupport = ["gold/support.jsonl"]'
    toml = (folder / "assay.toml").read_text()
    toml = toml.replace("[labellers]", f"{given}\n[labellers]")
    (folder / "assay.toml").write_text(toml)
    return folder


def test_the_runs_are_what_the_readme_says(judged_by_people: Path):
    evaluation = Evaluation.open(Folder.open(judged_by_people), find_protocol("trec-rag"), None)
    with evaluation.folder.open_ledger() as ledger:
        assert evaluation.judge(ledger).wanted == 0
        result = evaluation.score(ledger)
    assert result.lacking == 0
    found = {
        run: {name: one.value for name, one in scores.items()}
        for run, scores in result.findings.scores.items()
    }
    assert found["THOROUGH"]["strict_all"] == found["THOROUGH"]["weighted_recall"] == 1.0
    assert found["BRIEF"]["weighted_precision"] == 1.0
    assert found["BRIEF"]["strict_vital"] == 0.5
    assert found["FLUENT"]["weighted_precision"] == pytest.approx(1 / 3)
    assert found["UNCITED"]["weighted_recall"] == pytest.approx(1 / 6)
    assert found["MEANING"]["nDCG@30"] > found["WORDS"]["nDCG@30"]
    assert found["GUESS"]["agreement"] == 0.8
